# shellcheck shell=bash
# The programs that the demo leaves running: a console, a gateway, a worker and the sandbox.

# The console is a command of starter.
program() { echo "$REPO/bin/${1/console/starter}"; } # NAME

program_pid() { echo "$DEV/run/$1.pid"; } # NAME

# programs_stop stops the worker before the sandbox, because the worker uses the sandbox.
programs_stop() { # graceful, immediate or kill
  local name
  for name in console gateway worker sandbox; do
    finish "$(program_pid "$name")" "$(program "$name")" "$1"
  done
}
