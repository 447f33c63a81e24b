"""The clusters as cards: size, profile and typical samples of each."""

from lordclust.profiles import ClusterProfile, FeatureDifference, Profiles
from lordclust.report.encode import inert_html

#: Largest number of cards, and of characters of a name.
CARDS, LONGEST_NAME = 30, 80
#: Standard deviations at the ends of a bar.
WIDEST = 2.5


def segments_html(profiles: Profiles | None) -> str:
    """Return one card for each cluster that has samples."""
    if profiles is None:
        return ""
    shown = [profiles[j] for j in range(len(profiles)) if profiles.sizes[j]][:CARDS]
    note = ""
    if any(one.features for one in shown):
        note = (
            "Means of the features that distinguish each segment. Bars start at the "
            "mean of all samples: to the right higher, to the left lower."
        )
    if len(profiles) > CARDS:
        note = f"{CARDS} of {len(profiles)} segments. {note}"
    return (
        '<section aria-labelledby="segments-title" id="segments">'
        '<h2 id="segments-title">Segments</h2>'
        f'<p class="note">{note}</p><div class="segments">'
        + "".join(_card(one, profiles) for one in shown)
        + "</div></section>"
    )


def _card(one: ClusterProfile, profiles: Profiles) -> str:
    """Return the card of one cluster."""
    rows = "".join(_row(feature) for feature in one.distinctive)
    body = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    if one.features and not rows:
        body = "<p>Near the mean of all samples in every feature.</p>"
    typical = ", ".join(_short(profiles.called(i)) for i in one.exemplars)
    return (
        f'<article class="card"><h3><span class="dot" data-cluster="{one.cluster}">'
        f"</span>{_short(one.name)}</h3>"
        f'<p class="note">{one.size:,} samples, {one.share:.0%}</p>{body}'
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
    mean, overall = feature.shown(feature.mean), feature.shown(feature.overall)
    return (
        f'<tr><th scope="row">{_short(feature.name)}</th><td class="profile">{bar}</td>'
        f'<td class="mean">{mean} <small>all: {overall}</small></td></tr>'
    )


def _short(text: str) -> str:
    """Return a name as short inert text."""
    return inert_html(text[:LONGEST_NAME])
