#!/usr/bin/env bash
# The demo: starts the stack, the sandbox, a worker, a gateway and a console, loads the example directory,
# delivers the example events, also events of two services with separate outboxes, and shows the
# results for recipients and topics. Everything keeps running until `make down`.
# The exit code is the exit code of bin/demo.
set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$REPO"

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
WORKER_URL=http://127.0.0.1:$WORKER_PORT
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
say "creating Herald's tables"
bin/starter migrate up

# Restarts the programs each time, so that the new builds run.
programs_stop graceful
free "$SANDBOX_PORT" "$WORKER_PORT" "$GATEWAY_PORT" "$GATEWAY_ADMIN_PORT" "$CONSOLE_PORT"
say "starting the sandbox"
detach "$(program_pid sandbox)" "$DEV/log/sandbox.log" "$(program sandbox)" --local --addr "127.0.0.1:$SANDBOX_PORT" --ledger "$DEV/log/ledger.jsonl" \
  --gateway "$PUBLIC_URL" --sendgrid-key "$DEV/run/sendgrid.pem" --receipts '{"delay":"300ms"}'
answers 60 "$(program_pid sandbox)" answers_ok "$SANDBOX_PORT" /healthz || {
  tail -n 20 "$DEV/log/sandbox.log" >&2
  fail "the sandbox does not answer"
}
SENDGRID_WEBHOOK_PUBLIC_KEY=$(ask "$SANDBOX_PORT" /keys/sendgrid)
export SENDGRID_WEBHOOK_PUBLIC_KEY
say "starting a worker"
detach "$(program_pid worker)" "$DEV/log/worker.log" "$(program worker)"
answers 180 "$(program_pid worker)" answers_ok "$WORKER_PORT" /readyz || {
  tail -n 20 "$DEV/log/worker.log" >&2
  fail "the worker does not become ready"
}

say "starting a gateway"
detach "$(program_pid gateway)" "$DEV/log/gateway.log" "$(program gateway)"
answers 60 "$(program_pid gateway)" answers_ok "$GATEWAY_ADMIN_PORT" /readyz || {
  tail -n 20 "$DEV/log/gateway.log" >&2
  fail "the gateway does not become ready"
}

say "starting the console"
detach "$(program_pid console)" "$DEV/log/console.log" "$(program console)" console --addr "127.0.0.1:$CONSOLE_PORT"
answers 60 "$(program_pid console)" answers_ok "$CONSOLE_PORT" /search || {
  tail -n 20 "$DEV/log/console.log" >&2
  fail "the console does not answer"
}

bin/starter seed --yes --slack-url "$SANDBOX_URL"
bin/starter poller start
say "checking all that is configured"
bin/starter check --since 1s # an earlier demo wrote wrong events on purpose
code=0
bin/demo --sandbox-url "$SANDBOX_URL" || code=$?

cat <<END

Everything keeps running until \`make down\`. To look at:
  what failed, in Temporal      ${TEMPORAL_UI_URL:-(your server)}/namespaces/${TEMPORAL_NAMESPACE:-default}/workflows?query=HeraldOutcome%3D%22FAILED%22
  what went out, in the sandbox ${SANDBOX_URL}/
  the inbox of anybody          http://127.0.0.1:$GATEWAY_PORT/
  who got what, and why         http://127.0.0.1:$CONSOLE_PORT/
  RabbitMQ                      ${RABBITMQ_MANAGEMENT_URL:-(your server)}
  the worker                    $WORKER_URL/readyz
  the order service's topic     kcat -b $KAFKA_BROKERS -C -t order-events -e
  the outboxes                  eval "\$(make -s env)"; bin/starter source list; bin/starter event list --source orders
  one event, with all about it  eval "\$(make -s env)"; bin/starter event show EVENT_ID
END
exit "$code"
