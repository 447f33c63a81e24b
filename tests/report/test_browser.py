"""The page in a real browser: it moves, stays quiet, and fits any screen."""

import itertools
import json
import os
import re
import shutil
import time

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, make_blobs
from test_build import made_path

from lordclust import BLoRD, layers, make_method, tau_path
from lordclust.report import write_report
from models import PAPER

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
#: Set where the browser must be there: a test that is always skipped tests nothing.
REQUIRED = "LORDCLUST_BROWSER" in os.environ
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
#: Names that try to end what they are in, to act, or to fill the page.
NAMES = (
    "</script><img src=http://127.0.0.1:9/a onerror=alert(1)>",
    "</title></style><svg onload=alert(2)>",
    "<!-- <script>alert(3)",
    "\u2028alert(4)//\u2029",
    "\u202eevil\u2066",
    "\x1b[2J\x00\x07",
    "\" onfocus=alert(5) autofocus x='",
    "javascript:alert(6)",
    "{{data}}${alert(7)}",
    "x" * 10_000,
    "\ufdfd" * 10_000,
    "\ud800",
)
#: Ink of the map: what a picture is made of, so that two can be compared.
INK = """
const map = document.getElementById("map");
const all = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
let alpha = 0; const colours = new Set();
for (let i = 0; i < all.length; i += 4) {
  alpha += all[i + 3];
  if (all[i + 3] > 200) colours.add(`${all[i] >> 4},${all[i + 1] >> 4},${all[i + 2] >> 4}`);
}
return [alpha, colours.size, map.toDataURL().length];
"""  # noqa: E501

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER) and not REQUIRED,
        reason="needs chromium and chromedriver (Debian: chromium, chromium-driver)",
    ),
]


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability(
        "goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"}
    )
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """The report of 1797 digits, with hostile names."""
    X, y = load_digits(return_X_y=True)
    model = PAPER(10, tau=0.3).fit(X)
    return write_report(
        tmp_path_factory.mktemp("report") / "digits.html",
        model,
        tau_path(model.affinity_matrix_, 10, keep="all"),
        X=X,
        ids=[f"{HOSTILE} {i}" for i in range(len(X))],
        names=[f"pixel {i} {HOSTILE}" for i in range(64)],
        labels=y,
        title=f"Digits {HOSTILE}",
        comparison=[{"method": HOSTILE, "ACC": 0.95}],
    )


