"""Work for M minutes in one process, and check that its memory does not grow.

Usage: python -m qa.soak [--minutes M] [--seed N]
       python -m qa.soak --page   only write docs/trust/soak.md

Linux only: memory is read from /proc. The exit code is 1 if memory grew by more than
2 % after the warm-up, or if a task failed.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from lordclust._core.versions import machine_facts
from lordclust.files.atomic import atomic_file
from qa.soak import page, watch
from qa.soak.work import KINDS, Bench, canary

#: Tasks between two runs of the fixed fit.
CANARY_EVERY = 50


class Soak:
    """One run and its results."""

    def __init__(self, minutes: float, seed: int, folder: Path) -> None:
        self.minutes, self.seed = minutes, seed
        self.bench = Bench(np.random.default_rng(seed), folder)
        self.work = {name: [0, 0.0] for name in KINDS}
        self.samples: list[dict[str, Any]] = []
        self.failures: list[str] = []
        self.bits = canary()
        self.same = self.asked = self.done = 0
        self.began, self.next_minute = time.monotonic(), 0

    @property
    def minute(self) -> float:
        return (time.monotonic() - self.began) / 60

    def run(self) -> None:
        """Run every task once, then random ones."""
        for name in KINDS:
            self._do(name)
        names, weights = list(KINDS), np.array([weight for _, weight in KINDS.values()])
        chance = weights / weights.sum()
        while self.minute < self.minutes:
            self._do(str(self.bench.rng.choice(names, p=chance)))
        self._sample()

    def _do(self, name: str) -> None:
        start = time.monotonic()
        try:
            KINDS[name][0](self.bench)
        except Exception:
            self.failures.append(f"{name}: {traceback.format_exc()}")
            print(self.failures[-1], file=sys.stderr, flush=True)
        self.work[name][0] += 1
        self.work[name][1] += time.monotonic() - start
        self.done += 1
        if self.done % CANARY_EVERY == 0:
            self.asked += 1
            self.same += canary() == self.bits
        if self.minute >= self.next_minute:
            self._sample()

    def _sample(self) -> None:
        self.next_minute = int(self.minute) + 1
        row = watch.sample(self.minute) | {"work": self.done}
        self.samples.append(row)
        self._write()
        print(
            f"{row['minute']:6.1f} min {row['MB']:8.1f} MB {row['files']:3d} files "
            f"{row['threads']:3d} threads {row['work']:6d} done, "
            f"{len(self.failures)} failed",
            flush=True,
        )

    @property
    def growth(self) -> float:
        return watch.growth(self.samples, watch.warm_up(self.minutes))

    def _write(self) -> None:
        results = {
            "facts": machine_facts() | {"BLAS threads": blas_threads()},
            "seed": self.seed,
            "minutes": self.minutes,
            "one arena": True,
            "warm-up minutes": watch.warm_up(self.minutes),
            "growth %": round(self.growth, 4),
            "failures": self.failures,
            "same bits": self.same,
            "same bits asked": self.asked,
            "work": [
                {"work": name, "runs": runs, "seconds": round(seconds, 1)}
                for name, (runs, seconds) in self.work.items()
            ],
            "samples": self.samples,
        }
        with atomic_file(page.RESULTS, True, text=True) as file:
            file.write(json.dumps(results, indent=1) + "\n")


def blas_threads() -> int:
    """Return the number of threads of the linear algebra libraries."""
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m qa.soak", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", action="store_true", help="write docs/trust/soak.md")
    options = parser.parse_args()
    if options.page:
        page.write()
        return 0
    warnings.simplefilter("ignore")  # an interrupted path warns
    watch.use_one_arena()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(options.minutes, options.seed, Path(folder))
        soak.run()
    print(
        f"memory grew by {soak.growth:.2f} % after the first "
        f"{watch.warm_up(options.minutes):g} minutes (at most {watch.ALLOWED:g} % is "
        f"allowed); {len(soak.failures)} of {soak.done} tasks failed"
    )
    same = soak.same == soak.asked
    return int(soak.growth > watch.ALLOWED or bool(soak.failures) or not same)


if __name__ == "__main__":
    sys.exit(main())
