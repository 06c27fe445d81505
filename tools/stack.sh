#!/usr/bin/env bash
# The local stack: Postgres, RabbitMQ, Kafka and Temporal with its Web UI, each a process
# of this checkout, on separate ports, with its data in a separate folder.
# It changes nothing else on the machine and needs no service manager.
set -euo pipefail

usage() {
  cat <<'EOF'
usage: tools/stack.sh COMMAND [SERVICE ...]

  up        start what is not running, and wait until it answers
  down      stop, and keep the data; `--immediate` stops Postgres without a checkpoint
  restart   down, then up
  kill      stop as a power cut would (SIGKILL), and keep the data
  freeze    let the processes do nothing (SIGSTOP)
  thaw      let them continue
  destroy   stop, and delete the data
  status    say what is running; exit 1 if anything is not
  logs      follow the logs
  example   make the tables and topics of the example's two services, for the demo
  env       print the settings as `export` lines, for eval
  yours     print the settings that name a server of yours

Services: postgres, rabbitmq, kafka, temporal; without any, all of them.

HERALD_DEV        where data and logs are (default: .dev of this checkout, which also has the binaries)
HERALD_PORT_BASE  the first of 21 ports (default: 17000)
HERALD_TEMPORAL_FAIR  false: Temporal without fairness, as by a server's default (default: true)
HERALD_KAFKA_ADVERTISED
                  the port that Kafka tells its clients, of a proxy (default: its own port)
HERALD_KAFKA      apache: Kafka is Apache's, which needs Java 17 and Maven (default: tools/kafka)
DATABASE_URL, RABBITMQ_URL, KAFKA_BROKERS, TEMPORAL_ADDRESS
                  a server of yours, used in place of one of ours
EOF
}

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
DEV=${HERALD_DEV:-$REPO/.dev}
BIN=$REPO/.dev/bin # for all stacks of this checkout
mkdir -p "$DEV/run" "$DEV/log" "$BIN"
DEV=$(cd "$DEV" && pwd -P)

# While the stack runs, its folder stores its ports: a call with other ports would not find
# the servers.
USED=$(cat "$DEV/run/port_base" 2>/dev/null || true)
BASE=${HERALD_PORT_BASE:-${USED:-17000}}
if [[ ! $BASE =~ ^[0-9]+$ || $BASE -lt 1024 || $BASE -gt 65000 ]]; then
  echo "stack: HERALD_PORT_BASE must be a number from 1024 to 65000" >&2
  exit 2
elif [[ -n $USED && $USED != "$BASE" ]]; then
  echo "stack: the stack in $DEV has its ports from $USED; unset HERALD_PORT_BASE, or choose another HERALD_DEV" >&2
  exit 2
fi

# The ports; base+8 to base+12 are free.
PG_PORT=$BASE
AMQP_PORT=$((BASE + 1))
DIST_PORT=$((BASE + 2))
EPMD_PORT=$((BASE + 3))
MANAGEMENT_PORT=$((BASE + 4))
TEMPORAL_PORT=$((BASE + 5)) # and the two that follow, for HTTP and metrics
KAFKA_CONTROLLER_PORT=$((BASE + 13)) # of Apache Kafka
KAFKA_PORT=$((BASE + 14))
UI_PORT=$((BASE + 15))

# shellcheck source=tools/stack/process.sh
source "$REPO/tools/stack/process.sh"
# shellcheck source=tools/stack/packages.sh
source "$REPO/tools/stack/packages.sh"
# shellcheck source=tools/stack/postgres.sh
source "$REPO/tools/stack/postgres.sh"
# shellcheck source=tools/stack/rabbitmq.sh
source "$REPO/tools/stack/rabbitmq.sh"
# shellcheck source=tools/stack/kafka.sh
source "$REPO/tools/stack/kafka.sh"
# shellcheck source=tools/stack/temporal.sh
source "$REPO/tools/stack/temporal.sh"
# shellcheck source=tools/stack/settings.sh
source "$REPO/tools/stack/settings.sh"
# shellcheck source=tools/stack/programs.sh
source "$REPO/tools/stack/programs.sh"
# shellcheck source=tools/stack/example.sh
source "$REPO/tools/stack/example.sh"

