package live

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/show/document"
)

// playLive is a live run as the summary of a real one would tell it: replies come
// in, and from a time on they are slow and some fail.
func playLive(v *view, seconds int, slowFrom int, objectives ...string) {
	parsed, err := slo.ParseAll(objectives)
	if err != nil {
		panic(err)
	}
	live := progress.Live{Objectives: parsed}
	random := rand.New(rand.NewPCG(1, 2))
	running, kv, watts := 21.0, 0.41, 612.0
	for second := range seconds {
		phase, factor := record.Warmup, 1.0
		if second >= 5 {
			phase = record.Measure
		}
		if second >= slowFrom {
			factor = 6
		}
		for n := range 20 {
			sent := int64(second)*1e9 + int64(n)*5e7 + 1
			r := &record.Record{ID: 20*second + n, Phase: phase, Due: sent, Begin: sent, Try: 1, Streamed: true}
			r.Observe(llm.Event{Kind: llm.Sent, At: sent})
			at := sent + int64(factor*(30+40*random.ExpFloat64())*1e6)
			for range 100 {
				r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
				at += int64(factor * 8e6 * (0.5 + random.Float64()))
			}
			r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: 100}})
			r.Observe(llm.Event{Kind: llm.End, At: at})
			if factor > 1 && n < 2 {
				r.Outcome = []llm.Outcome{llm.Timeout, llm.Rejected}[n]
			}
			r.Settle()
			live.Observe(r)
		}
		v.show(live.Snapshot(progress.Snapshot{Elapsed: time.Duration(second+1) * time.Second, Phase: phase, InFlight: 40, Due: 20*second + 60,
			Server: progress.Gauges{Running: &running, Waiting: new(float64), KVUsage: &kv, Watts: &watts}}, int64(2000*(second+1))))
	}
}

func aRun() *view {
	v := &view{title: "redline run · llama-3.1-8b · http://localhost:8000", window: 60 * time.Second}
	v.restart()
	playLive(v, 40, 32, "ttft:p99<500ms", "tpot:p95<20ms", "error:rate<1%", "class=rag ttft:p99<2s")
	v.messageLog = []string{"redline: about 1,200 requests come in 60 s, too few to call ttft:p99<500ms met, were it so"}
	return v
}

func level(rate, served, ms float64, s slo.Standing) EndedStage {
	return EndedStage{Name: fmt.Sprintf("look %g requests/s", rate), Measures: true, Valid: true, Load: rate, Served: served, TokensPerS: 100 * served,
		TTFTp50: ms / 4, TTFTp99: ms, TPOTp50: 8, Objective: "ttft:p99<500ms", Value: ms, Limit: 500, Standing: s}
}

func aSweep() *view {
	v := &view{title: "redline sweep · llama-3.1-8b · http://localhost:8000", panel: CurvePanel}
	v.total = 7*time.Minute + 3*time.Second
	v.restart()
	v.ended = []EndedStage{{Name: "ramp from 1 requests/s", Valid: true}, level(12, 12.1, 120, slo.Met), level(34, 28.2, 1900, slo.Missed), level(17.5, 17.4, 310, slo.Met), level(21, 20.8, 505, slo.Undecided)}
	v.stage = &Stage{Name: "look 18.75 requests/s", What: "stage", Number: 6, Of: 9, About: true, Warmup: 5 * time.Second, Window: 60 * time.Second,
		Found: "limit so far 17.5–21.0 requests/s", Ahead: 6 * time.Minute, Next: []string{"look about 19 requests/s", "sustain about 18 requests/s"}, Load: 18.75}
	v.window = v.stage.Window
	playLive(v, 20, 99, "ttft:p99<500ms")
	return v
}

func aComparison() *view {
	v := &view{title: "redline compare", panel: SidesPanel, sides: [2]string{"http://old:8000", "http://new:8000"}}
	v.total = 5 * time.Minute
	v.restart()
	for round := range 3 {
		a, b := level(10, 10, 200+float64(round), slo.Met), level(10, 10, 260, slo.Met)
		a.Side, b.Side, b.Valid = "A", "B", round > 0
		v.ended = append(v.ended, a, b)
	}
	v.stage = &Stage{Name: "round 4 B", What: "turn", Number: 7, Of: 20, Warmup: 5 * time.Second, Window: 30 * time.Second, Ahead: 9 * time.Minute,
		Next: []string{"round 4 A", "round 5 A", "round 5 B", "round 6 B"}, Load: 10, Side: "B"}
	v.window = v.stage.Window
	playLive(v, 12, 99)
	return v
}

