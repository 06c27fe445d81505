# shellcheck shell=bash disable=SC2034
# Starts processes that outlive this script, finds them again, and ends them.

say() { echo "stack: $*" >&2; }

# fail ends the script. With a service, it also prints the end of the service's log.
fail() {
  say "$1"
  if [[ $# -gt 1 ]]; then tail -n 30 "$("$2_log")" >&2 || true; fi
  exit 1
}

# watched runs a command that may take minutes. After five seconds, then every ten, it prints the last
# line of the command's output, or the number of packages that Go has compiled. If the command fails,
# it prints the end of the output.
watched() { # TEXT COMMAND...
  local text=$1 output ticker status=0
  shift
  say "$text"
  output=$(mktemp)
  tick "$text" "$output" 9>&- &
  ticker=$!
  "$@" >"$output" 2>&1 </dev/null 9>&- || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [[ $status != 0 ]]; then tail -n 50 "$output" >&2; fi
  rm -f "$output"
  return "$status"
}

tick() { # TEXT OUTPUT
  local pause start=$SECONDS seconds=5 last
  trap 'kill "$pause" 2>/dev/null || true; exit' TERM
  while true; do
    sleep "$seconds" &
    pause=$!
    wait "$pause"
    seconds=10
    last=$(tail -n 1 "$2" | cut -c 1-80)
    if [[ $last == */* && $last != *" "* ]]; then last="$(grep -cv ' ' "$2" || true) packages compiled"; fi
    say "$1: $((SECONDS - start)) s, $last"
  done
}

# exclusively runs a command while no other call changes this folder.
exclusively() {
  if command -v flock >/dev/null; then
    exec 9>"$DEV/run/lock"
    flock -w 600 9 || fail "another call has held $DEV/run/lock for ten minutes"
  fi
  "$@"
}

# detach starts a command that outlives this script, and writes its process id to the pid file.
# The command inherits no open files, so that a pipe from this script can end.
detach() { # PIDFILE LOG COMMAND...
  local pid_file=$1 log=$2
  shift 2
  if command -v setsid >/dev/null; then set -- setsid "$@"; else set -- nohup "$@"; fi
  "$@" </dev/null >>"$log" 2>&1 9>&- &
  echo $! >"$pid_file"
}

# runs reports whether the process of a pid file is alive. MARK must be in its command line,
# because after a reboot another process may have the same id.
runs() { # PIDFILE MARK
  local pid
  pid=$(pid_of "$1") && [[ $(command_line "$pid") == *"$2"* ]]
}

pid_of() {
  local pid
  [[ -s $1 ]] && read -r pid _ <"$1" && [[ $pid =~ ^[0-9]+$ ]] && echo "$pid"
}

# command_line prints nothing for a process that has ended, even if it is a zombie.
command_line() {
  if [[ -d /proc/self ]]; then
    tr '\0' ' ' 2>/dev/null <"/proc/$1/cmdline" || true
  else
    ps -o command= -p "$1" || true
  fi
}

# alive reports whether a process has a thread that has not ended. It is true for a process during exec,
# which has no command line for a moment. After a SIGKILL it is true while a port is still open: some
# threads end after the first one, with which the command line goes.
alive() {
  if [[ -d /proc/self ]]; then
    grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/task/"*/status
  else
    kill -0 "$1" 2>/dev/null
  fi
}

dead() { ! alive "$1"; }

# stopped reports whether all threads of a process have stopped. After a SIGSTOP, some run on for a
# moment, and longer on a busy machine.
stopped() {
  if [[ -d /proc/self ]]; then
    ! grep -qs '^State:[[:space:]]*[^TZX[:space:]]' "/proc/$1/task/"*/status
  else
    [[ $(ps -o state= -p "$1") != [!TZ]* ]]
  fi
}

# finish ends the process of a pid file with SIGTERM. After 30 seconds, or if WAY is "kill", it
# sends SIGKILL.
finish() { # PIDFILE MARK WAY
  local pid
  if runs "$1" "$2"; then
    pid=$(pid_of "$1")
    if [[ $3 == kill ]] || ! { kill -TERM "$pid" && within 30 dead "$pid"; }; then
      kill -KILL "$pid" 2>/dev/null || true
      within 60 dead "$pid" || fail "process $pid does not end"
    fi
  fi
  rm -f "$1"
}

gone() { ! runs "$1" "$2"; }

# within repeats a command until it succeeds, for at most SECONDS.
within() { # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [[ $SECONDS -lt $end ]] || return 1
    sleep 0.1
  done
}

# answers waits until a new process answers, and fails as soon as the process has ended.
answers() { # SECONDS PIDFILE COMMAND...
  local end=$((SECONDS + $1)) pid
  pid=$(pid_of "$2")
  shift 2
  until "$@" >/dev/null 2>&1; do
    alive "$pid" && [[ $SECONDS -lt $end ]] || return 1
    sleep 0.1
  done
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free fails if another program uses one of the ports.
free() {
  local port
  for port in "$@"; do
    if listening "$port"; then fail "port $port is taken by another program; choose others with HERALD_PORT_BASE"; fi
  done
}

reverse() { awk '{ line[NR] = $0 } END { for (i = NR; i > 0; i--) print line[i] }'; }
