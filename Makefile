# What people type. `make` alone lists it.
#
# Everything runs from a fresh clone with Rust, Python 3.10 or newer and a C compiler: what else is needed comes from
# PyPI into .venv.

SHELL := bash
# Recipes chain with && rather than rely on .SHELLFLAGS, which the make of macOS does not know.
.DEFAULT_GOAL := help
.SUFFIXES:
# Recipes depend on each other's files in ways that make does not see; cargo brings its own parallelism.
.NOTPARALLEL:

FUNCTIONS := ingest dispatcher worker sweeper
PACKAGES := $(foreach function,$(FUNCTIONS),-p hookbox-$(function))
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := .venv
PYTHON := $(VENV)/bin/python
LOCAL := $(PYTHON) infra/local/local.py
# The demo has a local AWS of its own, beside the one of `make dev`.
DEMO := --state .local/demo

# What the release build and the deployment are for: arm64 or x86_64.
ARCHITECTURE ?= arm64
# Which events/<function>.<CASE>.json `make invoke-<function>` sends.
CASE ?= example
# The stack in your AWS account that `make env` is asked for; without it, the one of `make dev`.
STACK :=
# How many inputs `make fuzz` gives each target.
RUNS ?= 20000
# What the test binaries in target/lambda are made from; `test` compiles everything at once instead.
BUILT ?= --workspace --bins

# sam and cfn-lint look at the region only to know which resource types exist there.
LINT_ENV := AWS_DEFAULT_REGION=us-east-1
# sam tells its makers about every run unless it is told not to.
export SAM_CLI_TELEMETRY := 0

# $(call timed,label,command): runs it, then says how long it took.
define timed
@printf '\n== %s\n' '$(1)'; began=$$SECONDS; code=0; { $(2); } || code=$$?; \
printf '== %s: %s s%s\n' '$(1)' "$$((SECONDS - began))" "$$([ $$code = 0 ] || echo ', failed')"; exit $$code
endef

.PHONY: help
help: ## List the targets
	@printf 'make TARGET, where TARGET is one of\n\n'
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nVariables: ARCHITECTURE=%s (build, deploy), CASE=%s (invoke), STACK=%s (env),\n  SEEDS=1000 START=0 SEED= OVERDUE=110 (simulate), ONLY= (mutants), RUNS=%s (fuzz)\n' \
	  '$(ARCHITECTURE)' '$(CASE)' '$(STACK)' '$(RUNS)'

# --------------------------------------------------------------------------------------------------- see it work

.PHONY: demo
demo: tools lambdas ## Play five cases on a local AWS with the real template and binaries
	@trap '$(LOCAL) down $(DEMO)' EXIT; \
	$(LOCAL) up --replace $(DEMO) && \
	$(PYTHON) infra/local/demo.py --env .local/demo/env --hookbox '$(TARGET)/debug/hookbox'

.PHONY: dev
dev: tools lambdas ## Start a local AWS with everything deployed, and leave it running
	@$(LOCAL) up --replace --keep
	@$(LOCAL) secrets hookbox.toml
	@$(LOCAL) next

.PHONY: env
env: ## Print `export` lines for a shell: of `make dev`, or of a STACK in your account
	@# Nothing but these lines, which are for eval.
	@if [ -x $(PYTHON) ]; then $(LOCAL) env --binaries '$(TARGET)/debug' $(if $(STACK),--stack '$(STACK)'); \
	else echo 'Could not print the environment: there is no .venv. Run `make dev` first, or `make tools`' >&2; exit 1; fi

.PHONY: status
status: tools ## Show where `make dev` is and what waits in its queues
	@$(LOCAL) status

.PHONY: logs
logs: tools ## Print what the functions of `make dev` wrote
	@$(LOCAL) logs

.PHONY: down
down: ## Stop what `make dev` started
	@if [ -x $(PYTHON) ]; then $(LOCAL) down; $(LOCAL) down $(DEMO); else echo 'nothing was ever started'; fi

.PHONY: invoke-%
invoke-%: tools ## Run one function of `make dev` with events/<function>.<CASE>.json
	@$(LOCAL) invoke $* events/$*.$(CASE).json

# --------------------------------------------------------------------------------------------------------- check it

.PHONY: check
check: tools ## Format, clippy, template: changes nothing, needs no local AWS
	$(call timed,cargo fmt --check,cargo fmt --all --check && cargo fmt --manifest-path fuzz/Cargo.toml --check)
	$(call timed,cfn-lint,$(VENV)/bin/cfn-lint template.yaml)
	$(call timed,sam validate,$(LINT_ENV) $(VENV)/bin/sam validate --lint --template-file template.yaml)
	$(call timed,guards,python3 -B tests/mutants/run.py --check)
	$(call timed,cargo clippy,cargo clippy --workspace --all-targets --locked -- -D warnings)

.PHONY: test
test: tools ## All tests, the end-to-end ones on a local AWS that they start themselves
	@# Tests and functions from one compilation: features are unified once, so nothing is compiled twice.
	@$(MAKE) --no-print-directory lambdas BUILT='--workspace --all-targets'
	$(call timed,cargo test,cargo test --workspace --locked --no-fail-fast)

