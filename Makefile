# Needs Python >= 3.11 with venv, git and make. Everything is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/.installed

.PHONY: demo test thorough slow test-all proofs opacus fuzz lint types docs note notebooks votes release clean

demo: $(DONE)
	$(BIN)/darrm demo --out demo

# SCIPY_ARRAY_API: scikit-learn's checks of estimators leave out thirteen without it.
# Compiled tests are kept even where the environment says not to: else every worker compiles all of them, every time.
# OPENBLAS_NUM_THREADS: there is a worker for each core.
PYTEST := SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2

# One in every kind.
test: $(DONE)
	$(PYTEST) --dist worksteal -m "not slow and not thorough"

thorough: $(DONE)
	$(PYTEST) --dist worksteal -m "thorough and not slow"

slow: $(DONE)
	$(BIN)/python -m pytest -q -m slow

test-all: $(DONE)
	$(PYTEST) --dist worksteal

# Needs Coq (apt-get install coq); without it only the corners are compared.
proofs: $(DONE)
	$(BIN)/python -m pytest -q -rs tests/proofs

# PyTorch is large, so it is set up apart, and only here.
opacus:
	$(PYTHON) -m venv .venv.opacus
	.venv.opacus/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[experiments]' 'opacus>=1.6' 'torch>=2.13' pytest
	.venv.opacus/bin/python -m pytest -q -rP tests/benchmarks/test_convolution.py

# atheris, if it is there, follows the coverage: .venv/bin/pip install atheris
fuzz: $(DONE)
	$(BIN)/python tests/tools/fuzz/run.py --minutes 60

lint: $(DONE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DONE)
	$(BIN)/mypy

docs: $(DONE)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The note to print, by the browser: CHROMIUM=/path/to/chromium if it has another name.
CHROMIUM ?= chromium
note: docs
	$(CHROMIUM) --headless --no-sandbox --disable-gpu --virtual-time-budget=30000 --no-pdf-header-footer \
		--print-to-pdf=docs/_build/note.pdf "file://$(CURDIR)/docs/_build/html/note.html"
	@echo "docs/_build/note.pdf"

# Notebooks are run and compared with the outputs that they hold; WRITE=1 stores new ones.
notebooks: $(DONE)
	$(BIN)/python tests/tools/notebooks.py $(if $(WRITE),--write)

# Make the shipped votes again and compare.
votes: $(DONE)
	$(BIN)/python tests/tools/make_votes.py --check

# Builds what would be released, twice, and checks it; into dist/.
release: $(DONE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[release]'
	$(BIN)/python tests/tools/release_check.py

clean:
	rm -rf $(VENV) .venv.opacus demo docs/_build docs/notebooks

$(DONE): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("darrm needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=...") if sys.version_info < (3, 11) else None'
	@echo "Setting up $(VENV) (once; takes a minute or two) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
