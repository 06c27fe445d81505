# shellcheck shell=bash
# Postgres: a separate cluster, only on loopback TCP, because the path of a Unix socket is limited
# to 107 bytes. Other users of the machine can reach it too, so it requires a password, which
# only the owner of the dev folder can read.

PG_PASSWORD_FILE=$DEV/run/postgres.password
PG_TIMEOUT=300 # seconds to start or stop, including recovery after a crash

# pg_bin prints the folder of the newest server, or of the server that created our data.
# Debian does not put the folder on the PATH.
pg_bin() {
  local made newest
  made=$(cat "$(pg_home)/data/PG_VERSION" 2>/dev/null || true)
  if [[ -n $made && -x /usr/lib/postgresql/$made/bin/postgres ]]; then
    echo "/usr/lib/postgresql/$made/bin"
    return
  fi
  newest=$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
  if [[ -z $newest ]]; then newest=$(command -v initdb || true); fi
  if [[ -z $newest ]] && command -v brew >/dev/null; then
    newest=$(find "$(brew --prefix)/opt" -follow -maxdepth 3 -path '*/postgresql@*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
  fi
  [[ -n $newest ]] && dirname "$newest"
}

postgres_packages() { pg_bin >/dev/null || echo postgresql:postgresql@16; }

postgres_install() { true; }

# as_postgres runs a command as a user that Postgres accepts: it refuses root.
as_postgres() {
  if [[ $(id -u) -eq 0 ]]; then
    (cd / && exec runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

# pg_home prints the folder of data and log. If the user postgres cannot reach the dev
# folder (a checkout under a home of mode 700), it prints a folder in the home of postgres, named
# by a checksum of the dev folder.
pg_home() {
  if [[ -e $DEV/run/postgres.home ]]; then
    cat "$DEV/run/postgres.home"
  else
    echo "$DEV/postgres"
  fi
}

# pg_create creates the cluster. If the folder in the home of postgres already exists, it belonged
# to a deleted dev folder, so pg_create deletes it first.
pg_create() {
  local home=$DEV/postgres fallback
  mkdir -p "$home"
  if [[ $(id -u) -eq 0 ]]; then
    chown postgres "$home"
    if ! as_postgres test -w "$home/." 2>/dev/null; then
      rmdir "$home"
      fallback=$(getent passwd postgres | cut -d: -f6)
      home=$fallback/herald-$(printf %s "$DEV" | cksum | cut -d' ' -f1)
      if runs "$home/data/postmaster.pid" postgres; then kill -QUIT "$(pid_of "$home/data/postmaster.pid")"; fi
      rm -rf "$home"
      as_postgres mkdir -m 700 "$home"
    fi
  fi
  echo "$home" >"$DEV/run/postgres.home"
  rm -rf "$home/new"
  as_postgres "$(pg_bin)/initdb" --pgdata "$home/new" --username herald --auth trust --encoding UTF8 --no-locale \
    --no-instructions >"$DEV/log/initdb.log" || fail "initdb failed, see $DEV/log/initdb.log"
  as_postgres mv "$home/new" "$home/data" # so that data is always a complete cluster
}

postgres_start() {
  local home
  if [[ ! -e $(pg_home)/data/PG_VERSION ]]; then pg_create; fi
  home=$(pg_home)
  free "$PG_PORT"
  if gone "$home/data/postmaster.pid" postgres; then rm -f "$home/data/postmaster.pid"; fi
  if [[ ! -s $PG_PASSWORD_FILE ]]; then pg_set_password "$home"; fi

  # fsync and synchronous_commit stay on: crash tests must be able to trust a commit.
  as_postgres "$(pg_bin)/pg_ctl" start --silent --wait --timeout "$PG_TIMEOUT" --pgdata "$home/data" --log "$home/postgres.log" \
    --options "-p $PG_PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=400 -c shared_buffers=256MB" \
    </dev/null >/dev/null 2>&1 9>&- || return 1
  within "$PG_TIMEOUT" "$(pg_bin)/pg_isready" --quiet -h 127.0.0.1 -p "$PG_PORT" || return 1
  pg_database
}

# pg_set_password sets the password of a new cluster, or of an older cluster without a password.
# The server is down, so Postgres runs the statement in single-user mode. The password file is
# written last, so that the next start repeats an interrupted call.
pg_set_password() { # HOME
  local password
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "ALTER ROLE herald PASSWORD '$password'" | as_postgres "$(pg_bin)/postgres" --single -D "$1/data" postgres >"$DEV/log/initdb.log" 2>&1 ||
    fail "the password could not be set, see $DEV/log/initdb.log"
  echo 'host all all 127.0.0.1/32 scram-sha-256' | as_postgres tee "$1/data/pg_hba.conf" >/dev/null
  (umask 077 && echo "$password" >"$PG_PASSWORD_FILE.new")
  mv "$PG_PASSWORD_FILE.new" "$PG_PASSWORD_FILE"
}

# pg_password prints nothing while a server without a password still runs.
pg_password() { cat "$PG_PASSWORD_FILE" 2>/dev/null || true; }

pg_database() {
  [[ $(pg_sql postgres -c "SELECT 1 FROM pg_database WHERE datname = 'herald'") == 1 ]] || pg_sql postgres -c 'CREATE DATABASE herald'
}

# pg_sql runs SQL, and prints only the rows.
pg_sql() { # DATABASE PSQL-ARGUMENT...
  PGPASSWORD=$(pg_password) "$(pg_bin)/psql" --no-psqlrc -h 127.0.0.1 -p "$PG_PORT" -U herald -d "$1" -qtA -v ON_ERROR_STOP=1 "${@:2}"
}

postgres_pid_file() { echo "$(pg_home)/data/postmaster.pid"; }

postgres_running() { runs "$(postgres_pid_file)" postgres; }

postgres_log() { echo "$(pg_home)/postgres.log"; }

postgres_stop() { # graceful, immediate or kill
  local home mode=fast pid
  home=$(pg_home)
  postgres_running || return 0
  if [[ $1 == kill ]]; then
    pid=$(pid_of "$home/data/postmaster.pid")
    pg_kill "$pid"
    within 60 dead "$pid" || fail "postgres does not end"
    return
  fi
  if [[ $1 == immediate ]]; then mode=immediate; fi
  as_postgres "$(pg_bin)/pg_ctl" stop --silent --wait --timeout "$PG_TIMEOUT" --mode "$mode" --pgdata "$home/data" >&2
}

# pg_kill ends the server and its backends together: the next start would wait for a
# backend that still holds the shared memory.
pg_kill() {
  local children
  children=$(pgrep -P "$1" || true)
  # shellcheck disable=SC2086
  kill -KILL "$1" $children 2>/dev/null || true
}

postgres_delete() {
  rm -rf "$(pg_home)"
  rm -f "$DEV/run/postgres.home" "$PG_PASSWORD_FILE" "$EXAMPLE_MADE"
}
