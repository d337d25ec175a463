# `make dev` starts everything in one terminal; `make test` runs the whole suite.
# A stamp in .venv remembers what was installed for which pyproject.toml and locks, so
# that a target that has nothing to install starts at once.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c '$(supported)' >/dev/null 2>&1 && echo $$p && break; done)
ARGS ?=
PACKAGES ?=
MINUTES ?= 70
PROCESSES ?= 4
SHARD ?=

bin := .venv/bin
supported := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
pip := $(bin)/pip install --disable-pip-version-check --quiet
# What the locks have, and no other file than theirs; then this repository, with nothing of its own.
locked = $(pip) --require-hashes $(foreach lock,$(1),--requirement locks/$(lock).txt)
install := $(pip) --no-deps --no-build-isolation --editable .

.DEFAULT_GOAL := help
.PHONY: help setup dev test test-all test-llm model drill fuzz compose-test upgrade-test \
	wheel sbom lock update chart check ruff types layers shell figures \
	supply bench docs docs-serve reference clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: .venv/.everything ## make .venv and install everything, tests included

dev: .venv/.runtime ## start Temporal, worker, API and chat page in this terminal
	@exec $(bin)/intent-router dev $(ARGS)

# Four on two cores: half of the time a test waits for something other than a processor.
test: .venv/.everything ## run what every landing has to pass: at most five minutes
	$(bin)/pytest -n $(PROCESSES) --dist loadgroup -m "not slow and not llm" $(ARGS)

test-all: .venv/.everything ## run the slow tests, or one shard of them with SHARD=2/5: at most 45 minutes
	$(bin)/pytest -n $(PROCESSES) --dist loadgroup -m "slow and not llm" \
		$(if $(SHARD),--shard $(SHARD)) $(ARGS)
	@$(if $(SHARD),$(bin)/python -m tests.shards passed $(SHARD))

test-llm: .venv/.everything ## fetch two small real models, 1.6 GB, and run the tests that ask them
	$(bin)/python -m tests.llm $(ARGS)

model: .venv/.everything ## explore the protocol, and faults planted in it: a minute; ARGS=8 looks eight moves far
	@$(bin)/python -m tests.model $(ARGS)

drill: .venv/.everything ## break real servers as a bad day does, and mend them by the book: whole minutes
	@$(bin)/python -m tests.drills $(ARGS)

compose-test: .venv/.everything ## build the image, and do in a real engine what the docs type with compose: as root, whole minutes
	@$(bin)/python -m tests.compose $(ARGS)

upgrade-test: .venv/.everything ## bring a house of the tag before to this tree and back, runs under way: whole minutes
	@$(bin)/python -m tests.upgrades $(ARGS)

fuzz: .venv/.fuzz ## send what nobody would to every entrance, MINUTES=70 in all; a finding is a file, and the status
	@$(bin)/python -m tests.fuzz --minutes $(MINUTES) $(ARGS)

check: .venv/.everything ## lint, types, layers, the tree's figures and what it is made of: CI, before the tests
	@began=$$(date +%s); $(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync=target ruff types layers shell figures supply \
	&& echo "make check: $$(($$(date +%s) - began)) s"

ruff:
	$(bin)/ruff check .
	$(bin)/ruff format --check .

types:
	$(bin)/mypy

layers:
	$(bin)/lint-imports --no-logo

figures:
	$(bin)/python -m tests.figures

supply:
	$(bin)/python -m supply check

shell:
	@if command -v shellcheck >/dev/null; \
	then shellcheck .ci/run deploy/*.sh; \
	else echo 'shellcheck is not installed: shell scripts were NOT checked' >&2; fi

wheel: .venv/.everything ## build the wheel, the same of the same files wherever that is, into dist/
	@$(bin)/python -m hatchling build --target wheel --directory dist
	@cd dist && sha256sum *.whl

sbom: .venv/.everything ## the bill of materials of what ships, CycloneDX in JSON, into dist/
	@mkdir -p dist
	@$(bin)/python -m supply.sbom > dist/intent-router.cdx.json
	@echo dist/intent-router.cdx.json

lock: .venv/.uv ## make locks/ anew for what pyproject.toml asks, versions kept where they can be
	@$(bin)/python -m supply lock

# Newer versions stay in locks/ whatever the tests say: git tells what they were.
update: .venv/.uv ## take newer versions (PACKAGES="ruff mypy" these alone), install them, run all tests
	@$(bin)/python -m supply lock --upgrade $(PACKAGES)
	@$(MAKE) --no-print-directory .venv/.chart
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-all

chart: .venv/.chart ## install what renders the Helm chart, and check it
	$(bin)/pytest -q tests/integration/deploy/test_kubernetes.py $(ARGS)

bench: .venv/.everything ## run every benchmark and print one page of their tables
	@$(bin)/python bench $(ARGS)

docs: .venv/.everything reference ## build the documentation as a site, into site/
	@NO_MKDOCS_2_WARNING=true $(bin)/mkdocs build --strict --quiet
	@echo "site/index.html"

docs-serve: .venv/.everything ## show the documentation while it is written
	@NO_MKDOCS_2_WARNING=true $(bin)/mkdocs serve $(ARGS)

reference: .venv/.everything ## make docs/reference anew from the code
	@$(bin)/python -m docs.generate

clean: ## remove .venv, caches and build output; data in .data stays
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .fuzz .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.made:
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(supported)' 2>/dev/null || { \
		echo "intent-router needs Python 3.11 to 3.13, and $(or $(PYTHON),python3) is" \
		"$$($(or $(PYTHON),python3) -V 2>&1 | tail -1):" \
		"name another one, make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) can't make a virtual environment: apt-get install python3-venv" >&2; exit 1; }
	@echo "making .venv with $$($(PYTHON) -V)"
	@$(PYTHON) -m venv .venv
	@touch $@

# Those that Python brings are as old as its release, and have known holes.
.venv/.pip: .venv/.made locks/pip.txt
	@$(call locked,pip)
	@touch $@

.venv/.runtime: .venv/.pip pyproject.toml locks/build.txt locks/runtime.txt
	@echo "installing intent-router"
	@$(call locked,build runtime)
	@$(install)
	@touch $@

.venv/.everything: .venv/.pip pyproject.toml locks/build.txt locks/test.txt
	@echo "installing intent-router with its test tools"
	@$(call locked,build test)
	@$(install)
	@touch .venv/.runtime $@

.venv/.chart: .venv/.everything locks/chart.txt
	@echo "installing what renders the Helm chart"
	@$(call locked,chart)
	@touch $@

.venv/.fuzz: .venv/.everything locks/fuzz.txt
	@echo "installing what fuzzes"
	@$(call locked,fuzz)
	@touch $@

.venv/.uv: .venv/.everything locks/uv.txt
	@$(call locked,uv)
	@touch $@
