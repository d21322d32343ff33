# Every target sets up what it needs in .venv by itself; the only requirement is Python 3.11 or newer.
#
#   PYTHON=...  the interpreter, which gets an environment of its own, .venv-3.13 say
#               (default: the first suitable one on the PATH, with .venv)
#   ARGS=...    passed on: make demo ARGS=--help, make test ARGS='-k rrule'

VERSION := $(if $(PYTHON),$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null))
VENV := .venv$(if $(PYTHON),-$(or $(VERSION),unknown))
OLDEST := $(VENV)-oldest
SYSTEMS := $(VENV)-systems
CLUSTER := $(VENV)-cluster
OTHERS := $(VENV)-packages
DOCS := $(VENV)-docs
SITE := docs/_build/html
PY := $(VENV)/bin/python
PYTHONS := $(or $(PYTHON),python3.11 python3 python3.12 python3.13 python3.14 python)
PACKAGES := chainrules_core chainrules autodiff
PYTEST := $(PY) -m pytest
# Of the many modules that are installed, the checks import a part: only these are compiled.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
GALLERY := tests/examples/test_gallery.py::test_script_with_packages
PAGES := tests/docs/test_examples.py::test_page_with_packages
PARALLEL := -n auto --dist worksteal

# The checks start hundreds of processes: each one would compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo test oldest pythons test-packages test-methods lint format types doctest layers fuzz fuzz-calls fuzz-compiled errors nightly systems cluster wheels docs docs-browser docs-serve bench bench-quick gradbench coverage bench-rules clean

help: ## show this list
	@echo 'usage: make TARGET [ARGS=...] [PYTHON=...]'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 \2/p' Makefile | \
	    while read -r target text; do printf '  %-14s%s\n' "$$target" "$$text"; done

venv: $(VENV)/.installed-dev ## install everything a developer needs into .venv

# The matrices are small, and the workers share the processors.
demo: export OPENBLAS_NUM_THREADS = 1
demo: $(VENV)/.installed-demo ## train two models on real data
	@$(PY) examples/demo.py $(ARGS)

# One BLAS thread per worker: the workers already use every core.
test: export OPENBLAS_NUM_THREADS = 1
test: $(VENV)/.installed-test ## run the tests; all of them also show which rules no test covers
ifeq ($(strip $(ARGS)),)
	@rm -rf $(VENV)/exercised
	CHAINRULES_EXERCISED=$(abspath $(VENV)/exercised) $(PYTEST) $(PARALLEL) --durations=80 --durations-min=3
	$(PY) tools/check_registry.py $(VENV)/exercised
else
	$(PYTEST) $(PARALLEL) $(ARGS)
endif

oldest: export OPENBLAS_NUM_THREADS = 1
oldest: $(OLDEST)/.installed ## run the tests of SciPy with the oldest versions that are supported
	PYTHONPATH=. $(OLDEST)/bin/python -m pytest $(PARALLEL) tests/chainrules/scipy tests/programs $(ARGS)

# Newer PyTensor needs other versions of numba than we do: hence an environment of its own.
systems: export OPENBLAS_NUM_THREADS = 1
systems: export CHAINRULES_SYSTEMS = all
systems: $(SYSTEMS)/.installed ## run the tests with PyTorch, JAX, HIPS autograd, PyTensor and PyMC, and the pages on packages
	$(SYSTEMS)/bin/python -m pytest $(PARALLEL) tests/autodiff/interop $(PAGES) $(GALLERY) $(ARGS)

cluster: export OPENBLAS_NUM_THREADS = 1
cluster: export CHAINRULES_CLUSTER = 1
cluster: $(CLUSTER)/.installed ## run the tests of sums over shards with a cluster of Dask on this machine
	$(CLUSTER)/bin/python -m pytest tests/autodiff/distributed $(GALLERY) $(ARGS)

# Some hundred megabytes of packages that the tests alone use.
test-packages: export OPENBLAS_NUM_THREADS = 1
test-packages: $(OTHERS)/.installed ## differentiate calls of many packages as they are
	$(OTHERS)/bin/python -m pytest tests/packages $(ARGS)

