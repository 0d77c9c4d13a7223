# Everything a developer runs. `make help` lists it; every target sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo programs test check format docs pictures bench faults soak attacks fuzz coverage mutate build clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## set up, then a 30-second tour on a throw-away store
	@$(BIN)/engram demo
	@echo; echo "Have the command at hand: source $(BIN)/activate"

programs: $(READY) # what tests run beside Python: npm's programs, and Debian's
	@$(BIN)/python tools/node.py
	@$(BIN)/python tools/debian.py

test: check programs ## set up, then all checks and all tests
	@$(BIN)/python -m pytest -n auto --dist worksteal

check: $(READY) ## format, lint, types, architecture, docs fresh
	@$(BIN)/ruff format --check --quiet . || { echo "Run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/python tools/docs.py --check
	@$(BIN)/python -m pytest tests/architecture

format: $(READY) ## format the code and mend what the linter can
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

docs: $(READY) ## write the generated pages anew
	@$(BIN)/python tools/docs.py

pictures: programs ## take the screenshots in docs/images anew
	@PICTURES=write $(BIN)/python -m pytest tests/web -k pictures

bench: $(READY) ## measure speed, and quality where DATA names the folder of the benchmark data
	@$(BIN)/python benches/core.py
	@$(BIN)/python benches/speed/run.py
	@$(BIN)/python benches/files/run.py
	@$(BIN)/python benches/agents/run.py
	@$(BIN)/python benches/agents/hooks.py
	@$(BIN)/python benches/evidence/run.py
	@$(BIN)/python benches/conflicts/run.py
	@$(BIN)/python benches/sync/run.py
	@$(BIN)/python benches/interop/run.py
	@$(BIN)/python benches/web/run.py
	@$(BIN)/python benches/server/run.py
	@$(BIN)/python benches/wheel/run.py
	@$(if $(DATA),$(BIN)/python benches/quality/run.py --data $(DATA),echo "For quality: make bench DATA=FOLDER (see docs/benchmarks.md)")

attacks: programs ## try every attack and write the table of docs/security.md
	@$(BIN)/python tools/attack.py

fuzz: $(READY) ## hunt for inputs that break a parser: TARGET=files SECONDS=60
	@$(PIP) atheris==3.0.0
	@$(BIN)/python tools/fuzz.py $(or $(TARGET),files) $(or $(SECONDS),60)

faults: programs ## do every fault many times over (TIMES=5) and write the table of docs/reliability.md
	@$(BIN)/python tools/faults.py --times $(or $(TIMES),5)

soak: programs ## all doors at once on one store, MINUTES=10 on each engine, written into docs/reliability.md
	@$(BIN)/python tools/faults.py --soak $(or $(MINUTES),10)

coverage: programs ## run all tests, and print which branches they take, by package
	@$(PIP) pytest-cov==7.1.0
	@$(BIN)/python tools/branches.py $(WORDS)

mutate: $(READY) ## change the rules one place at a time, and name what no test notices: WORDS="access undo"
	@nice -n 10 $(BIN)/python tools/mutate.py $(WORDS)

build: $(READY) ## make the wheel
	@$(BIN)/python -m hatchling build -t wheel

clean: ## remove everything that set-up made
	rm -rf $(VENV) src/engram/inference/models build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Compiling once here means that no start pays for it, even where Python may not write its caches.
$(READY): requirements.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Engram needs Python 3.11 or later; try make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) -r requirements-dev.txt
	@$(PIP) --no-build-isolation --no-deps --editable .
	@$(BIN)/python tools/models.py
	@$(BIN)/python -m compileall -q src
	@touch $@
