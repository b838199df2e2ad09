package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// The tool ends with a redline that is killed. Where nobody reaps
// orphans, a dead one is still in the list of processes.
func TestKilledRunLeavesNoTool(t *testing.T) {
	t.Parallel()
	command, pidFile := fakeTool(t)
	cmd, _, _ := program(t, "run", "--url", metronome(t, 1e6), "--concurrency", "2", "--duration", "10m", "--warmup", "0s",
		"--accelerator", command, "--quiet", "--out", filepath.Join(t.TempDir(), "run"))
	must.Do(t, cmd.Start())
	defer cmd.Process.Kill()
	pid := ""
	await(t, "the tool", func() bool {
		text, _ := os.ReadFile(pidFile)
		pid = strings.TrimSpace(string(text))
		return pid != ""
	})
	cmd.Process.Kill()
	cmd.Wait()
	await(t, "the tool's end", func() bool {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}
