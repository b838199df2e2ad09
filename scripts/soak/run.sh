#!/usr/bin/env bash
# Drives 20,000 tokens a second for half an hour, watches the memory of the
# client, and then kills a writing run a hundred times. Run from the
# repository's root, by make soak; MINUTES shortens it. Writes docs/measured/SOAK.md.
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

{
  echo "# Soak"
  echo
  echo "Written by \`make soak\` on a machine with $(nproc) cores, server and client on it: 500 streams of a token every 25 ms,"
  echo "20,000 tokens/s, for $minutes minutes. Load average at the end: $(cut -d' ' -f1 /proc/loadavg)."
  echo
  echo "| memory of the client | MB |"
  echo "|---|---|"
  echo "| after 20 s | $first |"
  echo "| most | $most |"
  echo "| at the end | $last |"
  echo
  echo "Record log: $(du -m "$out/run/records.jsonl" | cut -f1) MB. The run ended with exit code $code and said:"
  echo
  echo '```'
  sed -e '/^Kept/d' "$out/report"
  echo '```'
  echo
  echo "A run that writes records was killed with SIGKILL a hundred times:"
  echo
  echo '```'
  go test ./internal/run/store -run Kill -count 10
  echo '```'
} >docs/measured/SOAK.md
cat docs/measured/SOAK.md
