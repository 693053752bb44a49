# Everything one needs day by day. `make` alone lists it.
SHELL := /bin/bash
PYTHON_OF_VENV := .venv/bin/python
TOOL := .venv/bin
# Quoted for the shell, so that a path with spaces or quotes arrives as it was given.
quoted = '$(subst ','\'',$(1))'

.PHONY: help run test check fix accuracy bench lock docs screenshots setup

help:  ## List the targets
	@sed -nE 's/^([a-z]+):.*##/\1:/p' $(MAKEFILE_LIST) | column -t -s ':'

setup:
	@PYTHON=$(call quoted,$(PYTHON)) tools/setup.sh

run: setup  ## Start everything here; REPO=path-or-url REV=revision PORT=8000 RESET_ADMIN=1
	@exec $(PYTHON_OF_VENV) manage.py up \
	  $(if $(REPO),--repo $(call quoted,$(REPO))) $(if $(REV),--rev $(call quoted,$(REV))) \
	  $(if $(PORT),--port $(call quoted,$(PORT))) $(if $(RESET_ADMIN),--reset-admin)

test: setup  ## Run all tests, in parallel; ARGS=... goes to pytest
	@tools/browser.sh
	@exec $(PYTHON_OF_VENV) -m pytest -n $(or $(JOBS),3) --dist worksteal $(ARGS)

check: setup  ## Look for mistakes without running anything: ruff, mypy, import-linter, djlint
	$(TOOL)/ruff check .
	$(TOOL)/ruff format --check .
	$(TOOL)/mypy .
	$(TOOL)/lint-imports
	$(TOOL)/djlint --quiet --lint templates

fix: setup  ## Repair what can be repaired mechanically
	$(TOOL)/ruff check --fix .
	$(TOOL)/ruff format .

accuracy: setup  ## Compare a scan with sites labelled by hand; REPO=path REV=revision ARGS="--labels folder"
	$(if $(REPO),,$(error Name the repository: make accuracy REPO=path [REV=revision] [ARGS="--labels folder"]))
	@exec $(PYTHON_OF_VENV) benchmarks/accuracy.py $(call quoted,$(REPO)) \
	  $(if $(REV),--rev $(call quoted,$(REV))) $(ARGS)

# Those that need neither a GPU nor a repository; the others say in their first lines how they are run.
BENCHMARKS ?= scheduling
bench: setup  ## Measure speed, as ratios against peers in the same run
	@for name in $(BENCHMARKS); do echo "== $$name"; $(PYTHON_OF_VENV) -m benchmarks.$$name $(ARGS) || exit 1; done

docs: setup  ## Write the pages of docs/ that are made from the code
	$(PYTHON_OF_VENV) -m tools.write_docs

screenshots: setup  ## Make the documentation's pictures anew, with the browser's tests
	@tools/browser.sh
	@FERROAUDIT_REQUIRE_BROWSER=1 FERROAUDIT_SCREENSHOTS=docs/images \
	  $(PYTHON_OF_VENV) -m pytest -q tests/browser/test_pictures.py -k each_picture_can_be_made

COMPILE := $(TOOL)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: setup  ## Resolve pyproject.toml anew into requirements.lock and the images' locks
	$(COMPILE) --all-extras --upgrade -o requirements.lock
	$(COMPILE) --extra web --extra ptx --extra schedule -c requirements.lock -o docker/app.lock
	$(COMPILE) --extra runner --extra tracer -c requirements.lock -o docker/runner.lock
