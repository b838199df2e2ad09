#!/usr/bin/env bash
# Shows what reading the server's metrics costs: the same load, interleaved, without
# telemetry and with it, against the metronome as a process of its own. Run from
# the repository's root, by make scrape. Writes the table between the marks in
# docs/measured/SCALE.md, or PAGE; each run lasts 10 s, or LENGTH, in ROUNDS rounds.
set -euo pipefail
port=${PORT:-8196}
length=${LENGTH:-10}
rounds=${ROUNDS:-5}
page=${PAGE:-docs/measured/SCALE.md}
out=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$out"' EXIT

./bin/redline sim --listen "127.0.0.1:$port" --pace 10ms 2>"$out/sim.log" &
server=$!
for _ in $(seq 100); do grep -q serving "$out/sim.log" && break; sleep 0.05; done

drive() { # drive NAME FLAGS…: a run, whatever its verdict
  local name=$1
  shift
  NO_COLOR=1 ./bin/redline run --url "http://127.0.0.1:$port" --quiet --rate 50 --arrival constant --workload 'fixed(64,40)' \
    --duration "${length}s" --warmup 2s --accelerator off --out "$out/$name" "$@" >"$out/$name.txt" 2>"$out/$name.err" || true
}

for round in $(seq "$rounds"); do
  drive "off-$round" --no-telemetry
  drive "1s-$round"
  drive "100ms-$round" --telemetry-interval 100ms
done

python3 - "$out" "$rounds" "$page" "$length" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)" <<'PY'
import json, statistics, sys
out, rounds, page, length, cores, busy = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6]
lines = [f"Written by `make scrape`: {rounds} interleaved rounds of {length} s at 50 requests/s of 40 tokens, medians over the rounds with their"
         f" range, on a machine with {cores} cores and a load average of {busy} that server and client share.", "",
         "| metrics read | client CPU, s | ttft p50, ms | ttft p99, ms | itl p50, ms | itl p99, ms | lag p99, ms | one reading, ms |",
         "|---|---|---|---|---|---|---|---|"]
def cell(values, digits):
    if not values: return "–"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"
for name, words in (("off", "never"), ("1s", "every second"), ("100ms", "every 100 ms")):
    got = []
    for n in range(1, rounds + 1):
        got.append(json.load(open(f"{out}/{name}-{n}/result.json")))
    lat = lambda metric, p: [r["points"][0]["latency"][metric][p] for r in got]
    took = [r["points"][0]["server"]["scrape_ms"]["mean"] for r in got if r["points"][0].get("server", {}).get("scrape_ms")]
    lines.append(f"| {words} | {cell([r['client']['cpu_s'] for r in got], 2)} | {cell(lat('ttft_ms', 'p50'), 2)} | {cell(lat('ttft_ms', 'p99'), 1)} | "
                 f"{cell(lat('itl_ms', 'p50'), 2)} | {cell(lat('itl_ms', 'p99'), 1)} | {cell(lat('lag_ms', 'p99'), 2)} | {cell(took, 1)} |")
text = open(page).read()
begin, end = "<!-- scrape: begin -->\n", "<!-- scrape: end -->"
head, rest = text.split(begin)
open(page, "w").write(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])
PY
