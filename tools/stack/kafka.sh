# shellcheck shell=bash
# Kafka: the program of tools/kafka. With HERALD_KAFKA=apache, Apache
# Kafka is the server, and the program only checks that it is ready and creates topics. The two
# servers have separate data.

KAFKA=$BIN/kafka
KAFKA_APACHE=$BIN/kafka-apache # the folder of its jars; its command line contains it, like KAFKA
KAFKA_PID=$DEV/run/kafka.pid

# kcat reads topics in docs/outboxes.md and its test.
kafka_packages() { command -v kcat >/dev/null || echo kcat:kcat; }

kafka_install() {
  kafka_build
  if kafka_is_apache; then kafka_install_apache; fi
}

kafka_build() {
  command -v go >/dev/null || fail "please install Go, see https://go.dev/dl"
  watched "building the Kafka broker" env GOWORK=off go -C "$REPO/tools/kafka" build -v -ldflags='-s -w' -o "$KAFKA.$$" . ||
    fail "the Kafka broker does not build"
  mv "$KAFKA.$$" "$KAFKA" # other stacks of this checkout may build or run it
}

kafka_is_apache() { [[ ${HERALD_KAFKA:-} == apache ]]; }

kafka_install_apache() {
  if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then fail "HERALD_KAFKA=apache needs Java 17 and Maven"; fi
  watched "fetching Apache Kafka" mvn -B -f "$REPO/tools/kafka/apache/pom.xml" dependency:copy-dependencies -DoutputDirectory="$KAFKA_APACHE" ||
    fail "Apache Kafka could not be fetched"
}

kafka_start() {
  free "$KAFKA_PORT"
  if kafka_is_apache; then
    kafka_start_apache
  else
    detach "$KAFKA_PID" "$DEV/log/kafka.log" "$KAFKA" -port "$KAFKA_PORT" -advertise "${HERALD_KAFKA_ADVERTISED:-0}" -data "$DEV/kafka"
  fi
  answers 120 "$KAFKA_PID" "$KAFKA" -check -port "$KAFKA_PORT"
}

# kafka_start_apache starts one node, which is its own controller.
kafka_start_apache() {
  local data=$DEV/kafka-apache
  local java=(java -Xmx512m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$KAFKA_APACHE/*")
  free "$KAFKA_CONTROLLER_PORT"
  cat >"$DEV/run/kafka.properties" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$KAFKA_CONTROLLER_PORT
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$KAFKA_PORT,CONTROLLER://127.0.0.1:$KAFKA_CONTROLLER_PORT
advertised.listeners=PLAINTEXT://127.0.0.1:${HERALD_KAFKA_ADVERTISED:-$KAFKA_PORT}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.dirs=$data
EOF
  "${java[@]}" kafka.tools.StorageTool format --ignore-formatted --cluster-id heraldheraldheraldhera \
    --config "$DEV/run/kafka.properties" >>"$DEV/log/kafka.log" 2>&1 9>&- || return 1
  detach "$KAFKA_PID" "$DEV/log/kafka.log" "${java[@]}" kafka.Kafka "$DEV/run/kafka.properties"
}

kafka_pid_file() { echo "$KAFKA_PID"; }

kafka_running() { runs "$KAFKA_PID" "$KAFKA"; }

kafka_log() { echo "$DEV/log/kafka.log"; }

kafka_stop() { finish "$KAFKA_PID" "$KAFKA" "$1"; }

kafka_delete() { rm -rf "$DEV/kafka" "$DEV/kafka-apache" "$EXAMPLE_MADE"; }
