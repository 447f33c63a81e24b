"""One fit passes through few functions, so that a reader can follow it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 242


def test_a_fit_calls_few_functions():
    command = [sys.executable, "-m", "qa.spine"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    count = int(done.stdout.split()[0])
    assert 0 < count <= LIMIT, done.stdout
