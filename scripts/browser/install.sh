#!/usr/bin/env bash
# Installs Debian's Chromium where no browser is found, so that the tests of
# the HTML report can look at it; without one they are skipped. Run as root.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    "$name" --version
    exit 0
  fi
done
if ! command -v apt-get >/dev/null; then
  echo "no browser found, and no apt-get to install one: install Chromium by hand" >&2
  exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core
chromium --version
