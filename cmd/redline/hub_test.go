package main

import (
	"crypto/sha1"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A dataset is given by its name on a hub; the plan keeps the name, and the token
// is in no file.
func TestRunWithADatasetByName(t *testing.T) {
	const secret = "hf_abcdefghijklmnop"
	content := strings.Repeat("{\"prompt\":\"Say hello to the world, please.\"}\n", 20)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/datasets/acme/talks/resolve/main/train.jsonl" || r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "", http.StatusNotFound)
			return
		}
		w.Header().Set("X-Repo-Commit", strings.Repeat("a", 40))
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content)))))
		fmt.Fprint(w, content)
	}))
	defer hub.Close()
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HF_HUB_OFFLINE", "")
	t.Setenv("HF_ENDPOINT", hub.URL)
	t.Setenv("HF_TOKEN", secret)
	dir := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := redline(t, map[string]string{"HF_TOKEN": secret}, "run", "--url", metronome(t, time.Millisecond), "--rate", "50", "--requests", "10", "--plain",
		"--workload", "hf:acme/talks/train.jsonl", "--note", "with "+secret, "--quiet", "--out", dir)
	if res := readResultOf(t, dir); code != resultCode(res) || res.Points[0].Requests.OK != 10 {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	plan, err := os.ReadFile(filepath.Join(dir, "plan.yaml"))
	if err != nil || !strings.Contains(string(plan), "hf:acme/talks/train.jsonl") {
		t.Errorf("%v: the plan does not name the dataset:\n%s", err, plan)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if kept, err := os.ReadFile(file); err != nil || strings.Contains(string(kept), secret) {
			t.Errorf("%s: the token is in it (%v)", file, err)
		}
	}
	code, _, stderr = redline(t, nil, "run", "--rate", "5", "--requests", "5", "--tokenizer", "acme/none", "--quiet", "--out", filepath.Join(t.TempDir(), "none"))
	if code != exitError || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "tokenizer: hf:acme/none/tokenizer.json: ") {
		t.Errorf("a tokenizer that is not there: exit %d: %s", code, stderr)
	}
}
