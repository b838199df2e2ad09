package live

import (
	"bytes"
	"flag"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/progress"
	"redline/internal/llm"
	"redline/internal/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Write(t, path, got)
		return
	}
	want := must.Read(t, path)
	expect.NoDiff(t, cmp.Diff(string(want), string(got)), "%s differs (-want +got); look at it and run with -update if it is better", path)
}

// run is a run as its snapshots tell it: two warm-up seconds without an
// answer, then traffic, then errors.
func run() []progress.Snapshot {
	nan := math.NaN()
	at := func(seconds float64, s progress.Snapshot) progress.Snapshot {
		s.Elapsed = time.Duration(seconds * float64(time.Second))
		return s
	}
	return []progress.Snapshot{
		at(0.5, progress.Snapshot{Phase: "warmup", InFlight: 9, Due: 9, TTFT: progress.Spread{P50: nan, P99: nan}}),
		at(2, progress.Snapshot{Phase: "warmup", InFlight: 31, Due: 40, OK: 9, RequestsPerS: 4.5, TokensPerS: 1204.2, TTFT: progress.Spread{P50: 51.2, P99: 88.1}}),
		at(4.9, progress.Snapshot{Phase: "warmup", InFlight: 44, Due: 99, OK: 55, RequestsPerS: 11.2, TokensPerS: 2950, TTFT: progress.Spread{P50: 53.8, P99: 121}}),
		at(6.2, progress.Snapshot{Phase: "measure", InFlight: 46, Due: 124, OK: 78, RequestsPerS: 19.6, TokensPerS: 3610, TTFT: progress.Spread{P50: 54.4, P99: 160}}),
		at(10.1, progress.Snapshot{Phase: "measure", InFlight: 47, Due: 203, OK: 156, RequestsPerS: 19.9, TokensPerS: 3742, TTFT: progress.Spread{P50: 54.1, P99: 163}}),
		at(14.9, progress.Snapshot{Phase: "measure", InFlight: 48, Due: 299, OK: 250, Outcomes: map[llm.Outcome]int{llm.Reset: 1}, RequestsPerS: 20.2, TokensPerS: 3760, TTFT: progress.Spread{P50: 54.1, P99: 164}}),
		at(15, progress.Snapshot{Phase: "measure", InFlight: 64, Waiting: 1318, Due: 1620, OK: 251, Outcomes: map[llm.Outcome]int{llm.Reset: 12}, RequestsPerS: 18.4, TokensPerS: 3401, TTFT: progress.Spread{P50: 58.3, P99: 1834}}),
		at(70.4, progress.Snapshot{Phase: "cooldown", InFlight: 12, Due: 1701, OK: 1690, Outcomes: map[llm.Outcome]int{llm.Reset: 12}, RequestsPerS: 19.1, TokensPerS: 3502, TTFT: progress.Spread{P50: 57.8, P99: 1790}}),
	}
}

func TestLivePlainGolden(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	live := NewLine(&out, Options{Window: 60 * time.Second})
	for _, s := range run() {
		live.Show(s)
	}
	live.Say("stopping: press Ctrl-C again to stop at once")
	live.Finish()
	if strings.ContainsAny(out.String(), "\r\x1b") {
		t.Error("plain lines hold control characters")
	}
	golden(t, "live_plain.txt", out.Bytes())
}

// TestLiveTerminalGolden writes each control sequence as a word, so that the
// golden file can be read.
func TestLiveTerminalGolden(t *testing.T) {
	t.Parallel()
	words := strings.NewReplacer(clearLine, "\n<clear>", "\x1b[31m", "<red>", "\x1b[0m", "<off>")
	for name, width := range map[string]int{"live_terminal.txt": 100, "live_narrow.txt": 60} {
		var out bytes.Buffer
		live := NewLine(&out, Options{Terminal: true, Color: true, Window: 60 * time.Second, Width: func() int { return width }})
		for i, s := range run() {
			live.Show(s)
			if i == 4 {
				live.Say("a line of its own")
			}
		}
		live.Finish()
		golden(t, name, []byte(words.Replace(out.String())+"\n"))
	}
}

