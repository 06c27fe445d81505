# shellcheck shell=bash
# The settings by which programs reach the stack.

# local_value prints a setting's value for our server at a port base, without a password.
local_value() { # NAME BASE
  case $1 in
  DATABASE_URL) echo "postgres://herald@127.0.0.1:$2/herald?sslmode=disable" ;;
  RABBITMQ_URL) echo "amqp://guest@127.0.0.1:$(($2 + 1))/" ;;
  RABBITMQ_MANAGEMENT_URL) echo "http://guest@127.0.0.1:$(($2 + 4))" ;;
  KAFKA_BROKERS) echo "127.0.0.1:$(($2 + 14))" ;;
  TEMPORAL_ADDRESS) echo "127.0.0.1:$(($2 + 5))" ;;
  GATEWAY_URL) echo "http://127.0.0.1:$(($2 + 18))" ;;
  TEMPORAL_UI_URL) echo "http://127.0.0.1:$(($2 + 15))" ;;
  esac
}

# external reports whether the environment names a server that is not ours. A value from an
# earlier `env` is ours, even if the port base (HERALD_STACK) or the password differs.
external() {
  local value
  value=$(without_password "${!1:-}")
  [[ -n $value && $value != "$(local_value "$1" "$BASE")" && $value != "$(local_value "$1" "${HERALD_STACK:-$BASE}")" ]]
}

without_password() { sed -E 's#^(postgres://herald|(amqp|http)://guest):[^@/]*@#\1@#' <<<"$1"; }

with_password() { # URL
  local password
  case $1 in
  postgres:*) password=$(pg_password) ;;
  *) password=$(rabbitmq_password) password=${password:-guest} ;;
  esac
  case $1 in
  postgres:*) echo "${1/herald@/herald${password:+:$password}@}" ;;
  *) echo "${1/guest@/guest:$password@}" ;;
  esac
}

# yours prints the settings in the environment that name a server that is not ours.
yours() {
  local name
  for name in DATABASE_URL RABBITMQ_URL KAFKA_BROKERS TEMPORAL_ADDRESS; do
    if external "$name"; then echo "$name"; fi
  done
}

settings() {
  echo "export HERALD_STACK=$BASE"
  if wanted postgres; then setting DATABASE_URL DATABASE_URL; fi
  if wanted postgres && ! external DATABASE_URL && [[ -s $DEV/run/herald.secret ]]; then exported HERALD_SECRET "$(local_secret herald)"; fi
  if wanted rabbitmq; then
    setting RABBITMQ_URL RABBITMQ_URL
    setting RABBITMQ_MANAGEMENT_URL RABBITMQ_URL
  fi
  if wanted kafka; then setting KAFKA_BROKERS KAFKA_BROKERS; fi
  if [[ ${#SERVICES[@]} -eq 0 ]]; then setting_of_example; fi
  if [[ ${#SERVICES[@]} -eq 0 && -e $(program_pid gateway) ]]; then exported GATEWAY_URL "$(local_value GATEWAY_URL "$BASE")"; fi
  if wanted temporal; then
    setting TEMPORAL_ADDRESS TEMPORAL_ADDRESS
    setting TEMPORAL_UI_URL TEMPORAL_ADDRESS
  fi
}

# local_secret prints a secret of this checkout. The first call creates it. The database stores
# the fingerprint of one secret, so secrets live as long as the database.
local_secret() { # NAME
  local file=$DEV/run/$1.secret
  if [[ ! -s $file ]]; then (umask 077 && head -c 32 /dev/urandom | base64 >"$file"); fi
  cat "$file"
}

# setting prints one setting: from the environment if its server is external, otherwise ours.
setting() { # NAME SERVER
  if external "$2"; then exported "$1" "${!1:-}"; else exported "$1" "$(with_password "$(local_value "$1" "$BASE")")"; fi
}

# setting_of_example prints the setting for the outboxes of the example's services. It prints
# nothing if you have your own file, or your own server, which has no such tables.
setting_of_example() {
  if [[ -e $EXAMPLE_MADE && -z ${OUTBOX_SOURCES:-} ]] && ! external DATABASE_URL && ! external KAFKA_BROKERS; then
    exported OUTBOX_SOURCES "$EXAMPLE_SOURCES"
  fi
}

exported() { # NAME VALUE
  local quote="'\\''"
  if [[ -n $2 ]]; then echo "export $1='${2//\'/$quote}'"; fi
}

# use_sandbox lets the programs send to the sandbox, even if the environment names real providers.
# Receipts and unsubscribe links go to the gateway, where you can log in as any user.
use_sandbox() { # SANDBOX GATEWAY, each HOST:PORT
  export SENDGRID_API_KEY=sandbox SENDGRID_BASE_URL=http://$1 EMAIL_FROM=herald@example.com EMAIL_FROM_NAME=Herald
  export TWILIO_ACCOUNT_SID=ACsandbox TWILIO_AUTH_TOKEN=sandbox TWILIO_FROM=+15005550006 TWILIO_BASE_URL=http://$1
  export FCM_PROJECT_ID=herald-sandbox FCM_BASE_URL=http://$1/v1 SLACK_ALLOWED_HOSTS=$1
  export WEBHOOK_ALLOWED_HOSTS=$1 WEBHOOK_SECRET=whsec_c2FuZGJveC1zYW5kYm94LXNhbmRib3gt
  export PUBLIC_URL=http://$2 GATEWAY_DEMO=true AUTH_ISSUER=https://example.com AUTH_AUDIENCE=herald
  unset GOOGLE_APPLICATION_CREDENTIALS AUTH_JWKS_URL
}
