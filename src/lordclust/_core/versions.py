"""The versions and the machine that a result may depend on."""

import os
import platform
from importlib.metadata import version

from lordclust._version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def library_versions() -> dict[str, str]:
    """Return the versions of lordclust, Python and the numerical libraries."""
    found = {"lordclust": __version__, "python": platform.python_version()}
    return found | {name: version(name) for name in LIBRARIES}


def machine_facts() -> dict[str, str | int | None]:
    """Return the versions, the processor and its number of cores."""
    return {**library_versions(), "processor": _processor(), "cores": os.cpu_count()}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(x.split(":")[1].strip() for x in lines if "model name" in x)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
