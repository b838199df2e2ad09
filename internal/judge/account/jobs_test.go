package account

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/stats"
)

// asked is a request of a job: due and end in seconds of the load.
type asked struct {
	due, end float64
	outcome  llm.Outcome
	depth    int
	silent   bool // it reasons only
}

// jobRecords are those of one job that sends so many requests. Each has a prompt
// of 1,000 tokens, of which 600 were found in the cache and 900 would have been in
// an endless one, and a reply of 10.
func jobRecords(session, turns int, list ...asked) (records []*record.Record) {
	at := func(s float64) int64 { return int64(math.Round(s * second)) }
	for i, a := range list {
		r := &record.Record{ID: 1000*session + i, Session: session, Turn: i, Turns: turns, Depth: a.depth, Due: at(a.due), Begin: at(a.due), Sent: at(a.due), End: at(a.end), Streamed: true,
			Outcome: llm.OK, AskedPrompt: 1000, PromptTokens: 1000, CachedTokens: 600, IdealCached: 900, AskedOutput: 10, OutputTokens: 10, Try: 1}
		if a.outcome != "" {
			r.Outcome = a.outcome
		}
		if r.Outcome == llm.OK {
			r.First, r.Last = r.Due+at(0.5), r.End
			if !a.silent {
				r.Answer = r.First
			}
		}
		records = append(records, r)
	}
	return records
}

func jobWindow(start, end float64, objectives ...slo.Objective) Options {
	return Options{Start: int64(start * second), End: int64(end * second), Objectives: objectives, Varies: true}
}

// The figures of four jobs, by hand. The window is from 10 s to 100 s, the load
// ends at 120 s.
func TestFiguresOfJobs(t *testing.T) {
	t.Parallel()
	records := slices.Concat(
		jobRecords(1, 2, asked{due: 2, end: 4}, asked{due: 8, end: 14}), // began before the window
		// Its subagent works beside it: 20 to 26 s and 30 to 34 s are served.
		jobRecords(2, 3, asked{due: 20, end: 24, silent: true}, asked{due: 22, end: 26, depth: 1}, asked{due: 30, end: 34}),
		jobRecords(3, 2, asked{due: 40, end: 42}, asked{due: 43, end: 44, outcome: llm.Timeout}),
		jobRecords(4, 2, asked{due: 50, end: 51}, asked{due: 89, end: 90}),
		jobRecords(5, 3, asked{due: 60, end: 62}, asked{due: 115, end: 120, outcome: llm.Censored}), // cut at the age of 60 s
	)
	got := *summarizeRecords(t, jobWindow(10, 100), records).Jobs
	if got.Started != 4 || got.Finished != 3 || got.Failed != 1 || got.Cut != 1 {
		t.Errorf("%d started, %d finished, %d failed, %d cut; want 4, 3, 1, 1", got.Started, got.Finished, got.Failed, got.Cut)
	}
	// 4 + 14 + 4 + 40 + 40 s of jobs in 90 s.
	if got.PerHour != 120 || got.LiveMax != 2 || math.Abs(got.LiveMean-102.0/90) > 1e-5 {
		t.Errorf("%g an hour, %g live and at most %d; want 120, %g and 2", got.PerHour, got.LiveMean, got.LiveMax, 102.0/90)
	}
	// Ends at the ages of 4 (failed), 14 and 40 s, a quarter of all jobs each.
	if math.Abs(*got.OKFraction-2.0/3) > 1e-5 || got.Time.N != 2 || got.Time.P["p50"] != 40_000 || got.Time.Max != 40_000 {
		t.Errorf("ok %g, time %+v; want 2/3, and 40 s for the second of three jobs that did not fail", *got.OKFraction, got.Time)
	}
	if _, known := got.Time.P["p95"]; known || !math.IsNaN(got.Time.Mean) {
		t.Errorf("time %+v; want neither a p95 nor a mean beside a job that had not ended", got.Time)
	}
	// Serving: 10 s of the second job, 2 s of the fourth; the fifth is unknown.
	if got.Serving.P["p50"] != 10_000 || got.Serving.N != 2 {
		t.Errorf("serving %+v, want a median of 10 s", got.Serving)
	}
	// The second job's user sees its third request first, at 30.5 s.
	want := []float64{500, 500, 500, 10_500}
	if got.First.N != 4 || got.First.Mean != stats.Mean(want) || got.First.Max != 10_500 {
		t.Errorf("first token %+v, want %v", got.First, want)
	}
	for name, pair := range map[string][2]float64{"requests": {*got.Requests, 2.5}, "prompt": {*got.PromptTokens, 2500}, "cached": {*got.CachedTokens, 1500},
		"output": {*got.OutputTokens, 25}, "cached share": {*got.CachedFraction, 0.6}, "ideal share": {*got.IdealFraction, 0.9}} {
		if pair[0] != pair[1] {
			t.Errorf("%s of a job: %g, want %g", name, pair[0], pair[1])
		}
	}
}

