//go:build linux

package main

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
)

const (
	ms     = int64(time.Millisecond)
	origin = int64(1e18)
)

// at gives times of the real-time clock, in ms from the origin.
func at(offsets ...int64) []int64 {
	for i := range offsets {
		offsets[i] = origin + offsets[i]*ms
	}
	return offsets
}

// TestTruths: redline stamped the sending at 100 ms and was stopped before the
// write, which it stamped at 130. The server had read the request at 128, wrote
// at 150, 160 and 180, and the window ends at 170.
func TestTruths(t *testing.T) {
	t.Parallel()
	r := &record.Record{Phase: record.Measure, Due: 90 * ms}
	r.Observe(llm.Event{Kind: llm.Sent, At: 100 * ms})
	r.Observe(llm.Event{Kind: llm.Written, At: 130 * ms})
	line := reply{Arrived: at(128)[0], Before: at(150, 160, 180)}
	got := truths{}
	got.add(r, line, origin, 0, 170*ms)
	want := truths{"ttft": {22}, "ttft_due": {22}, "tpot": {15}, "itl": {10}, "stall": {20}, "e2e": {52}, "e2e_due": {52}, "decode": {30}}
	expect.NoDiff(t, cmp.Diff(want, got), "stopped before the write (-want +got)")

	// A server that comes to read at 140 has let the request wait since 130.
	line.Arrived = at(140)[0]
	late := truths{}
	late.add(r, line, origin, 0, 170*ms)
	if late["ttft"][0] != 20 || late["e2e"][0] != 50 {
		t.Errorf("a late server: ttft %v and e2e %v, want 20 and 50", late["ttft"], late["e2e"])
	}

	// Of a request of the warm-up only gaps count, and those in the window alone.
	warm := truths{}
	warm.add(&record.Record{Phase: record.Warmup}, line, origin, 155*ms, 300*ms)
	expect.NoDiff(t, cmp.Diff(truths{"itl": {10, 20}}, warm), "warm-up (-want +got)")
}

func TestCovered(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		figure string
		truth  float64
		want   bool
	}{
		{"ttft", 9.71, true}, {"ttft", 9.69, false}, {"ttft", 20.29, true}, {"ttft", 20.31, false}, // 0.3 ms
		{"tpot", 9.91, true}, {"tpot", 9.89, false}, {"tpot", 20.19, true}, {"tpot", 20.21, false}, // 0.1 ms, 1%
	} {
		r := reading{True: tc.truth, Measured: 15, Low: 10, High: 20}
		if got := r.isCovered(tc.figure); got != tc.want {
			t.Errorf("%s of %v between 10 and 20: %v", tc.figure, tc.truth, got)
		}
	}
}

// TestResume: what a kill left is kept, the line that it cut is not, and what
// is missing is run.
func TestResume(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "busy.jsonl")
	first := []busyOutcome{
		{Setting: "2 loops", Number: 0, Load: busyLoads[0].name, Exit: 5, Figures: map[string]map[string]reading{"ttft": {"p50": {1, 2, 3, 4}}}},
		{Setting: "quota 50%", Unavailable: "no control groups", Machine: "here"},
	}
	f := must.Get(openState(path))(t)
	for _, o := range first {
		must.Do(t, appendState(f, o))
	}
	must.Get(f.WriteString(`{"setting":"2 lo`))(t)
	f.Close()

	f = must.Get(openState(path))(t)
	last := busyOutcome{Setting: "2 loops", Number: 1, Load: busyLoads[1].name, NoStamps: true}
	must.Do(t, appendState(f, last))
	f.Close()
	done := must.Get(readState[busyOutcome](dir))(t)
	expect.NoDiff(t, cmp.Diff(append(first, last), done), "the state (-want +got)")

	h := &busyRuns{machine: "here", done: done}
	chosen := must.Get(choose("2 loops,quota 50%", false))(t)
	var got []string
	for _, busyTrial := range h.missingTrials(chosen, 2) {
		got = append(got, busyTrial.String())
	}
	want := []string{"2 loops, stamps none, run 1, " + busyLoads[0].name, "2 loops, stamps kernel, run 2, " + busyLoads[1].name}
	expect.NoDiff(t, cmp.Diff(want, got), "missing (-want +got)")
	// Another machine may have control groups.
	if elsewhere := (&busyRuns{machine: "there", done: done}); len(elsewhere.missingTrials(chosen, 2)) != 2+4 {
		t.Errorf("missing elsewhere: %v", elsewhere.missingTrials(chosen, 2))
	}
}

func TestStateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	h := busyRuns{harness: &harness{version: "redline 2"}, done: []busyOutcome{{Version: "redline 2"}, {Version: "redline 1"}}}
	const want = "runs holds runs of redline 1, and this is redline 2: remove it, or name another directory with -state"
	if err := h.checkVersions("runs"); err == nil || err.Error() != want {
		t.Errorf("it says %v\n   want  %s", err, want)
	}
}

func TestABrokenStateIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "a.jsonl"), "{}\n{\"exit\":true}\n")
	if _, err := readState[busyOutcome](dir); err == nil || !strings.Contains(err.Error(), "a.jsonl:2:") {
		t.Errorf("error %v, want one that names line 2", err)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	cores := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	for _, tc := range []struct {
		cores, needed, parallel int
		want                    []seat
	}{
		{2, 3, 0, []seat{{}}},
		{3, 3, 0, []seat{{[]int{0}, []int{1, 2}}}},
		{7, 3, 0, []seat{{[]int{0}, []int{1, 2}}, {[]int{3}, []int{4, 5}}}},
		{6, 3, 0, []seat{{[]int{0}, []int{1, 2}}}},
		{6, 3, 2, []seat{{[]int{0}, []int{1, 2}}, {[]int{3}, []int{4, 5}}}},
		{2, 2, 0, []seat{{[]int{}, []int{0, 1}}}},
	} {
		got, err := layout(cores(tc.cores), tc.needed, tc.parallel)
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(seat{})); diff != "" || err != nil {
			t.Errorf("%+v: %v %s", tc, err, diff)
		}
	}
	if five, err := layout(cores(16), 3, 0); len(five) != 5 || err != nil {
		t.Errorf("%d side by side on 16 cores, want 5", len(five))
	}
	for _, tc := range [][3]int{{5, 3, 2}, {2, 3, 2}} {
		if _, err := layout(cores(tc[0]), tc[1], tc[2]); err == nil || !strings.HasPrefix(err.Error(), "-parallel 2: ") {
			t.Errorf("%v: error %v, want one about -parallel 2", tc, err)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	names := func(list []disturbance, err error) (names []string) {
		expect.OK(t, err)
		for _, s := range list {
			names = append(names, s.name)
		}
		return names
	}
	if got := names(choose("", false)); len(got) != len(disturbances)-1 || slices.Contains(got, firstName) {
		t.Errorf("all settings are %v", got)
	}
	expect.Same(t, []string{firstName}, names(choose("", true)))
	for _, only := range []string{"3 loops", "first", "0 loops,3 loops"} {
		if _, err := choose(only, false); err == nil || !strings.HasPrefix(err.Error(), "-only "+only+": the settings are 0 loops, ") {
			t.Errorf("%s: error %v", only, err)
		}
	}
}

// TestPlace: a command runs on its cores and cannot raise its priority.
func TestPlace(t *testing.T) {
	t.Parallel()
	all := must.Get(cores())(t)
	own := all[len(all)-1:]
	out := must.Get(place{cores: own, priority: equal}.command("/bin/sh", "-c", "cat /proc/self/status").Output())(t)
	status := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	if got := status["Cpus_allowed_list"]; got != strconv.Itoa(own[0]) {
		t.Errorf("it may use cores %s, want %v", got, own)
	}
	if able, err := strconv.ParseUint(status["CapEff"], 16, 64); err != nil || able&(1<<unix.CAP_SYS_NICE) != 0 {
		t.Errorf("it may raise its priority: capabilities %q", status["CapEff"])
	}
}

// TestFreeze: a process is stopped, and runs again at the end.
func TestFreeze(t *testing.T) {
	t.Parallel()
	cmd := place{}.command(busyLoop...)
	must.Do(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	share := make(chan float64)
	go func() { share <- freeze(ctx, cmd.Process, busyTrial{disturbance: disturbance{stopped: 0.9}}) }()
	for processState(t, cmd.Process.Pid) != "T" {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if got := <-share; got <= 0 || got > 1 {
		t.Errorf("stopped for a share of %v", got)
	}
	for processState(t, cmd.Process.Pid) == "T" {
		time.Sleep(time.Millisecond) // it was told to continue, and will
	}
}

// outcomeOf is a run whose figures all are 100 ms in truth.
func outcomeOf(disturbance string, measured, low, high float64, verdicts ...verdict) busyOutcome {
	o := busyOutcome{Setting: disturbance, Load: busyLoads[0].name, Machine: "16 cores", Version: "redline 1", Figures: map[string]map[string]reading{}, Verdicts: verdicts, LagP99: 2}
	for _, name := range busyFigures {
		o.Figures[name] = map[string]reading{}
		for _, at := range percentiles {
			o.Figures[name][at.key] = reading{100, measured, low, high}
		}
	}
	return o
}

// TestBusyPage: of two runs of one setting the ends of one hold the truth. That
// one meets a limit of 90 wrongly and one of 110 rightly; the other is invalid,
// so that it decides nothing, and has no p90 of tpot, whose verdict cannot be
// checked.
func TestBusyPage(t *testing.T) {
	t.Parallel()
	below, above := verdict{"ttft", "p99", 90, slo.Met}, verdict{"e2e", "p50", 110, slo.Met}
	wide := outcomeOf("2 loops", 110, 88, 121, below, above)
	narrow := outcomeOf("2 loops", 110, 110, 110, verdict{"tpot", "p90", 90, slo.Undecided}, verdict{"itl", "p90", 110, slo.Missed})
	narrow.Exit, narrow.Valid, narrow.Reasons = 5, result.Invalid, []string{"lag: p99 2 ms, allowed ≤ 1 ms"}
	delete(narrow.Figures["tpot"], "p90")
	page := must.Get(busyPage([]busyOutcome{wide, narrow,
		{Setting: firstName}, {Setting: firstName, Exit: 5}, {Setting: "quota 50%", Unavailable: "no control groups"},
		outcomeOf(baselineName, 0, 0, 0)}))(t)
	for _, row := range []string{
		"redline 1 on 16 cores.\n",
		"2 runs; of each load: paced 20 ms 2; ",
		"**Not complete**: 50 of each setting",
		"| the true value of each figure lies between its ends in 95% of the runs | 50.0% at the worst (ttft p50) | **no** |",
		"| met wrongly in at most 5% | 100.0% by the same requests, 100.0% by all runs of a load | **no** |",
		"| missed wrongly in at most 5% | 0.0% by the same requests, 0.0% by all runs of a load | yes |",
		"| `tpot` | 50.0% | 100.0% | 50.0% |",
		"| the README's first command exits 0 every time | 1 of 2 | **no** |",
		"| `decode` | 50.0% | 50.0% | 50.0% | 15.0%, 27.0% | 15.0%, 27.0% | 15.0%, 27.0% |", // of 0% and 30%
		"| 2 loops | kernel | 2 | 2 | 0 | 0.0% | 50.0% | 53.3% | 50.0% | 15.0%, 30.0% | 30.0%, 30.0% | 15.0%, 30.0% | 100.0%, 100.0% | 0.0%, 0.0% | 66.7% | 0: 1, 5: 1 |",
		"quota 50% is not available on this machine: no control groups.",
		"Checks that made runs invalid, with the number of runs: lag (1).",
		"Figures that runs did not give, with the number of percentiles: tpot (1).",
		"beside two busy loops, 2 times. Exit codes: 0: 1, 5: 1.",
	} {
		if !strings.Contains(page, row) {
			t.Errorf("the page has no %s", row)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	if _, err := busyPage([]busyOutcome{{Setting: firstName}}); err == nil {
		t.Error("a page of nothing but the first command")
	}
}

// TestTypicals: a verdict is also judged by what is true of all runs of its
// load and setting.
func TestTypicals(t *testing.T) {
	t.Parallel()
	run := func(truth, limit float64, standing slo.Standing) busyOutcome {
		o := outcomeOf("0 loops", truth, truth, truth, verdict{"stall", "p99", limit, standing})
		o.Figures["stall"]["p99"] = reading{truth, truth, truth, truth}
		return o
	}
	all := []busyOutcome{run(80, 90, slo.Met), run(120, 110, slo.Missed)}
	tallies, _, _ := gather(all)
	// The mean is 100: one limit below and one above, both called wrongly; by the
	// same requests, both are right.
	for name, want := range map[string]share{"met wrongly, every": {1, 1}, "missed wrongly, every": {1, 1}, "met wrongly, same": {0, 1}, "missed wrongly, same": {0, 1}} {
		if got := tallies[""].shares[name]; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func processState(t *testing.T, pid int) string {
	t.Helper()
	stat := must.Read(t, filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

// TestCompletePage: with every run there, and one setting that cannot be had,
// nothing is missing.
func TestCompletePage(t *testing.T) {
	t.Parallel()
	all := []busyOutcome{{Setting: disturbances[0].name, Unavailable: "no control groups"}}
	for _, s := range disturbances[1:] {
		for n := range 2 * fullRuns {
			o := outcomeOf(s.name, 100, 100, 100)
			o.NoStamps = n%2 == 1
			all = append(all, o)
		}
	}
	page, err := busyPage(all)
	if err != nil || strings.Contains(page, "Not complete") {
		t.Errorf("a complete page is not: %v", err)
	}
	if page, _ = busyPage(all[:len(all)-2*2*fullRuns-1]); !strings.Contains(page, "Not complete") {
		t.Error("runs are missing, and the page does not say so")
	}
}
