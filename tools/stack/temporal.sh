# shellcheck shell=bash
# Temporal: `temporal server start-dev`, if there is a `temporal` CLI. Otherwise the program of
# tools/temporal, built into the dev folder. A folder keeps its first server until `make clean`,
# because the other server does not have its workflows.

TEMPORAL=$DEV/bin/temporal
TEMPORAL_DATA=$DEV/temporal
TEMPORAL_PID=$DEV/run/temporal.pid
TEMPORAL_CLI_SERVER=1.29 # minimum version of a CLI's server, as in CLI 1.5; older servers lack Worker Versioning

# The limits of tools/temporal/limits.go, which gives the reasons.
TEMPORAL_LIMITS=(
  frontend.rps=100000 frontend.namespaceRPS=100000 frontend.namespaceRPS.visibility=100 frontend.persistenceMaxQPS=100000
  history.rps=100000 history.persistenceMaxQPS=100000 matching.rps=100000 matching.persistenceMaxQPS=100000
  frontend.namespaceCount=20000 matching.numTaskqueueReadPartitions=1 matching.numTaskqueueWritePartitions=1
  "matching.enableFairness=${HERALD_TEMPORAL_FAIR:-true}" matching.maxDeployments=100000
)

# temporal_cli prints the path of a `temporal` CLI that is new enough. It prints nothing if there
# is none, or if this folder has the server of tools/temporal.
temporal_cli() {
  local cli version
  [[ ! -x $TEMPORAL ]] && cli=$(command -v temporal) || return 0
  version=$("$cli" --version 2>/dev/null | sed -n 's/.*(Server \([0-9.]*\).*/\1/p')
  if [[ -n $version && $(printf '%s\n' "$TEMPORAL_CLI_SERVER" "$version" | sort -V | head -n 1) == "$TEMPORAL_CLI_SERVER" ]]; then echo "$cli"; fi
}

temporal_install() {
  if [[ -n $(temporal_cli) ]]; then return; fi
  command -v go >/dev/null || fail "please install Go, see https://go.dev/dl"
  [[ -x $TEMPORAL ]] || say "building the Temporal server, once: 5 to 10 minutes on two cores. A \`temporal\` CLI of 1.5 or later on the PATH saves that"
  (cd "$REPO/tools/temporal" && GOFLAGS=-buildvcs=false GOWORK=off go build -ldflags='-s -w' -o "$TEMPORAL" . 9>&-) ||
    fail "the Temporal server does not build"
}

temporal_start() {
  local cli limit limits=()
  cli=$(temporal_cli)
  free "$TEMPORAL_PORT" $((TEMPORAL_PORT + 1)) $((TEMPORAL_PORT + 2)) $((TEMPORAL_PORT + 3)) "$UI_PORT"
  # Garbage collection is the server's largest cost: GOGC=400 doubles the throughput.
  local -x GOGC=400
  if [[ -n $cli ]]; then
    say "Temporal is \`$cli server start-dev\`"
    for limit in "${TEMPORAL_LIMITS[@]}"; do limits+=(--dynamic-config-value "$limit"); done
    mkdir -p "$TEMPORAL_DATA"
    detach "$TEMPORAL_PID" "$DEV/log/temporal.log" "$cli" server start-dev --db-filename "$TEMPORAL_DATA/server.db" --log-level warn \
      --ip 127.0.0.1 --port "$TEMPORAL_PORT" --http-port $((TEMPORAL_PORT + 1)) --metrics-port $((TEMPORAL_PORT + 2)) --ui-port "$UI_PORT" "${limits[@]}"
    answers 120 "$TEMPORAL_PID" "$cli" workflow list --limit 1 --address "127.0.0.1:$TEMPORAL_PORT" || return 1
  else
    # The password is in the environment, because every user can read a command line.
    PGPASSWORD=$(pg_password) detach "$TEMPORAL_PID" "$DEV/log/temporal.log" "$TEMPORAL" \
      -port "$TEMPORAL_PORT" -ui-port "$UI_PORT" -postgres "127.0.0.1:$PG_PORT" -fair="${HERALD_TEMPORAL_FAIR:-true}"
    answers 300 "$TEMPORAL_PID" "$TEMPORAL" -check -port "$TEMPORAL_PORT" || return 1
  fi
  answers 120 "$TEMPORAL_PID" listening "$UI_PORT"
}

# The command lines of both servers contain a path below the dev folder.
temporal_pid_file() { echo "$TEMPORAL_PID"; }

temporal_running() { runs "$TEMPORAL_PID" "$DEV/"; }

temporal_log() { echo "$DEV/log/temporal.log"; }

temporal_stop() { finish "$TEMPORAL_PID" "$DEV/" "$1"; }

# The data of the other server is in Postgres.
temporal_delete() { rm -rf "$TEMPORAL_DATA"; }
