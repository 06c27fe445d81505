#!/usr/bin/env bash
# Finds lines of Go with more than 140 characters. A tag of a struct cannot be broken. In a test, neither can
# the data in a literal.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8

if git ls-files --cached --others --exclude-standard '*.go' | xargs grep -snE '^.{141,}' |
  grep -vE '`[a-z]+:"[^`]*`$|^[^:]*_test\.go:[0-9]+:(.*["`=;]|[^({]*$)'; then
  echo "break these lines: they have more than 140 characters" >&2
  exit 1
fi