test-methods: export OPENBLAS_NUM_THREADS = 1
test-methods: export CHAINRULES_METHODS = all
test-methods: $(VENV)/.installed-test ## compare the methods of all distributions with differences
	$(PYTEST) $(PARALLEL) tests/chainrules/coverage/test_methods.py $(ARGS)

pythons: $(VENV)/.created ## run the tests of programs, loops and the core with each other Python that is found
	@MAKEFLAGS= $(PY) tools/pythons.py $(ARGS)

lint: $(VENV)/.installed-dev ## check style and format, and the spelling and the words of all prose
	$(PY) -m ruff check . $(ARGS)
	$(PY) -m ruff format --check .
	git ls-files -z | xargs -0 $(VENV)/bin/codespell -D - -D tools/words/plain.txt
	git ls-files -z '*.md' ':!docs/coverage.md' ':!docs/errors.md' | xargs -0 $(VENV)/bin/proselint check --config tools/words/proselint.json

format: $(VENV)/.installed-dev ## repair style and format where a tool can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(VENV)/.installed-dev ## check types
	$(PY) -m mypy $(ARGS)

# Those of README and docs are tests: tests/docs.
doctest: $(VENV)/.installed-test ## run the examples of docstrings
	$(PYTEST) --doctest-modules --doctest-ignore-import-errors $(PACKAGES) $(ARGS)

layers: $(VENV)/.installed-test ## check who imports whom, file sizes, import cost
	$(PYTEST) tests/invariants $(ARGS)

fuzz: $(VENV)/.installed-test ## differentiate random programs: ARGS='--seed 0 --count 20000'
	$(PY) -m tools.fuzz $(ARGS)

fuzz-compiled: $(VENV)/.installed-bench ## compare compiled random programs with eager ones: ARGS='--seed 0 --count 500'
	$(PY) -m tools.fuzz.compiled $(ARGS)

fuzz-calls: $(VENV)/.installed-test ## differentiate calls with random arguments: ARGS='--seed 0 --count 20'
	$(PY) -m tools.calls $(ARGS)

errors: $(VENV)/.installed-test ## write docs/errors.md: each error, a program that raises it, and what to do
	$(PY) -m tools.errors $(ARGS)

nightly: $(VENV)/.installed-test ## what takes hours: all tests with each Python, and long runs of the fuzzers
	CHAINRULES_ONE_IN=0 $(MAKE) test ARGS=
	$(MAKE) oldest ARGS=
	$(MAKE) pythons ARGS=tests
	$(MAKE) test-packages ARGS=
	$(MAKE) test-methods ARGS=
	$(PY) -m tools.fuzz --programs all --modes all --count 2000
	$(PY) -m tools.fuzz --programs mixed --count 50000
	$(PY) -m tools.fuzz --programs mixtures --modes observed --count 3000
	$(PY) -m tools.fuzz.compiled --kind users --count 500
	$(PY) -m tools.fuzz.compiled --kind threads --count 100
	$(PY) -m tools.fuzz.compiled --kind changes --count 3000
	$(PY) -m tools.calls --count 20

wheels: $(VENV)/.installed-test ## build the three distributions, and test each where nothing above it is installed
	$(PY) tools/check_wheels.py

docs: export OPENBLAS_NUM_THREADS = 1
docs: $(DOCS)/.installed ## build the pages in docs/_build/html, with the gallery, and check their HTML and links
	$(DOCS)/bin/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs $(SITE) $(ARGS)
	$(DOCS)/bin/python tools/check_site.py $(SITE)

# Not in CI: the machine must have a Chromium, which is looked for before anything takes time.
docs-browser: export CHAINRULES_BROWSER = 1
docs-browser: $(DOCS)/.installed-browser ## open all pages in Chromium, at two widths; pictures in docs/_build/pictures
	@$(DOCS)/bin/python tools/check_browser.py --find
	$(MAKE) docs ARGS=
	$(DOCS)/bin/python -m pytest tests/tools/test_check_browser.py
	$(DOCS)/bin/python tools/check_browser.py $(SITE) $(ARGS)

docs-serve: docs ## build the pages, and show them at http://localhost:8000
	$(DOCS)/bin/python -m http.server --directory $(SITE) --bind localhost 8000

