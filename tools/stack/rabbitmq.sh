# shellcheck shell=bash
# RabbitMQ: a node with a separate name, cookie, distribution port and epmd, so that it can run
# next to other nodes on the machine.

RABBITMQ_HOME=$DEV/rabbitmq
RABBITMQ_LINK=$DEV/run/rabbitmq.link # holds the path of our temporary folder
if [[ $DEV == *[[:space:]]* ]]; then # RabbitMQ's disk monitor does not quote paths, so it gets a link
  if [[ ! -O $(cat "$RABBITMQ_LINK" 2>/dev/null || true) ]]; then mktemp -d >"$RABBITMQ_LINK"; fi
  RABBITMQ_HOME=$(cat "$RABBITMQ_LINK")/rabbitmq
fi
RABBITMQ_PASSWORD_FILE=$DEV/run/rabbitmq.password
RABBITMQ_PID=$DEV/run/rabbitmq.pid
NODE=herald$BASE@localhost
RABBITMQ_MARK="-home $RABBITMQ_HOME -epmd_port $EPMD_PORT" # in the command line of the server

# rabbitmq_bin prints the path of the server. Debian's command on the PATH is a wrapper that
# changes the user and the folder.
rabbitmq_bin() {
  local candidate
  for candidate in /usr/lib/rabbitmq/bin/rabbitmq-server "$(command -v rabbitmq-server || true)" \
    /opt/homebrew/sbin/rabbitmq-server /usr/local/sbin/rabbitmq-server; do
    if [[ -x $candidate ]]; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

rabbitmq_packages() { rabbitmq_bin >/dev/null || echo rabbitmq-server:rabbitmq; }

rabbitmq_install() { true; }

rabbitmq_start() {
  free "$AMQP_PORT" "$DIST_PORT" "$MANAGEMENT_PORT"
  local lost=no
  if [[ ! -s $RABBITMQ_PASSWORD_FILE && -e $DEV/rabbitmq/mnesia ]]; then lost=yes; fi
  rabbitmq_configure
  rabbitmq_env epmd -address 127.0.0.1 -port "$EPMD_PORT" -daemon 9>&-
  rabbitmq_env detach "$RABBITMQ_PID" "$DEV/log/rabbitmq.log" "$(rabbitmq_bin)"
  answers 300 "$RABBITMQ_PID" speaks_amqp || return 1
  if [[ $lost == yes ]]; then rabbitmq_change_password || return 1; fi
  if [[ -e $RABBITMQ_PASSWORD_FILE.new ]]; then mv "$RABBITMQ_PASSWORD_FILE.new" "$RABBITMQ_PASSWORD_FILE"; fi
  answers 120 "$RABBITMQ_PID" listening "$MANAGEMENT_PORT"
}

# rabbitmq_change_password sets the password on a node whose password file was lost. The password in
# the configuration applies only to a new node.
rabbitmq_change_password() {
  rabbitmq_env "$(dirname "$(rabbitmq_bin)")/rabbitmqctl" --quiet --node "$NODE" change_password guest <"$RABBITMQ_PASSWORD_FILE.new" >/dev/null
}

# rabbitmq_password prints nothing while a node without a separate password still runs.
rabbitmq_password() { cat "$RABBITMQ_PASSWORD_FILE" 2>/dev/null || true; }

rabbitmq_configure() {
  local password
  password=$(rabbitmq_password)
  if [[ -z $password ]]; then
    password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    (umask 077 && echo "$password" >"$RABBITMQ_PASSWORD_FILE.new")
  fi
  mkdir -p "$DEV/rabbitmq"
  if [[ ! $RABBITMQ_HOME -ef $DEV/rabbitmq ]]; then ln -sfn "$DEV/rabbitmq" "$RABBITMQ_HOME"; fi
  (umask 077 && cat >"$RABBITMQ_HOME/rabbitmq.conf") <<EOF
default_pass = $password
listeners.tcp.local = 127.0.0.1:$AMQP_PORT
management.tcp.ip = 127.0.0.1
management.tcp.port = $MANAGEMENT_PORT
log.file = false
log.console = true
log.console.level = warning
log.console.use_colors = off
EOF
  echo '[rabbitmq_management].' >"$RABBITMQ_HOME/enabled_plugins"
  if [[ ! -e $RABBITMQ_HOME/.erlang.cookie ]]; then
    (umask 377 && head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$RABBITMQ_HOME/.erlang.cookie")
  fi
}

# rabbitmq_env runs a command in the environment of our node. It names files that do not exist, so
# that RabbitMQ does not read the machine's files. RUNNING_UNDER_SYSTEMD makes the start script
# exec the server, so that both have the same process id.
rabbitmq_env() {
  (
    cd "$RABBITMQ_HOME" || exit # a crash writes its dump here
    export HOME=$RABBITMQ_HOME
    export ERL_EPMD_PORT=$EPMD_PORT ERL_EPMD_ADDRESS=127.0.0.1
    export RABBITMQ_NODENAME=$NODE RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=$AMQP_PORT RABBITMQ_DIST_PORT=$DIST_PORT
    export RABBITMQ_MNESIA_BASE=$RABBITMQ_HOME/mnesia RABBITMQ_LOG_BASE=$DEV/log
    export RABBITMQ_CONFIG_FILE=$RABBITMQ_HOME/rabbitmq.conf RABBITMQ_ENABLED_PLUGINS_FILE=$RABBITMQ_HOME/enabled_plugins
    export RABBITMQ_CONF_ENV_FILE=$RABBITMQ_HOME/none.conf RABBITMQ_ADVANCED_CONFIG_FILE=$RABBITMQ_HOME/none.config
    export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
    export RUNNING_UNDER_SYSTEMD=true
    unset RABBITMQ_PID_FILE
    "$@"
  )
}

# speaks_amqp reports whether the server answers a protocol header with a method frame. An open
# port is not enough: a node accepts connections while it still recovers its queues.
speaks_amqp() {
  local frame
  exec 3<>"/dev/tcp/127.0.0.1/$AMQP_PORT" || return 1
  printf 'AMQP\0\0\011\001' >&3
  IFS= read -r -t 5 -n 1 -u 3 frame || true
  exec 3>&-
  [[ $frame == $'\001' ]]
}

rabbitmq_pid_file() { echo "$RABBITMQ_PID"; }

rabbitmq_running() { runs "$RABBITMQ_PID" "$RABBITMQ_MARK"; }

rabbitmq_log() { echo "$DEV/log/rabbitmq.log"; }

rabbitmq_stop() { # graceful, immediate or kill
  finish "$RABBITMQ_PID" "$RABBITMQ_MARK" "$1"
  if listening "$EPMD_PORT"; then within 5 end_epmd || say "epmd on port $EPMD_PORT does not end"; fi
}

# end_epmd succeeds after epmd has noticed that its node is gone.
end_epmd() {
  epmd -port "$EPMD_PORT" -kill >/dev/null 2>&1
  ! listening "$EPMD_PORT"
}

rabbitmq_delete() {
  rm -rf "$DEV/rabbitmq" "$RABBITMQ_PASSWORD_FILE"
  if [[ -s $RABBITMQ_LINK ]]; then rm -rf "$(cat "$RABBITMQ_LINK")" "$RABBITMQ_LINK"; fi
}
