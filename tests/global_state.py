"""What a library could leave changed behind the back of its caller."""

import gc
import locale
import logging
import multiprocessing
import os
import random
import signal
import sys
import threading
import warnings

import matplotlib as mpl
import numba
import numpy as np
import scipy.special
import sklearn
from threadpoolctl import threadpool_info


def state():
    """Return all of it, by name."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    root = logging.getLogger()
    return {
        "warnings": list(warnings.filters),
        "how warnings show": (warnings.showwarning, warnings.formatwarning),
        "numpy errors": (np.geterr(), np.geterrcall()),
        "numpy printing": repr(np.get_printoptions()),
        "scipy errors": scipy.special.geterr(),
        "numpy random": (name, keys.tolist(), rest),
        "random": random.getstate(),
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "signals": {s: signal.getsignal(s) for s in signal.valid_signals()},
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "hooks": (sys.excepthook, sys.displayhook, sys.unraisablehook,
                  threading.excepthook),
        "limits": (sys.getrecursionlimit(), sys.getswitchinterval(),
                   threading.stack_size()),
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "search path": list(sys.path),
        "logging": (root.level, list(root.handlers), logging.raiseExceptions),
        "matplotlib": (mpl.get_backend(), dict(mpl.rcParams)),
        "numba": (numba.get_num_threads(), numba.config.NUMBA_NUM_THREADS),
        **{f"pool {p['filepath']}": p["num_threads"] for p in threadpool_info()},
        "scikit-learn": sklearn.get_config(),
        "garbage": (gc.isenabled(), gc.get_threshold()),
        "start method": multiprocessing.get_start_method(allow_none=True),
    }  # fmt: skip


def changes(before, after):
    """Return what differs, as text that says it; a library may have come along."""
    pairs = ((name, old, after[name]) for name, old in before.items())
    return [f"{name}: {old!r} -> {new!r}" for name, old, new in pairs if old != new]