func TestLiveStaysInsideTheTerminal(t *testing.T) {
	t.Parallel()
	for width := 1; width <= 130; width++ {
		for _, s := range run() {
			var out bytes.Buffer
			NewLine(&out, Options{Terminal: true, Width: func() int { return width }}).Show(s)
			line := strings.TrimPrefix(out.String(), clearLine)
			if n := utf8.RuneCountInString(line); n >= width {
				t.Fatalf("width %d: the line takes %d columns: %q", width, n, line)
			}
		}
	}
}

// What is said breaks at words on a terminal, and a path stays whole.
func TestSayBreaksAtWords(t *testing.T) {
	t.Parallel()
	const path = "runs/20261116-051930/a-rather-long-name/report.html"
	for terminal, want := range map[bool]string{
		true:  "redline: two words to\na line, then\n" + path + "\nand more\n",
		false: "redline: two words to a line, then " + path + " and more\n",
	} {
		var out bytes.Buffer
		NewLine(&out, Options{Terminal: terminal, Width: func() int { return 22 }}).Say("redline: two words to a line, then " + path + " and more")
		expect.NoDiff(t, cmp.Diff(want, out.String()), "terminal %v", terminal)
	}
}

func TestLiveAfterFinish(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		var out bytes.Buffer
		live := NewLine(&out, Options{Terminal: terminal})
		live.Finish()
		live.Show(run()[0])
		live.Finish()
		if out.Len() != 0 {
			t.Errorf("terminal %v: wrote %q after the end", terminal, out.String())
		}
	}
}

// A stage is named with its place among the others and the time it has left; its
// clock begins at zero, and its lines lie further apart than those of a single run.
func TestStage(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	live := NewLine(&out, Options{})
	at := func(seconds int, phase record.Phase) progress.Snapshot {
		return progress.Snapshot{Elapsed: time.Duration(seconds) * time.Second, Phase: phase, InFlight: 4, RequestsPerS: 12, TokensPerS: 900, TTFT: progress.Spread{P50: 20, P99: 50}}
	}
	live.Stage(Stage{Name: "12 requests/s", What: "level", Number: 3, Of: 8, About: true, Warmup: 5 * time.Second, Window: 60 * time.Second, Ahead: 7 * time.Minute})
	for _, s := range []progress.Snapshot{at(1, record.Warmup), at(4, record.Warmup), at(6, record.Measure), at(15, record.Measure), at(29, record.Measure), at(70, record.Cooldown)} {
		live.Show(s)
	}
	live.Stage(Stage{Name: "run 2", What: "run", Number: 2, Of: 2, Warmup: 10 * time.Second, Window: 30 * time.Second, Ahead: 45 * time.Second})
	live.Show(at(16, record.Warmup))
	live.Stage(Stage{Name: "round 1 A", What: "run", Number: 4, Of: 7, Warmup: 20 * time.Second, Window: 10 * time.Second})
	live.Show(at(16, record.Warmup))
	live.Stage(Stage{Name: "4 requests/s", What: "level", Number: 9})
	live.Show(at(15, record.Warmup))
	want := "level 3 of about 8, 12 requests/s · 51s left · 4 in flight · 12.0 req/s · 900 tok/s · ttft p50 20.0 p99 50.0 ms · 0 errors · about 7 min to go\n" +
		"level 3 of about 8, 12 requests/s · last replies · 4 in flight · 12.0 req/s · 900 tok/s · ttft p50 20.0 p99 50.0 ms · 0 errors · about 6 min to go\n" +
		"run 2 of 2 · warming up · 4 in flight · 12.0 req/s · 900 tok/s · ttft p50 20.0 p99 50.0 ms · 0 errors · about 30 s to go\n" +
		"run 4 of 7, round 1 A · warm-up 4s left · 4 in flight · 12.0 req/s · 900 tok/s · ttft p50 20.0 p99 50.0 ms · 0 errors\n" +
		"level 9, 4 requests/s · warming up · 4 in flight · 12.0 req/s · 900 tok/s · ttft p50 20.0 p99 50.0 ms · 0 errors\n"
	expect.Same(t, want, out.String())
}

