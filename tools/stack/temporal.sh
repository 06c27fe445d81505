# shellcheck shell=bash
# Temporal: the program of tools/temporal, built into the dev folder.

TEMPORAL=$DEV/bin/temporal
TEMPORAL_PID=$DEV/run/temporal.pid

temporal_install() {
  command -v go >/dev/null || fail "please install Go, see https://go.dev/dl"
  [[ -x $TEMPORAL ]] || say "building the Temporal server; the first time takes some minutes"
  (cd "$REPO/tools/temporal" && GOFLAGS=-buildvcs=false GOWORK=off go build -ldflags='-s -w' -o "$TEMPORAL" . 9>&-) ||
    fail "the Temporal server does not build"
}

temporal_start() {
  free "$TEMPORAL_PORT" $((TEMPORAL_PORT + 1)) $((TEMPORAL_PORT + 2)) $((TEMPORAL_PORT + 3)) "$UI_PORT"
  # The collector is the server's largest cost: GOGC=400 doubles its throughput.
  # The password is in the environment, since everybody can read a command line.
  PGPASSWORD=$(pg_password) GOGC=400 detach "$TEMPORAL_PID" "$DEV/log/temporal.log" "$TEMPORAL" \
    -port "$TEMPORAL_PORT" -ui-port "$UI_PORT" -postgres "127.0.0.1:$PG_PORT"
  answers 300 "$TEMPORAL_PID" "$TEMPORAL" -check -port "$TEMPORAL_PORT" || return 1
  answers 120 "$TEMPORAL_PID" listening "$UI_PORT"
}

temporal_running() { runs "$TEMPORAL_PID" "$TEMPORAL"; }

temporal_log() { echo "$DEV/log/temporal.log"; }

temporal_stop() { finish "$TEMPORAL_PID" "$TEMPORAL" "$1"; }

# temporal_delete has nothing to do: the data is in Postgres.
temporal_delete() { :; }
