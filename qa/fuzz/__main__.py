"""Test the library with generated inputs, and report the outcomes.

Usage: python -m qa.fuzz [TARGET ...] [--inputs N] [--seconds S] [--seed N]
       python -m qa.fuzz --campaign      the long run; writes qa/fuzz/results.json
       python -m qa.fuzz --resume        continue it, if it was interrupted
       python -m qa.fuzz --page          write its results into docs/trust/fuzzing.md
       python -m qa.fuzz --replay FILE   run one failing input again

Failing inputs are written to fuzz-output; the exit code is 1 if there are any.
"""

import argparse
import re
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from qa.fuzz import case, page
from qa.fuzz.session import Session, Tally
from qa.fuzz.supervisor import Supervisor
from qa.fuzz.targets import TARGETS

OUTPUT = Path("fuzz-output")
#: Inputs per target, and seconds after which a target stops with fewer.
INPUTS, SECONDS = 2000, 40.0
#: The same for the long run.
CAMPAIGN = {
    "graph": 100_000,
    "projection": 100_000,
    "path": 20_000,
    "seeds": 40_000,
    "fits": 10_000,
    "tables": 40_000,
    "readers": 150_000,
    "guided": 500_000,
    "models": 30_000,
    "commands": 10_000,
}
CAMPAIGN_SECONDS = 3 * 3600.0
#: Seconds after which the results so far are recorded.
EVERY = 30.0


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    options = _parsed(arguments)
    if options.replay is not None:
        return replay(options.replay)
    if options.page:
        return page.write()
    names = options.target or list(TARGETS)
    rows = []
    for name in names:
        if name == "guided" and find_spec("atheris") is None:
            print("guided: skipped, atheris is not installed (pip install atheris)")
            continue
        inputs = options.inputs or (CAMPAIGN[name] if options.campaign else INPUTS)
        seconds = options.seconds or (CAMPAIGN_SECONDS if options.campaign else SECONDS)
        record = None
        if options.campaign:
            record = page.Record(name, options.seed, resume=options.resume)
            inputs -= record.done
        if inputs > 0:
            rows.append(run(name, inputs, seconds, options.seed, record))
    print("\n" + (page.table(rows) if rows else "nothing to do"))
    failed = sum(row["failures"] for row in rows)
    if failed:
        print(f"\n{failed} inputs failed; python -m qa.fuzz --replay FILE shows one.")
    return 1 if failed else 0


def _parsed(arguments: list[str]) -> Any:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m qa.fuzz", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("target", nargs="*", metavar="TARGET",
                        help=f"of {', '.join(TARGETS)}; all by default")  # fmt: skip
    parser.add_argument("--inputs", type=int, help=f"for each, {INPUTS} by default")
    parser.add_argument(
        "--seconds", type=float, help=f"for each, {SECONDS:g} by default"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--campaign", action="store_true")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--replay", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    options.campaign |= options.resume
    for name in options.target:
        if name not in TARGETS:
            parser.error(f"unknown target {name!r}; known: {', '.join(TARGETS)}")
    if min(options.inputs or 1, options.seconds or 1) <= 0:
        parser.error("--inputs and --seconds must be above 0")
    return options


def run(
    name: str, inputs: int, seconds: float, seed: int, record: page.Record | None = None
) -> dict[str, Any]:
    """Run the inputs of a target; return its row of the table."""
    start = saved = time.time()
    seed += record.done if record else 0  # other inputs than those before

    def report(tally: Tally) -> None:
        nonlocal saved
        spent = time.time() - start
        if record and time.time() - saved > EVERY:
            record.write(page.row(name, tally, spent))
            saved = time.time()
        line = f"{name}: {tally.done} of {inputs}, {tally.n_failures} failed, "
        ending = "\r" if sys.stdout.isatty() else "\n"
        if sys.stdout.isatty() or int(spent) % 30 == 0:
            print(f"{line}{spent:.0f} s   ", end=ending, flush=True)

    tally = Supervisor(TARGETS[name], inputs, seconds, seed).run(report)
    row = page.row(name, tally, time.time() - start)
    if record:
        record.write(row)
    print(f"{name}: {tally.done} inputs, {tally.n_failures} failed, "
          f"{row['seconds']:.0f} s   ", flush=True)  # fmt: skip
    for number, failure in enumerate(tally.failures.values()):
        words = re.sub(r"\W+", "-", failure["where"])[:60].strip("-")
        path = OUTPUT / f"{name}-{number}-{words}.json"
        OUTPUT.mkdir(exist_ok=True)
        case.write(path, {"target": name, **failure})
        print(f"  {failure['count']} x {failure['what'][:200]!r}: {path}", flush=True)
    return row


def replay(path: Path) -> int:
    """Run one failing input in this process, and show the result."""
    failure = case.read(path)
    target = import_module(TARGETS[failure["target"]])
    target.prepare()
    session = Session(target)
    session.run(failure["input"])
    for again in session.tally.failures.values():
        print(again["traceback"])
        return 1
    print(f"no failure: {', '.join(next(iter(session.tally.outcomes)))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
