#!/usr/bin/env bash
# Runs all tests. Those of the HTML report want a browser: it is installed where
# that is possible within a few minutes, and they are skipped where it is not.
set -euo pipefail
cd "$(dirname "$0")/../.."
timeout 240 scripts/browser/install.sh >/dev/null 2>&1 || echo "no browser: the tests that look at the HTML report are skipped" >&2
export CGO_ENABLED="${CGO_ENABLED-0}" # as what is released, so that the programs that tests build are compiled once
# A machine that is busy with other work may take long for one package.
exec go test -timeout 30m ./... "$@"
