package main

import (
	"encoding/json"
	"runtime"
	"testing"

	"redline/internal/judge/result"
)

func TestVersionAsJSON(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := redline(t, nil, "version", "--json")
	var got build
	if err := json.Unmarshal([]byte(stdout), &got); code != exitOK || err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	if got.Version != version || got.Go != runtime.Version() || got.OS != runtime.GOOS || got.Arch != runtime.GOARCH || got.Module == "" || got.Schemas["result"] != result.Schema {
		t.Errorf("got %+v", got)
	}
	if code, stdout, _ := redline(t, nil, "version"); code != exitOK || stdout != "redline "+version+"\n" {
		t.Errorf("exit %d: %q", code, stdout)
	}
}
