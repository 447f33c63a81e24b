import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lordclust import __version__
from lordclust.cli.app import COMMANDS, main

HEAVY = ("numpy", "sklearn", "numba", "scipy", "matplotlib", "rich")
VERBS = tuple(COMMANDS)


def python(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_help_lists_the_commands():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "Cluster the 1797 digits" in result.output


def test_version():
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"lordclust, version {__version__}"


def test_help_and_version_import_nothing_heavy():
    code = (
        "import json, sys\n"
        "from lordclust.cli.app import COMMANDS, main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    main(arguments, standalone_mode=False)\n"
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))\n"
    )
    calls = [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)]
    last = python(code, json.dumps(calls)).splitlines()[-1]
    assert json.loads(last) == []


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_is_as_agreed(verb):
    """After a change: LORDCLUST_WRITE_HELP=1 pytest tests/cli/test_app.py."""
    arguments = [verb, "--help"] if verb else ["--help"]
    text = CliRunner().invoke(main, arguments, prog_name="lordclust").output
    agreed = Path(__file__).parent / "help" / f"{verb or 'lordclust'}.txt"
    if os.environ.get("LORDCLUST_WRITE_HELP") == "1":
        agreed.write_text(text)
    assert text == agreed.read_text()
    assert max(map(len, text.splitlines())) <= 80


def test_module_runs_as_a_command():
    code = "import runpy, sys; sys.argv[1:] = ['--version']; runpy.run_module({!r}, {})"
    out = python(code.format("lordclust", "run_name='__main__'"))
    assert __version__ in out


def test_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["dmeo"])
    assert result.exit_code == 2
    assert "No such command 'dmeo'" in result.stderr


def test_help_of_all_commands_imports_none_of_them():
    code = (
        "import sys; from lordclust.cli.app import COMMANDS, main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print([c for c in COMMANDS if f'lordclust.cli.{c}' in sys.modules])"
    )
    assert python(code).splitlines()[-1] == "[]"
