#!/usr/bin/env bash
# Installs Prometheus and promtool, with which tests try the files in deploy/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/stack/process.sh
source tools/stack/process.sh
# shellcheck source=tools/stack/packages.sh
source tools/stack/packages.sh

if ! command -v promtool >/dev/null; then install prometheus:prometheus; fi