# SEEDS, START, SEED and OVERDUE reach the test as make hands every variable of its command line on to what it runs.
.PHONY: simulate
simulate: ## Play SEEDS random histories (from START, 0 by default), or print and play the one of SEED; and every cut
	$(call timed,simulate,cargo test --workspace --locked --test suite simulation:: -- --nocapture)
	@# Its last line about cuts counts those of all scenarios.
	$(call timed,crash sweep,cargo test --workspace --locked --test suite crash_sweep:: -- --nocapture)
	$(call timed,a stopped worker,cargo test --workspace --locked --test sweeper backlog::)

.PHONY: mutants
mutants: ## Take away one guard after the other: a test has to fail each time (an hour; ONLY='lease token' for some)
	@python3 tests/mutants/run.py $(ONLY)

# In the order in which a request meets what they are about.
FUZZ_TARGETS := verify documents tampered decode json fields profile
CARGO_FUZZ := $(abspath $(TARGET))/tools/bin/cargo-fuzz

# Needs a C++ compiler, and stable Rust only: coverage without sanitizers. What is found stays in fuzz/artifacts, what was
# worth keeping in fuzz/corpus, and the next run begins with that.
.PHONY: fuzz
fuzz: $(CARGO_FUZZ) ## Give each fuzz target RUNS inputs, made from the vectors, payloads and profiles of the repository
	@cd fuzz && CARGO_TARGET_DIR='$(abspath $(TARGET))/fuzz' cargo run --quiet --locked --example seeds
	@for target in $(FUZZ_TARGETS); do printf '\n== fuzz %s\n' $$target && \
	  (cd fuzz && '$(CARGO_FUZZ)' fuzz run --sanitizer none --target-dir '$(abspath $(TARGET))/fuzz' $$target -- \
	    -runs='$(RUNS)' -timeout=10 -verbosity=0 -print_final_stats=1) || exit 1; \
	done

$(CARGO_FUZZ):
	$(call timed,install cargo-fuzz,cargo install --quiet --locked --version 0.13.2 --root '$(abspath $(TARGET))/tools' cargo-fuzz)

.PHONY: bench-providers
bench-providers: ## Measure what it costs to verify and to decode a delivery, as the functions are built
	$(call timed,bench,cd fuzz && CARGO_TARGET_DIR='$(abspath $(TARGET))/bench' cargo bench --locked)

.PHONY: bench-ops
bench-ops: ## Measure what lists and counts take on a table of 100,000 receipts, in time and memory
	$(call timed,bench,CARGO_TARGET_DIR='$(abspath $(TARGET))/bench' cargo run --quiet --release --locked \
	  -p hookbox-ops --example hundred_thousand)

.PHONY: tools
tools: $(VENV)/.complete ## Install what Rust does not bring into .venv (done by the others when needed)
	@:

# The stamp comes last, so that an interrupted installation is taken up again.
$(VENV)/.complete: infra/local/requirements.txt
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo 'Could not set up .venv: python3 is older than 3.10'; exit 1; }
	@python3 -m venv $(VENV) || { echo 'Could not set up .venv: on Debian and Ubuntu, install python3-venv'; exit 1; }
	$(call timed,install the tools into $(VENV),$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<)
	@touch $@

.PHONY: lambdas
lambdas: ## Build the functions for this machine, for the local AWS
	$(call timed,cargo build,cargo build --locked $(BUILT))
	@# Stripped, because the local AWS uploads and unpacks them: debug information is nine tenths of the bytes.
	@for function in $(FUNCTIONS); do \
	  mkdir -p target/lambda/$$function && \
	  strip -o target/lambda/$$function/bootstrap '$(TARGET)/debug/'$$function || exit 1; \
	done

# -------------------------------------------------------------------------------------------------------- deploy it

# By package: a bare `cargo lambda build` would pack the command-line tool too.
.PHONY: build
build: tools ## Build the functions for Lambda, optimised, for ARCHITECTURE
	$(call timed,cargo lambda build,PATH="$$PWD/$(VENV)/bin:$$PATH" cargo-lambda lambda build --release --locked \
	  --$(subst _,-,$(ARCHITECTURE)) --lambda-dir target/lambda $(PACKAGES))

# Always after a build: `make demo` and `make test` leave unoptimised binaries for this machine in target/lambda.
.PHONY: deploy
deploy: build ## Deploy to your AWS account; asks for a stack name and a region the first time
	@# The first, guided run asks with the stack name of samconfig.toml as its proposal, and saves a region beside it.
	@guided=--guided; \
	if awk '/^\[/ { here = /^\[default\.deploy\./ } here && /^region/ { found = 1 } END { exit !found }' samconfig.toml; \
	then guided=; fi; \
	$(VENV)/bin/sam deploy $$guided --template-file template.yaml --parameter-overrides Architecture=$(ARCHITECTURE)
	@printf '\nTo let hookbox find it:  eval "$$(make env STACK=%s)"\n' \
	  "$$(awk '/^\[/ { here = /^\[default\.deploy\./ } here && /^stack_name/ { gsub(/.*= *"|".*/, ""); print; exit }' samconfig.toml)"