// A run without a length names what it goes on for, while it measures.
func TestLiveOpenObjectives(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	live := NewLine(&out, Options{Window: 5 * time.Minute})
	for i, s := range []progress.Snapshot{
		{Phase: record.Warmup, Open: []string{"ttft:p99<500ms", "tpot:p95<50ms"}},
		{Phase: record.Measure, Open: []string{"ttft:p99<500ms", "tpot:p95<50ms"}},
		{Phase: record.Measure, Open: []string{"ttft:p99<500ms"}},
		{Phase: record.Measure, Open: []string{}},
		{Phase: record.Cooldown, Open: []string{}},
	} {
		s.Elapsed, s.TTFT.P50, s.TTFT.P99 = time.Duration(60*i)*time.Second, 20, 50
		live.Show(s)
	}
	live.Finish()
	const rest = "0 in flight · 0 req/s · 0 tok/s · ttft p50 20.0 p99 50.0 ms · 0 errors\n"
	want := "0s warm-up · " + rest +
		"60s measuring 0s/5m00s · still open: ttft:p99<500ms, tpot:p95<50ms · " + rest +
		"2m00s measuring 60s/5m00s · still open: ttft:p99<500ms · " + rest +
		"3m00s measuring 2m00s/5m00s · all decided · " + rest +
		"4m00s cool-down · " + rest
	expect.Same(t, want, out.String())
}

// On a narrow terminal the first open objective stands for all before any other
// figure goes.
func TestLiveOpenObjectivesNarrow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	live := NewLine(&out, Options{Terminal: true, Window: 5 * time.Minute, Width: func() int { return 80 }})
	live.Show(progress.Snapshot{Phase: record.Measure, Elapsed: 20 * time.Second, Open: []string{"ttft:p99<500ms", "tpot:p95<50ms", "e2e:p90<2s"}, RequestsPerS: 4, TTFT: progress.Spread{P50: 20, P99: 50}})
	want := clearLine + " 20s measuring 0s/5m00s  still open: ttft:p99<500ms + 2 more    0 in flight"
	expect.Same(t, want, out.String())
}

// What a search believes stands in the line, also where it is narrow; requests
// that were rejected are no errors.
func TestLiveSearch(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		200: "stage 4 of about 9, look 18.75 requests/s  20s left      limit so far 17.0–24.0 requests/s    3 in flight  12.0 req/s     900 tok/s  ttft p50 20.0 p99 50.0 ms  7 rejected  0 errors  about 5 min to go",
		80:  "stage 4, look 18.75 requests/s  20s left  limit so far 17.0–24.0    3 in flight",
	} {
		var out bytes.Buffer
		live := NewLine(&out, Options{Terminal: true, Width: func() int { return width }})
		live.Stage(Stage{Name: "look 18.75 requests/s", What: "stage", Number: 4, Of: 9, About: true, Window: 20 * time.Second, Ahead: 5 * time.Minute,
			Found: "limit so far 17.0–24.0 requests/s"})
		live.Show(progress.Snapshot{Phase: record.Measure, InFlight: 3, RequestsPerS: 12, TokensPerS: 900, TTFT: progress.Spread{P50: 20, P99: 50}, Outcomes: map[llm.Outcome]int{llm.Rejected: 7}})
		expect.NoDiff(t, cmp.Diff(clearLine+want, out.String()), "%d columns", width)
	}
}

// Who sends the load is said where there is room.
func TestLiveWorkers(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		width, lost int
		want        string
	}{
		{200, 0, "  3 in flight by 4 workers  12.0 req/s"},
		{200, 1, "  3 in flight by 4 workers, 1 lost  12.0 req/s"},
		{80, 0, "  3 in flight  12.0 req/s"},
	} {
		var out bytes.Buffer
		live := NewLine(&out, Options{Terminal: true, Window: time.Minute, Width: func() int { return at.width }})
		live.Show(progress.Snapshot{Phase: record.Measure, InFlight: 3, Workers: 4, Lost: at.lost, RequestsPerS: 12, TokensPerS: 900, TTFT: progress.Spread{P50: 20, P99: 50}})
		if !strings.Contains(out.String(), at.want) {
			t.Errorf("%d columns: %q, want %q", at.width, out.String(), at.want)
		}
	}
}
