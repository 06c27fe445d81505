#!/usr/bin/env bash
# Fails if Herald calls code with known vulnerabilities. The list comes from vuln.go.dev, or
# from GOVULNDB: a mirror (https://…) or a folder (file:///…). If the list is not reachable, the
# last line says that nothing was checked; with --required the script then fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ $# -gt 1 || ${1:---required} != --required ]]; then
  echo "usage: tools/vulnerabilities.sh [--required]" >&2
  exit 2
fi
db=${GOVULNDB:-https://vuln.go.dev}
if ! curl --fail --silent --location --max-time 20 --output /dev/null "$db/index/db.json"; then
  echo "vulnerabilities: NOT CHECKED, since $db/index/db.json does not answer; set GOVULNDB to a mirror of https://vuln.go.dev" >&2
  if [[ ${1:-} == --required ]]; then exit 1; fi
  exit 0
fi
go tool -modfile=tools/lint/go.mod govulncheck -db "$db" ./...
echo "vulnerabilities: checked with the list of $db" >&2
