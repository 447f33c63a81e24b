import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from lordclust import __version__
from lordclust.cli.app import main

HEAVY = ("sklearn", "numba", "scipy", "matplotlib")


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


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["demo", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments):
    code = (
        "import json, sys\n"
        "from lordclust.cli.app import main\n"
        "main(json.loads(sys.argv[1]), standalone_mode=False)\n"
        f"print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))\n"
    )
    last = python(code, json.dumps(arguments)).splitlines()[-1]
    assert json.loads(last) == []


def test_module_runs_as_a_command():
    code = "import runpy, sys; sys.argv[1:] = ['--version']; runpy.run_module({!r}, {})"
    out = python(code.format("lordclust", "run_name='__main__'"))
    assert __version__ in out


def test_unknown_command_is_a_usage_error():
    result = CliRunner().invoke(main, ["dmeo"])
    assert result.exit_code == 2
