#!/usr/bin/env bash
# Shows what load redline can offer: many short requests, many streams at once,
# and a recorded trace, against the metronome as a process of its own. Run from
# the repository's root, by make offered. Writes the table between the marks
# in docs/measured/SCALE.md, or PAGE; each load lasts 20 s, or LENGTH.
set -euo pipefail
port=${PORT:-8195}
length=${LENGTH:-20}
page=${PAGE:-docs/measured/SCALE.md}
out=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$out"' EXIT
ulimit -n "$(ulimit -Hn)"

serve() { # serve PACE
  ./bin/redline sim --listen "127.0.0.1:$port" --pace "$1" 2>"$out/sim.log" &
  server=$!
  for _ in $(seq 100); do grep -q serving "$out/sim.log" && break; sleep 0.05; done
}

record() { # record RATE: a trace of so many requests a second, at random times
  awk -v n="$(($1 * length))" -v rate="$1" 'BEGIN {
    srand(1); print "timestamp,prompt_tokens,output_tokens"
    for (i = 0; i < n; i++) { at -= log(1 - rand()) / rate; printf "%.6f,%d,%d\n", 1700000000 + at, 16 + i % 48, 4 + i % 9 }
  }' >"$out/trace.csv"
}

drive() { # drive NAME FLAGS…: a run and the most memory it took
  local name=$1 code=0
  shift
  NO_COLOR=1 /usr/bin/env time -f '%M' -o "$out/$name.kb" ./bin/redline run --url "http://127.0.0.1:$port" --quiet \
    --out "$out/$name" "$@" >"$out/$name.txt" 2>"$out/$name.err" || code=$?
  kill $server && wait $server 2>/dev/null || true
  python3 - "$out/$name/result.json" "$(($(tail -n 1 "$out/$name.kb") / 1024))" "$code" "${*//"$out/"/}" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
p = r["points"][0]
n, lag = p["requests"], p["latency"]["lag_ms"]
failed = [c["name"] + " " + c["figure"] for c in r["verdict"]["checks"] if not c["ok"]]
print(f"| `{sys.argv[4]}` | {n['due']} | {n['sent']} | {n['ok']} | {lag['p50']:.3f} / {lag['p99']:.3f} | "
      f"{p['concurrency']['max']} | {p['throughput']['output_tokens_per_s']:.0f} | {sys.argv[2]} | "
      f"{100 * r['client']['cpu_share']:.0f} % | {'; '.join(failed) or 'sound'} |")
PY
}

{
  echo "Measured $(date -u +%F), commit $(git describe --always --dirty), by \`make offered\` on a machine with $(nproc) cores, server and client on it, over loopback; load average as"
  echo "it began: $(cut -d' ' -f1 /proc/loadavg). \`redline sim --pace\` is a process of its own and takes its share of the cores."
  echo "\`trace.csv\` has 500 requests a second at random times; the lag is how late each was sent after its recorded one."
  echo
  echo "| flags | due | sent | ok | lag p50 / p99, ms | in flight, most | tokens/s | client memory, MB | client CPU | checks |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
  serve 1ms
  drive requests --rate 2000 --arrival constant --workload 'fixed(16,8)' --duration "${length}s" --warmup 5s
  serve 500ms
  drive streams --concurrency 10000 --workload 'fixed(16,20)' --duration "${length}s" --warmup 15s
  record 500
  serve 1ms
  drive replay --workload "$out/trace.csv"
} >"$out/table"
awk -v table="$out/table" '
  /<!-- offered: begin -->/ { print; while ((getline line < table) > 0) print line; skipping = 1; next }
  /<!-- offered: end -->/ { skipping = 0 }
  !skipping { print }' "$page" >"$out/page"
cp "$out/page" "$page"
cat "$out/table"
