# The developer's commands. Needs Python >= 3.11 (with venv) and make, nothing else.

PYTHON ?= python3
# Four test processes keep two cores busy: tests of whole fleets wait a lot. The servers are shared.
TEST_WORKERS ?= 4
T ?= tests

VENV := .venv
RUN := $(VENV)/bin/python
LOCKED := $(VENV)/.locked
INSTALLED := $(VENV)/.installed
PIP := $(RUN) -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help image install demo up down test test-long test-browser test-gate pictures sweep one check format bench chaos soak hostile new-job new-area rights trips golden docs site release lock clean

help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## build .venv from requirements.lock

# Packages are installed by the hashes in the lock; a changed lock builds the environment anew.
$(LOCKED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	@echo "Building $(VENV) from requirements.lock ..."
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP) install --require-hashes -r requirements.lock
	@touch $@

# Our own package is installed editable, for its `celery` sub-commands, without a package index.
$(INSTALLED): $(LOCKED) pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

# Demo, local stack and tests start many processes. Where PYTHONDONTWRITEBYTECODE is set, each would compile every module
# anew: 8 s of CPU for a command instead of 3.
export PYTHONDONTWRITEBYTECODE :=

demo: $(INSTALLED)  ## play the whole story on a mailbox of real mail, in about a minute; DAY=1: a day of three people
	@$(RUN) -m sandbox.demo.demo $(if $(DAY),--day)

up: $(INSTALLED)  ## start the local stack with the whole fleet and leave it running
	@$(RUN) -m sandbox.up

down: $(INSTALLED)  ## stop the local stack
	@$(RUN) -m sandbox.up --down

test: $(INSTALLED)  ## the suite without its long tests, on embedded servers
	@$(RUN) -m pytest -n $(TEST_WORKERS) --dist worksteal --length short

test-long: $(INSTALLED)  ## all other tests: whole fleets that are killed and frozen, the crash sweep, the HTTP fuzzer
	@$(RUN) -m pytest -n $(TEST_WORKERS) --dist worksteal --length long

# They need Chromium: apt-get install --no-install-recommends chromium.
test-browser: $(INSTALLED)  ## an operator's day at the console, in Chromium: by mouse, by keys, without script
	@$(RUN) -m pytest tests/browser

test-gate: $(INSTALLED)  ## of the long tests those that must pass before anything lands
	@$(RUN) -m pytest -n $(TEST_WORKERS) --dist loadscope --length gate

pictures: $(INSTALLED)  ## take docs/pictures anew of a running fleet, in Chromium, for a person to look at
	@$(RUN) -m tests.browser.pictures

sweep: $(INSTALLED)  ## crash every job type at every boundary: build/sweep/report.json; SWEEP=--help
	@$(RUN) -m tests.sweep $(SWEEP)

one: $(INSTALLED)  ## some tests: make one T=tests/domain, or T='tests -k undo'
	@$(RUN) -m pytest $(T)

check: $(INSTALLED)  ## linter, formatter and type checker; changes nothing
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy --num-workers 2 .

format: $(INSTALLED)  ## format, and fix what the linter can fix
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

image:  ## the image of deploy/Dockerfile, by buildah and debootstrap: no engine, no registry; as root on Debian
	@deploy/image

bench: $(INSTALLED)  ## compare Postroom with its peers in one run; B='--only drain_vs_celery' for some
	@$(RUN) -m bench $(B)

chaos: $(INSTALLED)  ## three minutes of load with faults injected: make chaos CHAOS='--seconds 60 --seed 7'
	@$(RUN) -m tests.chaos $(CHAOS)

soak: $(INSTALLED)  ## a steady load while old jobs leave: make soak SOAK='--minutes 20 --rate 2000 --retention 120'
	@$(RUN) -m bench.soak $(SOAK)

# The allocator is set as in deploy/Dockerfile.
hostile: $(INSTALLED)  ## what hostile mail costs: all mutants and bombs, build/hostile_mail.json; H='--every 10'
	@MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072 $(RUN) -m bench.hostile_mail $(H)

new-job: $(INSTALLED)  ## begin a job type: make new-job F=family J=name, and S=system of a new family
	@$(RUN) -m tools.new_job "$(F)" "$(J)" "$(S)"

new-area: $(INSTALLED)  ## begin an area with a table, a list, a deed and a job: make new-area N=name S=system
	@$(RUN) -m tools.new_area "$(N)" "$(S)"

rights: $(INSTALLED)  ## write anew what each role may do in the database, for a person to read
	@$(RUN) -m tests.storage.postgres.rights_table

trips: $(INSTALLED)  ## write anew how many transactions and trips jobs take to the database, for a person to read
	@$(RUN) -m pytest tests/tasks/jobs/test_transactions.py -q -n 0 --write-trips

golden: $(INSTALLED)  ## write the golden payloads that are missing, for a person to read
	@$(RUN) -m tools.golden

docs: $(INSTALLED)  ## write docs/reference, the README's picture of the rooms and the systems' job types anew from the code
	@$(RUN) -m tools.reference
	@$(RUN) -m tools.house_picture
	@$(RUN) -m tools.system_pages

# Sites and releases are made by packages that no other target needs: each environment is built from its own lock.
build/%-env/.locked: tools/locks/%.lock
	@echo "Building $(@D) from $< ..."
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r $<
	@touch $@

site: build/site-env/.locked  ## build the documentation as a site, offline and strict: build/site/index.html
	@build/site-env/bin/python -m tools.docs_site

release: build/release-env/.locked  ## make dist/ from the tagged commit: wheels, sources, locks, SBOM, sums; DRAFT=1: of any
	@build/release-env/bin/python -m tools.release $(if $(DRAFT),--draft)

COMPILE = uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --universal --python-version 3.11

lock:  ## resolve pyproject.toml anew into requirements.lock and the smaller locks (needs uv)
	@$(COMPILE) --all-extras pyproject.toml -o requirements.lock
	@$(COMPILE) --constraint requirements.lock --extra build pyproject.toml -o deploy/locks/plain.lock
	@$(COMPILE) --constraint requirements.lock --extra build --extra planning --extra exports pyproject.toml -o deploy/locks/full.lock
	@for group in site release; do $(COMPILE) --constraint requirements.lock --group $$group -o tools/locks/$$group.lock; done

clean:  ## remove the virtual environment and everything that was built
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