def opened(driver, file, *, width=1280, height=900, scheme="light"):
    """Open a page on a screen; return the seconds until it is drawn."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    for kind in ("browser", "performance"):
        driver.get_log(kind)  # what came before is not ours
    begin = time.perf_counter()
    driver.get(file.as_uri())
    settle(driver)
    return time.perf_counter() - begin


def settle(driver):
    """Wait until what was asked for is drawn."""
    driver.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => "
        "requestAnimationFrame(done));"
    )


def ink(driver):
    """What the map shows, once all that was asked for is drawn."""
    settle(driver)
    return driver.execute_script(INK)


def text(driver, name):
    return driver.find_element("id", name).text


def test_it_opens_in_silence(browser, digits):
    opened(browser, digits)
    assert browser.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in
            browser.get_log("performance")]  # fmt: skip
    urls = [
        message["params"]["request"]["url"]
        for message in sent
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert urls == [digits.as_uri()]
    assert browser.execute_script(
        "return performance.getEntriesByType('resource').length"
    ) == 0  # fmt: skip


def test_the_policy_stops_what_is_not_ours(browser, digits):
    opened(browser, digits)
    fetched = browser.execute_async_script(
        "const done = arguments[0];"
        "fetch('http://127.0.0.1:9/').then(() => done('sent'), e => done(e.name))"
    )
    assert fetched == "TypeError"
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
        "document.body.append(s)"
    )
    assert browser.execute_script("return window.hit") is None
    blocked = " ".join(entry["message"] for entry in browser.get_log("browser"))
    assert "Content Security Policy" in blocked


def test_the_slider_moves_everything_together(browser, digits):
    from selenium.webdriver.common.keys import Keys

    opened(browser, digits)
    slider = browser.find_element("id", "tau")
    slider.send_keys(Keys.END)
    hard = ink(browser), text(browser, "sizes"), text(browser, "certainty")
    assert text(browser, "tau-value") == "1.00"
    assert slider.get_attribute("aria-valuetext").startswith("tau 1.00")
    slider.send_keys(Keys.HOME)
    slider.send_keys(*[Keys.ARROW_RIGHT] * 3)
    soft = ink(browser), text(browser, "sizes"), text(browser, "certainty")
    assert float(text(browser, "tau-value")) < 0.2
    assert soft[0][0] < 0.8 * hard[0][0]  # the same points, fainter
    assert soft[1] != hard[1]
    assert soft[2] != hard[2]
    uncertain = browser.find_elements("css selector", "#uncertain button")
    assert len(uncertain) == 12
    browser.find_element("id", "home").click()
    settle(browser)
    assert text(browser, "tau-value") == "0.30"


@pytest.fixture(scope="module")
def levels(tmp_path_factory):
    """The report of nested clusters of irises."""
    found = layers(load_iris(as_frame=True).data, 5)
    return found, found.report().save(tmp_path_factory.mktemp("report") / "levels.html")


def test_the_number_of_clusters_moves_everything_together(browser, levels):
    from selenium.webdriver.common.keys import Keys

    found, file = levels
    opened(browser, file)
    slider = browser.find_element("id", "tau")
    seen = set()

    def check(k):
        settle(browser)
        cards = browser.find_elements("css selector", "#segments article:not([hidden])")
        shown = {
            int(c.find_element("class name", "dot").get_attribute("data-cluster")):
            c.find_element("class name", "note").text.split(" ")[0]
            for c in cards
        }  # fmt: skip
        sizes = {j: str(size) for j, size in enumerate(found.sizes(k))}
        assert shown == sizes
        words = text(browser, "sizes").split()
        assert dict(zip(map(int, words[::2]), words[1::2], strict=True)) == sizes
        assert text(browser, "tau-value") == str(k)
        best = "recommended, " if k == found.best_k else ""
        spoken = slider.get_attribute("aria-valuetext")
        assert spoken.startswith(f"{k} clusters, {best}mean certainty")
        assert f"With {k}, " in browser.find_element("css selector", ".lead").text
        pressed = "#rows button[aria-pressed=true]"
        assert browser.find_element("css selector", pressed).text.split()[0] == str(k)
        seen.add((ink(browser)[2], text(browser, "pairs")))

    check(found.best_k)
    slider.send_keys(Keys.HOME)
    for k in range(1, 6):
        check(k)
        slider.send_keys(Keys.ARROW_RIGHT)
    assert len(seen) == 5
    browser.find_element("css selector", "#sizes button:nth-child(4)").click()
    browser.execute_script("scrollTo(0, 0)")  # from below the slider
    browser.find_element("css selector", "#rows button").click()
    check(1)
    assert ink(browser)[0] > 0  # the highlighted cluster is gone, not the samples
    browser.find_element("id", "home").click()
    check(found.best_k)
    top = browser.find_element("id", "control").location["y"]
    assert top < browser.find_element("id", "segments").location["y"]
    browser.find_elements("css selector", "#layouts button")[1].click()
    assert ink(browser)[0] > 0
    serious = [e for e in browser.get_log("browser") if e["level"] == "SEVERE"]
    assert serious == []  # reading the canvas often is a warning


def test_parts_lie_below_the_cluster_that_was_split(browser, levels):
    found, file = levels
    opened(browser, file)
    rows = browser.find_elements("css selector", "#rows button")
    places = [
        [(b.rect["x"], b.rect["width"], b.value_of_css_property("background-color"))
         for b in row.find_elements("tag name", "i")]
        for row in rows
    ]  # fmt: skip
    for above, below in itertools.pairwise(places):
        ends = [x + wide for x, wide, _ in above]
        for x, wide, _ in below:
            assert any(
                a - 1 <= x and x + wide <= b + 1
                for (a, _, _), b in zip(above, ends, strict=True)
            )
    assert len({colour for *_, colour in places[4]}) == 5
    assert [bool(row.get_attribute("class")) for row in rows].index(True) == (
        found.best_k - 1
    )


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_levels_fit_and_print(browser, levels, width):
    opened(browser, levels[1], width=width, height=844, scheme="dark")
    wide = "return document.documentElement.scrollWidth"
    assert browser.execute_script(wide) <= width
    assert len(browser.print_page()) > 20_000


def test_the_lead_follows_the_slider_and_calibrated_is_said(browser, tmp_path):
    from selenium.webdriver.common.keys import Keys

    file = BLoRD(3).fit(load_iris().data).report().save(tmp_path / "r.html")
    opened(browser, file)
    lead = browser.find_element("css selector", ".lead")
    first = lead.text
    assert "tau" not in first
    assert text(browser, "tau-value") == "auto"
    assert text(browser, "best") == "calibrated"
    browser.find_element("id", "tau").send_keys(Keys.HOME)
    settle(browser)
    assert "At tau 0.05, " in lead.text
    assert text(browser, "best") == ""
    browser.find_element("id", "home").click()
    settle(browser)
    assert lead.text == first


def test_labels_alone_are_not_sold_as_probabilities(browser, tmp_path):
    X = load_iris().data
    model = make_method("sc", n_clusters=3, random_state=0).fit(X)
    opened(browser, write_report(tmp_path / "r.html", model, X=X))
    page = browser.find_element("tag name", "body").text
    assert "robabilit" not in page
    assert "certain" not in page
    assert "%" not in page
    browser.find_element("id", "find").send_keys("7")
    settle(browser)
    assert text(browser, "tip") == f"7\ncluster {model.labels_[7]}"
    assert browser.get_log("browser") == []


def test_a_sample_that_is_found_can_be_seen(browser, digits):
    opened(browser, digits, width=390, height=600)
    for name in ("find", "uncertain"):
        browser.execute_script("scrollTo(0, document.body.scrollHeight)")
        if name == "find":
            browser.find_element("id", "find").send_keys(f"{HOSTILE} 5")
        else:
            first = browser.find_element("css selector", "#uncertain button")
            browser.execute_script("arguments[0].click()", first)
        settle(browser)
        tip = browser.find_element("id", "tip")
        box = browser.execute_script(
            "const b = arguments[0].getBoundingClientRect(); return [b.top, b.bottom]",
            tip,
        )
        assert box[0] > 0
        assert box[1] < 600


def test_hover_says_who_it_is(browser, digits):
    from selenium.webdriver.common.action_chains import ActionChains

    opened(browser, digits)
    first = browser.find_element("css selector", "#uncertain button")
    browser.execute_script("arguments[0].focus()", first)
    settle(browser)
    tip = text(browser, "tip")
    assert tip.startswith(HOSTILE)  # shown as text
    assert "class " in tip
    assert tip.count("%") >= 2
    browser.execute_script("arguments[0].blur()", first)
    assert not browser.find_element("id", "tip").is_displayed()
    ActionChains(browser).move_to_element_with_offset(
        browser.find_element("id", "map"), 0, 0
    ).perform()
    settle(browser)
    assert "%" in text(browser, "tip")


def test_hostile_names_do_nothing(browser, digits):
    opened(browser, digits)
    assert browser.title == f"Digits {HOSTILE}"
    assert browser.find_element("css selector", "h1").text == f"Digits {HOSTILE}"
    assert browser.find_element("css selector", ".scroll td").text == HOSTILE
    assert HOSTILE[:20] in browser.find_element("css selector", ".segments th").text
    assert browser.find_elements("css selector", "img") == []
    assert browser.execute_script("return document.scripts.length") == 2


def test_every_kind_of_hostile_name_is_only_text(browser, tmp_path):
    k = len(NAMES)
    path = made_path(2 * k, 3, (0.2, 0.6, 1.0))
    file = write_report(
        tmp_path / "r.html",
        None,
        path,
        X=np.random.default_rng(0).normal(size=(2 * k, k)),
        ids=NAMES * 2,
        names=NAMES,
        labels=NAMES * 2,
        title=" ".join(NAMES),
        comparison=[{name: name for name in NAMES}],
        facts={name: name for name in NAMES},
    )
    opened(browser, file, width=390, height=844)
    for button in browser.find_elements(
        "css selector", "#uncertain button, #sizes button"
    ):
        browser.execute_script("arguments[0].focus()", button)
        settle(browser)
    assert ink(browser)[0] > 0
    assert browser.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in
            browser.get_log("performance")]  # fmt: skip
    urls = [m["params"]["request"]["url"] for m in sent
            if m["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert urls == [file.as_uri()]
    assert "Page.javascriptDialogOpening" not in {m["method"] for m in sent}
    assert browser.execute_script("return document.scripts.length") == 2
    foreign = "img, iframe, svg:not(#curve, .segments .profile svg)"
    assert browser.find_elements("css selector", foreign) == []
    browser.execute_script("document.querySelector('details').open = true")
    shown = browser.find_element("css selector", "dl").text
    assert all(name in shown for name in NAMES[:3])
    assert "\u202e" not in file.read_text(encoding="utf-8")
    assert browser.execute_script(
        "return document.documentElement.scrollWidth"
    ) <= 390  # fmt: skip


def test_clusters_places_and_zoom(browser, digits):
    opened(browser, digits)
    before = ink(browser)
    cluster = browser.find_element("css selector", "#sizes button")
    cluster.click()
    assert cluster.get_attribute("aria-pressed") == "true"
    assert ink(browser)[0] < 0.6 * before[0]
    cluster.click()
    assert ink(browser) == before
    browser.find_elements("css selector", "#layouts button")[1].click()
    assert "between clusters" in text(browser, "map-note")
    assert ink(browser) != before
    browser.find_elements("css selector", "#layouts button")[0].click()
    browser.find_element("id", "map").send_keys("+")
    by_key = ink(browser)
    assert by_key != before
    browser.find_element("id", "reset").click()
    assert ink(browser) == before
    browser.find_element("id", "closer").click()
    assert ink(browser) == by_key
    browser.find_element("id", "farther").click()
    assert ink(browser) == before


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_segments_come_first_and_fit(browser, width, tmp_path):
    X = (
        np.random.default_rng(0).normal(size=(90, 2))
        + np.repeat([0, 9, 18], 30)[:, None]
    )
    model = PAPER(3).fit(X * 1e6)
    long = ["a_name_without_any_space_" * 3, "b"]
    names = ["Regulars", "Bargain hunters and more " * 3, "x" * 80]
    profiles = model.describe(X * 1e6, long, names=names)
    file = write_report(tmp_path / "r.html", model, X=X, profiles=profiles)
    opened(browser, file, width=width, height=844)
    cards = browser.find_elements("css selector", "#segments article")
    assert [card.find_element("tag name", "h3").text.strip() for card in cards] == [
        name.strip() for name in names
    ]
    for card in cards:
        inside = "return arguments[0].scrollWidth - arguments[0].clientWidth"
        assert browser.execute_script(inside, card) <= 0
        dot = card.find_element("css selector", ".dot")
        assert dot.value_of_css_property("background-color") != "rgba(0, 0, 0, 0)"
    assert cards[0].location["y"] < browser.find_element("id", "map").location["y"]
    for place in ("sizes", "uncertain", "pairs"):
        boxes = browser.find_elements("css selector", f"#{place}")
        assert browser.execute_script(inside, boxes[0]) <= 0
    assert names[0] in text(browser, "sizes")
    assert "requested shares" in text(browser, "sizes-note")
    assert not browser.find_element("css selector", "dl").is_displayed()


@pytest.mark.parametrize("width", [320, 390])
def test_chosen_shares_and_names_in_all_lists(browser, width, tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 2)) + np.tile(
        [[0, 0], [2, 3], [4, 0]], (30, 1)
    )
    model = BLoRD(3).fit(X)
    names = ["Regulars", "Bargain hunters", "Lapsed"]
    profiles = model.describe(X, ["a", "b"], names=names)
    file = write_report(tmp_path / "r.html", model, X=X, profiles=profiles)
    opened(browser, file, width=width, height=844)
    assert "ticks show the chosen shares" in text(browser, "sizes-note")
    either = "|".join(names)
    assert re.search(f"({either}) or ({either})", text(browser, "uncertain"))
    assert re.search(f"({either}) and ({either})", text(browser, "pairs"))
    browser.find_element("css selector", "summary").click()
    settle(browser)
    assert browser.find_element("css selector", "dl").is_displayed()
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


def test_a_sample_is_found_by_its_name(browser, digits):
    opened(browser, digits)
    for _ in range(6):  # far into the middle, where few samples are left
        browser.find_element("id", "closer").click()
    field = browser.find_element("id", "find")
    field.send_keys(f"{HOSTILE} 5".upper())
    settle(browser)
    assert text(browser, "tip").startswith(f"{HOSTILE} 5\n")  # not 50, not 500
    tip = browser.find_element("id", "tip").rect
    stage = browser.find_element("id", "map").rect
    assert stage["x"] <= tip["x"]
    assert tip["x"] + tip["width"] <= stage["x"] + stage["width"]
    field.send_keys("x")
    settle(browser)
    assert field.get_attribute("aria-invalid") == "true"
    assert not browser.find_element("id", "tip").is_displayed()


TOUCH = """
const [kind, id, x, y] = arguments;
const map = document.getElementById("map"), box = map.getBoundingClientRect();
map.setPointerCapture = () => {};  // made up pointers cannot be captured
map.dispatchEvent(new PointerEvent(kind, {pointerId: id, pointerType: "touch",
  clientX: box.x + x, clientY: box.y + y, bubbles: true}));
