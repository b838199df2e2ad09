package account

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/evidence"
	fig "redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// Job is a session of which it is known how many requests it sends, as far as its
// records show it.
type Job struct {
	Session       int
	Class, Tenant string
	Outcome       JobOutcome
	// Begin is when its first request was due. End is its last reply, of one that
	// was cut off the last that is known of the load.
	Begin, End int64
	// First is the first output of its own agent that is not reasoning, 0 where
	// none came.
	First int64
	// Serving is how long a request of it was due or in flight, in ns.
	Serving int64
	// Requests of Turns were due.
	Requests, Turns int
	// Tokens by usage; Ideal is the prompt tokens that an endless cache would have.
	Prompt, Cached, Output, Ideal int64

	keys  keys
	spans []span // of its requests
	ended int    // ok
}

// JobOutcome is how a job ended.
type JobOutcome string

const (
	// JobOK is that of a job all of whose requests ended ok, JobFailed one of a job
	// of which a request did not, JobCut one that had not ended with the load.
	JobOK     JobOutcome = "ok"
	JobFailed JobOutcome = "failed"
	JobCut    JobOutcome = "cut"
)

// jobTally gathers the jobs of a load, whatever window they began in.
type jobTally struct {
	by    map[int]*Job
	until int64 // the last that is known of the load
	// several says that some have more than one request, reported that the server
	// reports cached tokens.
	several, reported bool
}

// add takes in a record and gives its job, nil where it is of none.
func (t *jobTally) add(r *record.Record) *Job {
	t.until = max(t.until, r.End, r.Due)
	if r.Turns == 0 {
		return nil
	}
	t.several, t.reported = t.several || r.Turns > 1, t.reported || r.CachedTokens > 0
	j := t.by[r.Session]
	if j == nil {
		if t.by == nil {
			t.by = map[int]*Job{}
		}
		j = &Job{Session: r.Session, Begin: r.Due, Class: r.Class, Tenant: r.Tenant, Turns: r.Turns}
		t.by[r.Session] = j
	}
	j.Begin = min(j.Begin, r.Due)
	j.Requests++
	j.Output += int64(max(r.OutputTokens, r.StreamedTokens))
	if r.Sent != 0 {
		j.Prompt += int64(cmp.Or(r.PromptTokens, r.AskedPrompt))
		j.Cached += int64(r.CachedTokens)
		j.Ideal += int64(r.IdealCached)
	}
	end := r.End
	switch count := r.Outcome.Count(); {
	case r.Outcome == llm.OK:
		j.ended++
		end = answerTime(r)
	case count.Fault:
		j.Outcome = JobFailed
	}
	j.End = max(j.End, end)
	j.spans = append(j.spans, span{r.Due, end})
	visible := r.Answer
	if !r.Streamed && r.Outcome == llm.OK {
		visible = end
	}
	if j.ended == j.Turns { // what only the sum is wanted of need not be kept
		j.Serving, j.spans = union(j.spans), nil
	}
	if r.Depth == 0 && visible != 0 && (j.First == 0 || visible < j.First) {
		j.First = visible
	}
	return j
}

// list gives the jobs in the order in which they began, with how they ended; none
// where no session has several requests.
func (t *jobTally) list() []*Job {
	if !t.several {
		return nil
	}
	var list []*Job
	for _, j := range t.by {
		if j.Outcome != JobFailed {
			if j.Outcome = JobOK; j.ended < j.Turns {
				j.Outcome, j.End = JobCut, max(t.until, j.End)
			}
		}
		j.Serving = max(j.Serving, union(j.spans))
		list = append(list, j)
	}
	slices.SortFunc(list, func(a, b *Job) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Session, b.Session)) })
	return list
}

// union is the time in which there was at least one.
func union(spans []span) (sum int64) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	until := int64(math.MinInt64)
	for _, s := range spans {
		if s.to > until {
			sum += s.to - max(s.from, until)
			until = s.to
		}
	}
	return sum
}

// JobsOf gives the jobs of a load in the order in which they began, and whether
// the server reports cached tokens.
func JobsOf(records iter.Seq2[*record.Record, error]) (list []*Job, reported bool, err error) {
	var t jobTally
	for r, err := range records {
		if err != nil {
			return nil, false, err
		}
		t.add(r)
	}
	return t.list(), t.reported, nil
}

