# Everything a newcomer types: `make demo`, `make check`, `make test`. Each sets up .venv by itself.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# One test process more than cores where some tests wait, but no more than four: each one imports
# all tests, and TensorFlow.
CORES := $(shell getconf _NPROCESSORS_ONLN)
TEST_PROCESSES ?= $(shell expr $(CORES) + 1)
PYTEST_ARGS ?=
# Each process gets tests that follow each other, so that most fixtures of modules are made once.
PYTEST = $(BIN)/python -m pytest -n $(TEST_PROCESSES) --maxprocesses=4 --dist=worksteal $(PYTEST_ARGS)

# Stamps in the environment, so that setting up happens again only when what it reads has changed:
# one for what the library needs, and one for what its development needs besides.
STAMP := $(VENV)/.set-up-for-bert_data
DEV_STAMP := $(VENV)/.set-up-for-development
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

# Silences TensorFlow's C++ log (0 says everything, 3 only what is fatal).
export TF_CPP_MIN_LOG_LEVEL ?= 2

# Images of containers set it; each process would then compile all modules and tests anew.
unexport PYTHONDONTWRITEBYTECODE

# The types are checked on one core; meanwhile the other one compiles kernels.
MAKEFLAGS += --jobs=2

.DEFAULT_GOAL := help
.PHONY: help setup demo corpus check test lint kernels docs clean

help:
	@echo 'make demo    train a small BERT on text that Python brings along, and show what it learned'
	@echo 'make corpus  a corpus of seven small sources, and what each step removed of each'
	@echo 'make check   lint, types and the fast tests: a minute or two'
	@echo 'make test    lint, types and all tests: some twenty'
	@echo 'make docs    the documentation as a site: site/index.html'
	@echo 'make setup   only the environment in $(VENV) (the others call it)'
	@echo 'make clean   remove caches and outputs of examples, keep $(VENV)'

setup: $(DEV_STAMP)

$(STAMP): setup.cfg pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null \
	  || { echo "bert_data needs Python 3.11, 3.12 or 3.13, and '$(PYTHON)' is not one:" \
	            "name one with 'make PYTHON=/path/to/python3.11 ...'." >&2; exit 1; }
	@echo "setting up $(VENV) (once, a minute or more: TensorFlow is large)"
	@# Made anew where it was left half-made, or its interpreter is gone.
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@$(INSTALL) .
	@touch $@

$(DEV_STAMP): $(STAMP)
	@echo "adding what development needs to $(VENV) (once, a minute or more)"
	@$(INSTALL) '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/python -m examples.demo

corpus: $(DEV_STAMP)
	@$(BIN)/python -m examples.corpus

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(DEV_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo 'site/index.html'

# Once, rather than in each process of the tests.
kernels: $(DEV_STAMP)
	$(BIN)/python -m tests.kernels.signatures

check: TEST_PROCESSES = $(CORES)
check: export HYPOTHESIS_PROFILE ?= quick
check: lint kernels
	$(PYTEST) -m 'not slow and not process' --durations=5

test: lint kernels
	$(PYTEST)

clean:
	rm -rf demo_output corpus_output site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +
