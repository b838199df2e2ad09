package compare

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/figure"
	"redline/internal/stats"
)

// Jobs are what agents' jobs of one side showed: a row for each request that was
// measured and ended ok, and one for each job that did.
type Jobs []jobRow

// jobRow is a request of a job, or a job. Two sides have the same one where all but
// its figures is equal.
type jobRow struct {
	jobKey
	figures map[string]float64 // in ms, by name
}

type jobKey struct {
	session, turn  int // -1 for the job itself
	prompt, output int // tokens asked for; of a job, its requests
}

// pairedFigures are those of requests and of jobs that are compared within the
// same ones.
var pairedFigures = []string{"ttft", "tpot", "e2e", "job"}

// JobsOf reads the jobs of a stage, nil where it has none.
func JobsOf(records iter.Seq2[*record.Record, error]) (list Jobs, err error) {
	first := map[int]int{} // turn of a session
	jobs, _, err := account.JobsOf(func(yield func(*record.Record, error) bool) {
		for r, err := range records {
			if err == nil && r.Turns > 0 {
				if at, seen := first[r.Session]; !seen || r.Turn < at {
					first[r.Session] = r.Turn
				}
				if ttft, tpot, e2e := account.Latencies(r); r.Phase == record.Measure && e2e > 0 {
					list = append(list, jobRow{jobKey{r.Session, r.Turn, r.AskedPrompt, r.AskedOutput}, map[string]float64{"ttft": ttft, "tpot": tpot, "e2e": e2e}})
				}
			}
			if !yield(r, err) {
				return
			}
		}
	})
	for _, j := range jobs {
		if j.Outcome == account.JobOK {
			list = append(list, jobRow{jobKey{j.Session, -1, first[j.Session], j.Turns}, map[string]float64{"job": float64(j.End-j.Begin) / 1e6}})
		}
	}
	if len(jobs) == 0 {
		list = nil
	}
	return list, err
}

// pair gives the mean step from A to B of each job that both sides have, on the
// scale of the figure, and how large it was on A; by ascending session.
func (f criterion) pair(a, b Jobs) (steps, onA []float64) {
	others := map[jobKey]float64{}
	for _, row := range b {
		others[row.jobKey] = row.figures[f.Name]
	}
	type sums struct{ step, a, n float64 }
	jobs := map[int]*sums{}
	for _, row := range a {
		va, vb := row.figures[f.Name], others[row.jobKey]
		if !f.usable(va) || !f.usable(vb) {
			continue
		}
		if jobs[row.session] == nil {
			jobs[row.session] = &sums{}
		}
		one := jobs[row.session]
		one.step, one.a, one.n = one.step+f.toScale(vb)-f.toScale(va), one.a+f.toScale(va), one.n+1
	}
	for _, session := range slices.Sorted(maps.Keys(jobs)) {
		one := jobs[session]
		steps, onA = append(steps, one.step/one.n), append(onA, one.a/one.n)
	}
	return steps, onA
}

// Jobs that are live at once share what the server did then: neighbors count as one
// block, of minPerBlock jobs at least. Fewer than minBlocks show no spread.
const (
	minPerBlock = 2
	maxBlocks   = 12
	minBlocks   = 5
)

// blocks are the means of so many neighbors each.
func blocks(values []float64) []float64 {
	n := min(len(values)/minPerBlock, maxBlocks)
	list := make([]float64, n)
	for i := range list {
		list[i] = stats.Mean(values[i*len(values)/n : (i+1)*len(values)/n])
	}
	return list
}

// addJobs adds the figures of the same jobs, where they tell a difference more
// finely than the median of the figure does. Each block of a single run is a value,
// each round of a live comparison.
func (o Options) addJobs(found []evidence, rounds [][2]Jobs, bar float64) []evidence {
	for _, name := range pairedFigures {
		known, ok := figure.Find(name)
		if !ok {
			continue
		}
		f := criterion{figure.Statistic{Figure: known, Stat: "paired"}, name + ":paired"}
		var steps, onA []float64
		for _, r := range rounds {
			own, light := f.pair(r[0], r[1])
			if len(rounds) > 1 && len(own) > 0 {
				own, light = []float64{stats.Mean(own)}, []float64{stats.Mean(light)}
			}
			steps, onA = append(steps, own...), append(onA, light...)
		}
		values := steps
		if len(rounds) == 1 {
			values = blocks(steps)
		}
		if len(values) < minBlocks {
			continue
		}
		e := emptyEvidence(f)
		e.test, e.bar = o.testMean(values), f.scaledTolerance(bar)
		e.se = e.test.SD / math.Sqrt(float64(len(values)))
		e.a = stats.Mean(onA)
		e.b = e.a + e.test.Mean
		e.equal = e.test.Mean == 0 && e.test.SD == 0
		if len(values) >= minForRanks {
			e.wilcoxon = stats.SignedRank(values).P
		}
		coarse := slices.IndexFunc(found, func(m evidence) bool { return m.Name == name && m.Stat == "p50" })
		if coarse >= 0 && cmp.Compare(found[coarse].se, e.se) < 0 && !math.IsNaN(found[coarse].se) {
			continue
		}
		found = append(found, e)
	}
	return found
}