func aBench() *view {
	v := &view{title: "redline bench · embedded engine", panel: listPanel}
	v.total = 95 * time.Second
	v.restart()
	for i, text := range []string{"smoke · 1 ok", "warm-up · 50 ok", "A short chat · ttft p50 11.2 p99 14.0 ms · 60 ok", "B long prefill · ttft p50 48.1 p99 52.3 ms · 41 ok"} {
		v.ended = append(v.ended, EndedStage{Name: text, Text: text, Valid: i != 2, Standing: []slo.Standing{slo.None, slo.None, slo.Met, slo.Missed}[i]})
	}
	v.stage = &Stage{Name: "C long decode", What: "stage", Number: 5, Of: 17, About: true, Ahead: 20 * time.Minute,
		Next: []string{"E-cold shared prefix, cold", "E shared prefix, warm", "deterministic generation", "product generation", "mix", "search for the limit", "burst"}}
	playLive(v, 3, 99, "ttft:p95<1s")
	return v
}

func screens() map[string]*view {
	unbegun := &view{title: "redline run · embedded engine"}
	unbegun.restart()
	helped, stopped := aRun(), aRun()
	helped.help, stopped.stopping, stopped.frozen = true, true, true
	return map[string]*view{"run": aRun(), "sweep": aSweep(), "compare": aComparison(), "bench": aBench(), "unbegun": unbegun, "help": helped, "stopping": stopped}
}

// What a screen looks like: at 80 × 24, which is enough for everything, on a
// larger terminal, and on a narrow one.
func TestScreensGolden(t *testing.T) {
	t.Parallel()
	for name, v := range screens() {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 24}} {
			rows := v.lines(size[0], size[1], false)
			golden(t, fmt.Sprintf("screen_%s_%dx%d.txt", name, size[0], size[1]), []byte(strings.Join(rows, "\n")+"\n"))
		}
	}
}

// Colors mean what the words say, and nothing is shown by a color alone: without
// them the rows are the same.
func TestScreenColors(t *testing.T) {
	t.Parallel()
	words := strings.NewReplacer("\x1b[31m", "<bad>", "\x1b[32m", "<good>", "\x1b[33m", "<weak>", "\x1b[1m", "<bold>", "\x1b[0m", "<off>")
	for name, v := range screens() {
		colored, plain := v.lines(80, 24, true), strings.Join(v.lines(80, 24, false), "\n")
		marked := words.Replace(strings.Join(colored, "\n"))
		if strings.Contains(marked, "\x1b") {
			t.Errorf("%s: another sequence than a tone: %q", name, marked)
		}
		for _, mark := range []string{"<bad>", "<good>", "<weak>", "<bold>", "<off>"} {
			marked = strings.ReplaceAll(marked, mark, "")
		}
		if marked != plain {
			t.Errorf("%s: colors change more than colors", name)
		}
		if name == "run" && !strings.Contains(words.Replace(strings.Join(colored, "\n")), "<bad>over so far: ttft:p99<500ms") {
			t.Error("a missed objective is not painted so")
		}
	}
}

// No size of a terminal makes a row too wide, or one too many.
func TestScreenStaysInsideTheTerminal(t *testing.T) {
	t.Parallel()
	for name, v := range screens() {
		for width := 1; width <= 130; width += 3 {
			for height := 1; height <= 50; height += 3 {
				rows := v.lines(width, height, true)
				if len(rows) > height {
					t.Fatalf("%s at %d×%d: %d rows", name, width, height, len(rows))
				}
				for _, row := range rows {
					if n := document.Visible(row); n > width {
						t.Fatalf("%s at %d×%d: a row takes %d columns: %q", name, width, height, n, row)
					}
				}
			}
		}
	}
}

// Between two stages none is shown as the present one, and the one that is over
// only once.
func TestScreenBetweenStages(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*view{"sweep": aSweep(), "bench": aBench()} {
		e := level(18.75, 18.7, 400, slo.Met)
		e.Name, e.Text = v.stage.Name, v.stage.Name+" · 60 ok"
		v.end(e)
		shown := strings.Join(v.lines(80, 24, false), "\n")
		if strings.Contains(shown, "▶") || name == "sweep" && strings.Count(shown, "  18.75 ") != 1 || name == "bench" && !strings.Contains(shown, "✓ C long decode · 60 ok") {
			t.Errorf("%s:\n%s", name, shown)
		}
	}
}