// What the server does not report is not known, and sessions of a single request,
// or of an unknown number, are no jobs.
func TestJobsOfWhichLessIsKnown(t *testing.T) {
	t.Parallel()
	records := jobRecords(1, 2, asked{due: 20, end: 24}, asked{due: 30, end: 34})
	for _, r := range records {
		r.CachedTokens, r.IdealCached = 0, 0
	}
	if got := summarizeRecords(t, jobWindow(10, 100), records).Jobs; got.CachedTokens != nil || got.CachedFraction != nil || got.IdealFraction != nil || *got.PromptTokens != 2000 {
		t.Errorf("%+v, want no cached tokens", got)
	}
	for _, turns := range []int{0, 1} {
		if got := summarizeRecords(t, jobWindow(10, 100), jobRecords(1, turns, asked{due: 20, end: 24})).Jobs; got != nil {
			t.Errorf("sessions of %d requests: %+v, want none", turns, got)
		}
	}
}

// evenJobs are a job each ten seconds that takes as long as said.
func evenJobs(n int, take func(i int) float64, change func(i int, job []*record.Record)) (records []*record.Record) {
	for i := range n {
		begin := 10 * float64(i+1)
		job := jobRecords(i+1, 2, asked{due: begin, end: begin + 1}, asked{due: begin + take(i) - 1, end: begin + take(i)})
		if change != nil {
			change(i, job)
		}
		records = append(records, job...)
	}
	return records
}

func TestObjectivesOnJobs(t *testing.T) {
	t.Parallel()
	minute := func(int) float64 { return 60 }
	fails := func(every int) func(int, []*record.Record) {
		return func(i int, job []*record.Record) {
			if i%every == every/2 {
				job[1].Outcome = llm.Reset
			}
		}
	}
	// 400 jobs from 10 s on, one each ten seconds, of a minute each; the window
	// holds all beginnings and 394 ends.
	for _, c := range []struct {
		objective string
		change    func(int, []*record.Record)
		standing  slo.Standing
		value     float64
		note      string
	}{
		{"job:p95<90s", nil, slo.Met, 60_000, ""},
		{"job:p95<50s", nil, slo.Missed, 60_000, ""},
		{"job:max<61s", nil, slo.Met, 60_000, ""},
		{"job:mean<61s", nil, slo.Met, 60_000, ""},
		{"job_serving:p95<2500ms", nil, slo.Met, 2000, ""},
		{"job_first:p99<400ms", nil, slo.Missed, 500, ""},
		{"job_ok:fraction>0.98", nil, slo.Met, 1, ""},
		{"job_ok:fraction>0.98", fails(5), slo.Missed, 0.8, ""},
		{"job:p95<90s", fails(5), slo.Missed, math.NaN(), ""}, // a failed job is late
		{"job:mean<61s", fails(5), slo.Undecided, 60_000, "80 of 400 jobs failed or had not ended, which is above any limit"},
		{"jobs_per_hour:min>330", nil, slo.Met, 354.6, ""},
		{"jobs_per_hour:min>400", nil, slo.Missed, 354.6, ""},
	} {
		o := jobWindow(10, 4010, objectives(t, c.objective)...)
		got := summarizeRecords(t, o, evenJobs(400, minute, c.change)).Objectives[0]
		value := math.NaN()
		if got.Value != nil {
			value = *got.Value
		}
		if got.Standing != c.standing || got.Note != c.note || !(math.Abs(value-c.value) < 1) && !(math.IsNaN(value) && math.IsNaN(c.value)) {
			t.Errorf("%s: %s, %g, %q; want %s, %g, %q", c.objective, got.Standing, value, got.Note, c.standing, c.value, c.note)
		}
	}
}

