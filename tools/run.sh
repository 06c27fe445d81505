#!/usr/bin/env bash
# Starts the sandbox, a worker and a gateway on the servers of `make up`, with receipts and links
# to unsubscribe, until Ctrl-C. `--yes` allows your own servers: the worker sends their pending
# events to the sandbox. HERALD_BIN names a folder with the programs; without it, make builds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

yours=$(tools/stack.sh yours | paste -sd ' ' -)
if [[ -n $yours && ${1:-} != --yes ]]; then
  echo "run: ${yours// /, } names a server of yours: its pending events would go to the sandbox" >&2
  echo "run: repeat with --yes to send them there, or unset $yours" >&2
  exit 1
fi
eval "$(tools/stack.sh env)"
DEV=${HERALD_DEV:-$PWD/.dev}
# shellcheck source=tools/stack/settings.sh
source tools/stack/settings.sh

SANDBOX_ADDR=${SANDBOX_ADDR:-127.0.0.1:$((HERALD_STACK + 16))}
export WORKER_HTTP_ADDR=${WORKER_HTTP_ADDR:-127.0.0.1:$((HERALD_STACK + 17))}
export GATEWAY_HTTP_ADDR=${GATEWAY_HTTP_ADDR:-127.0.0.1:$((HERALD_STACK + 18))}
export GATEWAY_ADMIN_ADDR=${GATEWAY_ADMIN_ADDR:-127.0.0.1:$((HERALD_STACK + 19))}

sandbox=http://$SANDBOX_ADDR
use_sandbox "$SANDBOX_ADDR" "$GATEWAY_HTTP_ADDR"
AUTH_HS256_SECRET=${AUTH_HS256_SECRET:-$(local_secret token)}
HERALD_SECRET=${HERALD_SECRET:-$(local_secret herald)}
export AUTH_HS256_SECRET HERALD_SECRET

bin=${HERALD_BIN:-}
if [[ -z $bin ]]; then
  make --silent build
  bin=bin
fi

pids=()
ledger=$(mktemp -d)

start() { # COMMAND...
  "$@" &
  pids+=($!)
}

# end stops the sandbox last, because the worker sends messages to it.
end() {
  trap - EXIT
  local i
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill "${pids[i]}" 2>/dev/null || true
    wait "${pids[i]}" 2>/dev/null || true
  done
  rm -rf "$ledger"
}
trap end EXIT
trap 'exit 0' INT TERM

# get prints the answer of a URL, and retries for up to a minute.
get() { curl --silent --fail --retry 60 --retry-delay 1 --retry-connrefused "$1"; } # URL

all_run() {
  local pid
  for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}

"$bin/starter" migrate up
start "$bin/sandbox" --local --addr "$SANDBOX_ADDR" --ledger "$ledger/ledger.jsonl" --gateway "$PUBLIC_URL"
SENDGRID_WEBHOOK_PUBLIC_KEY=$(get "$sandbox/keys/sendgrid")
export SENDGRID_WEBHOOK_PUBLIC_KEY
start "$bin/worker"
start "$bin/gateway"
get "http://$WORKER_HTTP_ADDR/readyz" >/dev/null
get "http://$GATEWAY_ADMIN_ADDR/readyz" >/dev/null
"$bin/starter" poller start
echo "run: the sandbox is at $sandbox, the inbox at $PUBLIC_URL; Ctrl-C ends everything" >&2

while all_run; do sleep 1; done
echo "run: a program has ended; its last lines are above" >&2
exit 1
