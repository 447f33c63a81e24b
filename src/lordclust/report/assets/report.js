"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const { n, k, points, top, inside } = data;
  const outliers = new Set(data.outliers);
  const nested = data.levels !== null; // the slider moves the number of clusters, not tau
  const frames = data.sizes.length;

  // -- numbers -----------------------------------------------------------------

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const words = (text) => new Uint16Array(bytes(text).buffer);
  const clusters = (k <= 256 ? bytes : words)(data.clusters);
  const parts = bytes(data.parts);

  /** The number of clusters shown; k is the largest. */
  const now = () => (nested ? data.levels[state.frame] : k);

  /** The index of the first cluster of a sample, at the tau or level shown. */
  const at = (i) => (state.frame * points + i) * top;
  const labelOf = (i) => clusters[at(i)];
  const chanceOf = (i) => parts[at(i)] / 255;

  /** The most probable clusters of a sample as [cluster, probability], largest first. */
  function chances(i) {
    const found = [];
    for (let t = at(i); t < at(i) + top; t++) if (clusters[t] < now()) found.push([clusters[t], parts[t] / 255]);
    return found.sort((a, b) => b[1] - a[1]);
  }

  const percent = (p) => (p > 0 && p < 0.005 ? "<1%" : `${Math.round(100 * p)}%`);
  const count = (x) => x.toLocaleString("en");
  const called = (j) => data.names?.[j] ?? `${j}`;

  // -- state and colours -------------------------------------------------------

  const state = { frame: data.start, layout: 0, cluster: null, sample: null };
  const view = { scale: 1, x: 0, y: 0 }; // x, y: from the middle, on the grid

  const SHAPES = { o: "round", s: "square", D: "diamond", "^": "up", v: "down" };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = document.documentElement.dataset; // .theme is set once the reader has chosen
  const isDark = () => (theme.theme ? theme.theme === "dark" : system.matches);
  const mode = () => (isDark() ? "dark" : "light");
  const colour = (j) => data.colours[mode()][j];
  const shape = (j) => SHAPES[data.markers[j]];
  const ink = () => getComputedStyle(document.body).color;

  // -- small parts of the page ---------------------------------------------------

  /** Make an element; names of samples, classes and features are inserted as text. */
  function make(tag, name = "", text = "") {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== "") element.textContent = text;
    return element;
  }

  function dot(j) {
    const mark = make("span", `dot ${shape(j)}`);
    mark.style.background = colour(j);
    return mark;
  }

  function bar(part, fill) {
    const outer = make("div", "bar");
    const inner = make("i");
    inner.style.width = `${100 * Math.min(1, part)}%`;
    if (fill) inner.style.background = fill;
    outer.append(inner);
    return outer;
  }

  // -- the map -------------------------------------------------------------------

  const map = $("map");
  const tip = $("tip");

  /** Fit a canvas to its size on the screen; return its context and size. */
  function fitted(canvas) {
    const box = canvas.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { pen, width: box.width, height: box.height };
  }

  /** Positions by features or graph, which do not depend on tau. */
  function fixed({ name, note, xy }) {
    const grid = words(xy);
    const box = [65535, 65535, 0, 0];
    for (let i = 0; i < grid.length; i += 2) {
      box[0] = Math.min(box[0], grid[i]); box[2] = Math.max(box[2], grid[i]);
      box[1] = Math.min(box[1], grid[i + 1]); box[3] = Math.max(box[3], grid[i + 1]);
    }
    return { name, note, box, at: () => grid, tags: () => [] };
  }

  /** Positions by membership: clusters on a circle, a sample between those it may belong to. */
  function circle() {
    const corners = new Float32Array(2 * k);
    const grid = new Float32Array(2 * points);
    let seen = null, room = 0;
    const arrange = () => {
      const ring = data.ring.filter((j) => j < now());
      ring.forEach((j, place) => {
        const angle = Math.PI * (0.5 - (2 * place) / ring.length);
        corners.set([Math.cos(angle), Math.sin(angle)], 2 * j);
      });
      room = Math.min(0.2, (0.8 * Math.PI) / ring.length); // certain samples share a corner
    };
    const at = () => {
      if (seen === state.frame) return grid;
      seen = state.frame;
      arrange();
      for (let i = 0; i < points; i++) {
        // A quasi-random sequence fills a disc evenly, the same way every time.
        const turn = 2 * Math.PI * 0.5698403 * i;
        const far = room * Math.sqrt((0.7548777 * i) % 1) * chanceOf(i);
        let x = far * Math.cos(turn), y = far * Math.sin(turn);
        for (const [j, p] of chances(i)) { x += p * corners[2 * j]; y += p * corners[2 * j + 1]; }
        grid[2 * i] = 20000 * x; grid[2 * i + 1] = 20000 * y;
      }
      return grid;
    };
    const reach = 20000 * (1.1 + Math.min(0.2, (0.8 * Math.PI) / k));
    const tags = () => data.ring.filter((j) => j < now()).map((j) => [j, reach * corners[2 * j], reach * corners[2 * j + 1]]);
    const note = data.soft ? "their probabilities: between clusters if uncertain" : "their clusters";
    return { name: "Probabilities", note, box: [-reach, -reach, reach, reach], at, tags };
  }

  const layouts = [data.layout && fixed(data.layout), (data.soft || !data.layout) && circle()].filter(Boolean);

  /** Pixels per step of the layout's grid, the same for both axes. */
  function unit(width, height) {
    const [x0, y0, x1, y1] = layouts[state.layout].box;
    const margin = 36;
    const [wide, high] = [Math.max(x1 - x0, 1), Math.max(y1 - y0, 1)];
    return view.scale * Math.min((width - margin) / wide, (height - margin) / high);
  }

  /** Return the function from a position in the layout to one on the canvas. */
  function projection(width, height) {
    const [x0, y0, x1, y1] = layouts[state.layout].box;
    const each = unit(width, height);
    const [x, y] = [(x0 + x1) / 2 + view.x, (y0 + y1) / 2 + view.y];
    return (u, v) => [width / 2 + (u - x) * each, height / 2 - (v - y) * each];
  }

  /** Return the function from a sample to its position on the canvas. */
  function placer(width, height) {
    const xy = layouts[state.layout].at();
    const project = projection(width, height);
    return (i) => project(xy[2 * i], xy[2 * i + 1]);
  }

  /** Write the numbers of clusters if the layout has positions for them. */
  function drawTags(pen, width, height) {
    const project = projection(width, height);
    pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = ink();
    for (const [j, u, v] of layouts[state.layout].tags()) pen.fillText(`${j}`, ...project(u, v));
  }

  const CORNERS = {
    square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
    diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
    up: [[0, -1.3], [1.25, 0.9], [-1.25, 0.9]],
    down: [[0, 1.3], [1.25, -0.9], [-1.25, -0.9]],
  };

  /** Draw a sample; all shapes have about the same area. */
  function spot(pen, x, y, r, kind) {
    pen.beginPath();
    if (kind === "round") pen.arc(x, y, r, 0, 2 * Math.PI);
    else for (const [u, v] of CORNERS[kind]) pen.lineTo(x + u * r, y + v * r);
    pen.fill();
  }

  /** Draw a sample that belongs nowhere. */
  function cross(pen, x, y, r, alpha) {
    pen.globalAlpha = alpha;
    pen.strokeStyle = "#8a8a8a";
    pen.lineWidth = 1.25;
    pen.beginPath();
    for (const side of [-1, 1]) { pen.moveTo(x - r, y - side * r); pen.lineTo(x + r, y + side * r); }
    pen.stroke();
  }

  /** The radius of a sample: small if there are many, larger when zoomed in. */
  function radius(width, height) {
    const fair = 0.21 * Math.sqrt((width * height) / points);
    return Math.max(2, Math.min(5.5, fair)) * Math.min(2, Math.sqrt(view.scale));
  }

  function drawMap() {
    $("reset").hidden = view.scale === 1;
    map.classList.toggle("zoomed", view.scale > 1);
    const { pen, width, height } = fitted(map);
    const place = placer(width, height);
    const r = radius(width, height);
    const even = 1 / now();
    for (let i = 0; i < points; i++) {
      const j = labelOf(i);
      const [x, y] = place(i);
      const sure = now() > 1 ? Math.max(0, (chanceOf(i) - even) / (1 - even)) : 1;
      const aside = state.cluster !== null && state.cluster !== j;
      if (outliers.has(i)) { cross(pen, x, y, r, aside ? 0.1 : 0.8); continue; }
      pen.globalAlpha = (0.13 + 0.77 * sure) * (aside ? 0.1 : 1);
      pen.fillStyle = colour(j);
      spot(pen, x, y, r, shape(j));
    }
    pen.globalAlpha = 1;
    if (now() <= 40) drawTags(pen, width, height);
    drawRing(pen, place, r);
  }

  /** Mark the selected sample, and show its probabilities. */
  function drawRing(pen, place, r) {
    tip.hidden = state.sample === null;
    if (tip.hidden) return;
    const [x, y] = place(state.sample);
    pen.fillStyle = colour(labelOf(state.sample));
    spot(pen, x, y, r + 1, "round");
    pen.lineWidth = 1.75;
    pen.strokeStyle = ink();
    pen.beginPath();
    pen.arc(x, y, r + 4, 0, 2 * Math.PI);
    pen.stroke();
    showTip(x, y);
  }

  function showTip(x, y) {
    const i = state.sample;
    tip.replaceChildren(make("b", "", data.ids[i]));
    if (data.classes) tip.append(make("span", "class", `class ${data.classes[i]}`));
    if (outliers.has(i)) tip.append(make("span", "class", "outlier"));
    const shown = data.soft ? chances(i).slice(0, 4).filter(([, p]) => p >= 0.005) : [];
    if (!data.soft && !outliers.has(i)) tip.append(make("span", "class", `cluster ${called(labelOf(i))}`));
    for (const [j, p] of shown) {
      const row = make("div", "row");
      row.append(dot(j), make("span", "name", called(j)), bar(p, colour(j)), make("span", "p", percent(p)));
      tip.append(row);
    }
    const others = 1 - shown.reduce((sum, [, p]) => sum + p, 0);
    if (data.soft && others >= 0.015) tip.append(make("div", "others", `other clusters ${percent(others)}`));
    const left = x + 18 + tip.offsetWidth < map.clientWidth ? x + 18 : x - 18 - tip.offsetWidth;
    tip.style.left = `${Math.max(0, Math.min(left, map.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, Math.min(y - 20, map.clientHeight - tip.offsetHeight))}px`;
  }

  function nearest(x, y, reach) {
    const place = placer(map.clientWidth, map.clientHeight);
    let best = null, least = reach * reach;
    for (let i = 0; i < points; i++) {
      if (state.cluster !== null && labelOf(i) !== state.cluster) continue;
      const [u, v] = place(i);
      const d = (u - x) ** 2 + (v - y) ** 2;
      if (d < least) { least = d; best = i; }
    }
    return best;
  }

  function choose(sample) {
    if (sample === state.sample) return;
    state.sample = sample;
    drawMap();
  }

  /** Select a sample from a list; if it is out of sight, zoom out. */
  function seek(sample) {
    const [wide, high] = [map.clientWidth, map.clientHeight];
    const [x, y] = placer(wide, high)(sample);
    if (x < 0 || y < 0 || x > wide || y > high) resetZoom();
    choose(sample);
  }

  /** Select a sample, and scroll until it can be seen, below the slider. */
  function show(sample) {
    seek(sample);
    const y = map.getBoundingClientRect().top + placer(map.clientWidth, map.clientHeight)(sample)[1];
    const top = $("control").hidden ? 0 : $("control").getBoundingClientRect().height + 8;
    if (y < top + 30 || y > innerHeight - 30) scrollBy({ top: y - (top + innerHeight) / 2 });
  }

  /** Return the sample of that name, or the first whose name begins with it, or -1. */
  function named(text) {
    const wanted = text.trim().toLowerCase();
    const exact = data.ids.findIndex((id) => id.toLowerCase() === wanted);
    return exact >= 0 ? exact : data.ids.findIndex((id) => id.toLowerCase().startsWith(wanted));
  }

  function listenToFind() {
    const field = $("find");
    field.addEventListener("input", () => {
      const found = field.value.trim() ? named(field.value) : null;
      field.setAttribute("aria-invalid", String(found === -1));
      if (found === null || found === -1) choose(null);
      else show(found);
    });
  }

  /** Where a key or a button zooms to: the selected sample, or the centre. */
  function aim() {
    const [wide, high] = [map.clientWidth, map.clientHeight];
    return state.sample === null ? [wide / 2, high / 2] : placer(wide, high)(state.sample);
  }

  function zoom(factor, x, y) {
    const before = unit(map.clientWidth, map.clientHeight);
    view.scale = Math.max(1, Math.min(40, view.scale * factor));
    const after = unit(map.clientWidth, map.clientHeight);
    view.x += (x - map.clientWidth / 2) * (1 / before - 1 / after);
    view.y -= (y - map.clientHeight / 2) * (1 / before - 1 / after);
    if (view.scale === 1) view.x = view.y = 0;
    drawMap();
  }

  const closer = () => zoom(1.5, ...aim());
  const farther = () => zoom(1 / 1.5, ...aim());

  function resetZoom() {
    Object.assign(view, { scale: 1, x: 0, y: 0 });
    drawMap();
  }

  const fingers = new Map(); // pointers that are down on the map, and their positions

  /** The centre of these pointers, and how far apart they are. */
  function grip() {
    const all = [...fingers.values()];
    const [x, y] = [0, 1].map((c) => all.reduce((sum, at) => sum + at[c], 0) / all.length);
    return { x, y, spread: Math.hypot(all[0][0] - x, all[0][1] - y) };
  }

  /** Move the map with one finger, or the mouse; zoom with two. */
  function drag(e) {
    const from = grip();
    fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
    const to = grip();
    if (view.scale > 1) {
      const each = unit(map.clientWidth, map.clientHeight);
      view.x -= (to.x - from.x) / each;
      view.y += (to.y - from.y) / each;
    }
    zoom(from.spread > 0 ? to.spread / from.spread : 1, to.x, to.y);
  }

  function listenToMap() {
    map.addEventListener("pointerdown", (e) => {
      choose(nearest(e.offsetX, e.offsetY, 24));
      fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
      map.setPointerCapture(e.pointerId);
      map.classList.toggle("held", view.scale > 1);
    });
    map.addEventListener("pointermove", (e) => {
      if (fingers.has(e.pointerId)) drag(e);
      else if (e.pointerType !== "touch") choose(nearest(e.offsetX, e.offsetY, 14));
    });
    const release = (e) => { fingers.delete(e.pointerId); map.classList.remove("held"); };
    map.addEventListener("pointerup", release);
    map.addEventListener("pointercancel", release);
    map.addEventListener("pointerleave", (e) => {
      if (!fingers.size && e.pointerType !== "touch") choose(null); // a finger leaves when it is lifted
    });
    map.addEventListener("dblclick", (e) => zoom(2, e.offsetX, e.offsetY));
    map.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && !e.metaKey) return; // without a modifier the wheel scrolls the page
      e.preventDefault();
      zoom(Math.exp(-e.deltaY / 200), e.offsetX, e.offsetY);
    }, { passive: false });
    map.addEventListener("keydown", (e) => {
      const act = {
        "+": closer,
        "-": farther,
        Escape: resetZoom,
        ArrowRight: () => step(1),
        ArrowLeft: () => step(-1),
      }[e.key];
      if (!act) return;
      e.preventDefault();
      act();
    });
    $("reset").addEventListener("click", resetZoom);
    $("closer").addEventListener("click", closer);
    $("farther").addEventListener("click", farther);
  }

  /** Step through the uncertain samples with the keyboard. */
  function step(by) {
    const list = data.uncertain[state.frame].map(([i]) => i);
    if (list.length === 0) return;
    const place = list.indexOf(state.sample);
    seek(list[place < 0 ? 0 : (place + by + list.length) % list.length]);
  }

  // -- segments --------------------------------------------------------------------

  /** Show the cards of this level, and colour them: the policy of the page allows only the script to. */
  function drawSegments() {
    for (const card of document.querySelectorAll("#segments [data-from]")) {
      card.hidden = now() < Number(card.dataset.from) || now() > Number(card.dataset.until);
    }
    for (const mark of document.querySelectorAll("#segments .dot")) {
      const j = Number(mark.dataset.cluster);
      mark.className = `dot ${shape(j)}`;
      mark.style.background = colour(j);
    }
  }

  // -- sizes -----------------------------------------------------------------------

  const rows = [];

  function makeSizes() {
    document.body.classList.toggle("named", Boolean(data.names));
    $("sizes").style.setProperty("--widest", `${Math.max(5, count(n).length)}ch`);
    for (const j of nested ? data.ring : Array(k).keys()) {
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      const row = make("div", "row");
      const line = bar(0);
      const tick = make("u");
      if (data.shares) line.append(tick);
      const mark = dot(j);
      const size = make("span", "p");
      row.append(mark, make("span", "name", called(j)), line, size);
      button.append(row);
      button.addEventListener("click", () => {
        state.cluster = state.cluster === j ? null : j;
        draw();
      });
      $("sizes").append(button);
      rows[j] = { button, mark, inner: line.firstChild, tick, size };
    }
    const ticks = data.shares ? `; ticks show the ${data.chosen ? "chosen" : "requested"} shares` : "";
    $("sizes-note").append(`Samples per cluster${ticks}.`, make("span", "screen", " Click to highlight a cluster."));
  }

  function drawSizes() {
    const sizes = data.sizes[state.frame];
    // One scale for all taus; a cluster with nearly all samples is cut off.
    const largest = Math.max(...data.sizes[nested ? state.frame : data.start], ...(data.shares ?? []).map((s) => s * inside), 1);
    const scale = 1 / (1.25 * largest);
    rows.forEach(({ button, mark, inner, tick, size }, j) => {
      const requested = data.shares ? `, ${data.chosen ? "chosen" : "requested"} share ${(100 * data.shares[j]).toFixed(1)}%` : "";
      button.hidden = j >= now();
      button.setAttribute("aria-pressed", String(state.cluster === j));
      button.setAttribute("aria-label", `cluster ${called(j)}: ${count(sizes[j])} samples${requested}`);
      button.title = `${(100 * sizes[j] / n).toFixed(1)}% of the samples${requested}`;
      mark.style.background = inner.style.background = colour(j);
      inner.style.width = `${100 * Math.min(1, sizes[j] * scale)}%`;
      if (data.shares) tick.style.left = `${100 * Math.min(1, data.shares[j] * inside * scale)}%`;
      size.textContent = count(sizes[j]);
    });
  }

  // -- pairs -----------------------------------------------------------------------

  /** 256 colours from probability 0 to 1. */
  function ramp() {
    const parse = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
    const stops = data.ramp[mode()].map(parse);
    return Array.from({ length: 256 }, (_, value) => {
      const x = (value / 255) * (stops.length - 1);
      const low = Math.min(Math.floor(x), stops.length - 2);
      return stops[low].map((from, c) => from + (x - low) * (stops[low + 1][c] - from));
    });
  }

  /** The memberships of these samples; probabilities that are not stored are spread evenly. */
  function dense(list) {
    const P = new Float32Array(list.length * k);
    list.forEach((i, row) => {
      const known = chances(i);
      const rest = Math.max(0, 1 - known.reduce((sum, [, p]) => sum + p, 0));
      if (now() > known.length) P.fill(rest / (now() - known.length), row * k, row * k + now());
      for (const [j, p] of known) P[row * k + j] = p;
    });
    return P;
  }

  function drawBlocks() {
    const canvas = $("blocks"), list = data.blocks, m = list.length;
    const edge = Math.max(2, Math.round(m / 45)); // a strip in the colours of the clusters
    const side = m + edge + 1;
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(m, m);
    const P = dense(list), shades = ramp();
    $("shades").style.background = `linear-gradient(to right, ${data.ramp[mode()]})`;
    for (let a = 0; a < m; a++) {
      for (let b = 0; b <= a; b++) {
        let z = 0;
        for (let j = 0; j < k; j++) z += P[a * k + j] * P[b * k + j];
        const shade = shades[Math.min(255, Math.round(255 * z))];
        for (const where of [a * m + b, b * m + a]) {
          image.data.set(shade, 4 * where);
          image.data[4 * where + 3] = 255;
        }
      }
    }
    pen.putImageData(image, edge + 1, edge + 1);
    list.forEach((i, row) => {
      pen.fillStyle = colour(labelOf(i));
      pen.fillRect(0, edge + 1 + row, edge, 1);
      pen.fillRect(edge + 1 + row, 0, 1, edge);
    });
  }

  // -- lists -----------------------------------------------------------------------

  function stack(i) {
    const line = make("div", "stack");
    for (const [j, p] of chances(i)) {
      const piece = make("i");
      piece.style.width = `${100 * p}%`;
      piece.style.background = colour(j);
      line.append(piece);
    }
    return line;
  }

  function drawUncertain() {
    const found = data.uncertain[state.frame];
    $("uncertain-note").textContent = found.length ? "The samples with the largest uncertainty, and their two most probable clusters." : "";
    $("uncertain").replaceChildren(...found.map(([i, entropy]) => {
      const [[a, p], [b, q]] = chances(i);
      const item = make("li"), button = make("button"), who = make("div", "who");
      button.type = "button";
      button.title = `uncertainty ${entropy.toFixed(2)}`;
      who.append(make("span", "", data.ids[i]), make("span", "", `${called(a)} or ${called(b)}`));
      button.setAttribute("aria-label", `${data.ids[i]}: cluster ${called(a)} ${percent(p)}, cluster ${called(b)} ${percent(q)}`);
      button.append(who, stack(i));
      for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => seek(i));
      button.addEventListener("click", () => show(i));
      for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => choose(null));
      item.append(button);
      return item;
    }));
    if (!found.length) $("uncertain").append(nothing("All samples are certain."));
  }

  function drawPairs() {
    const found = data.pairs[state.frame];
    $("pairs-note").textContent = found.length ? "Pairs of clusters, and the fraction of the smaller one that they share." : "";
    $("pairs").replaceChildren(...found.map(([a, b, share]) => {
      const item = make("li"), two = make("span", "two");
      two.append(dot(a), make("span", "", `${called(a)} and ${called(b)}`), dot(b));
      item.append(two, bar(share), make("span", "p", percent(share)));
      return item;
    }));
    if (!found.length) $("pairs").append(nothing("No two clusters share samples."));
  }

  function nothing(text) {
    const item = make("li", "none", text);
    if (frames > 1 && !nested) item.append(make("span", "screen", " Decrease tau to see more."));
    return item;
  }

  // -- tau, or the number of clusters --------------------------------------------------

  function go(frame) {
    $("tau").value = state.frame = frame;
    if (state.cluster !== null && state.cluster >= now()) state.cluster = null;
    later();
  }

  function makeSlider() {
    const slider = $("tau"), last = frames - 1;
    $("control").hidden = last === 0;
    if (last === 0) return;
    slider.max = last;
    slider.value = state.frame;
    slider.addEventListener("input", () => go(Number(slider.value)));
    $("home").addEventListener("click", () => go(data.start));
    const curve = (part) => part.map((p, i) => `${(1000 * i) / last} ${(100 * (1 - p)).toFixed(1)}`).join("L");
    $("curve-line").setAttribute("d", `M${curve(data.certainty)}`);
    $("curve-area").setAttribute("d", `M0 100L${curve(data.certainty)}L1000 100Z`);
    if (data.accuracy) $("curve-accuracy").setAttribute("d", `M${curve(data.accuracy)}`);
    if (data.calibrated) $("home").textContent = "Calibrated";
    if (nested) makeLevels(last);
  }

  const levelRows = [];

  /** The slider for the number of clusters comes first, because the segments change with it. */
  function makeLevels(last) {
    $("tau-name").textContent = "clusters";
    $("low").textContent = "coarse";
    $("high").textContent = "fine";
    $("home").textContent = `Recommended: ${data.levels[data.start]}`;
    $("mark").hidden = $("levels").hidden = false;
    $("mark").style.left = `calc(9px + ${data.start / last} * (100% - 18px))`;
    document.querySelector("main").prepend($("control"), $("levels"));
    data.levels.forEach((level, frame) => {
      const button = make("button"), bar = make("span", "level");
      button.type = "button";
      const blocks = data.ring.filter((j) => j < level).map((j) => [j, make("i")]);
      for (const [j, block] of blocks) {
        const part = data.sizes[frame][j] / Math.max(inside, 1);
        block.style.width = `${100 * part}%`;
        if (part > 0.035) block.textContent = j;
        bar.append(block);
      }
      const best = frame === data.start ? ", recommended" : "";
      button.setAttribute("aria-label", `${level} clusters${best}`);
      button.append(make("b", "", `${level}`), bar);
      if (best) button.classList.add("best");
      button.addEventListener("click", () => go(frame));
      $("rows").append(button);
      levelRows.push({ button, blocks });
    });
  }

  /** Whether black text is easier to read on a colour than white. */
  function isLight(hex) {
    const [red, green, blue] = [1, 3, 5].map((c) => parseInt(hex.slice(c, c + 2), 16));
    return 0.299 * red + 0.587 * green + 0.114 * blue > 150;
  }

  function drawLevels() {
    levelRows.forEach(({ button, blocks }, frame) => {
      button.setAttribute("aria-pressed", String(frame === state.frame));
      for (const [j, block] of blocks) {
        block.style.background = colour(j);
        block.style.color = isLight(colour(j)) ? "#000" : "#fff";
      }
    });
  }

  function drawSlider() {
    if (frames < 2) return;
    const home = state.frame === data.start;
    const own = home && data.calibrated; // probabilities that are not those at any tau
    const value = nested ? `${now()}` : own ? "auto" : data.taus[state.frame].toFixed(2);
    const sure = `mean certainty ${percent(data.certainty[state.frame])}`;
    const right = data.accuracy ? `accuracy ${percent(data.accuracy[state.frame])}` : "";
    const best = nested && home ? "recommended" : own ? "calibrated" : "";
    $("tau-value").textContent = value;
    const spoken = [nested ? `${value} clusters` : `tau ${value}`, best, sure, right];
    $("tau").setAttribute("aria-valuetext", spoken.filter(Boolean).join(", "));
    $("best").textContent = best;
    $("certainty").textContent = sure;
    $("accuracy").textContent = right;
    $("home").disabled = home;
    if (nested) drawLevels();
    const many = `${percent(data.sure[state.frame])} of the samples have a probability above 90%.`;
    $("sure").textContent = `${nested ? `With ${value}, ` : own ? "" : `At tau ${value}, `}${many}`;
  }

  // -- the page ------------------------------------------------------------------------

  function drawNote() {
    const seen = points < n ? `${count(points)} of ${count(n)} samples` : `${count(n)} samples`;
    const faint = data.soft ? " Uncertain samples are faint." : "";
    const crosses = outliers.size ? " Crosses are outliers." : "";
    $("map-note").textContent = `${seen}, placed by ${layouts[state.layout].note}.${faint}${crosses}`;
  }

  function draw() {
    drawSlider(); drawNote(); drawSegments(); drawSizes(); drawMap();
    if (!data.soft) return;
    drawBlocks(); drawUncertain(); drawPairs();
  }

  let waiting = false;
  /** Draw before the next repaint, once for many events. */
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }

  function makeLayouts() {
    const group = $("layouts");
    group.hidden = layouts.length < 2;
    layouts.forEach(({ name }, place) => {
      const button = make("button", "", name);
      button.type = "button";
      button.setAttribute("aria-pressed", String(place === 0));
      button.addEventListener("click", () => {
        state.layout = place;
        [...group.children].forEach((b, i) => b.setAttribute("aria-pressed", String(i === place)));
        drawNote();
        resetZoom();
      });
      group.append(button);
    });
  }

  function showTheme() {
    $("theme").textContent = isDark() ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    draw();
  }

  function makeTheme() {
    $("theme").addEventListener("click", () => {
      theme.theme = isDark() ? "light" : "dark";
      showTheme();
    });
    system.addEventListener("change", showTheme);
    let before; // paper is white
    window.addEventListener("beforeprint", () => {
      before = theme.theme;
      theme.theme = "light";
      draw();
    });
    window.addEventListener("afterprint", () => {
      if (before) theme.theme = before;
      else delete theme.theme;
      draw();
    });
  }

  $("chances").hidden = $("doubts").hidden = !data.soft;
  makeSlider();
  makeLayouts();
  makeSizes();
  makeTheme();
  listenToMap();
  listenToFind();
  new ResizeObserver(later).observe(map);
  showTheme();
})();