// Jobs that had not ended decide nothing that they could still change.
func TestJobsThatWereCutOff(t *testing.T) {
	t.Parallel()
	// Every second job is still at work when the load ends, the last after 1,000 s.
	cut := func(i int, job []*record.Record) {
		if i%2 == 0 {
			job[1].Outcome, job[1].End = llm.Censored, 1010*second
		}
	}
	take := func(int) float64 { return 5 }
	for _, c := range []struct {
		objective string
		standing  slo.Standing
		note      string
	}{
		{"job:p95<10s", slo.Missed, ""},    // half of them are known to last longer
		{"job:p95<20m", slo.Undecided, ""}, // they may end before
		{"job:p10<10s", slo.Met, ""},
		{"job_ok:fraction>0.9", slo.Undecided, ""},
		{"job:max<20m", slo.Undecided, "50 jobs had not ended: run longer"},
	} {
		got := summarizeRecords(t, jobWindow(10, 1010, objectives(t, c.objective)...), evenJobs(100, take, cut)).Objectives[0]
		if got.Standing != c.standing || c.note != "" && got.Note != c.note {
			t.Errorf("%s: %s (%s), want %s %s", c.objective, got.Standing, got.Note, c.standing, c.note)
		}
	}
	none := jobRecords(1, 2, asked{due: 20, end: 24})
	s := summarizeRecords(t, jobWindow(10, 100, objectives(t, "job:p95<10s", "job_ok:fraction>0.9")...), append(none, jobRecords(2, 2, asked{due: 30, end: 32})...))
	for _, v := range s.Objectives[1:] {
		if v.Standing != slo.Undecided || v.Note != "no job that began in the window has ended: run longer" {
			t.Errorf("%s: %s (%s), want open", v.Objective, v.Standing, v.Note)
		}
	}
}

// randomLoad is jobs that come at random and last 10 minutes on average, some very
// long, in a load of so many minutes; some fail, sooner than they would have ended.
// Their true distribution is that of lasts.
func randomLoad(seed uint64, minutes float64) []*record.Record {
	r := stats.Rand(seed, "random jobs", 0)
	var records []*record.Record
	end := 60 * minutes
	for session, at := 1, 1.0; at < end; session, at = session+1, at+r.ExpFloat64()*12 {
		last, outcome := lasts(r), llm.OK
		if r.Float64() < failing {
			last, outcome = last*r.Float64(), llm.Reset
		}
		job := []asked{{due: at, end: min(at+2, end)}}
		if due := at + max(last-2, 2); due < end {
			job = append(job, asked{due: due, end: min(due+2, end), outcome: outcome})
			if due+2 > end {
				job[1].outcome = llm.Censored
			}
		}
		records = append(records, jobRecords(session, 2, job...)...)
	}
	return records
}

const failing = 0.1

// lasts draws how long a job lasts, in seconds: a lognormal of median 400 s.
func lasts(r *rand.Rand) float64 { return 400 * math.Exp(0.9*r.NormFloat64()) }

