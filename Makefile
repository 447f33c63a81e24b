# Every target makes the environment it needs: python3, pip and make are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test check fix golden bench clean help

help:            ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(READY): pyproject.toml
	$(PYTHON) -m venv "$(VENV)"
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -e ".[test]"
	@touch "$(READY)"

demo: $(READY)   ## cluster the digits shipped with scikit-learn, print a table, write files
	@"$(BIN)/lordclust" demo --output demo-output

test: check      ## checks, then all tests
	"$(BIN)/python" -m pytest -q -n 2

check: $(READY)  ## style, types and the direction of imports
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/lint-imports"

fix: $(READY)    ## format, and mend what ruff can mend
	"$(BIN)/ruff" check --fix .
	"$(BIN)/ruff" format .

golden: $(READY) ## rewrite the golden table; the commit says why it moved
	"$(BIN)/python" tests/golden/make.py

bench: $(READY)  ## measure speed side by side, rewrite benchmarks/results
	"$(BIN)/python" -m benchmarks

clean:           ## forget the environment and the demo's files
	rm -rf "$(VENV)" demo-output
