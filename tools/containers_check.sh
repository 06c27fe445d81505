#!/usr/bin/env bash
# Checks Dockerfile and docker-compose.yml without a container engine. It validates the compose
# file against the Compose Specification. It builds the image's programs twice with the Dockerfile's
# command, only from files that .dockerignore allows, and runs them like the image. This takes
# minutes on a new machine, so it is no test. internal/config/compose_test.go has the fast checks.
set -euo pipefail

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
COMPOSE_SPEC=github.com/compose-spec/compose-go/v2/cmd@v2.16.2
TEMP=$(mktemp -d)
trap 'rm -rf "$TEMP"' EXIT

say() { echo "containers: $*" >&2; }

fail() {
  say "$1"
  exit 1
}

# context copies the files that .dockerignore allows.
context() { # FOLDER
  local name
  mkdir -p "$1"
  while read -r name; do cp -R "$REPO/$name" "$1/"; done < <(sed -n 's/^!//p' "$REPO/.dockerignore")
  find "$1" -name '*_test.go' -delete
  find "$1" -name testdata -prune -exec rm -rf {} +
}

# build_command prints the Dockerfile's command to build the programs, on one line.
build_command() { sed -e ':join' -e '/\\$/{N;s/\\\n//;b join' -e '}' "$REPO/Dockerfile" | grep -o 'CGO_ENABLED=.*go build.*'; }

build() { # FOLDER
  local command
  context "$1"
  command=$(build_command | sed "s|/out/|$1/out/|")
  (cd "$1" && TARGETOS='' TARGETARCH='' COMMIT='' bash -euc "$command")
}

# as_image runs a program without other files, environment variables or permissions.
as_image() { # PROGRAM ARGUMENT...
  if [[ $(id -u) -eq 0 ]]; then
    chroot --userspec=65532:65532 "$TEMP/one/out" "/$1" "${@:2}"
  else
    (cd "$TEMP/one/out" && exec env -i "./$1" "${@:2}")
  fi
}

say "the compose file"
(cd "$REPO" && HERALD_SECRET=checked HERALD_TOKEN_SECRET=checked COMPOSE_PROFILES=demo go run "$COMPOSE_SPEC" docker-compose.yml >"$TEMP/compose") || fail "it does not fit the specification"

say "building the programs, in two folders"
build "$TEMP/one"
build "$TEMP/two"
for program in worker gateway starter; do
  cmp "$TEMP/one/out/$program" "$TEMP/two/out/$program" || fail "$program differs from folder to folder"
  go version -m "$TEMP/one/out/$program" | grep -q 'CGO_ENABLED=0' || fail "$program is not static"
done

say "running them"
chmod 755 "$TEMP" "$TEMP/one" "$TEMP/one/out"
as_image starter --help >/dev/null || fail "starter does not run"
as_image worker --help >/dev/null 2>&1 || [[ $? -eq 2 ]] || fail "worker does not run"
as_image gateway --help >/dev/null 2>&1 || [[ $? -eq 2 ]] || fail "gateway does not run"
if as_image worker 2>"$TEMP/log"; then fail "worker runs without settings"; fi
grep -q 'DATABASE_URL is not set' "$TEMP/log" || fail "worker does not say what is missing: $(cat "$TEMP/log")"
say "all is well: $(du -ch "$TEMP"/one/out/* | tail -n 1 | cut -f1) of programs"
