#!/usr/bin/env bash
# Takes the screenshots of docs/ from the stack that `make demo` leaves running: failed
# deliveries, an event with its children, a delivery in retry, and a delivery that waits for the
# end of quiet hours. Each run creates these situations again.
set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$REPO"
eval "$(tools/stack.sh env)"
# shellcheck disable=SC2034 # programs.sh looks there
DEV=$(cd "${HERALD_DEV:-$REPO/.dev}" && pwd -P)
SANDBOX_URL=http://127.0.0.1:$((HERALD_STACK + 16))
WORKFLOWS=/namespaces/${TEMPORAL_NAMESPACE:-default}/workflows
RUN=picture-$(date +%H%M%S)
TEMP=$(mktemp -d)

# shellcheck source=tools/stack/process.sh
source tools/stack/process.sh
# shellcheck source=tools/stack/packages.sh
source tools/stack/packages.sh
# shellcheck source=tools/stack/programs.sh
source tools/stack/programs.sh

# need installs a package unless its command exists.
need() { # COMMAND PACKAGE
  "$1" >/dev/null 2>&1 || command -v "$1" >/dev/null || install "$2:$2"
}

# fault sets the sandbox's fault for e-mails. Without an argument it clears the fault.
fault() { # [FAULT]
  local how=(--request DELETE)
  if [[ $# -gt 0 ]]; then how=(--request PUT --data "$1"); fi
  curl --silent --fail --max-time 10 --output /dev/null "${how[@]}" "$SANDBOX_URL/faults/EMAIL"
}

emit() { # NAME TYPE RESERVATION CUSTOMER-ID CUSTOMER
  bin/starter emit --event-id "$RUN-$1" --type "$2" --aggregate-type RESERVATION --aggregate-id "$3" >/dev/null \
    --payload "{\"reservationId\":$3,\"restaurantId\":7,\"customer\":{\"id\":$4,\"name\":\"$5\"},\"pax\":2,\"date\":\"2026-12-21\",\"time\":\"20:00\",\"notes\":null}"
}

# describe prints the Web UI's description of a workflow.
describe() { curl --silent --fail --max-time 10 "$TEMPORAL_UI_URL/api/v1$WORKFLOWS/$1"; } # WORKFLOW-ID

holds() { [[ $(describe "$1") == *"$2"* ]]; } # WORKFLOW-ID TEXT

# reaches waits until the Web UI's description of a workflow contains a text.
reaches() { # WORKFLOW-ID TEXT
  within 60 holds "$1" "$2" || fail "the workflow $1 does not show $2"
}

# page prints the URL of a tab on a workflow's page.
page() { # WORKFLOW-ID TAB
  local run
  run=$(describe "$1" | grep -o '"runId": *"[^"]*"' | head -n 1 | cut -d'"' -f4)
  echo "$TEMPORAL_UI_URL$WORKFLOWS/$1/$run/$2"
}

# shoot takes a screenshot of a page after it shows a text. A page has few colours, so a
# palette reduces the file to a third of its size.
shoot() { # NAME HEIGHT TEXT ADDRESS
  say "docs/$1.png"
  "$TEMP/screenshots" --width 1600 --height "$2" --until "$3" --out "$TEMP/$1.png" "$4" || fail "no docs/$1.png"
  pngquant --force --strip --quality 60-95 --output "docs/$1.png" "$TEMP/$1.png"
}

if ! runs "$(program_pid worker)" "$(program worker)" || ! runs "$(program_pid sandbox)" "$(program sandbox)"; then
  fail "the demo's worker and sandbox do not run; start them with \`make demo\`"
fi
tools/browser.sh
need pngquant pngquant
need curl curl
(cd tools/screenshots && GOFLAGS=-buildvcs=false GOWORK=off go build -o "$TEMP/screenshots" .)
trap 'fault || true; rm -rf "$TEMP"' EXIT

say "making the situations"
fault '{"status":429,"retry_after":"5m"}'
emit retrying RESERVATION_REMINDER 101 43 "Ada Brooks"
retrying=$RUN-retrying-customer43-EMAIL
reaches "$retrying" 429
fault
bin/starter suppression remove --channel SMS --address +15005550001 --yes >/dev/null 2>&1 || true # the demo found that the number is invalid
emit failing RESERVATION_CONFIRMED 103 45 "Tom Wrong"
emit quiet RESERVATION_REMINDER 105 46 "Yuki Sato"
reaches "$RUN-failing" COMPLETED
reaches "$RUN-quiet-customer46-PUSH" RUNNING

shoot failed 760 "$RUN-failing-customer45-SMS" "$TEMPORAL_UI_URL$WORKFLOWS?query=HeraldOutcome%3D%22FAILED%22"
shoot event 1240 "$RUN-failing-customer45-SMS" "$(page "$RUN-failing" relationships)"
shoot retrying 900 429 "$(page "$retrying" pending-activities)"
shoot quiet-hours 720 "waiting until" "$(page "$RUN-quiet-customer46-PUSH" user-metadata)"
say "done; the delivery that is retried is sent in five minutes"
