package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// measuredLevel is one load: requests per second and the p99 of ttft there.
type measuredLevel struct{ rate, ttft float64 }

// measuredRun is a finished sweep, as much of it as a plan needs.
func measuredRun(gpu string, count int, limit *result.Limit, levels ...measuredLevel) *result.Result {
	dist := func(n int, p50, p99 float64) *metric.Dist {
		return &metric.Dist{N: n, Mean: p50, Max: p99, P: map[string]float64{"p50": p50, "p99": p99}, Firm: []string{"p50", "p99"}}
	}
	r := &result.Result{Schema: result.Schema, ID: gpu, Hardware: result.Hardware{Accelerator: gpu, Count: count}, Limit: limit,
		Verdict: result.Verdict{Valid: "yes", SLO: "met"}}
	for _, l := range levels {
		n := int(l.rate * 100)
		standing := slo.Met
		if l.ttft > 500 {
			standing = slo.Missed
		}
		r.Points = append(r.Points, result.Point{Load: result.Load{Mode: "open", Rate: &l.rate}, Summary: metric.Summary{
			Window: metric.Window{EndS: 100}, Requests: metric.Requests{Due: n, Sent: n, OK: n},
			Rates:  metric.Rates{Asked: &l.rate, Offered: l.rate, Sent: l.rate, Completed: l.rate},
			Tokens: metric.Tokens{Prompt: int64(n) * 600, Output: int64(n) * 200, Counted: map[string]int{"usage": n}},
			Latency: metric.Latency{TTFT: dist(n, l.ttft/10, l.ttft), TTFTDue: dist(n, l.ttft/10, l.ttft),
				E2E: dist(n, 2000, 4000), E2EDue: dist(n, 2000, 4000)},
			Objectives: []slo.Verdict{{Objective: "ttft:p99<500ms", Standing: standing, Value: &l.ttft, Unit: "ms", Limit: 500, N: n}},
		}})
	}
	return r
}

func foundLimit(rate, low, high float64) *result.Limit {
	return &result.Limit{Rate: rate, Interval: [2]float64{low, high}, Standing: result.LimitFound, Binding: "ttft:p99<500ms",
		ByObjective: map[string]result.Bound{"ttft:p99<500ms": {Rate: rate, Interval: [2]float64{low, high}, Standing: result.LimitFound}},
		Confirmed:   true}
}

// keepRun writes a run directory by hand.
func keepRun(t *testing.T, dir string, r *result.Result, plan string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "stages"), 0o755))
	content := must.Get(json.Marshal(r))(t)
	for name, data := range map[string][]byte{"result.json": content, "plan.yaml": []byte(plan)} {
		must.Write(t, filepath.Join(dir, name), data)
	}
}

// measuredRuns are the two configurations of the manual: eight H100 that carry 22
// requests per second, and one L40S that carries 4.
func measuredRuns(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	keepRun(t, filepath.Join(root, "h100"), measuredRun("H100", 8, foundLimit(22, 19.8, 23.5),
		measuredLevel{5, 50}, measuredLevel{10, 100}, measuredLevel{20, 400}, measuredLevel{25, 900}),
		"seed: 1\ncost: {per_accelerator_hour: 2.5}\n")
	keepRun(t, filepath.Join(root, "l40s"), measuredRun("L40S", 1, foundLimit(4, 4, 4.4), measuredLevel{1, 150}, measuredLevel{4, 480}),
		"seed: 1\ncost: {per_accelerator_hour: 1.5}\n")
	return root
}

