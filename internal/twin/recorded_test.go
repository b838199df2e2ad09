package twin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"redline/docs/pages"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/text"
)

// TestCalibrateRecordedServers fits a twin to every other level of each recorded
// server and writes what it predicts of the others into docs/measured/REAL-ENGINES.md. It
// takes a minute for each, so that only make predict runs it.
func TestCalibrateRecordedServers(t *testing.T) {
	if os.Getenv("REDLINE_PREDICT") == "" {
		t.Skip("REDLINE_PREDICT=1 runs it")
	}
	page := "| server | level | held out | tpot off | e2e off | ttft off |\n|---|---|---|---|---|---|\n"
	var ranges string
	for _, server := range []string{"vllm-0.24.0-h200-llama-3.1-8b", "vllm-0.24.0-h200-llama-3.1-8b-first", "vllm-0.24.0-h200-qwen3-30b-a3b", "vllm-0.24.0-h200-qwen3-14b", "vllm-0.24.0-h200-qwen3-32b", "vllm-0.24.0-h200-qwen3-32b-fp8", "vllm-0.24.0-h200-llama-3.1-8b-fp8", "vllm-0.24.0-h200-qwen2.5-7b"} {
		dir := t.TempDir()
		if out, err := exec.Command("tar", "xzf", filepath.Join("testdata/recorded", server+".tar.gz"), "-C", dir).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		levels := must.Get(filepath.Glob(filepath.Join(dir, "chat-*")))(t)
		ev := must.Get(Observe(levels...))(t)
		c := must.Get(Calibrate(t.Context(), ev))(t)
		for _, r := range c.Rows {
			name, held := r.Level, ""
			if r.Overloaded {
				name += ", overloaded"
			}
			if r.HeldOut {
				held = "yes"
			}
			off := func(figure string) string { return text.RoughPercent(r.P50[figure].Error) }
			page += fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", server, name, held, off("tpot"), off("e2e"), off("ttft"))
		}
		word, _ := c.Verdict()
		ranges += fmt.Sprintf("\n- %s: %s, %s. %s", server, word, c.Range(), limits(t, c))
	}
	t.Log(page + ranges)
	must.Do(t, pages.Write("REAL-ENGINES.md", "calibrate", page+ranges+"\n\n"))
}

// limits lays the twin's limit under an objective beside the levels between
// which the server began to miss it.
func limits(t *testing.T, c *Calibration) string {
	t.Helper()
	objectives := must.Get(slo.ParseAll([]string{"ttft:p99<200ms"}))(t)
	limit := must.Get(Limit(t.Context(), c.Spec, c.Evidence.Mix(), objectives, 20*time.Minute, 1))(t)
	kept, missed := "none", "none"
	for i := range c.Evidence.Levels {
		target := newTarget(&c.Evidence.Levels[i])
		p99 := stats.Quantile(target.measured[0], 0.99) / 1e6
		says := fmt.Sprintf("%s (%s)", target.Name, text.Time(p99))
		if p99 < 200 {
			kept = says
		} else {
			missed = says
			break
		}
	}
	return fmt.Sprintf("Its limit under `ttft:p99<200ms` is %s requests/s; measured p99: %s, %s", text.Number(limit), kept, missed)
}
