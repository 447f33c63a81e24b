# Every target makes the environment it needs: python3, pip and make are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
INSTALL = "$(BIN)/python" -m pip install --quiet --disable-pip-version-check
# What is installed: enough to run, then what tests need, then what the site needs.
READY  := $(VENV)/.ready
TESTED := $(VENV)/.tested
DOCS   := $(VENV)/.docs

.PHONY: demo test check fix golden bench docs clean help

help:            ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(READY): pyproject.toml
	$(PYTHON) -m venv "$(VENV)"
	$(INSTALL) -e ".[plot]"
	@touch "$(READY)"

$(TESTED): $(READY)
	$(INSTALL) -e ".[test]"
	@touch "$(TESTED)"

$(DOCS): $(TESTED)
	$(INSTALL) -e ".[docs]"
	@touch "$(DOCS)"

demo: $(READY)   ## cluster the digits shipped with scikit-learn, print a table, write files
	@"$(BIN)/lordclust" demo --output demo-output --force

test: check      ## checks, then all tests
	"$(BIN)/python" -m pytest -q -n 2 --dist loadgroup

check: $(TESTED) ## style, types and the direction of imports
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/lint-imports"

fix: $(TESTED)   ## format, and mend what ruff can mend
	"$(BIN)/ruff" check --fix .
	"$(BIN)/ruff" format .

golden: $(TESTED) ## rewrite the golden table; the commit says why it moved
	"$(BIN)/python" tests/golden/make.py

bench: $(TESTED) ## measure speed side by side, rewrite benchmarks/results
	"$(BIN)/python" -m benchmarks

docs: $(DOCS)    ## build the site, with its gallery, in docs/_build/html
	"$(BIN)/python" -m sphinx -W --keep-going -b html docs docs/_build/html

clean:           ## forget the environment, the demo's files and the built site
	rm -rf "$(VENV)" demo-output docs/_build docs/gallery docs/api/generated docs/api/backreferences
