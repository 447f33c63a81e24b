"""Count the functions of lordclust that one fit calls: ``python -m qa.spine``.

A reader who follows ``BLoRD(10).fit(X)`` has to read each of them: the fewer, the
better. The second fit of the process is counted, so that imports are not. Functions
that only compiled code calls do not count.
"""

import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

from sklearn.datasets import load_digits

import lordclust
from lordclust import BLoRD

PACKAGE = Path(lordclust.__file__).parent

#: Functions by module, a path below the package.
Calls = dict[str, set[str]]


def called_functions() -> Calls:
    """Return the functions that ``BLoRD(10).fit`` calls on the digits."""
    codes: set[CodeType] = set()

    def record(frame: FrameType, event: str, arg: object) -> None:
        codes.add(frame.f_code)

    X = load_digits().data
    # From the beginning, so that threads which live on are recorded too.
    threading.setprofile(record)
    sys.setprofile(record)
    try:
        BLoRD(10).fit(X)
        codes.clear()
        BLoRD(10).fit(X)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return _by_module(codes)


def _by_module(codes: set[CodeType]) -> Calls:
    """Return the names of the package's functions among these code objects."""
    modules: Calls = defaultdict(set)
    for code in codes:
        path = Path(code.co_filename)
        # A comprehension or a lambda counts as the function around it.
        name = code.co_qualname.partition(".<locals>.<")[0]
        if path.is_relative_to(PACKAGE) and not name.startswith("<"):
            modules[path.relative_to(PACKAGE).as_posix()].add(name)
    return dict(modules)


def main() -> None:
    """Print the number of functions, then their names by module."""
    modules = called_functions()
    total = sum(map(len, modules.values()))
    print(f"{total} functions in {len(modules)} files")
    for module, names in sorted(modules.items()):
        print(f"\n{module}  {len(names)}")
        print("".join(f"    {name}\n" for name in sorted(names)), end="")


if __name__ == "__main__":
    main()
