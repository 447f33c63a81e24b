"""The clusters as cards: size, profile and typical samples of each."""

from collections.abc import Iterator, Sequence

from lordclust.profiles import ClusterProfile, FeatureDifference, Profiles
from lordclust.report.encode import inert_html
from lordclust.report.snapshots import Snapshots, circular_order

#: Largest number of cards, and of characters of a name.
CARDS, LONGEST_NAME = 30, 80
#: Standard deviations at the ends of a bar.
WIDEST = 2.5


def segments_html(
    profiles: Profiles | Sequence[Profiles] | None, snapshots: Snapshots
) -> str:
    """Return one card for each cluster that has samples, at every level if nested."""
    if profiles is None:
        return ""
    if isinstance(profiles, Profiles):
        shown = [profiles[j] for j in range(len(profiles)) if profiles.sizes[j]][:CARDS]
        cards, last = [_card(one, profiles) for one in shown], profiles
    else:
        cards, last = list(_nested(profiles, snapshots)), profiles[-1]
    note = ""
    if last.features:
        note = (
            "Means of the features that distinguish each segment. Bars start at the "
            "mean of all samples: to the right higher, to the left lower."
        )
    if len(last) > CARDS:
        note = f"{CARDS} of {len(last)} segments. {note}"
    return (
        '<section aria-labelledby="segments-title" id="segments">'
        '<h2 id="segments-title">Segments</h2>'
        f'<p class="note">{note}</p><div class="segments">'
        + "".join(cards)
        + "</div></section>"
    )


def _nested(levels: Sequence[Profiles], snapshots: Snapshots) -> Iterator[str]:
    """Return a card for each cluster, with the levels at which it exists.

    Level k is made by splitting a cluster into two parts: its own number and k - 1.
    """
    assert snapshots.parents is not None  # for mypy  # nosec B101
    parents, recommended = snapshots.parents.tolist(), snapshots.first.P.shape[1]
    for j in circular_order(snapshots):
        if j >= CARDS:
            continue
        changes = [k for k in range(j + 2, len(levels) + 1) if parents[k - 1] == j]
        begins, ends = [j + 1, *changes], [*changes, len(levels) + 1]
        for begin, end in zip(begins, ends, strict=True):
            profiles = levels[begin - 1]
            hidden = "" if begin <= recommended < end else " hidden"
            attributes = f' data-from="{begin}" data-until="{end - 1}"{hidden}'
            origin = f", split from {profiles.title(parents[j])}" if j else ""
            yield _card(profiles[j], profiles, attributes, origin)


def _card(
    one: ClusterProfile, profiles: Profiles, attributes: str = "", origin: str = ""
) -> str:
    """Return the card of one cluster."""
    rows = "".join(_row(feature) for feature in one.distinctive)
    body = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    if one.features and not rows:
        body = "<p>Near the mean of all samples in every feature.</p>"
    typical = ", ".join(_short(profiles.called(i)) for i in one.exemplars)
    return (
        f'<article class="card"{attributes}><h3>'
        f'<span class="dot" data-cluster="{one.cluster}"></span>{_short(one.name)}</h3>'
        f'<p class="note">{one.size:,} samples, {one.share:.0%}{origin}</p>{body}'
        f'<p class="typical"><span>Typical:</span> {typical}</p></article>'
    )


def _row(feature: FeatureDifference) -> str:
    """Return the line of one feature: name, bar, mean, mean of all."""
    part = 50 * min(abs(feature.difference) / WIDEST, 1.0)
    start = 50.0 if feature.difference > 0 else 50 - part
    # An attribute of SVG, because the policy of the page forbids inline styles.
    bar = (
        f'<svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{feature.side}"><rect class="rail" y="1" width="100" height="8"/>'
        f'<rect class="part" x="{start:.1f}" y="1" width="{part:.1f}" height="8"/>'
        '<rect class="zero" x="49.7" width="0.6" height="10"/></svg>'
    )
    name = _short(feature.name).replace("_", "_<wbr>")  # where it may be broken
    mean, overall = feature.shown(feature.mean), feature.shown(feature.overall)
    return (
        f'<tr><th scope="row">{name}</th><td class="profile">{bar}</td>'
        f'<td class="mean">{mean} <small>all: {overall}</small></td></tr>'
    )


def _short(text: str) -> str:
    """Return a name as short inert text."""
    return inert_html(text[:LONGEST_NAME])
