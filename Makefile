# Everything runs in a virtual environment of the project's own; only python3, pip and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# `make demo` needs less than the tests do; where they are installed already, nothing is added.
TRIED := $(VENV)/ready-to-try
RELEASE := .venv-release
# PyTorch, apart from the environment.
TENSORS ?= .tensors
# An environment with the oldest packages that are allowed, and the tests that are run in it.
OLDEST ?= .venv-oldest
OLDEST_TESTS ?= tests/contract tests/laws/test_certificates.py tests/laws/test_verify.py \
	tests/laws/test_cli.py tests/laws/test_usage.py tests/laws/test_tables.py tests/adversarial/tables/test_limits.py \
	tests/laws/test_compiled_loops.py

# The tests in seven parts, the long ones first, so that JOBS of them at a time leave no core idle; a test sees that
# every file is in one of them.
JOBS ?= 3
PARTS := test-laws-b test-contract-b test-laws-a test-contract-a test-adversarial test-exact test-others

# Numba's disk cache does not notice an edit in another file, so the cache folder is named by the source.
SOURCE_HASH := $(shell find src -name '*.py' -type f -exec cat {} + 2>/dev/null | cksum | cut -d' ' -f1)
export NUMBA_CACHE_DIR := $(CURDIR)/.numba_cache/$(SOURCE_HASH)
export MPLBACKEND := Agg
# Empty, the modules are compiled once and not again for each of the many processes that the tests start.
export PYTHONDONTWRITEBYTECODE :=
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo lab test loops $(PARTS) lint docs tensors tensors-ready bench deep fuzz mutants oldest soak release clean

help:
	@echo "make demo   train on house prices and tumours: certificates, reports and a picture in out/"
	@echo "make lab    the same by hand: points that you move, in a browser"
	@echo "make test   lint, types, import contracts, docs, doctests and all tests (JOBS=… at a time; 3)"
	@echo "make lint   ruff, mypy and import-linter"
	@echo "make docs   build the documentation into site/"
	@echo "make tensors  the tests of kernel machines on the tensors of PyTorch, which it installs (5 GB)"
	@echo "make deep   a million problems against exact arithmetic (N=… for another number; hours)"
	@echo "make fuzz   a million changed model files in child processes (N=… for another number; hours)"
	@echo "make mutants  change the trusted core in every way and see that a law notices"
	@echo "make oldest  the contract, the laws of certificates and the commands with the oldest packages allowed"
	@echo "make soak   fits, saves and loads in processes that are killed at random (N=… minutes)"
	@echo "make release  build the package and check all of it; publishes nothing"
	@echo "make bench  ratios against peers (COTAS_DATA names the folder of real data)"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

$(TRIED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli]'
	@touch $(TRIED)

setup: $(READY)

demo: $(if $(wildcard $(READY)),$(READY),$(TRIED))
	@mkdir -p out
	$(BIN)/cotas fit builtin:houses --out out/houses.cotas --report out/houses.html
	$(BIN)/cotas fit builtin:breast-cancer --select lam --out out/breast-cancer.cotas --report out/breast-cancer.html
	$(BIN)/cotas certify out/breast-cancer.cotas builtin:breast-cancer
	$(BIN)/cotas curve builtin:breast-cancer --picture out/loss-against-c.png
	@echo "Open out/houses.html and out/breast-cancer.html in a browser."
	@echo "To try it out by hand, with points that you move: make lab"

lab: $(if $(wildcard $(READY)),$(READY),$(TRIED))
	@$(BIN)/python -c 'import panel' 2> /dev/null || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cli,lab]'
	$(BIN)/cotas lab

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Without --quiet, which hides the warnings that --strict is to fail on.
docs: $(READY)
	$(BIN)/mkdocs build --strict

PYTEST := $(BIN)/python -m pytest

test-laws-b: $(READY)
	$(PYTEST) tests/laws/test_[l-z]*.py
test-contract-b: $(READY)
	$(PYTEST) tests/contract/test_[s-z]*.py
test-laws-a: $(READY)
	$(PYTEST) tests/laws/test_[a-k]*.py
test-contract-a: $(READY)
	$(PYTEST) tests/contract/test_[a-r]*.py
test-adversarial: $(READY)
	$(PYTEST) tests/adversarial
test-exact: $(READY)
	$(PYTEST) tests/laws/exact tests/laws/as_printed
test-others: $(READY)
	$(PYTEST) tests/findings tests/oracle tests/parity src/cotas

# All of them to the end, whatever fails: make's last lines name the parts that did. One of the tests builds the pages
# and looks at them. Threads of BLAS that wait for those of the other part would take an eighth of all the time.
test: $(READY)
	+@OPENBLAS_NUM_THREADS=1 $(MAKE) --no-print-directory --jobs=$(JOBS) --keep-going \
		$(if $(filter output-sync,$(.FEATURES)),--output-sync=target) lint $(PARTS)

# What several parts need is compiled once, while the code is looked through, and not by each of them; they run, too, if
# that fails.
$(PARTS): loops
loops: $(READY)
	-@$(BIN)/python -m cotas warmup > /dev/null

# The tests on the tensors of PyTorch, which is too large to be installed for all the others.
tensors: tensors-ready
	PYTHONPATH=$(TENSORS) $(PYTEST) tests/laws/test_device.py

tensors-ready: $(READY) $(TENSORS)/ready

$(TENSORS)/ready: | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --target $(TENSORS) torch
	@touch $(TENSORS)/ready

bench: $(READY)
	-grep -v '^#' bench/requirements.txt | xargs -n 1 $(BIN)/python -m pip install --quiet --disable-pip-version-check
	$(BIN)/python -m bench $(SECTION)

deep: $(READY)
	PYTHONPATH=tests $(BIN)/python tests/deep.py $(or $(N),1000000)

# Bounds checks are compiled in, so these loops have a cache of their own.
fuzz: $(READY)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(NUMBA_CACHE_DIR)-checked PYTHONPATH=tests $(BIN)/python tests/fuzz.py $(or $(N),1000000)

mutants: $(READY)
	PYTHONPATH=tests $(BIN)/python tests/mutants.py

# The lower bounds of pyproject.toml are those of tests/oldest.txt, which a law compares. One page shows how far
# today's scikit-learn is from the optimum, which is not what an old one prints.
oldest: $(OLDEST)/ready
	NUMBA_CACHE_DIR=$(NUMBA_CACHE_DIR)-oldest $(OLDEST)/bin/python -m pytest -q -k "not is-my-fit-done" $(OLDEST_TESTS)

$(OLDEST)/ready: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -r tests/oldest.txt -e .
	@touch $(OLDEST)/ready

soak: $(READY)
	$(BIN)/python tests/soak.py $(or $(N),10)

# In an environment of its own: what is checked is the package, not this folder.
release:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6.1'
	$(RELEASE)/bin/python tests/release.py

clean:
	rm -rf $(VENV) $(OLDEST) $(TENSORS) $(RELEASE) dist site out .numba_cache .pytest_cache .mypy_cache .ruff_cache
