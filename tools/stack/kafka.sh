# shellcheck shell=bash
# Kafka: the program of tools/kafka, built into the dev folder.

KAFKA=$DEV/bin/kafka
KAFKA_PID=$DEV/run/kafka.pid

kafka_install() {
  command -v go >/dev/null || fail "please install Go, see https://go.dev/dl"
  (cd "$REPO/tools/kafka" && GOFLAGS=-buildvcs=false GOWORK=off go build -ldflags='-s -w' -o "$KAFKA" . 9>&-) ||
    fail "the Kafka broker does not build"
}

kafka_start() {
  free "$KAFKA_PORT"
  detach "$KAFKA_PID" "$DEV/log/kafka.log" "$KAFKA" -port "$KAFKA_PORT" -data "$DEV/kafka"
  answers 120 "$KAFKA_PID" "$KAFKA" -check -port "$KAFKA_PORT"
}

kafka_running() { runs "$KAFKA_PID" "$KAFKA"; }

kafka_log() { echo "$DEV/log/kafka.log"; }

kafka_stop() { finish "$KAFKA_PID" "$KAFKA" "$1"; }

kafka_delete() { rm -rf "$DEV/kafka"; }
