#!/usr/bin/env bash
# Measures a server that is already running, through saturation and in one go, and keeps what predictions are checked
# against. By make vllm URL=…, or alone where there is only the binary:
#
#   URL=http://gpu1:8000 HARDWARE='1 x H200' CATALOG=config.json TOKENIZER=tokenizer.json scripts/vllm/run.sh
#
# URL        the server
# MODEL      the model to ask (default: the first that the server lists)
# HARDWARE   what it runs on, PRECISION of its weights, FLAGS it was started with: a server seldom tells
# CATALOG    the config.json of the model, where its name is not one of the catalog's
# TOKENIZER  its tokenizer.json: prompts are then as long as the server will count them
# RATES      levels of chat, "2 5 10"; the last ones should be more than it can take
# LONG       levels of long prompts, RAG that of prompts with a shared beginning, with its cache warm and cold
# SLO        objectives of the search, BUDGET its time
# URL_B      the same server with one flag changed, for an A/B, and RATE its load
# PARTS      which of: doctor chat long prefix limit calibrate ab bench
# OUT        where all of it goes; REDLINE the binary; VLLM the command of vLLM's own benchmark
set -uo pipefail
: "${URL:?URL of a running server, such as http://127.0.0.1:8000}"
redline=${REDLINE:-./bin/redline}
out=${OUT:-runs/vllm-$(date -u +%Y%m%d-%H%M%S)}
parts=${PARTS:-doctor chat long prefix limit calibrate ab bench}
level=${LEVEL:-20s} warmup=${WARMUP:-8s} drain=${DRAIN:-15s} rate=${RATE:-10} seed=${SEED:-7}
slo=${SLO:-ttft:p99<200ms}
mkdir -p "$out"
export NO_COLOR=1

printf 'metadata: {hardware: "%s", precision: "%s", flags: "%s"}\n' "${HARDWARE:-}" "${PRECISION:-bf16}" "${FLAGS:-}" >"$out/about.yaml"
common=(--quiet --seed "$seed")
[ -n "${MODEL:-}" ] && common+=(--model "$MODEL")
[ -n "${CATALOG:-}" ] && common+=(--catalog "$CATALOG")
[ -n "${TOKENIZER:-}" ] && common+=(--tokenizer "$TOKENIZER")
timed=(--warmup "$warmup" --duration "$level" --drain "$drain")

wanted() { case " $parts " in *" $1 "*) return 0 ;; esac; return 1; }
# part NAME COMMAND…: what it prints goes to NAME.txt; a missed objective or a server that gives up ends nothing.
part() {
  local name=$1; shift
  wanted "${name%%-*}" || return 0
  local begin=$SECONDS
  "$redline" "$@" >"$out/$name.txt" 2>"$out/$name.err"
  echo "$name: exit $? after $((SECONDS - begin)) s" | tee -a "$out/parts.txt"
  curl -fs --max-time 5 "$URL/metrics" >"$out/metrics-$name.txt" 2>/dev/null || true
}
load() { local name=$1 kind=$2; shift 2; part "$name" "$kind" --url "$URL" --plan "$out/about.yaml" "${common[@]}" --out "$out/$name" "$@"; }

for page in version v1/models server_info; do curl -fs --max-time 5 "$URL/$page" >"$out/${page##*/}.json" 2>/dev/null || rm -f "$out/${page##*/}.json"; done
part doctor doctor --url "$URL"
# A run for each level: a sweep ends at the first one that is too much, and what lies beyond is wanted here.
for r in ${RATES:-2 5 10 20 30 40}; do load "chat-$r" run --rate "$r" "${timed[@]}"; done
for r in ${LONG:-1 2.5}; do load "long-$r" run --rate "$r" "${timed[@]}" --workload "${LONG_WORKLOAD:-in=uniform(6000,10000) out=uniform(64,192)}"; done
for cache in warm cold; do load "prefix-$cache" run --rate "${RAG:-5}" "${timed[@]}" --workload shared_rag --cache $cache; done
load limit sweep --find-limit --slo "$slo" --budget "${BUDGET:-5m}" --start "$rate"
part calibrate calibrate "$out"/chat-*/ -o "$out/engine.yaml"
[ -n "${URL_B:-}" ] && part ab compare "$URL" "$URL_B" "${common[@]}" --rate "$rate" --rounds "${ROUNDS:-6}" --warmup "$warmup" --duration "${ROUND:-10s}" --drain "$drain" --out "$out/ab"

# vLLM's own benchmark beside redline, at the same lengths and rate.
if wanted bench && [ -n "${VLLM:-$(command -v vllm)}" ]; then
  load bench run --rate "$rate" "${timed[@]}" --workload 'fixed(512,128)'
  n=$((${level%s} * ${rate%.*}))
  ${VLLM:-vllm} bench serve --base-url "$URL" --backend openai-chat --endpoint /v1/chat/completions ${MODEL:+--model "$MODEL"} \
    ${TOKENIZER:+--tokenizer "$(dirname "$TOKENIZER")"} --dataset-name random --random-input-len 512 --random-output-len 128 \
    --ignore-eos --num-prompts "$n" --request-rate "$rate" --percentile-metrics ttft,tpot,itl,e2el >"$out/vllm-bench.txt" 2>&1 ||
    echo "vllm bench: exit $?" | tee -a "$out/parts.txt"
fi
echo "kept in $out"
