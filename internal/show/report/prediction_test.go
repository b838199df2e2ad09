package report

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/show/document"
)

// samplePrediction is of an engine that does as the hardware allows.
func samplePrediction() *result.Prediction {
	return &result.Prediction{Model: "llama-3.1-8b", Accelerator: "H100-SXM", Count: 1, Precision: "bf16",
		TPOT:   &result.Agreement{Predicted: 8.816, Measured: ptr(9.039), Ratio: ptr(1.0253)},
		TTFT:   &result.Agreement{Predicted: 22.09, Measured: ptr(22.02), Ratio: ptr(0.9968)},
		KVPeak: &result.Agreement{Predicted: 2044, Measured: ptr(1980.0), Ratio: ptr(0.9687)},
		MBU:    ptr(0.58), MFU: ptr(0.134), Ridge: 285.7, FullAt: ptr(558.0),
		Decode:    "8.82 ms predicted, 9.04 ms measured a token for 25 requests at once, bound by memory; it reads at 58% of the peak bandwidth",
		Prefill:   "22.1 ms predicted, 22.0 ms measured to the first token of a prompt of 629 tokens; over the window 13% of the peak arithmetic",
		Agreement: "the engine does what the hardware allows",
	}
}

// A page that has room shows the figures behind the sentences; a document of
// another hand may lack any of them.
func TestPredictionOnPages(t *testing.T) {
	t.Parallel()
	r := embeddedSample()
	var page strings.Builder
	must.Do(t, document.Markdown(&page, Whole(r), 2))
	for _, want := range []string{"| tpot, ms | 8.82 | 9.04 | 1.03 |", "requests that fill the kv cache | 558", "- **prefill** 22.1 ms predicted",
		"computed for llama-3.1-8b bf16 on 1 × H100-SXM"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
	var screen strings.Builder
	must.Do(t, Terminal(&screen, r, TerminalOptions{Explain: true}))
	if want := "full at 558 such requests"; !strings.Contains(strings.ReplaceAll(screen.String(), "\u00a0", " "), want) {
		t.Errorf("the terminal lacks %q:\n%s", want, screen.String())
	}
	r.Points[0].Prediction = &result.Prediction{Decode: "as it should"}
	for name, write := range map[string]func() error{
		"markdown": func() error { return Markdown(&page, r) },
		"terminal": func() error { return Terminal(&page, r, TerminalOptions{}) },
	} {
		if err := write(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