// jobValue is a figure of a job, and the share of all jobs that it stands for.
type jobValue struct {
	*Job
	ms    float64 // infinite where it failed, and of one that was cut off
	least float64 // that it had reached when it was cut off
	cut   bool
	share float64
}

// jobFigures are the values of single jobs, in ns, or of a share whether they
// break it; those of a job that was cut off are what they had reached.
var jobFigures = map[string]func(*Job) float64{
	"job":         func(j *Job) float64 { return float64(j.End - j.Begin) },
	"job_serving": func(j *Job) float64 { return float64(j.Serving) },
	"job_first":   func(j *Job) float64 { return float64(cmp.Or(j.First, j.End) - j.Begin) },
	"job_ok":      func(*Job) float64 { return 0 },
}

// Figures are the times of a job in ms by their names; what it does not have is
// absent.
func (j *Job) Figures() map[string]float64 {
	found := map[string]float64{}
	if j.Outcome == JobOK {
		found["job_time"], found["job_serving"] = jobFigures["job"](j)/1e6, jobFigures["job_serving"](j)/1e6
	}
	if j.First != 0 {
		found["job_first"] = jobFigures["job_first"](j) / 1e6
	}
	return found
}

// jobValues are those of the jobs that began in the window. Of these the long ones
// are more often cut off by the end of the load: those that ended stand for them
// too, by how old they became.
func (c *collector) jobValues(metric string, p part) []jobValue {
	var list []jobValue
	var ages []float64
	for _, j := range c.jobList {
		if !c.within(j.Begin) || !p(j.keys) {
			continue
		}
		v, age := jobValue{Job: j, cut: j.Outcome == JobCut, ms: jobFigures[metric](j) / 1e6}, j.End-j.Begin
		if metric == "job_first" && j.First != 0 {
			v.cut, age = false, j.First-j.Begin
		} else if v.cut || j.Outcome == JobFailed {
			v.least, v.ms = v.ms, math.Inf(1)
			if metric == "job_ok" {
				v.ms = 1
			}
		}
		list, ages = append(list, v), append(ages, float64(age))
	}
	for i, share := range stats.ProductLimit(ages, func(i int) bool { return !list[i].cut }) {
		list[i].share = share
	}
	return list
}

// jobSample sorts values by their shares.
func jobSample(list []jobValue) sample {
	const whole = 1 << 40
	list = slices.DeleteFunc(slices.Clone(list), func(v jobValue) bool { return v.share == 0 })
	slices.SortFunc(list, func(a, b jobValue) int { return cmp.Compare(a.ms, b.ms) })
	total, cut := 0.0, false
	for _, v := range list {
		total += v.share
		cut = cut || v.share != list[0].share
	}
	var s sample
	sum := 0.0
	for _, v := range list {
		sum += v.share / total
		s.mean += v.share / total * v.ms
		s.sorted = append(s.sorted, float32(v.ms))
		if cut { // else every value is one
			s.upTo = append(s.upTo, int(math.Round(sum*whole)))
		}
	}
	return s
}

// observedJobs are values with their times, worth as many as their shares leave of
// them.
func (v view) observedJobs(list []jobValue) *evidence.Sample {
	squares := 0.0
	for _, one := range list {
		squares += one.share * one.share
	}
	var observed []evidence.Observation
	for _, one := range list {
		if one.share == 0 {
			continue
		}
		o := evidence.Observation{At: float32(float64(one.Begin-v.o.Start) / second), Value: float32(one.ms), Weight: float32(one.share / squares), Group: evidence.Alone}
		o.Kinds[evidence.ByClass], o.Kinds[evidence.ByTenant] = uint8(min(one.keys[byClass], math.MaxUint8)), uint8(min(one.keys[byTenant], math.MaxUint8))
		observed = append(observed, o)
	}
	return evidence.New(observed, evidence.Window{Length: v.seconds()})
}

