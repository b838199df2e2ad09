package enginelog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// sink is a file that can be read while it is written.
type sink struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits for something to come true, for ever if need be.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Context().Err() != nil {
			t.Fatal("never")
		}
		time.Sleep(time.Millisecond)
	}
}

func add(t *testing.T, path, text string) {
	t.Helper()
	f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644))(t)
	fmt.Fprint(f, text)
	must.Do(t, f.Close())
}

func TestFileIsFollowedFromItsEnd(t *testing.T) {
	t.Parallel()
	path, kept := filepath.Join(t.TempDir(), "engine.log"), &sink{}
	add(t, path, strings.Repeat("an error of last week\n", 50))
	f := must.Get(Follow(path, kept, text.NewMask("sk-secret")))(t)
	add(t, path, "INFO key sk-secret\nWARNING Sequence 7 is preempted by recompute\n")
	until(t, func() bool { return strings.Contains(kept.String(), "preempted") })
	if err := os.Truncate(path, 0); err != nil { // it is rotated
		t.Fatal(err)
	}
	add(t, path, "torch.OutOfMemoryError: CUDA out of memory\n0 errors so far\nERROR and no end of the line")
	until(t, func() bool { return strings.Contains(kept.String(), "so far") })
	got := f.Stop()
	want := telemetry.EngineLog{Source: path, Lines: 5, Bytes: int64(len(kept.String())),
		Kinds:   map[string]int64{"preemption": 1, "out of memory": 1, "error": 1},
		Excerpt: []string{"WARNING Sequence 7 is preempted by recompute", "torch.OutOfMemoryError: CUDA out of memory", "ERROR and no end of the line"}}
	expect.Same(t, want, got)
	if !strings.HasPrefix(kept.String(), "INFO key ***\n") || strings.Contains(kept.String(), "last week") {
		t.Errorf("kept %q", kept.String())
	}
}

func TestCommandEndsWithTheRun(t *testing.T) {
	t.Parallel()
	kept := &sink{}
	f := must.Get(Follow("echo started; sleep 1000 & echo pid $!; wait", kept, nil))(t)
	until(t, func() bool { return strings.Contains(kept.String(), "pid ") && strings.HasSuffix(kept.String(), "\n") })
	var pid int
	must.Get(fmt.Sscanf(kept.String(), "started\npid %d", &pid))(t)
	if got := f.Stop(); got.Lines != 2 || got.Failure != "" {
		t.Errorf("%+v", got)
	}
	until(t, func() bool { // a corpse may wait for its parent a moment
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(state, []byte(") Z "))
	})
}

func TestCommandThatEndsEarly(t *testing.T) {
	t.Parallel()
	kept := &sink{}
	f := must.Get(Follow("echo no such container >&2; exit 3", kept, nil))(t)
	f.mu.Lock()
	failure := &f.use.Failure
	f.mu.Unlock()
	until(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return *failure != "" })
	got := f.Stop()
	if got.Failure != "the command ended before the run did, with exit code 3" || kept.String() != "no such container\n" {
		t.Errorf("%+v, kept %q", got, kept.String())
	}
}

// What has no end to follow from is refused; a device without one would never
// be let go of.
func TestNoFileToFollow(t *testing.T) {
	t.Parallel()
	for _, source := range []string{filepath.Join(t.TempDir(), "nothing.log"), t.TempDir(), "/dev/zero"} {
		if f, err := Follow(source, &sink{}, nil); err == nil {
			f.Stop()
			t.Errorf("%s: want an error", source)
		}
	}
}

func TestMoreThanIsKept(t *testing.T) {
	t.Parallel()
	kept := &sink{}
	f := &Follower{into: kept}
	line := strings.Repeat("x", 1<<20-1)
	for range 20 {
		f.line(line)
	}
	if !f.use.Cut || f.use.Lines != 20 || kept.text.Len() > maxBytes+100 || !strings.HasSuffix(kept.String(), "… redline keeps no more than 16 MB of this log\n") {
		t.Errorf("%+v, %d bytes kept", f.use, kept.text.Len())
	}
}

func TestLinesThatDoNotEnd(t *testing.T) {
	t.Parallel()
	var lines []int
	r := newLineReader(func(s string) { lines = append(lines, len(s)) })
	for range 40 {
		fmt.Fprint(r, strings.Repeat("y", 1000))
	}
	r.flush()
	expect.Same(t, []int{17000, 17000, 6000}, lines)
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb"), []byte("\r\n\x00error"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		total := 0
		r := newLineReader(func(s string) { total += len(s); errorKind(s) })
		r.Write(one)
		r.Write(two)
		r.flush()
		if total > len(one)+len(two) {
			t.Errorf("%d bytes of %d", total, len(one)+len(two))
		}
	})
}
