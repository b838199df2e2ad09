#!/usr/bin/env bash
# Drives 20,000 tokens a second for half an hour and watches the memory of the
# client. Run from the repository's root, by make soak; MINUTES shortens it.
# Writes the table between the marks in docs/measured/RELIABILITY.md, and
# nothing where the run was not valid.
set -euo pipefail
minutes=${MINUTES:-30}
port=${PORT:-8196}
out=$(mktemp -d)
server= client=
trap 'kill $server $client 2>/dev/null || true; rm -rf "$out"' EXIT

./bin/redline sim --listen "127.0.0.1:$port" --pace 25ms 2>"$out/sim.log" &
server=$!
sleep 1
./bin/redline run --url "http://127.0.0.1:$port" --concurrency 500 --workload 'fixed(64,200)' \
  --duration "${minutes}m" --warmup 10s --quiet --out "$out/run" >"$out/report" 2>"$out/err" &
client=$!

resident() { awk '/VmRSS/ {print int($2 / 1024)}' "/proc/$client/status"; }
sleep 20
first=$(resident) most=$first last=$first
while kill -0 $client 2>/dev/null; do
  now=$(resident 2>/dev/null) || break
  [ -n "$now" ] || break
  last=$now
  [ "$now" -le "$most" ] || most=$now
  sleep 5
done
wait $client && code=0 || code=$?
if [ "$code" != 0 ]; then
  cat "$out/report" >&2
  echo "the run ended with exit code $code: nothing is written" >&2
  exit "$code"
fi

{
  echo "Measured $(date -u +%F), commit $(git describe --always --dirty), on $(nproc) cores that server and client share: 500 streams of a token every 25 ms,"
  echo "20,000 tokens/s, for $minutes minutes. Load average at the end: $(cut -d' ' -f1 /proc/loadavg). Record log: $(du -m "$out/run/records.jsonl" | cut -f1) MB."
  echo
  echo "| memory of the client | MB |"
  echo "|---|---|"
  echo "| after 20 s | $first |"
  echo "| most | $most |"
  echo "| at the end | $last |"
} >"$out/table"
page=docs/measured/RELIABILITY.md
awk -v table="$out/table" '
  /<!-- soak: begin -->/ { print; while ((getline line < table) > 0) print line; skipping = 1; next }
  /<!-- soak: end -->/ { skipping = 0 }
  !skipping { print }' "$page" >"$out/page"
cp "$out/page" "$page"
cat "$out/table"
