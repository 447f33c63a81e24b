"""The versions that a result may depend on."""

import platform
from importlib.metadata import version

from lordclust._version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def library_versions() -> dict[str, str]:
    """Return the versions of lordclust, Python and the numerical libraries."""
    found = {"lordclust": __version__, "python": platform.python_version()}
    return found | {name: version(name) for name in LIBRARIES}
