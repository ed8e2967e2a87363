# Everything from git, make and Python 3.11: `make study` and `make test` set themselves up.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: setup study test test-all check format clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "thinkcap needs Python 3.11 or newer; '$(PYTHON)' was not found. Try: make PYTHON=python3 setup"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

study: setup
	$(BIN)/thinkcap study

test: setup
	$(BIN)/python -m pytest

# With the long suites: simulated coverage, soak and the like.
test-all: setup
	$(BIN)/python -m pytest -m "not servers"

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
