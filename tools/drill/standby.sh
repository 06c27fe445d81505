#!/usr/bin/env bash
# A synchronous standby of the stack in HERALD_DEV, for the drill. Until `promote`, a commit waits until
# the standby has it. The promoted standby then has the place and the port of the killed primary.
set -euo pipefail

home=$(cat "$HERALD_DEV/run/postgres.home")
port=$((HERALD_PORT_BASE + 8)) # free, see tools/stack.sh
bin=/usr/lib/postgresql/$(cat "$home/data/PG_VERSION")/bin

as_owner() { if [[ $(id -u) -eq 0 ]]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }

sql() { "$bin/psql" --no-psqlrc --dbname "$DATABASE_URL" -qtA -v ON_ERROR_STOP=1 -c "$1"; }

case ${1:-} in
make)
  rm -rf "$home/standby"
  echo 'host replication all 127.0.0.1/32 scram-sha-256' | as_owner tee -a "$home/data/pg_hba.conf" >/dev/null
  sql 'SELECT pg_reload_conf()' >/dev/null
  as_owner "$bin/pg_basebackup" --dbname "$DATABASE_URL" --pgdata "$home/standby" --write-recovery-conf --checkpoint fast
  as_owner "$bin/pg_ctl" start --silent --wait --pgdata "$home/standby" --log "$home/standby.log" \
    --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=400" </dev/null >/dev/null 2>&1
  for ((i = 0; i < 300; i++)); do
    if [[ $(sql "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") -gt 0 ]]; then break; fi
    sleep 0.2
  done
  if ((i == 300)); then
    echo "the standby does not follow: see $home/standby.log" >&2
    exit 1
  fi
  sql "ALTER SYSTEM SET synchronous_standby_names = '*'"
  sql 'SELECT pg_reload_conf()' >/dev/null
  ;;
promote)
  as_owner "$bin/pg_ctl" promote --silent --wait --pgdata "$home/standby"
  as_owner "$bin/pg_ctl" stop --silent --wait --mode fast --pgdata "$home/standby"
  rm -rf "$home/data"
  mv "$home/standby" "$home/data"
  ;;
*)
  echo "usage: standby.sh make|promote" >&2
  exit 2
  ;;
esac
