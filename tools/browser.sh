#!/usr/bin/env bash
# Installs Chromium for tests and screenshots, unless there is a compatible browser.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tools/stack/process.sh
source tools/stack/process.sh
# shellcheck source=tools/stack/packages.sh
source tools/stack/packages.sh

for name in chromium chromium-browser google-chrome "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
  if command -v "$name" >/dev/null; then exit 0; fi
done
install chromium:chromium
