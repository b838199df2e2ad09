package lock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/must"
)

// holderPath tells a child of the tests which lock to take and hold until it is
// killed.
const holderPath = "REDLINE_TEST_HOLDER_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(holderPath); path != "" {
		l, err := Take(path, "redline holder")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("taken")
		time.Sleep(time.Minute) // killed long before
		l.Release()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l")
	l := must.Get(Take(path, "redline first"))(t)
	_, err := Take(path, "redline second")
	var held *HeldError
	if !errors.As(err, &held) || held.By.PID != os.Getpid() || held.By.Command != "redline first" || time.Since(held.By.Since) > time.Minute {
		t.Fatalf("second lock: %v", err)
	}
	if want := fmt.Sprintf("redline first (pid %d, since %s)", os.Getpid(), held.By.Since.UTC().Format(time.DateTime)+" UTC"); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
	must.Do(t, l.Release())
	if _, err := os.Stat(path); err == nil {
		t.Error("the lock file is left behind")
	}
	l = must.Get(Take(path, "redline second"))(t)
	l.Release()
}

// A link in the place of a lock file leads nowhere: what it points to is neither
// overwritten nor made.
func TestALinkIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	precious, none := filepath.Join(dir, "precious"), filepath.Join(dir, "none")
	must.Write(t, precious, "keep")
	for i, target := range []string{precious, none} {
		path := filepath.Join(dir, fmt.Sprint("l", i))
		if err := os.Symlink(target, path); err != nil {
			t.Skip(err)
		}
		if l, err := Take(path, "redline"); err == nil {
			l.Release()
			t.Errorf("a link to %s is locked", target)
		}
	}
	if got, err := os.ReadFile(precious); err != nil || string(got) != "keep" {
		t.Errorf("the file has become %q, %v", got, err)
	}
	if _, err := os.Stat(none); err == nil && runtime.GOOS != "windows" {
		t.Error("a file was made behind a link")
	}
}

func TestPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a user's temporary files are that user's alone")
	}
	dir := t.TempDir()
	own, open, link := filepath.Join(dir, "own"), filepath.Join(dir, "open"), filepath.Join(dir, "link")
	for _, err := range []error{os.Mkdir(own, 0o700), os.Mkdir(open, 0o755), os.Symlink(own, link)} {
		must.Do(t, err)
	}
	for path, want := range map[string]bool{own: true, open: false, link: false, filepath.Join(dir, "none"): false} {
		if Private(path) != want {
			t.Errorf("%s: %t, want %t", path, !want, want)
		}
	}
}

// Takers and releasers that remove the file under each other never have it both.
func TestNeverTwoAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l")
	var inside, taken int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				l, err := Take(path, "x")
				if err != nil {
					var held *HeldError
					if !errors.As(err, &held) {
						t.Error(err)
					}
					continue
				}
				mu.Lock()
				inside, taken = inside+1, taken+1
				if inside != 1 {
					t.Errorf("%d have the lock", inside)
				}
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				expect.OK(t, l.Release())
			}
		})
	}
	all.Wait()
	if taken == 0 {
		t.Error("nobody ever had the lock")
	}
}

func TestAKillFreesIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l")
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), holderPath+"="+path)
	out := must.Get(holder.StdoutPipe())(t)
	must.Do(t, holder.Start())
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "taken\n" {
		t.Fatalf("the holder says %q", line)
	}
	_, err := Take(path, "redline second")
	var held *HeldError
	if !errors.As(err, &held) || held.By.PID != holder.Process.Pid {
		t.Errorf("with a holder alive: %v, want pid %d", err, holder.Process.Pid)
	}
	holder.Process.Kill()
	holder.Wait()
	l, err := Await(path, "redline second", 10*time.Second)
	if err != nil {
		t.Fatalf("after the kill: %v", err)
	}
	l.Release()
}

func TestAFileWithoutAnOwnerIsNamedNobodys(t *testing.T) {
	t.Parallel()
	if got := (Owner{}).String(); got != "another process" {
		t.Errorf("got %q", got)
	}
	if got := (Owner{PID: 7, Host: "elsewhere.invalid", Command: "redline run", Since: time.Now()}).String(); !strings.Contains(got, "pid 7 on elsewhere.invalid") {
		t.Errorf("got %q", got)
	}
}

// Who asks for the holder takes nothing, makes nothing and removes nothing.
func TestTheHolderIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l")
	if by, held := Holder(path); held {
		t.Errorf("no file is held by %s", by)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("asking makes a file")
	}
	l := must.Get(Take(path, "redline first"))(t)
	if by, held := Holder(path); !held || by.Command != "redline first" || by.PID != os.Getpid() {
		t.Errorf("held by %s, %t", by, held)
	}
	content := must.Read(t, path)
	must.Do(t, l.Release())
	// What a kill leaves behind is held by nobody, and can be taken afterwards.
	must.Write(t, path, content)
	if by, held := Holder(path); held {
		t.Errorf("a file without a lock is held by %s", by)
	}
	l = must.Get(Take(path, "redline second"))(t)
	l.Release()
}