// Jobs last for a quarter of the window on average, and every fourth that began in
// it had not ended: those that did are the short ones. Percentiles and the share
// that ends well are those of the process all the same, and verdicts are not wrong
// more often than they say.
func TestJobsAreNotBiasedByTheWindow(t *testing.T) {
	t.Parallel()
	const trials = 80
	truth := map[string]float64{"p50": 400, "p95": 400 * math.Exp(0.9*1.6448536)}
	sums, naive, ok, covered, bounded, counted := map[string]float64{}, map[string]float64{}, 0.0, map[string]int{}, map[string]int{}, map[string]int{}
	var wrong, decided [8]int
	for trial := range uint64(trials) {
		records := randomLoad(trial, 70)
		// Of all jobs a tenth fails: the p80 of the others is the p72 of all. Limits
		// lie 3% off the truth, and far off it, on either side.
		var limits []string
		for _, factor := range []float64{0.6, 0.97, 1.03, 1.6} {
			limits = append(limits, fmt.Sprintf("job:p72<%.3fs", factor*400*math.Exp(0.9*stats.NormalQuantile(0.8))))
		}
		o := jobWindow(600, 3600, objectives(t, append(limits, "job_ok:fraction>0.97", "job_ok:fraction>0.905", "job_ok:fraction>0.895", "job_ok:fraction>0.8")...)...)
		s := summarizeRecords(t, o, records)
		var ended []float64
		for _, j := range jobsOf(t, records) {
			if j.Outcome == JobOK && j.Begin >= o.Start && j.End < o.End {
				ended = append(ended, float64(j.End-j.Begin)/1e6)
			}
		}
		slices.Sort(ended)
		for stat, p := range map[string]float64{"p50": 0.5, "p95": 0.95} {
			naive[stat] += ended[int(p*float64(len(ended)))] / trials / 1000
			if v, known := s.Jobs.Time.P[stat]; known {
				sums[stat] += v / 1000
				counted[stat]++
			}
			if ci, known := s.Jobs.Time.CI[stat]; known {
				bounded[stat]++
				if ci[0] <= 1000*truth[stat] && 1000*truth[stat] <= ci[1] {
					covered[stat]++
				}
			}
		}
		ok += *s.Jobs.OKFraction / trials
		for i, v := range s.Objectives {
			met, far := i%4 >= 2, i%4 == 0 || i%4 == 3
			switch {
			case met && v.Standing == slo.Missed || !met && v.Standing == slo.Met:
				wrong[i]++
			case far && v.Standing != slo.Undecided:
				decided[i]++
			}
		}
	}
	for stat, want := range truth {
		mean := sums[stat] / float64(counted[stat])
		t.Logf("%s: %.0f s on average, %.0f of those that ended, in truth %.0f; within the interval %d of %d", stat, mean, naive[stat], want, covered[stat], bounded[stat])
		if math.Abs(mean/want-1) > 0.08 || counted[stat] < trials*9/10 {
			t.Errorf("%s is %.0f s on average, in truth %.0f, known in %d of %d", stat, mean, want, counted[stat], trials)
		}
		if 10*covered[stat] < 9*bounded[stat] || bounded[stat] == 0 {
			t.Errorf("%s lies within its interval in %d of %d", stat, covered[stat], bounded[stat])
		}
		if naive[stat] > 0.92*want {
			t.Errorf("%s of those that ended is %.0f s: this load does not show the bias", stat, naive[stat])
		}
	}
	if math.Abs(ok-(1-failing)) > 0.01 {
		t.Errorf("ok: %.3f of the jobs on average, in truth %.3f", ok, 1-failing)
	}
	for i, n := range wrong {
		if n > trials/20 {
			t.Errorf("objective %d: %d of %d verdicts are wrong, want at most 5%%", i, n, trials)
		}
		if i%4 == 0 || i%4 == 3 {
			if decided[i] < trials/2 {
				t.Errorf("objective %d, far from the truth: %d of %d are decided", i, decided[i], trials)
			}
		}
	}
	t.Logf("wrong %v, decided %v of %d", wrong, decided, trials)
}

func jobsOf(t *testing.T, records []*record.Record) []*Job {
	t.Helper()
	list, _ := must.Get2(JobsOf(record.FromList(records)()))(t)
	return list
}

// A look at a run that goes on judges jobs as its report would.
func TestLooksJudgeJobs(t *testing.T) {
	t.Parallel()
	o := jobWindow(600, 3600, objectives(t, "job:p72<300s", "job:p72<2400s", "job_ok:fraction>0.8", "jobs_per_hour:min>100")...)
	records := randomLoad(1, 70)
	got, _, err := Verdicts(record.FromList(records), o)
	if diff := cmp.Diff(summarizeRecords(t, o, records).Objectives, got); err != nil || diff != "" {
		t.Errorf("%v (-report +look):\n%s", err, diff)
	}
}

// The load's last moment is the age of those that were cut off, in a pause too.
func TestJobsInTheirOrder(t *testing.T) {
	t.Parallel()
	records := slices.Concat(jobRecords(7, 2, asked{due: 30, end: 32}), jobRecords(3, 2, asked{due: 20, end: 24}, asked{due: 26, end: 28}),
		jobRecords(4, 3, asked{due: 50, end: 55, outcome: llm.Rejected}))
	type brief struct {
		Session    int
		Outcome    JobOutcome
		End        float64
		Requests   int
		Prompt     int64
		Serving    float64
		FirstAfter float64
	}
	var got []brief
	for _, j := range jobsOf(t, records) {
		got = append(got, brief{j.Session, j.Outcome, float64(j.End) / second, j.Requests, j.Prompt, float64(j.Serving) / second, float64(j.First) / second})
	}
	want := []brief{{3, JobOK, 28, 2, 2000, 6, 20.5}, {7, JobCut, 55, 1, 1000, 2, 30.5}, {4, JobFailed, 55, 1, 1000, 5, 0}}
	expect.Same(t, want, got)
}
