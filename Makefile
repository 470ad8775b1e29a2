# `make run` and `make test` do everything on a fresh machine: own virtual environment, install, run.
VENV   := .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: run test test-slow lint format bench clean

run: $(STAMP)  ## A2C and DeA2C with Count on DeepSea-10, beside the published numbers
	$(BIN)/derl demo

test: $(STAMP) lint  ## style, types and the fast tests
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(STAMP)  ## the tests that take minutes
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## speed and memory of every recipe
	$(BIN)/derl bench

$(STAMP): pyproject.toml constraints.txt
	@echo "installing derl and its dependencies into $(VENV); this takes a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet -e ".[dev]" -c constraints.txt
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
