"""Kill and interrupt real runs, fill their disk and limit their memory.

Usage: python -m qa.faults [TARGET ...] [--kills N] [--seed N] [--page]

results.json is updated after each part, and docs/trust/faults.md at the end; with
--page nothing is run. Linux only; full and read-only disks are real ones, which only
root can mount.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lordclust._core.versions import machine_facts
from qa.faults import memory
from qa.faults.disk import Disk
from qa.faults.page import PAGE, with_tables
from qa.faults.strikes import Campaign
from qa.faults.targets import TARGETS

RESULTS = Path(__file__).parent / "results.json"
SIGNALS = {"kill -9": signal.SIGKILL, "Ctrl-C": signal.SIGINT}
KEYS = [*(target.key for target in TARGETS), "disk", "memory"]


def read() -> dict[str, Any]:
    """Return the results so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(part: str, name: str, found: Any) -> list[str]:
    """Add results to the file; return the faults among them."""
    results = read() | {"facts": machine_facts()}
    results.setdefault(part, {})[name] = found
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(f"{part}, {name}: {found}", file=sys.stderr, flush=True)
    return [f"{part}, {name}: {fault}" for fault in found.get("faults", ())]


def strike(keys: list[str], strikes: int, seed: int) -> list[str]:
    """Kill and interrupt; return the faults found."""
    faults = []
    for part, number in SIGNALS.items():
        for target in (t for t in TARGETS if t.key in keys):
            with tempfile.TemporaryDirectory() as folder:
                campaign = Campaign(target, Path(folder), number, seed)
                faults += keep(part, target.name, campaign.run(strikes))
    return faults


def fill_disks() -> list[str]:
    """Run on disks that are full, read only or limited; return the faults found."""
    ways: dict[str, Callable[[Disk], Any]] = {"a limit on file sizes": Disk.limited}
    if os.geteuid() == 0:
        ways |= {"a full disk": Disk.full, "a read-only disk": Disk.read_only}
    else:
        print("Full and read-only disks need root; skipped.", file=sys.stderr)
    faults = []
    for part, way in ways.items():
        for target in TARGETS:
            faults += keep(part, target.name, way(Disk(target)))
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m qa.faults", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("targets", nargs="*", metavar="TARGET",
                        help=f"of {', '.join(KEYS)}; all by default")  # fmt: skip
    parser.add_argument("--kills", type=int, default=50, help="signals per target")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments")
    parser.add_argument("--page", action="store_true", help="only write the page")
    given = parser.parse_args()
    unknown = [key for key in given.targets if key not in KEYS]
    if unknown:
        parser.error(f"unknown target {unknown[0]!r}; known: {', '.join(KEYS)}")
    faults: list[str] = []
    if not given.page:
        keys = given.targets or KEYS
        faults += strike(keys, given.kills, given.seed)
        faults += fill_disks() if "disk" in keys else []
        if "memory" in keys:
            faults += keep("memory", "fit", memory.measure())
    PAGE.write_text(with_tables(PAGE.read_text(), read()))
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
