#!/usr/bin/env bash
# Runs the Kafka tests against Apache Kafka, on a separate node. Without Java and Maven it only
# prints a warning.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then
  echo "WARNING: the tests of Kafka did NOT run against Apache Kafka, which needs Java 17 and Maven." >&2
  exit 0
fi
unset KAFKA_BROKERS HERALD_STACK
HERALD_DEV=$(mktemp -d)
export HERALD_DEV HERALD_KAFKA=apache HERALD_PORT_BASE=$((${HERALD_PORT_BASE:-17000} + 40)) # next to the stack of this checkout
trap 'tools/stack.sh destroy; rm -rf "$HERALD_DEV"' EXIT
trap 'exit 143' TERM
tools/stack.sh up kafka
eval "$(tools/stack.sh env kafka)"
go test -count=1 ./internal/relay/kafka/...
echo "the tests of Kafka ran against Apache Kafka"