// Every command that the manual shows begins with the line that it shows.
func TestCapacityManual(t *testing.T) {
	t.Parallel()
	manual := must.Read(t, "../../docs/reference/CAPACITY.md")
	root := measuredRuns(t)
	blocks := strings.Split(string(manual), "```console\n$ redline ")[1:]
	if len(blocks) < 3 {
		t.Fatalf("the manual shows %d commands", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		command, want, _ := strings.Cut(block, "\n")
		args := strings.Fields(strings.ReplaceAll(command, "runs/", root+"/"))
		code, out, errors := redline(t, nil, args...)
		if code != exitOK {
			t.Errorf("redline %s ends with %d: %s", command, code, errors)
		}
		// The page breaks lines: the words count.
		got := strings.Join(strings.Fields(strings.ReplaceAll(out, filepath.ToSlash(root)+"/", "runs/")), " ")
		if !strings.HasPrefix(got, strings.Join(strings.Fields(want), " ")) {
			t.Errorf("redline %s prints\n%s\nwant\n%s", command, got, want)
		}
	}
}

// capacityOf runs the command and reads what it prints as JSON.
func capacityOf(t *testing.T, args ...string) result.Capacity {
	t.Helper()
	code, out, errors := redline(t, nil, append([]string{"capacity", "--json"}, args...)...)
	if code != exitOK {
		t.Fatalf("capacity %q ends with %d: %s", args, code, errors)
	}
	var doc struct{ Capacity result.Capacity }
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return doc.Capacity
}

// The published example: 100 requests/s by instances of eight that carry 22.
func TestCapacityExample(t *testing.T) {
	t.Parallel()
	code, out, errors := redline(t, nil, "capacity", "--rate", "100", "--limit", "22", "--gpus-per-instance", "8", "--headroom", "0.2", "--json")
	if code != exitOK {
		t.Fatalf("ends with %d: %s", code, errors)
	}
	var doc map[string]map[string]any
	must.Do(t, json.Unmarshal([]byte(out), &doc))
	got := map[string]any{}
	want := map[string]any{"instances": 5.0, "gpus": 40.0, "instances_with_headroom": 6.0, "gpus_with_headroom": 48.0}
	for key := range want {
		got[key] = doc["capacity"][key]
	}
	expect.Same(t, want, got)
}

// A directory's limit, prices and latencies make the plan.
func TestCapacityOfARun(t *testing.T) {
	t.Parallel()
	root := measuredRuns(t)
	c := capacityOf(t, filepath.Join(root, "h100"), "--rate", "100")
	if c.InstancesWithHeadroom != 6 || c.GPUsToRun != 48 || c.InstancesIfLow == nil || *c.InstancesIfLow != 7 {
		t.Errorf("%d instances, %d accelerators, %v if the limit is low", c.InstancesWithHeadroom, c.GPUsToRun, c.InstancesIfLow)
	}
	if c.Cost == nil || c.Cost.PerHour != 120 || c.Cost.PerMonth != 87_600 {
		t.Errorf("48 accelerators at 2.50 cost %+v", c.Cost)
	}
	several := capacityOf(t, filepath.Join(root, "h100"), filepath.Join(root, "l40s"), "--rate", "100")
	if len(several.Configurations) != 2 || several.Accelerator != "L40S" || several.InstancesToRun != 30 || several.Cost.PerHour != 45 {
		t.Errorf("of two the cheapest is %+v", several.CapacityPlan)
	}
}

// As a page the plan leads the report of its run.
func TestCapacityPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "capacity.html")
	root := measuredRuns(t)
	code, _, errors := redline(t, nil, "capacity", filepath.Join(root, "h100"), "--rate", "100", "--format", "html", "-o", page)
	if code != exitOK {
		t.Fatalf("ends with %d: %s", code, errors)
	}
	text := must.Read(t, page)
	for _, part := range []string{"<h1", "CAPACITY", "6\u00a0instances", "Capacity</h2>", "traffic"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

func TestCapacityOfAWorkload(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	rows.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	// One request every two seconds, but ten in each second of the third minute.
	for second := range 300 {
		stamp := "2026-01-01 00:0" + string(rune('0'+second/60)) + ":" + string(rune('0'+second%60/10)) + string(rune('0'+second%10))
		switch {
		case second/60 == 2:
			for i := range 10 {
				rows.WriteString(stamp + "." + string(rune('0'+i)) + "00000,100,10\n")
			}
		case second%2 == 0:
			rows.WriteString(stamp + ".000000,100,10\n")
		}
	}
	path := must.File(t, "azure.csv", rows.String())
	c := capacityOf(t, "--workload", path, "--limit", "5")
	if c.Demand.Rate != 10 || c.InstancesWithHeadroom != 3 || c.Demand.Mean == nil || *c.Demand.Mean > 3 {
		t.Errorf("the busiest minute has 10 requests/s, and it is %+v in %d instances", c.Demand, c.InstancesWithHeadroom)
	}
}

func TestCapacityOfNonsense(t *testing.T) {
	t.Parallel()
	root := measuredRuns(t)
	run := filepath.Join(root, "h100")
	plain := filepath.Join(root, "plain")
	bare := measuredRun("H100", 1, nil, measuredLevel{5, 50})
	bare.Points[0].Objectives = nil
	keepRun(t, plain, bare, "seed: 1\n")
	slow := filepath.Join(root, "slow")
	keepRun(t, slow, measuredRun("H100", 1, nil, measuredLevel{1, 812}, measuredLevel{5, 900}), "seed: 1\n")
	for _, tt := range []struct {
		args string
		code int
		says string
	}{
		{"--rate 100", exitUsage, "needs the directory of a run, --limit, or --latency"},
		{run, exitUsage, "give the load to carry: one of --rate, --users with --think, --agents and --workload"},
		{run + " --rate 1 --users 5 --think 1s", exitUsage, "give only one of --rate"},
		{run + " --rate -5", exitUsage, "--rate: expected requests per second above 0 and at most 1,000,000,000, got -5"},
		{run + " --rate 100 --headroom 5", exitUsage, "--headroom: expected a share of the demand such as 0.2"},
		{run + " --rate 100 --headroom -1", exitUsage, "--headroom: expected a share"},
		{run + " --rate 100 --spare -1", exitUsage, "--spare: must be 0 to"},
		{run + " --rate 100 --mean-rate 200", exitUsage, "--mean-rate: must be at most the peak"},
		{run + " --users 100", exitUsage, "--think: expected the time between"},
		{run + " --users -4 --think 1s", exitUsage, "--users: expected a number above 0"},
		{run + " --rate 100 --limit -2", exitUsage, "--limit: expected a load above 0"},
		{run + " --rate 100 --limit 0", exitUsage, "--limit: expected a load above 0"},
		{run + " --rate 100 --price-gpu H900", exitUsage, "unknown accelerator \"H900\""},
		{run + " --rate 100 --price-per-gpu-hour -3", exitUsage, "expected a price of at least 0"},
		{run + " --rate 100 --price-per-gpu-hour 1e12", exitUsage, "expected a price of at most"},
		{run + " --rate 100 --format pdf", exitUsage, "expected one of terminal, json, markdown, html"},
		{run + " --workload chat", exitUsage, "does not say when its requests come"},
		{filepath.Join(root, "nowhere") + " --rate 100", exitError, "no such file"},
		{plain + " --rate 100", exitError, "has no limit and no objectives; judge it by some (--slo"},
		{slow + " --rate 100", exitMissed, ""},
	} {
		code, out, errors := redline(t, nil, append([]string{"capacity"}, strings.Fields(tt.args)...)...)
		if code != tt.code || !strings.Contains(errors, tt.says) {
			t.Errorf("%s ends with %d: %s; want %d: %s", tt.args, code, errors, tt.code, tt.says)
		}
		oneLine(t, errors)
		if tt.code == exitMissed && !strings.Contains(strings.Join(strings.Fields(out), " "), "ttft p99 is 812 ms even at 1 request/s") {
			t.Errorf("an objective that no load keeps is answered with\n%s", out)
		}
	}
}

// Flags of a workload without one are a mistake, and files beside run directories
// are left out.
func TestCapacityOfWhatIsThere(t *testing.T) {
	t.Parallel()
	run := shortRun(t)
	for _, more := range []string{"--speedup=-1", "--workload-format=abc", "--from=5m"} {
		if code, _, stderr := redline(t, nil, "capacity", run, "--rate", "1", "--limit", "5", more); code != exitUsage || !strings.Contains(stderr, "workload") {
			t.Errorf("%s: exit %d: %s", more, code, stderr)
		}
	}
	file := must.File(t, "redline-history.sqlite", "x")
	code, _, stderr := redline(t, nil, "capacity", file, run, "--rate", "1", "--limit", "5")
	if code != exitOK || !strings.Contains(stderr, "it is a file, not a run directory") {
		t.Errorf("a file beside a run: exit %d: %s", code, stderr)
	}
	if code, _, stderr := redline(t, nil, "capacity", t.TempDir(), run, "--rate", "1", "--limit", "5"); code != exitOK || !strings.Contains(stderr, "it holds no run") {
		t.Errorf("a directory that holds no run: exit %d: %s", code, stderr)
	}
	if code, _, stderr := redline(t, nil, "capacity", file, t.TempDir(), "--rate", "1"); code != exitError || !strings.Contains(stderr, "none of these is the directory of a run") {
		t.Errorf("no run at all: exit %d: %s", code, stderr)
	}
	if code, _, stderr := redline(t, nil, "capacity", file, "--rate", "1", "--limit", "5"); code != exitError {
		t.Errorf("a file alone: exit %d: %s", code, stderr)
	}
}