// jobs gives the figures of the window's jobs, nil where there are none.
func (v view) jobs() *metric.Jobs {
	if len(v.jobList) == 0 {
		return nil
	}
	s, live := &metric.Jobs{}, spans{start: v.o.Start, end: v.o.End}
	for _, j := range v.jobList {
		end := j.End
		if j.Outcome == JobCut { // it may be in a pause that nothing follows
			end = max(end, v.o.End)
		}
		live.add(j.Begin, end)
		if v.within(j.Begin) {
			s.Started++
			if j.Outcome == JobCut {
				s.Cut++
			}
		}
		if v.within(j.End) {
			switch j.Outcome {
			case JobOK:
				s.Finished++
			case JobFailed:
				s.Failed++
			}
		}
	}
	s.PerHour, s.LiveMean, s.LiveMax = round(3600*float64(s.Finished)/v.seconds()), round(live.mean()), live.maxOverlap()
	s.Time, s.Serving, s.First = v.jobDist("job"), v.jobDist("job_serving"), v.jobDist("job_first")
	times := v.jobValues("job", everything)
	if ok, failed := shareOfJobs(times, JobOK), shareOfJobs(times, JobFailed); ok+failed > 0 {
		s.OKFraction = new(round(ok / (ok + failed)))
	}
	mean := func(of func(*Job) float64) *float64 {
		sum := 0.0
		for _, j := range times {
			if j.Outcome == JobOK {
				sum += j.share * of(j.Job)
			}
		}
		return stats.Finite(round(sum / shareOfJobs(times, JobOK)))
	}
	s.Requests = mean(func(j *Job) float64 { return float64(j.Requests) })
	s.PromptTokens, s.OutputTokens = mean(func(j *Job) float64 { return float64(j.Prompt) }), mean(func(j *Job) float64 { return float64(j.Output) })
	if v.jobsSeen.reported {
		s.CachedTokens = mean(func(j *Job) float64 { return float64(j.Cached) })
		s.CachedFraction = stats.Finite(round(float64(v.jobTokens.cached) / float64(v.jobTokens.prompt)))
	}
	if v.jobTokens.ideal > 0 {
		s.IdealFraction = new(round(float64(v.jobTokens.ideal) / float64(v.jobTokens.asked)))
	}
	return s
}

func shareOfJobs(list []jobValue, outcome JobOutcome) (sum float64) {
	for _, v := range list {
		if v.Outcome == outcome {
			sum += v.share
		}
	}
	return sum
}

// jobTokens sums those of the requests of jobs that were due in the window and
// ended ok: prompt and cached by usage, asked and ideal by the plan.
type jobTokens struct{ prompt, cached, asked, ideal int64 }

func (t *jobTokens) add(r *record.Record) {
	if r.Turns > 0 {
		t.prompt += int64(r.PromptTokens)
		t.cached += int64(r.CachedTokens)
		t.asked += int64(r.AskedPrompt)
		t.ideal += int64(r.IdealCached)
	}
}

// jobDist describes a figure of the jobs that did not fail, at the percentiles that
// the load was long enough for.
func (v view) jobDist(metric string) *metric.Dist {
	list := slices.DeleteFunc(v.jobValues(metric, everything), func(j jobValue) bool { return !j.cut && math.IsInf(j.ms, 1) })
	s := jobSample(list)
	d := s.dist(v.o.percentiles())
	if d == nil {
		return nil
	}
	d.N, d.Max, d.Mean = 0, 0, stats.Mean(nil)
	if !math.IsInf(s.mean, 1) {
		d.Mean = round(s.mean)
	}
	for _, j := range list {
		if !j.cut {
			d.N, d.Max = d.N+1, max(d.Max, round(j.ms))
		}
	}
	for key, ms := range d.P {
		if math.IsInf(ms, 1) {
			delete(d.P, key)
		}
	}
	if d.N == 0 {
		return nil
	}
	if !v.o.Rough {
		addIntervals(d, v.o.percentiles(), v.trust, func() *evidence.Sample { return v.observedJobs(list) })
	}
	return d
}

