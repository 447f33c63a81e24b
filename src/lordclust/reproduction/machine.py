"""What figures depend on: versions and the machine."""

import os
import platform
from importlib.metadata import version
from typing import Any

PACKAGES = ("lordclust", "numpy", "scipy", "scikit-learn", "numba")


def facts() -> dict[str, Any]:
    """Return the versions and the machine."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = [x.split(":")[1].strip() for x in lines if "model name" in x]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()
