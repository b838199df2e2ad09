package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The curve of docs/guide/AGENTS.md: numbers of agents in virtual time, whose report
// scripts/pictures shows in a browser (make pictures).
func TestPictureOfAgents(t *testing.T) {
	page := os.Getenv("REDLINE_AGENTS_CURVE")
	if page == "" {
		t.Skip("make pictures sets REDLINE_AGENTS_CURVE to the page that is written")
	}
	virtually(t, func(w *world) {
		code, stdout, stderr := w.redline("sweep", "--concurrencies", "2,4,6,8,12,16", "--workload", "../../internal/traffic/job/testdata/weka.tgz", "--overflow", "skip", "--idle-cap", "10s",
			"--model", "llama-3.1-8b", "--gpu", "H200", "--slo", "ttft:p90<2s", "--warmup", "1m", "--duration", "4m", "--seed", "7", "--out", filepath.Join(t.TempDir(), "run"), "--html", page)
		t.Logf("%s\n%s", stdout, stderr)
		if code == exitError || code == exitUsage {
			t.Errorf("exit %d", code)
		}
	})
}
