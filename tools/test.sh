#!/usr/bin/env bash
# Runs all tests, on the stack whose settings are in the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The databases of the tests are dropped together at the end: see RunVariable in
# internal/postgres/postgrestest.
export HERALD_TEST_RUN=$$
trap 'go run ./internal/postgres/postgrestest/drop "$HERALD_TEST_RUN"' EXIT

go test -vet=off -race -timeout 30m ./internal/channel/... ./internal/live
go test -vet=off -count=1 -timeout 30m ./...
