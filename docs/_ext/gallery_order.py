"""The order of the gallery: first steps, constraints, use of the result."""

from pathlib import Path

STORIES = (
    "tau_path",
    "methods",
    "proportions_given",
    "exact_sizes",
    "soft_proportions",
    "auto_selection",
    "choose_k",
    "new_samples",
    "how_sure",
    "displays",
    "known_labels",
    "weights",
)


class StoryOrder:
    """Sort key of sphinx-gallery; an example not listed comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return "StoryOrder()"  # part of the configuration, so always the same

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of an example."""
        story = Path(filename).stem.removeprefix("plot_")
        place = STORIES.index(story) if story in STORIES else len(STORIES)
        return place, story