// What redline says ends in what to do, so its last message is whole at 80 × 24,
// with everything else there is to show.
func TestScreenShowsTheLastMessageWhole(t *testing.T) {
	t.Parallel()
	const command = "REDLINE_JOIN_TOKEN=MFRGGZDFMZTWQ2LKNNWG23TPOBYXE43U redline worker --nats nats://conductor.example:4222"
	for name, v := range screens() {
		v.messageLog = []string{"redline: said before", "redline: waiting for 2 workers; on each machine: " + command}
		if shown := strings.ReplaceAll(strings.Join(v.lines(80, 24, false), " "), ` \ `, " "); !v.help && !strings.Contains(shown, command) {
			t.Errorf("%s:\n%s", name, strings.Join(v.lines(80, 24, false), "\n"))
		}
	}
}

// While workers are awaited the screen counts those that came; then nothing of it
// is left.
func TestScreenCountsWorkersThatCame(t *testing.T) {
	t.Parallel()
	v := &view{title: "redline run", messageLog: []string{"redline: said before"}}
	v.restart()
	shows := func(want bool, words ...string) {
		t.Helper()
		shown := strings.Join(v.lines(80, 24, false), "\n")
		for _, w := range words {
			if strings.Contains(shown, w) != want {
				t.Errorf("%q shown: %v\n%s", w, !want, shown)
			}
		}
	}
	v.setWorkers(0, 2)
	v.messageLog = append(v.messageLog, "redline: on each machine: redline worker")
	shows(true, "waiting: 0 of 2 workers came", "redline worker", "said before")
	v.setWorkers(1, 2)
	shows(true, "waiting: 1 of 2 workers came", "redline worker")
	v.setWorkers(2, 2)
	shows(true, "starting", "said before")
	shows(false, "waiting", "redline worker")
}

// Who sends the load stands in the first row, at 80 columns too.
func TestScreenNamesWorkers(t *testing.T) {
	t.Parallel()
	v := aRun()
	v.now.Workers = 4
	for lost, want := range map[int]string{0: "  4 workers  40s", 1: "  4 workers, 1 lost  40s"} {
		v.now.Lost = lost
		if row := v.lines(80, 24, false)[0]; !strings.HasSuffix(row, want) || !strings.HasPrefix(row, v.title) || document.Visible(row) != 80 {
			t.Errorf("%d lost: %q", lost, row)
		}
		if row := v.lines(5, 24, true)[0]; document.Visible(row) > 5 {
			t.Errorf("%q is too wide", row)
		}
	}
}

// The clock of an experiment goes on from stage to stage.
func TestScreenShowsTheTimeOfAllStages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out slate
		line := NewLine(&out, Options{Screen: &Screen{Terminal: &out, Title: "redline sweep"}})
		for range 3 {
			line.Stage(Stage{Name: "look", What: "stage"})
			line.Show(progress.Snapshot{Elapsed: time.Second})
			time.Sleep(100 * time.Second)
		}
		line.Finish()
		if !strings.Contains(out.String(), "4m59s") {
			t.Errorf("%q", out.String())
		}
	})
}

// slate is a terminal that remembers what was written on it.
type slate struct{ bytes.Buffer }

func (*slate) Size() (width, height int) { return 80, 24 }
func (*slate) Keys() []byte              { return nil }
func (*slate) Restore()                  {}

// What would spoil a run is named while there is time to do something about it: on
// a screen as long as it does, in a log once.
func TestSpoilsAreShown(t *testing.T) {
	t.Parallel()
	v := aRun()
	for _, spoils := range [][]string{nil, {"hold-ups: this machine is busy"}, {"hold-ups: this machine is busier", "output lengths: mean 12 tokens, 128 asked, allowed ± 10%"}} {
		v.now.Spoils = spoils
		for _, height := range []int{24, 12} {
			shown := strings.Join(v.lines(80, height, false), "\n")
			for _, one := range spoils {
				if !strings.Contains(shown, one) {
					t.Errorf("%d rows without %q:\n%s", height, one, shown)
				}
			}
		}
	}
	var out bytes.Buffer
	line := NewLine(&out, Options{})
	for i := range 3 {
		line.Show(progress.Snapshot{Elapsed: time.Duration(i) * time.Minute, Spoils: []string{fmt.Sprintf("hold-ups: %d%%", 10*i+10), "steal: 12%"}})
	}
	if got := out.String(); strings.Count(got, "hold-ups: ") != 1 || !strings.Contains(got, "redline: hold-ups: 10%\nredline: steal: 12%\n") {
		t.Errorf("%s", got)
	}
}

