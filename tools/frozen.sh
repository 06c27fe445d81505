#!/usr/bin/env bash
# Fails if a recorded history of a release has changed: workflows of the release may still be
# running. SHA256SUMS in the folder of a release lists its files and their checksums. The folder
# next may change: no release has its commands yet.
set -euo pipefail
export LC_ALL=C # sorts names the same way on every machine
cd "$(dirname "${BASH_SOURCE[0]}")/../workflows/testdata"

shopt -s nullglob
for folder in v*/; do
  release=${folder%/}
  sums=$release/SHA256SUMS
  listed=$(awk '{ print $2 }' "$sums")
  present=$(cd "$release" && ls -- *.json)
  if [[ $listed != "$present" ]] || ! (cd "$release" && sha256sum --check --quiet --strict SHA256SUMS); then
    echo "workflows/testdata/$release: the recorded histories of a release were changed, added to or removed" >&2
    diff <(echo "$listed") <(echo "$present") >&2 || true
    exit 1
  fi
done
