# Everything here needs Python 3.11 or newer and nothing else. `make` alone lists what there is.
#
# Each target that needs packages installs them into .venv first, once; .ci/install says what
# it does, and does nothing while pyproject.toml and constraints.txt stay as they are.

.POSIX:
.SUFFIXES:
.NOTPARALLEL:
.PHONY: help demo test quick lab lessons lint bench clean

# Another Python's settings must not leak into .venv.
unexport PYTHONPATH
unexport PYTHONHOME

# Which Python to make .venv with: make demo PYTHON=/path/to/python3 (else the first that will do)
PYTHON ?=
INSTALL = PYTHON="$(PYTHON)" sh .ci/install
BIN = .venv/bin
PYTEST = $(BIN)/python -m pytest
FAST = not slow and not learning and not browser
# More arguments for pytest: make test ARGS="-k easy"
ARGS =

help:
	@echo "make demo    install (torch too), train a small agent, compare it with the heuristics"
	@echo "make lab     install JupyterLab too, and open the notebooks"
	@echo "make lessons run the notebooks whose sources have changed, and store what they show"
	@echo "make test    install what the tests need (torch too), and run them all, notebooks too"
	@echo "make quick   only the fast tests"
	@echo "make lint    style (ruff) and types (mypy)"
	@echo "make bench   how fast it is here"
	@echo "make clean   remove .venv and all caches"

demo:
	@$(INSTALL) agents
	@$(BIN)/dras-lab demo

# A notebook's cells must run in one process, in order: --dist loadfile keeps a file together.
test:
	@$(INSTALL) agents examples lab test
	$(PYTEST) -n auto --maxprocesses 4 --dist loadfile --nbval --nbval-current-env \
	    tests $(wildcard notebooks/*.ipynb notebooks/solutions) $(ARGS)

quick:
	@$(INSTALL) test
	$(PYTEST) -n auto --maxprocesses 4 --dist loadfile -m "$(FAST)" tests $(ARGS)

lab:
	@$(INSTALL) lab
	@echo "opening JupyterLab (Ctrl-C here ends it) ..."
	@$(BIN)/python -m jupyterlab $$(test "$$(id -u)" != 0 || echo --allow-root) notebooks

lessons:
	@$(INSTALL) agents lab
	@$(BIN)/python scripts/make_notebooks.py $(ARGS)

lint:
	@$(INSTALL) test
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

bench:
	@$(INSTALL)
	@for script in benchmarks/*.py; do \
	    echo "== $$script"; $(BIN)/python "$$script" || exit 1; \
	done

clean:
	rm -rf .venv build dist artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis .ci-report.xml
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
