#!/usr/bin/env bash
# The demo: starts the stack, the sandbox, a worker, a gateway and a console, loads the example directory,
# delivers the example events, also events of two services with separate outboxes, and shows the
# results for recipients and topics. With --all, it shows each change, and each person and channel.
# Everything keeps running until `make down`. The exit code is the exit code of bin/demo.
set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$REPO"
if [[ $# -gt 1 || ${1:---all} != --all ]]; then
  echo "usage: tools/demo.sh [--all]" >&2
  exit 2
fi

# The demo's worker sends every pending event to the sandbox, and its seed overwrites rows:
# it must not run on a database with real events and customers.
yours=$(tools/stack.sh yours | paste -sd ' ')
if [[ -n $yours ]]; then
  echo "demo: ${yours// /, } names a server of yours. The demo would mark its pending events as sent, and overwrite" >&2
  echo "demo: customers that have the example's ids. Run it on the local stack: (unset $yours; make demo)" >&2
  exit 1
fi

# shellcheck source=tools/stack/process.sh
source tools/stack/process.sh
say() { echo "demo: $*" >&2; }

# build compiles the programs while the stack starts.
build() { GOFLAGS="${GOFLAGS:-} -v" watched "building the programs" make --silent build; }

build &
building=$!
tools/stack.sh up
tools/stack.sh example
unset OUTBOX_SOURCES # it may name your outboxes

eval "$(tools/stack.sh env)"
DEV=$(cd "${HERALD_DEV:-$REPO/.dev}" && pwd -P)
SANDBOX_PORT=$((HERALD_STACK + 16))
WORKER_PORT=$((HERALD_STACK + 17))
SANDBOX_URL=http://127.0.0.1:$SANDBOX_PORT
GATEWAY_PORT=$((HERALD_STACK + 18))
GATEWAY_ADMIN_PORT=$((HERALD_STACK + 19))
CONSOLE_PORT=$((HERALD_STACK + 20))

# shellcheck source=tools/stack/programs.sh
source tools/stack/programs.sh
# shellcheck source=tools/stack/settings.sh
source tools/stack/settings.sh

use_sandbox "127.0.0.1:$SANDBOX_PORT" "127.0.0.1:$GATEWAY_PORT"
export WORKER_HTTP_ADDR=127.0.0.1:$WORKER_PORT
# Visitors of the gateway's page can log in as any user, so it is reachable only from this machine.
export GATEWAY_HTTP_ADDR=127.0.0.1:$GATEWAY_PORT GATEWAY_ADMIN_ADDR=127.0.0.1:$GATEWAY_ADMIN_PORT
AUTH_HS256_SECRET=$(local_secret token)
HERALD_SECRET=$(local_secret herald)
export AUTH_HS256_SECRET HERALD_SECRET
unset GATEWAY_ALLOWED_ORIGINS GATEWAY_MAX_SOCKETS GATEWAY_MAX_SOCKETS_PER_RECIPIENT GATEWAY_MAX_CONNECTIONS_PER_ADDRESS
# Short retries: deliveries recover soon after a fault in the sandbox ends.
export EMAIL_RETRY_INTERVAL=1s PUSH_RETRY_INTERVAL=1s SMS_RETRY_INTERVAL=1s

# answers_ok reports whether a GET of a path returns 200.
# shellcheck disable=SC2317 # `answers` calls it
answers_ok() { # PORT PATH
  local status
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
  IFS= read -r -t 5 -u 3 status || status=
  exec 3>&-
  [[ $status == *" 200 "* ]]
}

# ask prints the last line of the answer to a GET of a path.
ask() { # PORT PATH
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
  tail -n 1 <&3
  exec 3>&-
}

wait "$building" || fail "the programs do not build"
watched "creating Herald's tables" bin/starter migrate up

# Restarts the programs each time, so that the new builds run.
programs_stop graceful
free "$SANDBOX_PORT" "$WORKER_PORT" "$GATEWAY_PORT" "$GATEWAY_ADMIN_PORT" "$CONSOLE_PORT"
say "starting the sandbox, which replaces the providers"
detach "$(program_pid sandbox)" "$DEV/log/sandbox.log" "$(program sandbox)" --local --addr "127.0.0.1:$SANDBOX_PORT" --ledger "$DEV/log/ledger.jsonl" \
  --gateway "$PUBLIC_URL" --sendgrid-key "$DEV/run/sendgrid.pem" --receipts '{"delay":"300ms"}'
answers 60 "$(program_pid sandbox)" answers_ok "$SANDBOX_PORT" /healthz || {
  tail -n 20 "$DEV/log/sandbox.log" >&2
  fail "the sandbox does not answer"
}
SENDGRID_WEBHOOK_PUBLIC_KEY=$(ask "$SANDBOX_PORT" /keys/sendgrid)
export SENDGRID_WEBHOOK_PUBLIC_KEY

# ready starts the worker, the gateway and the console at the same time, loads the example meanwhile,
# and waits until all answer.
# shellcheck disable=SC2317 # `watched` calls it
ready() {
  detach "$(program_pid worker)" "$DEV/log/worker.log" "$(program worker)"
  detach "$(program_pid gateway)" "$DEV/log/gateway.log" "$(program gateway)"
  detach "$(program_pid console)" "$DEV/log/console.log" "$(program console)" console --addr "127.0.0.1:$CONSOLE_PORT"
  bin/starter seed --yes --slack-url "$SANDBOX_URL" || return
  await gateway "$GATEWAY_ADMIN_PORT" /readyz && await console "$CONSOLE_PORT" /search && await worker "$WORKER_PORT" /readyz
}

# await waits until a program answers. If it does not, await prints the end of the program's log.
# shellcheck disable=SC2317 # `ready` calls it
await() { # NAME PORT PATH
  echo "waiting for the $1"
  answers 180 "$(program_pid "$1")" answers_ok "$2" "$3" || {
    tail -n 20 "$DEV/log/$1.log"
    echo "the $1 does not become ready"
    return 1
  }
}

watched "starting a worker, a gateway and the console, and loading the example" ready
watched "starting the pollers of the outboxes" bin/starter poller start
watched "checking the configuration" bin/starter check --since 1s # an earlier demo wrote wrong events on purpose
code=0
bin/demo --sandbox-url "$SANDBOX_URL" "$@" || code=$?

cat <<END

Look at:
  http://127.0.0.1:$CONSOLE_PORT/   the console: who got what, and why
  http://127.0.0.1:$SANDBOX_PORT/   the sandbox: what the providers were asked to send
  http://127.0.0.1:$GATEWAY_PORT/   the inbox of any of these people
  ${TEMPORAL_UI_URL:-(your server)}/   Temporal: each event and each delivery is a workflow
  eval "\$(make -s env)"; bin/starter event list   the same in a terminal, also of the other outboxes

All keeps running until \`make down\`. \`make demo ARGS=--all\` shows each person and channel.
Next: your own notification, docs/your-own.md
END
exit "$code"
