# Everything a newcomer needs: `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Tests run in so many processes, a file in one of them.
TESTERS ?= 2
READY := $(VENV)/.ready

.PHONY: demo test lint types contracts check bench lock clean

demo: $(READY) ## play the story of Alice in the terminal
	@$(BIN)/ricordo demo

test: $(READY) ## run every test
	$(BIN)/python -m pytest -n $(TESTERS) --dist loadfile --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/pyright --pythonpath $(BIN)/python

contracts: $(READY)
	$(BIN)/lint-imports importlinter.ini

check: lint types contracts ## the static half of CI

bench: $(READY) ## the quick benchmarks, beside their peers
	$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint requirements.lock --group bench
	$(BIN)/python -m benchmarks.footprint --quick
	$(BIN)/python -m benchmarks.walk_speed --quick
	$(BIN)/python -m benchmarks.writes --quick
	$(BIN)/python -m benchmarks.many_users --quick
	$(BIN)/python -m benchmarks.turn_cost --quick
	$(BIN)/python -m benchmarks.recall_speed --quick
	$(BIN)/python -m benchmarks.recall_quality --quick
	$(BIN)/python -m benchmarks.recall_multilingual --quick
	$(BIN)/python -m benchmarks.consolidation --quick
	$(BIN)/python -m benchmarks.extraction --quick

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("Ricordo needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@echo "Setting up $(VENV) (once) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

lock: ## resolve the dependencies anew (needs uv)
	uv pip compile pyproject.toml --all-extras --group test --group engines --group check --python-version 3.11 --universal --generate-hashes --no-annotate --no-header --quiet -o requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis dist