// Ten seconds and more are seconds, wherever a screen or a line shows them.
func TestLongTimesAreSeconds(t *testing.T) {
	t.Parallel()
	v := aRun()
	long := progress.Spread{P50: 80_400, P95: 94_000, P99: 112_000}
	long.Bins[100] = 40 // 5.6 minutes
	value := 112_000.0
	v.now.TTFT, v.now.E2E, v.now.RecentTTFT = long, long, 98_000
	v.now.Objectives = []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Missed, Value: &value, Unit: "ms", Limit: 500}}
	shown := strings.Join(v.lines(100, 30, false), "\n")
	var line bytes.Buffer
	NewLine(&line, Options{}).Show(v.now)
	for _, text := range []string{shown, line.String()} {
		if regexp.MustCompile(`\d,\d{3}( ms|  )`).MatchString(text) || !strings.Contains(text, "112") {
			t.Errorf("%s", text)
		}
	}
}

// Why a stage does not count stays on the screen when the next has begun.
func TestScreenSaysWhyAStageIsNotValid(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]*view{"sweep": aSweep(), "bench": aBench(), "compare": aComparison()} {
		v.end(EndedStage{Name: "round 4 B", Side: "B", Measures: true, Why: "lag p99 70 ms (≤ 25 ms)"})
		v.stage, v.messageLog = &Stage{Name: "round 4 A", What: "turn", Side: "A"}, nil
		shown := strings.Join(v.lines(80, 24, false), "\n")
		if !strings.Contains(shown, "round 4 B is not valid: lag p99 70 ms (≤ 25 ms)") || name == "compare" && !strings.Contains(shown, "\nnot valid ") {
			t.Errorf("%s:\n%s", name, shown)
		}
	}
}

// A series of any length keeps its shape in a bounded number of steps.
func TestSeriesStaysBounded(t *testing.T) {
	t.Parallel()
	s := series{join: math.Max}
	for second := range 7200 {
		v := 10.0
		if second == 3601 {
			v = 99
		}
		s.set(time.Duration(second)*time.Second, v)
	}
	if len(s.values) > maxSteps {
		t.Errorf("%d steps", len(s.values))
	}
	shape := s.condense(72) // 100 s each
	for i, v := range shape {
		if want := map[bool]float64{true: 99, false: 10}[i == 36]; v != want {
			t.Errorf("column %d is %v, want %v", i, v, want)
		}
	}
}

// What lies beyond the limit is told from what lies below it by the bin that the
// limit falls into.
func TestHistogramPaintsBeyondTheLimit(t *testing.T) {
	t.Parallel()
	var bins progress.Bins
	for i := range bins {
		if e := progress.BinEdge(i); e > 10 && e < 1000 {
			bins[i] = 5
		}
	}
	marked := func(tone document.Tone, s string) string { return "<" + s + ">" }
	rows := histogram(&bins, 100, 40, 3, marked)
	if len(rows) != 3 || !strings.Contains(rows[1], "█<█") {
		t.Fatalf("%q", rows)
	}
	below, _, _ := strings.Cut(rows[1], "<")
	// 10 to 100 ms are as many octaves as 100 to 1,000 ms.
	if n := strings.Count(below, "█"); n < 12 || n > 20 {
		t.Errorf("%d full columns below the limit: %q", n, rows)
	}
}

// What a frame of a large terminal costs: four of them are drawn in a second.
func BenchmarkFrame(b *testing.B) {
	v := aSweep()
	for b.Loop() {
		v.lines(120, 40, true)
	}
}

// At 40 columns limits and warnings end with a word, and an objective that few
// replies are within is not called met.
func TestNarrowScreenEndsWithWords(t *testing.T) {
	t.Parallel()
	var v view
	v.restart()
	value := 206.0
	v.show(progress.Snapshot{Elapsed: 12 * time.Second, Phase: record.Warmup, OK: 2, TTFT: progress.Spread{P50: 17.3, P95: 159, P99: 206},
		Spoils:     []string{"hold-ups: this machine keeps redline from running 81% of the time, so figures are less certain"},
		Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: slo.Undecided, Value: &value, Unit: "ms", Limit: 500}}})
	got := strings.Join(v.lines(40, 18, false), "\n")
	for _, want := range []string{"206  p99<500ms\n", "too few requests yet", "hold-ups: this machine keeps\nredline from running 81% of the time, …\n"} {
		if !strings.Contains(got+"\n", want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "within limits") {
		t.Error(got)
	}
}
