# Everything that a fresh machine with Python 3.11+, pip and gcc needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt pyproject.toml $(wildcard native/*)

.PHONY: demo test lint format bench sanitize clean

demo: $(VENV)/built
	$(BIN)/sfumato demo --force

test: $(VENV)/built sanitize
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

lint: $(VENV)/built
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror native/*

format: $(VENV)/built
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i native/*

# The headers know no Python: compile them alone, with address and undefined-behavior sanitizers.
SANITIZED := build/sanitize

sanitize: $(SANITIZED)
	OMP_NUM_THREADS=4 ./$(SANITIZED)

$(SANITIZED): tests/native/sanitize.cpp $(wildcard native/*.hpp)
	mkdir -p build
	$(CXX) -std=c++17 -O1 -g -fopenmp -fno-omit-frame-pointer -fno-math-errno \
	  -fsanitize=address,undefined -fno-sanitize-recover=all \
	  -Wall -Wextra -Wpedantic -Werror -Wno-psabi -Inative $< -o $@

# A layer over the environment, with the libraries to compare with. One of them, fuzzy-c-means, asks
# for numpy < 2 though it works with numpy 2: it comes without its requirements, and tests never see it.
BENCH := $(VENV)/bench
SITE := import site; print(site.getsitepackages()[0])

bench: $(BENCH)/built
	$(BENCH)/bin/python -m benchmarks

$(BENCH)/built: $(VENV)/built
	$(BIN)/python -m venv $(BENCH)
	echo "import site; site.addsitedir('$$($(BIN)/python -c '$(SITE)')')" \
	  > "$$($(BENCH)/bin/python -c '$(SITE)')/below.pth"
	$(BENCH)/bin/python -m pip install --quiet "sfumato[bench]"
	$(BENCH)/bin/python -m pip install --quiet --no-deps "fuzzy-c-means>=2.3,<3"
	touch $@

# The environment, and in it the package with its compiled core; made anew when a native file changes.
$(VENV)/built: $(NATIVE)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test,lint]"
	touch $@

clean:
	rm -rf $(VENV) build
