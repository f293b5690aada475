# Everything a fresh machine needs: python3 (3.11 or newer) with venv, and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start hundreds of processes: where no bytecode is kept, each of them compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test constraints mutants browser chromium bench docs site figures format clean

demo: $(VENV)/installed  ## anonymize the sample data
	@mkdir -p demo
	@$(BIN)/anonymize release configs/first.yaml -o demo/patients.csv -r demo/report.html -r demo/report.json -r demo/report.md --force

test: $(VENV)/installed-dev  ## lint, types, import contract, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@mkdir -p build
	@echo "$(BIN)/mypy and $(BIN)/lint-imports, beside the tests: what they say comes last"
	@{ $(BIN)/mypy && $(BIN)/lint-imports; } > build/checked.txt 2>&1 & checks=$$!; \
	$(BIN)/python -m pytest -n auto --dist worksteal; tests=$$?; \
	wait $$checks; checks=$$?; cat build/checked.txt; exit $$((tests | checks))

constraints:  ## renew constraints.txt: the newest versions that the project takes, from which everything above installs
	rm -rf build/constraints
	$(PYTHON) -m venv build/constraints
	build/constraints/bin/python -m pip install --quiet '.[dev,browser]'
	@{ echo '# The versions that make and CI install, so that a new release of a dependency breaks neither. Renew: make constraints'; \
	  build/constraints/bin/python -m pip freeze --exclude anonymize-toolkit | grep == | sort -f; } > build/constraints.txt
	mv build/constraints.txt constraints.txt

mutants: $(VENV)/installed-dev  ## which changes of the code no test notices (ARGS="FILES --tests TESTS")
	$(BIN)/python benchmarks/mutants.py $(ARGS)

browser: $(VENV)/installed-dev chromium  ## Chromium and what drives it: HTML reports are then tested in it
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[browser]'

chromium:  ## from Debian's packages, where there is none
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } \
	  || echo "no Chromium here, and none could be installed: the tests of HTML in a browser are skipped" >&2

bench: $(VENV)/installed-dev  ## ratios against a plain copy, in one run (ARGS=--full: ten million rows, too)
	$(BIN)/python benchmarks/bench.py $(ARGS)

docs: $(VENV)/installed-dev  ## write the pages made from docstrings
	$(BIN)/python docs/make.py

site: $(VENV)/installed-dev docs  ## build the site of the documentation into build/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

figures: $(VENV)/installed-dev  ## draw the pictures in docs/ from runs (ARGS=--stored: from the figures that are kept)
	$(BIN)/python docs/figures.py $(ARGS)

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) demo build dist benchmarks/tables

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "anonymize needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[html]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt --editable '.[dev]'
	@touch $@ $(VENV)/installed
