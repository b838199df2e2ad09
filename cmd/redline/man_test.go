package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManHasAPageForEveryCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if code, _, stderr := redline(t, nil, "man", dir); code != exitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, c := range (&process{}).root().Commands() {
		page, err := os.ReadFile(filepath.Join(dir, "redline-"+c.Name()+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(strings.ReplaceAll(string(page), `\-`, "-"), c.Short) {
			t.Errorf("the page of %s does not say %q", c.Name(), c.Short)
		}
	}
	if code, _, stderr := redline(t, nil, "man", filepath.Join(dir, "missing")); code != exitError || !strings.Contains(stderr, "must exist") {
		t.Errorf("a directory that is not there: exit %d, %s", code, stderr)
	}
}

func TestFlagsCompleteTheirValues(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--api": "openai-chat", "--workload": "chat", "--fault": "reset", "--cache": "cold"} {
		code, stdout, _ := redline(t, nil, "__complete", "run", flag, "")
		if code != exitOK || !strings.Contains("\n"+stdout, "\n"+want+"\n") {
			t.Errorf("%s completes to %q, want %s among them", flag, stdout, want)
		}
	}
}
