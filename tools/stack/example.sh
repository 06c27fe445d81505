# shellcheck shell=bash
# The two services of the example with separate outboxes. The demo creates their tables and
# topics. Afterwards `env` names the file that lists the outboxes, for workers and commands that
# you start by hand.

EXAMPLE_SOURCES=$REPO/tools/example/sources.yaml
EXAMPLE_MADE=$DEV/run/example # exists while the tables and topics exist

example() {
  if external DATABASE_URL || external KAFKA_BROKERS; then fail "the example's services are for the local stack alone"; fi
  if [[ ! -x $KAFKA || -n $(find "$REPO/tools/kafka" -newer "$KAFKA" -print -quit) ]]; then kafka_build; fi # the running Kafka may be older
  say "making the tables and topics of two other services"
  pg_sql herald --file "$REPO/tools/example/outboxes.sql"
  "$KAFKA" -port "$KAFKA_PORT" -create order-events,WalletCreated-out-0,FundsAdded-out-0,FundsWithdrawn-out-0
  touch "$EXAMPLE_MADE"
}
