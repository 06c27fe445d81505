# Herald's tasks. `make` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# The stack's settings, for the command that follows.
with_stack = eval "$$(tools/stack.sh env)" &&

# Go's cache then serves every clone of Herald, whichever folder it is in.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# Compilers and linters spend a fifth of their time on garbage collection otherwise.
build lint: export GOGC = 400

# The linters are a separate module, so that Herald does not depend on theirs.
lint_tool = go tool -modfile=tools/lint/go.mod

.PHONY: help up down logs env build demo bench drill test tested lint histories screenshots clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: ## start Postgres, RabbitMQ, Kafka and Temporal with its Web UI, installing what is missing
	@tools/stack.sh up
	@$(with_stack) go run ./starter migrate up

down: ## stop them, and keep the data
	@tools/stack.sh down

logs: ## follow their logs
	@tools/stack.sh logs

env: ## print their settings, and Go's: eval "$(make -s env)"
	@tools/stack.sh env
	@echo "export GOFLAGS='$(GOFLAGS)'"

build: ## build the programs into bin/, without debug symbols
	go build -ldflags='-s -w' -o bin/ ./worker ./gateway ./starter ./tools/sandbox/cmd/sandbox ./tools/demo/cmd/demo

demo: ## start everything, deliver the example events, and show who got what; ARGS=--all shows each message
	@tools/demo.sh $(ARGS)

bench: ## compare Herald with other ways, in 15 minutes; ARGS=--help lists the cases, ARGS='deliveries --events 20' picks some
	@$(with_stack) go run ./tools/bench $(ARGS)

drill: ## kill, freeze, cut and slow everything under load for ten minutes, and judge; ARGS=--help explains
	@tools/drill.sh $(ARGS)

# The checks run while the stack starts and the tests wait. They include vet, so the tests leave it
# out.
test: ## run all checks and all tests, against the real servers
	@tools/browser.sh
	@tools/prometheus.sh
	@$(MAKE) --no-print-directory --jobs=2 lint tested

tested: up
	@$(with_stack) tools/test.sh

lint: ## check format, correctness, imports, determinism and vulnerabilities; VULNERABILITIES=--required needs their list
	@unformatted=$$(find . -name '*.go' -not -path './.*' -exec gofmt -l {} +) && \
		if [[ -n $$unformatted ]]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	tools/frozen.sh
	tools/width.sh
	tools/prose.sh
	go vet ./...
	$(lint_tool) staticcheck ./...
	$(lint_tool) depguard ./...
	$(lint_tool) workflowcheck -test=false ./...
	tools/vulnerabilities.sh $(VULNERABILITIES)

histories: up ## record the histories of the replay test again, from all end-to-end tests
	rm -rf workflows/testdata/next
	@$(with_stack) go test ./internal/e2e -count=1 -timeout 60m -record $(CURDIR)/workflows/testdata/next

screenshots: ## take the pictures of docs/ again, from what `make demo` left running
	@tools/screenshots.sh

clean: ## stop the stack, and delete it with its data and everything that was built
	@if [[ -e .dev/drill ]]; then HERALD_DEV=.dev/drill HERALD_PORT_BASE= tools/stack.sh destroy && rm -rf .dev/drill; fi
	@tools/stack.sh destroy
	rm -rf bin
