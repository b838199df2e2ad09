package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
)

// victimDir tells a child of the tests where to write records until it is
// killed.
const victimDir = "REDLINE_TEST_VICTIM_DIR"

func TestMain(m *testing.M) {
	if path := os.Getenv(victimDir); path != "" {
		fmt.Fprintln(os.Stderr, writeForever(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// writeForever adds a record every few hundred microseconds, each with the
// real time at which it ended.
func writeForever(path string) error {
	d, err := (*Hold)(nil).Create(path, false)
	if err != nil {
		return err
	}
	l, err := d.StartLog(record.Header{Run: "victim", OriginUnixNS: time.Now().UnixNano()})
	if err != nil {
		return err
	}
	for id := 0; ; id++ {
		r := &record.Record{ID: id, Outcome: llm.OK, Sent: 1, End: time.Now().UnixNano()}
		for i := range int64(id % 200) {
			r.Observe(llm.Event{Kind: llm.Output, At: 1 + i*20_000_000})
		}
		l.Add(r)
		time.Sleep(300 * time.Microsecond)
	}
}

// TestAKilledRunKeepsWhatItHad kills a writer at ten different moments. What
// ended more than the flush interval and half a second before is on the disk,
// and whatever is there can be read.
func TestAKilledRunKeepsWhatItHad(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGKILL")
	}
	for i := range 10 {
		// Moments that share no rhythm with the flushes.
		alive := 60*time.Millisecond + time.Duration(i)*193*time.Millisecond
		t.Run(alive.String(), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "run")
			killed := killAfter(t, path, alive)
			d := must.Get(Open(path))(t)
			if h, err := d.Header(); err != nil || h.Run != "victim" {
				t.Fatalf("header %+v, %v", h, err)
			}
			last, lastEnd := -1, int64(0)
			for r, err := range d.Records() {
				must.Do(t, err)
				if r.ID != last+1 || r.ChunkCount() != r.ID%200 {
					t.Fatalf("record %d with %d chunks follows record %d", r.ID, r.ChunkCount(), last)
				}
				last, lastEnd = r.ID, r.End
			}
			// The writer adds records without a break, so that the last one
			// kept tells what was lost.
			safe := killed.Add(-flushEvery - 500*time.Millisecond).UnixNano()
			h, _ := d.Header()
			if safe > h.OriginUnixNS && lastEnd < safe {
				t.Errorf("the last of %d records ended %v before the kill", last+1, time.Duration(killed.UnixNano()-lastEnd))
			}
		})
	}
}

// killAfter runs a writer, kills it once its log has lived so long, and gives
// the time just before the kill.
func killAfter(t *testing.T, path string, alive time.Duration) time.Time {
	t.Helper()
	exe := must.Get(os.Executable())(t)
	victim := exec.Command(exe)
	victim.Env = append(os.Environ(), victimDir+"="+path)
	must.Do(t, victim.Start())
	for {
		if info, err := os.Stat(filepath.Join(path, recordsFile)); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(alive)
	killed := time.Now()
	must.Do(t, victim.Process.Kill())
	if err := victim.Wait(); err == nil {
		t.Fatal("the writer ended before it was killed")
	}
	return killed
}