coverage: $(VENV)/.installed-demo ## write docs/coverage.md: which public functions have rules
	$(PY) -m chainrules coverage --markdown docs/coverage.md $(ARGS)

bench: $(VENV)/.installed-bench ## run the benchmarks; the results are kept in benchmarks/results
	$(PY) -m benchmarks $(ARGS)

bench-quick: $(VENV)/.installed-bench ## two minutes of them, without PyTorch and JAX
	$(PY) -m benchmarks --quick $(ARGS)

gradbench: export OPENBLAS_NUM_THREADS = 1
gradbench: $(VENV)/.installed-bench ## run the evals of GradBench on workloads of our own
	$(PY) -m benchmarks.gradbench.table $(ARGS)

bench-rules: export OPENBLAS_NUM_THREADS = 1
bench-rules: $(VENV)/.installed-bench ## measure what each rule's pullback costs, in times of its primal
	$(PY) -m benchmarks.pullback_cost $(ARGS)

clean: ## remove .venv, those of other Pythons and all that was built
	rm -rf .venv .venv-* build dist *.egg-info packaging/*/build packaging/*/*.egg-info
	rm -rf docs/_build docs/examples docs/reference/api .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/.created:
	@found=; for python in $(PYTHONS); do \
	    if "$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	        2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	    echo 'error: no Python 3.11 or newer with the venv module (tried: $(PYTHONS)).' >&2; \
	    echo 'Install one (on Debian and Ubuntu with python3-venv), or name it: make PYTHON=/path/to/python3.11 ...' >&2; \
	    exit 1; \
	fi; \
	echo "Creating $(VENV) with $$("$$found" --version) ..."; \
	"$$found" -m venv $(VENV)
	@touch $@

# One stamp for each extra of pyproject.toml.
$(VENV)/.installed-%: pyproject.toml $(VENV)/.created
	@echo 'Installing chainrules-python[$*] into $(VENV); the first time takes a minute ...'
	@$(PY) $(INSTALL) --editable '.[$*]'
	@touch $@

$(SYSTEMS)/.installed: pyproject.toml $(VENV)/.created
	@echo 'Installing the other systems into $(SYSTEMS); the first time takes some minutes ...'
	@$(PY) -m venv --clear $(SYSTEMS)
	@$(SYSTEMS)/bin/python $(INSTALL) --editable '.[systems]'
	@touch $@

$(CLUSTER)/.installed: pyproject.toml $(VENV)/.created
	@echo 'Installing Dask and what reads files into $(CLUSTER); the first time takes a minute ...'
	@$(PY) -m venv --clear $(CLUSTER)
	@$(CLUSTER)/bin/python $(INSTALL) --editable '.[cluster,fit]' 'pytest>=8.2'
	@touch $@

$(OTHERS)/.installed: pyproject.toml $(VENV)/.created
	@echo 'Installing the packages of tests/packages into $(OTHERS); the first time takes some minutes ...'
	@$(PY) -m venv --clear $(OTHERS)
	@$(OTHERS)/bin/python $(INSTALL) --editable '.[packages]'
	@touch $@

$(DOCS)/.installed: pyproject.toml $(VENV)/.created
	@echo 'Installing what builds the pages into $(DOCS); the first time takes a minute ...'
	@$(PY) -m venv --clear $(DOCS)
	@$(DOCS)/bin/python $(INSTALL) --editable '.[docs]'
	@touch $@

$(DOCS)/.installed-browser: $(DOCS)/.installed
	@$(DOCS)/bin/python $(INSTALL) --editable '.[browser]'
	@touch $@

# The lower bounds of pyproject.toml, as they are; tools of the tests in any version.
$(OLDEST)/.installed: pyproject.toml tools/lower_bounds.py $(VENV)/.created
	@echo 'Installing the oldest supported versions into $(OLDEST); the first time takes a minute ...'
	@$(PY) -m venv --clear $(OLDEST)
	@$(OLDEST)/bin/python $(INSTALL) \
	    $$($(PY) tools/lower_bounds.py) hypothesis mpmath pytest pytest-xdist
	@touch $@
