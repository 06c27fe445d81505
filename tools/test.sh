#!/usr/bin/env bash
# Runs all tests on the stack that the environment names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The script drops all databases of the tests at the end: see RunVariable in
# internal/db/postgrestest.
export HERALD_TEST_RUN=$$

# Prints the failures again, without the long logs of processes.
log=$(mktemp) races=$(mktemp)
failures() {
  [[ $1 == 0 ]] || { echo "failed, without the processes' logs:"; grep -Ev '^ *\{|^ok|^\?' "$log" | tail -c 8000; }
  rm -f "$log" "$races"
}
trap 'status=$?; failures $status; go run ./internal/db/postgrestest/drop "$HERALD_TEST_RUN"' EXIT

# The tests of internal/e2e take longest and mostly wait, so the others run meanwhile.
# The race detector compiles all dependencies once more, so it tests the packages whose goroutines share
# memory without a database between them.
go test -vet=off -race -timeout 30m ./internal/channel ./internal/channel/push ./internal/rabbitmq ./internal/web/live >"$races" 2>&1 &
status=0
go test -vet=off -count=1 -timeout 45m ./internal/e2e ./... 2>&1 | tee -a "$log" || status=1
wait $! || status=1
tee -a "$log" <"$races"
exit $status
