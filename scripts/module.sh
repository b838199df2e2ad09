#!/usr/bin/env bash
# Gives the module another path, when the project gets its home:
#   scripts/module.sh github.com/example/redline
# go.mod says the path; imports follow it. The names of schemas (redline/result/2)
# are no imports and stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:?scripts/module.sh NEW_PATH}
from=$(go list -m)
go mod edit -module "$to"
git ls-files -z '*.go' | xargs -0 sed -i.before -E "s#\"${from//./\\.}/(cmd|docs|internal|scripts)/#\"$to/\1/#g"
find . -name '*.go.before' -delete
git ls-files -z '*.go' | xargs -0 gofmt -w
echo "$from is $to; go build ./... && go test ./docs shows whether all is well"
