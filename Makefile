SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Two test files at a time, each file whole in one process: its fixtures (a JVM, a database) are made once
SIDE_BY_SIDE := --numprocesses 2 --dist loadfile

.PHONY: lock setup demo test check format differential golden mutants chaos flips kills schedules bench peers experiments clean

# Create .venv with every pinned dependency, or say what the system lacks
setup: $(READY)

$(READY): requirements.lock requirements-build.lock pyproject.toml scripts/setup.sh
	@PYTHON=$(PYTHON) VENV=$(VENV) bash scripts/setup.sh

# Run the whole pipeline on the sample data, on Spark, and show what matched
demo: setup
	@$(BIN)/triplecast demo

# Run the fast tests
test: setup
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) -m "not slow"

# Check format, lint, types and import layers, and run all tests
check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE)

# Format the sources
format: setup
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

# Update the pinned dependencies with hashes and no index address (needs uv on the path)
lock:
	uv pip compile pyproject.toml --extra spark --extra operators --extra service --extra client --extra kafka --extra connect --group dev --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --output-file requirements.lock
	sed -n '/^setuptools==/,/# via/p' requirements.lock > requirements-build.lock
	uv pip compile --group experiments --constraint requirements.lock --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --quiet --output-file requirements-experiments.lock

# Compare N generated pairs with the oracles, from SEED on JOBS processes; continue where LOG ends (docs/testing.md)
differential: setup
	@$(BIN)/python -m tests.properties --pairs $(or $(N),20000) --seed $(or $(SEED),1) --jobs $(or $(JOBS),1) \
	  $(if $(PUBLICATIONS),--publications $(PUBLICATIONS)) $(if $(LOG),--log $(LOG))

# Rewrite the golden files of the compiler's passes; review their changes before committing them
golden: setup
	@$(BIN)/python -m tests.golden.compile_passes

# Plant each fault in a copy of the sources; the differential test must catch every one (docs/testing.md)
mutants: setup
	@$(BIN)/python -m tests.mutants $(if $(ONLY),--only $(ONLY))

# Kill the pipeline N times at each crash point and at random moments; nothing may be lost, repeated or renamed
chaos: setup
	@$(BIN)/python -m tests.chaos $(or $(N),5) $(if $(SEED),--seed $(SEED))

# Damage a folder's files N times; every answer must be right or a StorageFault (docs/testing.md)
flips: setup
	@$(BIN)/python -m tests.flips $(or $(N),1000) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m tests.outbox_damage $(or $(N),1000) $(if $(SEED),--seed $(SEED))

# Kill, or stop and replace, an engine's process N times; nothing acknowledged may be lost, nothing cancelled return
kills: setup
	@$(BIN)/python -m tests.kills $(or $(N),100) $(if $(SEED),--seed $(SEED))

# Compare N random pairs under every schedule of operators with each subscription alone (docs/schedules.md)
schedules: setup
	@$(BIN)/python -m tests.schedules $(or $(N),10000) $(if $(SEED),--seed $(SEED))

# Measure and write benchmarks/results (about an hour); `make bench QUICK=1` takes two minutes and writes nothing
bench: setup
	@$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

# Measure Triplecast, Lucene, pyoxigraph and CLIPS on the same input; write benchmarks/results (about 25 minutes);
# `make peers QUICK=1` takes two minutes and writes nothing. Peers are fetched outside the repository, or left out
peers: setup
	@$(BIN)/python -m benchmarks.peers $(if $(QUICK),--quick)

# Measure the papers' figures beside the engine's, in small sizes, into build/experiments (about three minutes);
# `make experiments FULL=1` replaces the records in experiments/*/results (over an hour; ONLY=rtf: one paper)
experiments: $(VENV)/plotting
	@$(BIN)/python -m experiments $(if $(FULL),--record,--quick) $(if $(ONLY),--only $(ONLY))

$(VENV)/plotting: $(READY) requirements-experiments.lock
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements-experiments.lock
	@touch $@

# Remove what setup and the runs made
clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache demo-output
