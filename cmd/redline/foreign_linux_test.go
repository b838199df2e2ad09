package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"redline/internal/effort"
	"redline/internal/must"
)

// foreign are things that may lie in the place of a run's file.
var foreign = map[string]func(path string) error{
	"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
	"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	"link":   func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "..", "elsewhere"), path) },
	"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	"endless": func(path string) error {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		defer file.Close()
		return file.Truncate(1 << 40)
	},
}

// A directory of runs in which any file of a run may be anything does not stop what
// is beside it: no command waits, none reads without end, none writes through a
// link, and the sound run is listed.
func TestForeignRunDirectories(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "runs")
	sound := filepath.Join(root, "sound")
	must.Do(t, os.CopyFS(sound, os.DirFS(shortRun(t))))
	var dirs []string
	kinds := slices.Sorted(maps.Keys(foreign))
	for i, name := range []string{"pin.json", "plan.yaml", "plan-b.yaml", "records.jsonl", "result.json", "telemetry.jsonl", "experiment.json", "launch.json", "crew.json", "redline.lock", "pin.json.tmp"} {
		for k, kind := range kinds {
			if effort.Of((i+k)%len(kinds) > 1, false) {
				continue // other files have it
			}
			dir := filepath.Join(root, name+"-"+kind)
			must.Do(t, os.CopyFS(dir, os.DirFS(sound)))
			file := filepath.Join(dir, name)
			_ = os.Remove(file) // not every run has it
			must.Do(t, foreign[kind](file))
			dirs = append(dirs, dir)
		}
	}
	ends := func(args ...string) (stdout string) {
		t.Helper()
		ended := make(chan string, 1)
		go func() {
			_, stdout, stderr := redline(t, nil, args...)
			if strings.Contains(stderr, "goroutine ") {
				t.Errorf("redline %v: %s", args, stderr)
			}
			ended <- stdout
		}()
		select {
		case stdout = <-ended:
		case <-time.After(time.Minute): // nothing here takes a second
			t.Fatalf("redline %s does not end", strings.Join(args, " "))
		}
		return stdout
	}
	for _, args := range [][]string{{"history", "rebuild"}, {"history"}, {"history", "drift"}, {"history", "prune", "--keep", "500"}} {
		if stdout := ends(append(args, "--runs", root)...); len(args) == 1 && !strings.Contains(stdout, "sound") {
			t.Errorf("the sound run is not listed:\n%s", stdout)
		}
	}
	for _, dir := range dirs {
		ends("report", dir)
		ends("compare", dir, sound, "--plain")
		ends("export", "--format", "csv", dir)
		if strings.HasPrefix(filepath.Base(dir), "plan") {
			ends("capacity", "--rate", "1", "--simulate", dir) // which alone reads it
		}
		ends("run", "--url", "http://127.0.0.1:1", "--profile", "overload", "--limit", dir, "--quiet")
		ends("run", "--resume", dir)
		ends("sweep", "--resume", dir)
		ends("compare", "--resume", dir)
		ends("history", "pin", filepath.Base(dir), "--runs", root)
	}
	pages := serveUI(t, root)
	defer close(pages.stop)
	for _, page := range []string{"/", "/drift", "/frontier"} {
		pages.get(page)
	}
	for _, dir := range dirs {
		for _, page := range []string{"/run/" + filepath.Base(dir), "/capacity/" + filepath.Base(dir), "/compare?run=sound&run=" + filepath.Base(dir)} {
			pages.get(page)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "elsewhere")); err == nil {
		t.Error("a command wrote through a link")
	}
}
