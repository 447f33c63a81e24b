# Every target makes the environment it needs: python3, pip and make are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
INSTALL = "$(BIN)/python" -m pip install --quiet --disable-pip-version-check
# What is installed: enough to run, then what tests need, then what the site needs.
READY  := $(VENV)/.ready
TESTED := $(VENV)/.tested
DOCS   := $(VENV)/.docs
# Environments apart: tools to look at the project from outside, other versions.
TOOLS  := $(VENV)-tools
OLDEST := $(VENV)-floors
LATEST := $(VENV)-newest

.PHONY: demo quick test check fix golden bench reproduce data docs fuzz audit dist floors newest clean help

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

quick: $(TESTED) ## style, types and the fast tests, in less than a minute
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/python" -m pytest -q -n 2 -m "not slow" --hypothesis-profile quick \
		--durations 3 --durations-min 2

test: check      ## checks, then all tests: about 7 minutes on 2 cores
	"$(BIN)/python" -m pytest -q -n 2 --dist loadgroup

check: $(TESTED) ## style, types and the direction of imports
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/lint-imports"

fix: $(TESTED)   ## format, and fix what ruff can fix
	"$(BIN)/ruff" check --fix .
	"$(BIN)/ruff" format .

golden: $(TESTED) ## rewrite the reference results and the output shown on pages; see git diff
	"$(BIN)/python" tests/golden/make.py
	"$(BIN)/python" -m qa.outputs

bench: $(TESTED) ## compare the speed with other libraries, rewrite benchmarks/results.md
	"$(BIN)/python" -m benchmarks

reproduce: data $(TESTED) ## compute the paper's tables and figures again, in reproduction-output
	"$(BIN)/python" -m reproduction all

data:
	@test -n "$(LORDCLUST_DATA)" || { echo "Set LORDCLUST_DATA to the folder with the paper's data sets, then run make reproduce again."; exit 1; }

docs: $(DOCS)    ## build the site, with its gallery, in docs/_build/html
	"$(BIN)/python" -m sphinx -W --keep-going -b html docs docs/_build/html

fuzz: $(TESTED)  ## test with thousands of generated inputs, up to a minute per target
	"$(BIN)/python" -m qa.fuzz

$(TOOLS)/.ready:
	$(PYTHON) -m venv "$(TOOLS)"
	"$(TOOLS)/bin/python" -m pip install --quiet --disable-pip-version-check \
		bandit pip-audit build twine mypy
	@touch "$@"

audit: $(TESTED) $(TOOLS)/.ready ## look for unsafe code, and for known vulnerabilities of packages
	"$(TOOLS)/bin/bandit" --quiet --recursive src qa/dist.py qa/floors.py
	"$(BIN)/python" -m pip freeze --exclude-editable > "$(TOOLS)/installed.txt"
	"$(TOOLS)/bin/pip-audit" --strict --no-deps --disable-pip -r "$(TOOLS)/installed.txt"

dist: $(TOOLS)/.ready ## build the wheel, and test it as a new user would use it
	"$(TOOLS)/bin/python" -m qa.dist

floors:          ## all tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv "$(OLDEST)"
	$(PYTHON) -m qa.floors > "$(OLDEST)/floors.txt"
	"$(OLDEST)/bin/python" -m pip install --quiet --disable-pip-version-check \
		--constraint "$(OLDEST)/floors.txt" -e ".[test]"
	"$(OLDEST)/bin/python" -m pytest -q -n 2 --dist loadgroup

newest:          ## all tests with the newest versions available
	$(PYTHON) -m venv "$(LATEST)"
	"$(LATEST)/bin/python" -m pip install --quiet --disable-pip-version-check \
		--upgrade --upgrade-strategy eager -e ".[test]"
	"$(LATEST)/bin/python" -m pytest -q -n 2 --dist loadgroup

clean:           ## remove the environments, the files of the demo and the built site
	rm -rf "$(VENV)" "$(TOOLS)" "$(OLDEST)" "$(LATEST)" dist demo-output docs/_build docs/gallery docs/api/generated docs/api/backreferences
