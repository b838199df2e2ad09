package enginelog

import (
	"io"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
)

// TestStartupLog reads lines as engines write them; of several ranks the slowest counts.
func TestStartupLog(t *testing.T) {
	for log, want := range map[string][]Phase{
		`INFO 07-23 10:22:20 [default_loader.py:272] Loading weights took 3.22 seconds
INFO 07-23 10:22:20 [gpu_model_runner.py:1801] Model loading took 14.2488 GiB and 5.173644 seconds
(EngineCore_DP0 pid=11280) INFO 02-16 14:53:25 [monitor.py:34] torch.compile takes 9.85 s in total
INFO 11-03 15:47:45 [model_runner.py:1671] Graph capturing finished in 2 secs, took 0.11 GiB
INFO 11-03 15:47:45 [llm_engine.py:428] init engine (profile, create kv cache, warmup model) took 28.44 seconds
`: {{"weights", 3.22}, {"model", 5.173644}, {"compile", 9.85}, {"graphs", 2}, {"engine", 28.44}},
		`[2026-01-01 00:00:10 TP2] Load weight end. elapsed=4.06 s, type=Gemma4ForConditionalGeneration, avail mem=66.05 GB
[2026-01-01 00:00:12 TP0] Load weight end. elapsed=6.19 s
[2026-05-15 08:40:32 TP0] Capture cuda graph end. Time elapsed: 54.61 s. mem usage=1.93 GB. avail mem=8.16 GB.
`: {{"weights", 6.19}, {"graphs", 54.61}},
		"15: Model init total -- 55.42s\n": {{"model", 55.42}},
		"took 3 s, and nothing else\n":     nil,
	} {
		s := NewStartupLog()
		must.Get(io.WriteString(s, log))(t)
		expect.Same(t, want, s.Phases())
	}
}
