# kofn: every command a contributor needs. `make` lists them.
#
# All set-up happens by itself, inside .venv and target: the only things a machine must have are Python >= 3.11,
# a Rust toolchain (at least the rust-version of Cargo.toml), a C compiler and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
EXAMPLE := examples/agents.jsonl

# A run of cargo needs the toolchain's folder even where the login shell does not put it on the path.
export PATH := $(abspath $(BIN)):$(PATH):$(HOME)/.cargo/bin
export VIRTUAL_ENV := $(abspath $(VENV))

RUST_SOURCES := $(shell find rust -type f) Cargo.toml Cargo.lock
STUB_ALLOWLIST := tests/stubtest_allowlist.txt

.DEFAULT_GOAL := help
.PHONY: bench bench-quick growth guard help demo test lint fmt clauses build wheel wheel-check workflows-check fuzz clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.built ## report the example run
	$(BIN)/kofn report $(EXAMPLE)

test: $(VENV)/.built $(VENV)/.group-test ## run all tests: Rust, then Python
	cargo test --quiet --locked -p kofn-core
	$(PY) -m pytest

lint: $(VENV)/.built $(VENV)/.group-test $(VENV)/.group-lint ## check style, types and the extension's stub
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	$(PY) -m mypy
	$(PY) -m mypy.stubtest kofn._core --allowlist $(STUB_ALLOWLIST)

fmt: $(VENV)/.group-lint ## format Rust and Python, and fix what the linter can
	$(PY) -m ruff check --fix
	$(PY) -m ruff format
	cargo fmt --all

clauses: $(VENV)/.created ## write the table of clauses and their tests
	$(PY) tests/clauses.py

build: $(VENV)/.built ## build the extension into the environment

# On Linux, zig links against the old C library that manylinux2014 promises, whatever this machine has.
WHEEL_FLAGS := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux2014)
wheel: $(VENV)/.group-wheel ## build the source distribution, and the wheel from it, in dist
	rm -rf dist
	CARGO_TARGET_DIR=$(abspath target) $(BIN)/maturin build --quiet --release --sdist --out dist $(WHEEL_FLAGS)

wheel-check: wheel ## use that wheel in a clean environment with NumPy alone
	$(PY) .ci/check_dist.py dist/*

workflows-check: $(VENV)/.group-workflows ## look for mistakes in the workflows that make them unsafe
	$(BIN)/zizmor --offline --quiet .

FUZZ_SECONDS ?= 30
fuzz: ## feed the parsers random input for FUZZ_SECONDS
	FUZZ_SECONDS=$(FUZZ_SECONDS) .ci/fuzz

bench: $(VENV)/.group-build $(VENV)/.group-bench ## measure a release build beside other tools, in one run
	$(BIN)/maturin develop --quiet --release
	$(PY) benches/run.py

bench-quick: $(VENV)/.group-build $(VENV)/.group-bench ## the same on small inputs
	$(BIN)/maturin develop --quiet --release
	$(PY) benches/run.py --quick

growth: $(VENV)/.group-build $(VENV)/.group-bench ## draw how cost grows with size
	$(BIN)/maturin develop --quiet --release
	$(PY) benches/growth.py docs/growth.svg

guard: ## count the instructions of the kernels and compare with those on record (needs valgrind)
	$(PYTHON) tools/instructions.py

clean: ## remove the environment, builds and caches
	rm -rf $(VENV) target dist .pytest_cache .mypy_cache .ruff_cache .hypothesis fuzz/target
	rm -f python/kofn/_core*.so python/kofn/_core*.pyd
	find python tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a step runs again only when what it reads has changed.

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kofn needs Python >= 3.11: set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'  # the first that knows dependency groups
	@touch $@

$(VENV)/.group-%: pyproject.toml $(VENV)/.created
	$(PY) -m pip install --quiet --group $*
	@touch $@

$(VENV)/.built: $(RUST_SOURCES) pyproject.toml $(VENV)/.group-build
	$(BIN)/maturin develop --quiet --profile fast --group build
	@touch $@