// jobVerdict compares a figure of jobs with its limit.
func (j judge) jobVerdict(o slo.Objective) slo.Verdict {
	if len(j.jobList) == 0 {
		return notJudged(o, "no session of several requests came")
	}
	if o.Metric == "jobs_per_hour" {
		return j.jobRateVerdict(o)
	}
	list := j.jobValues(o.Metric, j.part)
	share := o.Metric == "job_ok"
	limit, p := o.Limit/1e6, o.P
	if share {
		limit, p = brokenFrom, o.Limit
	} else if o.Stat == "max" {
		p = 1
	}
	verdict, open, beyond := blank(o), 0.0, 0.0
	for _, v := range list {
		switch {
		case v.cut && v.least <= limit:
			verdict.CutOff++
			open += v.share
		case v.ms > limit:
			verdict.Violations++
			verdict.N++
			beyond += v.share
		default:
			verdict.N++
		}
	}
	if verdict.N == 0 {
		verdict.Note = "no job that began in the window" + whose(o.Scope) + " has ended: run longer"
		return verdict
	}
	if o.Stat == "mean" {
		return j.jobMeanVerdict(verdict, list)
	}
	verdict.Beyond = []float64{round(beyond), round(beyond + open)}
	switch {
	case share:
		ok, failed := shareOfJobs(list, JobOK), shareOfJobs(list, JobFailed)
		verdict.Value = stats.Finite(round(ok / (ok + failed)))
	default:
		verdict.Value = stats.Finite(round(jobSample(list).quantile(p)))
	}
	if p >= 1 {
		if verdict.Violations == 0 && verdict.CutOff > 0 {
			verdict.Note = text.Plural(verdict.CutOff, "job", "jobs") + " had not ended: run longer"
			return verdict
		}
		return j.certain(verdict, [endCount]int{verdict.Violations, verdict.Violations, verdict.Violations})
	}
	s, q := j.observedJobs(list), j.question(p, limit)
	q.Fewer = open
	j.noun = "job"
	verdict = j.decide(verdict, samples{s, s, s}, q, func() bool {
		return j.isGrowing(values(func(yield func(int64, float32) bool) {
			for _, v := range list {
				if !math.IsInf(v.ms, 1) && !yield(v.Begin, float32(v.ms)) {
					return
				}
			}
		}))
	})
	if share {
		verdict.Bound = nil
	}
	return verdict
}

// jobMeanVerdict compares a mean over jobs with its limit. Those that failed or
// were cut off have none: it is never met beside them.
func (j judge) jobMeanVerdict(verdict slo.Verdict, list []jobValue) slo.Verdict {
	b := j.stretches()
	m, lost := mean{make([]float64, b.count), make([]float64, b.count)}, 0
	for _, v := range list {
		if math.IsInf(v.ms, 1) {
			lost++
			continue
		}
		m.sums[b.of(v.Begin)] += v.share * v.ms
		m.sizes[b.of(v.Begin)] += v.share
	}
	if sum(m.sizes) == 0 {
		verdict.Note = "no job ended ok"
		return verdict
	}
	j.decideMean(&verdict, [endCount]mean{m, m, m}, false)
	if verdict.Standing == slo.Met && lost > 0 {
		verdict.Standing, verdict.Bound = slo.Undecided, nil
		verdict.Note = text.Count(lost) + " of " + text.Count(len(list)) + " jobs failed or had not ended, which is above any limit"
	}
	return verdict
}

// jobRateVerdict compares the jobs that ended ok in the window with a rate.
func (j judge) jobRateVerdict(o slo.Objective) slo.Verdict {
	b := j.stretches()
	rate, verdict := mean{make([]float64, b.count), make([]float64, b.count)}, blank(o)
	for i := range rate.sizes {
		rate.sizes[i] = j.seconds() / float64(b.count) / 3600
	}
	for _, one := range j.jobList {
		if one.Outcome == JobOK && j.within(one.End) && j.part(one.keys) {
			rate.sums[b.of(one.End)]++
			verdict.N++
		}
	}
	j.decideMean(&verdict, [endCount]mean{rate, rate, rate}, true)
	return verdict
}

// jobErrors are the standard errors of the figures of jobs that began in the window
// and ended.
func (v view) jobErrors(s *sections, f *fig.Figure) {
	list := v.jobValues(f.Name, everything)
	if f.Name == "job_ok" {
		v.shareError(s, f, func(yield func(place, bool) bool) {
			for _, j := range list {
				if !j.cut && !yield(v.placeAt(int64(j.Session), j.Begin), j.Outcome == JobOK) {
					return
				}
			}
		})
		return
	}
	v.latencyErrors(s, f.Name, func(yield func(place, float64) bool) {
		for _, j := range list {
			if !math.IsInf(j.ms, 1) && !yield(v.placeAt(int64(j.Session), j.Begin), j.ms) {
				return
			}
		}
	})
}
