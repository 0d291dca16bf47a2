# What people type. Each goal installs what it lacks (tools/setup says what), builds, and runs.

JOBS ?= $(shell nproc)
CMAKE_FLAGS ?=
WITH_PYTHON = -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python

# A miss costs ccache nothing but the copy then: it need not run the preprocessor to know a file.
export CCACHE_DEPEND ?= 1
# Without this it keeps nothing that is compiled with precompiled headers.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros

# The file whose age says when a build folder was last configured; CMake looks after everything else by itself.
configured = $(1)/.configured

.PHONY: help
help:
	@echo 'make build     the command at build/tessera, the Python package at build/python'
	@echo 'make test      every C++ and Python test but the long ones'
	@echo 'make test-long     those: benchmarks, processes under mpirun, faults of several hosts'
	@echo 'make test-corpus   the models of ONNX node tests through every command (ARGS="--part 0/12")'
	@echo 'make demo      a tour; leaves its files in demo/'
	@echo 'make bench     the benchmarks, as a table'
	@echo 'make bench-peers   layers and networks beside other runtimes (TORCH=0: without torch, 6 GB; ARGS="--rows 3x3")'
	@echo 'make test-torch    the layers of tessera.ncps.torch, with PyTorch (6 GB)'
	@echo 'make bench-ncps    liquid layers beside ncps with PyTorch (6 GB; ARGS="--models ltc_ncp64")'
	@echo 'make docs      the documentation site, at build/site'
	@echo 'make format    rewrite sources to the project style'
	@echo 'make lint      format, include rules, spelling, shell scripts, exported symbols'
	@echo 'make clang     everything compiled with clang 19 as well, without a warning'
	@echo 'make tidy      clang-tidy over all sources'
	@echo 'make sanitize  tests under address, undefined-behaviour and thread sanitizers; seconds of fuzzing'
	@echo 'make fuzz      minutes of fuzzing (FUZZ_SECONDS=60 for each reader)'
	@echo 'make soak      loads, runs, plans, simulates and trains for half an hour; memory stays (SOAK_SECONDS=1800)'
	@echo 'make mutants   small changes of the sources, each of which a test has to notice (ARGS="--number 20 --room graph")'
	@echo 'make install-consumer   install into a scratch prefix and build a program against it'
	@echo 'make wheel     the Python package with everything in it, into dist/, from the build that is there'
	@echo 'make test-wheel    installs it for each Python from 3.10 on that is found, and uses it from elsewhere'
	@echo 'make deb       a Debian package, into dist/'
	@echo 'make uninstall     removes what cmake --install has put into place'
	@echo 'make train-networks   train the networks that come with Tessera anew (ARGS="digits --output DIR")'
	@echo 'make clean     remove build folders (.venv stays)'

.PHONY: setup setup-lint
setup:
	@tools/setup build
setup-lint:
	@tools/setup build lint

$(call configured,build): CMakePresets.json | setup
	cmake --preset release $(WITH_PYTHON) -DTESSERA_ONNX=ON $(CMAKE_FLAGS)
	@touch $@
$(call configured,build-%): CMakePresets.json | setup
	cmake --preset $* -DTESSERA_ONNX=ON $(CMAKE_FLAGS)
	@touch $@

# The product without its tests.
.PHONY: build
build: $(call configured,build)
	@tools/compile_groups build/compile_groups
	cmake --build build --target product -j $(JOBS)

.PHONY: test
test:
	@JOBS=$(JOBS) tools/test

# Of the same build: minutes, or what wants a machine to itself.
.PHONY: test-long
test-long: $(call configured,build)
	cmake --build build --target all benchmarks long-test-libraries -j $(JOBS)
	ctest --test-dir build -L long -E '^faults$$' --output-on-failure
	# Which process sees a loss first hangs on the scheduler: mpirun may end the others before they can speak.
	ctest --test-dir build -R '^faults$$' --output-on-failure --repeat until-pass:3

# ARGS goes to tools/test_corpus: its --help says what there is.
.PHONY: test-corpus
test-corpus: $(call configured,build)
	@tools/compile_groups build/compile_groups
	cmake --build build --target tessera-cli -j $(JOBS)
	tools/test_corpus --jobs $(JOBS) $(ARGS)

