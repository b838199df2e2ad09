#!/usr/bin/env bash
# Shows what the full screen costs: the same load, interleaved, with nothing shown,
# with the line and with the screen, on a terminal of 120 × 40 each, against the
# metronome as a process of its own. Run from the repository's root, by make
# screen. Writes the table between the marks in docs/measured/SCALE.md, or PAGE;
# each run lasts 10 s, or LENGTH, in ROUNDS rounds.
set -euo pipefail
port=${PORT:-8197}
length=${LENGTH:-10}
rounds=${ROUNDS:-7}
page=${PAGE:-docs/measured/SCALE.md}
out=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$out"' EXIT

./bin/redline sim --listen "127.0.0.1:$port" --pace 10ms 2>"$out/sim.log" &
server=$!
for _ in $(seq 100); do grep -q serving "$out/sim.log" && break; sleep 0.05; done

drive() { # drive NAME FLAGS…: a run on a terminal, whatever its verdict
  local name=$1
  shift
  TERM=xterm-256color script -qec "stty cols 120 rows 40; exec ./bin/redline run --url http://127.0.0.1:$port --rate 50 --arrival constant \
    --workload 'fixed(64,40)' --duration ${length}s --warmup 2s --slo 'ttft:p99<500ms' --slo 'itl:p99<50ms' --accelerator off --out $out/$name $*" \
    "$out/$name.tty" </dev/null >/dev/null || true
}

for round in $(seq "$rounds"); do
  drive "none-$round" --quiet
  drive "line-$round" --progress line
  drive "screen-$round" --progress screen
  drive "again-$round" --progress line
done
grep -q 'tokens/s' "$out/screen-1.tty" # there was one

python3 - "$out" "$rounds" "$page" "$length" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)" <<'PY'
import json, os, statistics, sys
out, rounds, page, length, cores, busy = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6]
lines = [f"Written by `make screen`: {rounds} interleaved rounds of {length} s at 50 requests/s of 40 tokens on a terminal of 120 × 40, medians over the"
         f" rounds with their range, on a machine with {cores} cores and a load average of {busy} that server and client share. CPU is that of the client"
         " in the window, in percent of one core; the line stands twice to show how much equal runs differ.", "",
         "| shown | CPU, % of a core | lag p50, ms | lag p99, ms | itl p99, ms | written to the terminal, bytes/s |",
         "|---|---|---|---|---|---|"]
def cell(values, digits):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"
for name, words in (("none", "nothing (`--quiet`)"), ("line", "the line"), ("again", "the line again"), ("screen", "the screen")):
    got, written = [], []
    for n in range(1, rounds + 1):
        got.append(json.load(open(f"{out}/{name}-{n}/result.json")))
        written.append(os.path.getsize(f"{out}/{name}-{n}.tty") / (float(length) + 2))
    points = [r["points"][0] for r in got]
    lat = lambda metric, p: [q["latency"][metric][p] for q in points]
    cpu = [100 * r["client"]["cpu_s"] / (q["window"]["end_s"] - q["window"]["start_s"]) for r, q in zip(got, points)]
    lines.append(f"| {words} | {cell(cpu, 2)} | {cell(lat('lag_ms', 'p50'), 3)} | {cell(lat('lag_ms', 'p99'), 2)} | {cell(lat('itl_ms', 'p99'), 1)} | {cell(written, 0)} |")
text = open(page).read()
begin, end = "<!-- screen: begin -->\n", "<!-- screen: end -->"
head, rest = text.split(begin)
open(page, "w").write(head + begin + "\n".join(lines) + "\n" + end + rest.split(end)[1])
PY
