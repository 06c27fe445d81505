#!/usr/bin/env bash
# The drill on a separate local stack, which it may kill: in .dev/drill, on the ports from 17100 on.
# A server of yours, named by the environment, takes the place of a local one. The drill then
# kills it only by your own --kill, --start, --freeze, --thaw or --restart. After a finding the stack
# keeps running, so that you can look.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ " $* " =~ " "--?h(elp)?" " ]]; then exec go run ./tools/drill --help; fi

# Not HERALD_DEV and HERALD_PORT_BASE, which may name the stack that you work with.
export HERALD_DEV=${DRILL_DEV:-$PWD/.dev/drill} HERALD_PORT_BASE=${DRILL_PORT_BASE:-17100}
export HERALD_KAFKA_ADVERTISED=$((HERALD_PORT_BASE + 16)) # of the drill's link
mkdir -p "$HERALD_DEV/programs"
tools/stack.sh up
yours=" $(tools/stack.sh yours | paste -sd ' ' -) "
eval "$(tools/stack.sh env)"
unset OUTBOX_SOURCES

flags=()
disrupt() { # SERVER SETTING
  if [[ $yours == *" $2 "* ]]; then return; fi
  if [[ $1 == kafka ]]; then flags+=(--kafka-link "127.0.0.1:$HERALD_KAFKA_ADVERTISED"); fi
  flags+=(--kill "$1=tools/stack.sh kill $1" --start "$1=tools/stack.sh up $1" --freeze "$1=tools/stack.sh freeze $1" --thaw "$1=tools/stack.sh thaw $1")
}
if [[ $yours != *" TEMPORAL_ADDRESS "* ]]; then
  copy=$HERALD_DEV/temporal-copy
  # A frozen server writes nothing, so the copy is of one moment.
  flags+=(--wipe "temporal=rm -rf $HERALD_DEV/temporal"
    --copy "temporal=tools/stack.sh freeze temporal && rm -rf $copy && cp -r $HERALD_DEV/temporal $copy && tools/stack.sh thaw temporal"
    --return "temporal=rm -rf $HERALD_DEV/temporal && cp -r $copy $HERALD_DEV/temporal")
fi
if [[ $yours != *" DATABASE_URL "* ]]; then
  flags+=(--copy "postgres=tools/drill/standby.sh make" --return "postgres=tools/drill/standby.sh promote")
fi
disrupt postgres DATABASE_URL
disrupt rabbitmq RABBITMQ_URL
disrupt temporal TEMPORAL_ADDRESS
disrupt kafka KAFKA_BROKERS

go build -o "$HERALD_DEV/programs/" ./worker ./gateway ./starter ./tools/sandbox/cmd/sandbox ./tools/drill
code=0
"$HERALD_DEV/programs/drill" --bin "$HERALD_DEV/programs" --reports "$HERALD_DEV" "${flags[@]}" "$@" || code=$?
if [[ $code == 0 ]]; then tools/stack.sh down; fi
exit "$code"