.PHONY: demo
demo: $(call configured,build)
	@tools/compile_groups build/compile_groups
	cmake --build build --target tessera-cli -j $(JOBS)
	@tools/demo

.PHONY: bench
bench: $(call configured,build)
	cmake --build build --target product benchmarks -j $(JOBS)
	@tools/bench

# ARGS goes to bench/peers/compare.py: its --help says what there is.
TORCH ?= 1
.PHONY: bench-peers
bench-peers: $(call configured,build)
	@tools/setup build peers $(if $(filter-out 0,$(TORCH)),torch)
	cmake --build build --target product tessera_peer_worker -j $(JOBS)
	.venv-peers/bin/python bench/peers/compare.py $(ARGS)

# ARGS goes to pytest.
.PHONY: test-torch
test-torch: $(call configured,build)
	@tools/setup build peers torch
	cmake --build build --target tessera-python -j $(JOBS)
	.venv-peers/bin/python -m pytest -q tests/python/test_ncps_torch*.py $(ARGS)

# ARGS goes to bench/peers/compare_ncps.py.
.PHONY: bench-ncps
bench-ncps: $(call configured,build)
	@tools/setup build peers torch
	cmake --build build --target tessera_ncp_worker -j $(JOBS)
	.venv-peers/bin/python bench/peers/compare_ncps.py --worker build/bench/peers/tessera_ncp_worker $(ARGS)

# The site has references of the command line, the Python package and the C++ library: it needs the first two built.
.PHONY: docs
docs: $(call configured,build)
	@tools/setup build docs
	@tools/compile_groups build/compile_groups
	cmake --build build --target tessera-cli tessera-python -j $(JOBS)
	.venv-docs/bin/python tools/build_site

.PHONY: format lint clang tidy
format: setup-lint
	@tools/format --fix
lint: setup-lint $(call configured,build)
	@JOBS=$(JOBS) tools/lint
# MATCH: only paths that have this.
clang: setup-lint $(call configured,build)
	cmake --build build --target all benchmarks -j $(JOBS)
	@tools/check_clang --jobs $(JOBS) --match '$(MATCH)'
tidy: CMAKE_FLAGS += $(WITH_PYTHON)
tidy: setup-lint $(call configured,build-tidy)
	cmake --build build-tidy -j $(JOBS)
	@tools/tidy build-tidy --jobs $(JOBS)

.PHONY: sanitize fuzz
sanitize: setup
	@JOBS=$(JOBS) tools/sanitize
fuzz: $(call configured,build-asan)
	cmake --build build-asan -j $(JOBS)
	@tools/fuzz build-asan $(or $(FUZZ_SECONDS),60)

.PHONY: soak
soak: $(call configured,build)
	@tools/compile_groups build/compile_groups
	cmake --build build --target tessera-python -j $(JOBS)
	.venv/bin/python tools/soak --seconds $(or $(SOAK_SECONDS),1800)

.PHONY: mutants
mutants: setup
	@tools/mutants --jobs $(JOBS) $(ARGS)

.PHONY: install-consumer
install-consumer: $(call configured,build)
	cmake --build build -j $(JOBS)
	ctest --test-dir build -R '^consumer' --output-on-failure

.PHONY: wheel test-wheel deb
wheel: $(call configured,build)
	@tools/setup build wheel
	cmake --build build --target tessera-wheel-files -j $(JOBS)
	.venv/bin/python tools/wheel
test-wheel: wheel
	.venv/bin/python tools/test_wheel
deb: $(call configured,build)
	@tools/setup build wheel
	cmake --build build --target product -j $(JOBS)
	tools/deb

.PHONY: uninstall
uninstall:
	cmake --build build --target uninstall
# ARGS goes to networks/train.py.
.PHONY: train-networks
train-networks: $(call configured,build)
	@tools/setup build train
	@tools/compile_groups build/compile_groups
	cmake --build build --target tessera-python -j $(JOBS)
	PYTHONPATH=build/python .venv/bin/python networks/train.py $(ARGS)

.PHONY: clean
clean:
	rm -rf build build-* dist demo