# ours prints the requested services that the stack runs itself.
ours() {
  if wanted postgres && ! external DATABASE_URL; then echo postgres; fi
  if wanted rabbitmq && ! external RABBITMQ_URL; then echo rabbitmq; fi
  if wanted kafka && ! external KAFKA_BROKERS; then echo kafka; fi
  if wanted temporal && ! external TEMPORAL_ADDRESS; then echo temporal; fi
}

wanted() { [[ ${#SERVICES[@]} -eq 0 || " ${SERVICES[*]} " == *" $1 "* ]]; }

# up installs what is missing, then starts the servers at the same time.
up() {
  local service starting=() packages=() pids=() failed=0
  former_server
  echo "$BASE" >"$DEV/run/port_base"
  for service in $(ours); do
    if "${service}_running"; then
      say "$service is already running"
    else
      starting+=("$service")
      # shellcheck disable=SC2207
      packages+=($("${service}_packages"))
    fi
  done
  if [[ ${#packages[@]} -gt 0 ]]; then install "${packages[@]}"; fi
  for service in ${starting[@]+"${starting[@]}"}; do
    start "$service" &
    pids+=($!)
  done
  for service in ${pids[@]+"${pids[@]}"}; do wait "$service" || failed=1; done
  return "$failed"
}

start() { # SERVICE
  "$1_install"
  say "starting $1"
  "$1_start" || fail "$1 did not start; the end of its log ($("$1_log")):" "$1"
}

# former_server fails if the folder has the data of the server that Herald built before it used the
# Temporal CLI.
former_server() {
  if [[ -x $DEV/bin/temporal && ! -e $DEV/temporal/server.db ]] && ! "$DEV/bin/temporal" --version 2>/dev/null | grep -q '^temporal version'; then
    fail "$DEV is from an older Herald, whose data this one cannot read: stop what runs there, delete the folder, and repeat"
  fi
}

down() {
  local service
  if [[ ${#SERVICES[@]} -eq 0 ]]; then programs_stop "$1"; fi
  for service in $(ours | reverse); do
    if "${service}_running"; then say "stopping $service"; fi
    "${service}_stop" "$@"
  done
  if [[ ${#SERVICES[@]} -eq 0 ]]; then rm -f "$DEV/run/port_base"; fi
}

# signal_all sends a signal to the servers and their children, and waits until a SIGSTOP has stopped them.
signal_all() { # SIGNAL
  local service pid pids
  for service in $(ours); do
    pid=$(pid_of "$("${service}_pid_file")") || fail "$service does not run"
    # shellcheck disable=SC2207
    pids=("$pid" $(pgrep -P "$pid" || true))
    kill "-$1" "${pids[@]}" || true # a child may have ended
    if [[ $1 == STOP ]]; then
      for pid in "${pids[@]}"; do within 60 stopped "$pid" || fail "process $pid of $service does not stop"; done
    fi
  done
}

destroy() {
  local service
  down immediate
  for service in $(ours); do "${service}_delete"; done
  if [[ ${#SERVICES[@]} -eq 0 ]]; then
    rm -rf "${DEV:?}/bin" "$DEV/log" "$DEV/run" # bin: of the stack of the checkout
    rmdir "$DEV" 2>/dev/null || true # fails if it has other files
  fi
}

status() {
  local service all=0
  for service in $(ours); do
    if "${service}_running"; then
      echo "$service is running"
    else
      echo "$service is not running"
      all=1
    fi
  done
  return "$all"
}

logs() {
  local service files=()
  for service in $(ours); do files+=("$("${service}_log")"); done
  [[ ${#files[@]} -gt 0 ]] || fail "all servers are yours: look at their own logs"
  exec tail -n 30 -F "${files[@]}"
}

COMMAND=${1:-help}
STOP=graceful
SERVICES=()
for argument in "${@:2}"; do
  case $argument in
  postgres | rabbitmq | kafka | temporal) SERVICES+=("$argument") ;;
  --immediate) STOP=immediate ;;
  *)
    usage >&2
    exit 2
    ;;
  esac
done

case $COMMAND in
up) exclusively up ;;
down) exclusively down "$STOP" ;;
restart)
  exclusively down "$STOP"
  COMMAND=up
  up
  ;;
kill) exclusively down kill ;;
freeze) exclusively signal_all STOP ;;
thaw) exclusively signal_all CONT ;;
destroy) exclusively destroy ;;
example) exclusively example ;;
status | logs | yours) "$COMMAND" ;;
env) settings ;;
help | -h | --help) usage ;;
*)
  usage >&2
  exit 2
  ;;
esac