"""


def test_two_fingers_zoom_and_one_moves(browser, digits):
    opened(browser, digits, width=390, height=844)
    whole = ink(browser)

    def touch(*what):
        browser.execute_script(TOUCH, *what)

    touch("pointerdown", 1, 100, 100)
    touch("pointermove", 1, 140, 140)
    touch("pointerup", 1, 140, 140)
    browser.find_element("css selector", "h1").click()
    assert not browser.find_element("id", "reset").is_displayed()
    touch("pointerdown", 1, 150, 150)
    touch("pointerdown", 2, 170, 170)
    touch("pointermove", 2, 200, 200)
    assert browser.find_element("id", "reset").is_displayed()
    near = ink(browser)
    assert near != whole
    touch("pointerup", 2, 200, 200)
    touch("pointermove", 1, 120, 150)
    assert ink(browser) != near
    touch("pointerup", 1, 120, 150)


def test_known_classes_show_the_accuracy(browser, digits):
    opened(browser, digits)
    assert text(browser, "accuracy").startswith("accuracy 9")
    valued = browser.find_element("id", "tau").get_attribute("aria-valuetext")
    assert "accuracy 9" in valued
    path = browser.find_element("id", "curve-accuracy").get_attribute("d")
    assert path.count("L") == int(
        browser.find_element("id", "tau").get_attribute("max")
    )


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_screen_is_too_narrow(browser, digits, width):
    opened(browser, digits, width=width, height=800)
    assert browser.execute_script(
        "return document.documentElement.scrollWidth"
    ) <= width  # fmt: skip
    assert ink(browser)[0] > 0


def test_light_and_dark(browser, digits):
    paper = "return getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        opened(browser, digits, scheme=scheme)
        seen[scheme] = browser.execute_script(paper), ink(browser)
    assert seen["light"][0] == "rgb(247, 247, 245)"
    assert seen["dark"][0] == "rgb(17, 19, 21)"
    assert seen["light"][1] != seen["dark"][1]
    browser.find_element("id", "theme").click()
    assert browser.execute_script(paper) == seen["light"][0]
    assert ink(browser) == seen["light"][1]


def test_every_control_has_a_name(browser, digits):
    opened(browser, digits)
    nameless = browser.execute_script(
        "const all = [...document.querySelectorAll('button, input, canvas, section')];"
        "return all.filter("
        "e => !e.hidden && !(e.ariaLabel || e.textContent.trim() || e.title || "
        "(e.getAttribute('aria-labelledby') ?? '').split(' ').some("
        "id => document.getElementById(id)) || e.labels?.length)).length"
    )
    assert nameless == 0


def test_it_prints(browser, digits):
    opened(browser, digits, scheme="dark")
    assert len(browser.print_page()) > 20_000
    assert browser.get_log("browser") == []


def test_rows_of_candidates_are_one_line_on_a_phone(browser, tmp_path):
    """Sizes were broken after each number: rows of five lines, mostly white."""
    model = BLoRD(5).fit(load_iris().data)
    opened(browser, model.report().save(tmp_path / "r.html"), width=360)
    browser.execute_script("document.querySelector('details').open = true")
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.scroll tr')].map(e => e.clientHeight)"
    )
    assert len(heights) > 3
    assert max(heights) < 50
    wide = "return document.documentElement.scrollWidth"
    assert browser.execute_script(wide) == 360


def test_paper_shows_no_hints_for_the_screen(browser, tmp_path):
    """A footer alone filled the last page, and hints spoke of a slider."""
    X = make_blobs([40, 40, 40], cluster_std=0.1, random_state=0)[0]
    path = tau_path(BLoRD(3).fit(X).affinity_matrix_, 3, keep="all")
    opened(browser, write_report(tmp_path / "r.html", None, path, X=X))
    hints = "#uncertain .screen, details, footer"
    seen = [one.is_displayed() for one in browser.find_elements("css selector", hints)]
    assert seen == [True] * 3
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    seen = [one.is_displayed() for one in browser.find_elements("css selector", hints)]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert seen == [False] * 3


@pytest.mark.parametrize("k", [1, 2, 40, 300])
def test_few_and_many_clusters_without_features(browser, tmp_path, k):
    path = made_path(2 * k, k, (0.2, 0.6, 1.0))
    file = write_report(tmp_path / "r.html", None, path)
    opened(browser, file)
    assert browser.get_log("browser") == []
    assert len(browser.find_elements("css selector", "#sizes button")) == k
    assert ink(browser)[0] > 0
    assert not browser.find_element("id", "layouts").is_displayed()


def test_seventy_thousand_samples_open_in_seconds(browser, tmp_path):
    n = 70_000
    path = made_path(n, 10, tuple(np.linspace(0.05, 1, 12)))
    X = np.random.default_rng(0).normal(size=(n, 2))
    file = write_report(tmp_path / "r.html", None, path, X=X)
    assert opened(browser, file) < 5
    assert "5,000 of 70,000 samples" in text(browser, "map-note")
    assert browser.get_log("browser") == []
