package evidence

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redline/internal/stats"
	"redline/internal/twin/process"
)

var above = []float64{1.03, 1.1, 1.25, 1.5, 2, 3}
var below = []float64{0.33, 0.5, 0.7, 0.8, 0.9, 0.97}
var ratios = slices.Concat(above, below)
var looks = []float64{60, 90, 135, 200, 300}

func envInt(name string, def int) int {
	if v, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return v
	}
	return def
}

func observations(list []process.Request, length float64, rate bool) []Observation {
	var out []Observation
	for _, q := range list {
		if q.Due >= length {
			break
		}
		if rate {
			if math.IsInf(q.Took, 1) {
				q.Took = 1e9
			} else {
				q.Took = 0
			}
		}
		out = append(out, Observation{float32(q.Due), float32(q.Took), 1, int32(q.Session)})
	}
	return out
}

// setup is a process with its truth and its windows.
type setup struct {
	process.Process
	truth   process.Truth
	lengths []float64
	windows [][]*Sample // by length and run
	looked  [][]*Sample
	oracle  map[float64][2]float64
}

// question at a ratio truth/limit
func (s setup) question(ratio float64) (limit, p float64) {
	if s.P > 0 {
		return s.truth.Value / ratio, s.P
	}
	return 1e6, 1 - s.truth.Value/ratio
}

func (s setup) share(ratio float64) (share, allowed float64) {
	limit, p := s.question(ratio)
	if s.P > 0 {
		return s.truth.Beyond(limit), 1 - p
	}
	return s.truth.Value, 1 - p
}

func prepare(p process.Process, runs int, first uint64) *setup {
	s := &setup{Process: p, truth: p.Truth(1_000_000, 20, 10000), oracle: map[float64][2]float64{}}
	period := s.truth.Period
	for _, l := range []float64{60, 300, 5 * period, 10 * period, 30 * period} {
		if l <= 2000 && l >= 10 {
			s.lengths = append(s.lengths, l)
		}
	}
	longest := slices.Max(s.lengths)
	s.windows = make([][]*Sample, len(s.lengths))
	s.looked = make([][]*Sample, len(looks))
	for i := range runs {
		run := p.Play(first+uint64(i), longest)
		for k, l := range s.lengths {
			s.windows[k] = append(s.windows[k], New(observations(run, l, p.P == 0), Window{Length: l}))
		}
		for k, l := range looks {
			s.looked[k] = append(s.looked[k], New(observations(run, l, p.P == 0), Window{Length: l}))
		}
	}
	s.know()
	return s
}

// know finds the power at 300 s of a test that knows the cluster process.
func (s *setup) know() {
	x := 1e6
	if s.P > 0 {
		x = s.truth.Value
	}
	var null, size []float64
	for i := range 400 {
		list := observations(s.Play(2_000_000+uint64(i), 300), 300, s.P == 0)
		n := 0.0
		for _, o := range list {
			if float64(o.Value) > x {
				n++
			}
		}
		null, size = append(null, n), append(size, float64(len(list)))
	}
	d := stats.Variance(null) / stats.Mean(null)
	slices.Sort(null)
	for _, r := range ratios {
		limit, p := s.question(r)
		got := [2]float64{}
		for _, w := range s.windows[1] {
			c := float64(w.beyond(limit))
			if s.P > 0 {
				if c < null[20] {
					got[0]++
				}
				if c > null[379] {
					got[1]++
				}
				continue
			}
			n := stats.Mean(size)
			if (clustering{ratio: d, size: 1}).atMost(c, n, 1-p) <= 0.05 {
				got[0]++
			}
			if 1-(clustering{ratio: d, size: 1}).atMost(c-1, n, 1-p) <= 0.05 {
				got[1]++
			}
		}
		f := 100 / float64(len(s.windows[1]))
		s.oracle[r] = [2]float64{got[0] * f, got[1] * f}
	}
}

type tally struct{ met, missed float64 } // percent

func (s *setup) judge(k int, r float64) tally {
	limit, p := s.question(r)
	met, missed := 0, 0
	for _, w := range s.windows[k] {
		switch {
		case w.Met(Question{P: p, Limit: limit, Alpha: 0.05}):
			met++
		case w.Missed(Question{P: p, Limit: limit, Alpha: 0.05}):
			missed++
		}
	}
	f := 100 / float64(len(s.windows[k]))
	return tally{f * float64(met), f * float64(missed)}
}

func (s *setup) stop(r float64) (tally, float64) {
	limit, p := s.question(r)
	met, missed, early := 0, 0, 0
	for i := range s.looked[0] {
	looking:
		for k := range looks {
			w, q := s.looked[k][i], Question{P: p, Limit: limit, Alpha: 0.05, Spent: Spent(looks[k] / 300)}
			if k < len(looks)-1 && w.Sign(p) != NoSign {
				continue
			}
			switch {
			case w.Met(q):
				met++
				if k <= 1 {
					early++
				}
				break looking
			case w.Missed(q):
				missed++
				break looking
			}
		}
	}
	f := 100 / float64(len(s.looked[0]))
	return tally{f * float64(met), f * float64(missed)}, f * float64(early)
}

func TestBench(t *testing.T) {
	runs, first, only := envInt("RUNS", 100), uint64(envInt("FIRST", 1)), os.Getenv("ONLY")
	verbose := os.Getenv("QUIET") == ""
	var list []*setup
	for _, p := range process.All() {
		if p.HeldOut == (os.Getenv("HELD") != "") && (only == "" || strings.Contains(p.Name, only)) {
			list = append(list, prepare(p, runs, first))
		}
	}
	for _, set := range settings() {
		set.apply()
		t.Logf("=== %s", set.name)
		report(t, list, verbose)
	}
}

type setting struct {
	name  string
	apply func()
}

// report prints a line for each process and length, and sums up what misses the
// specification.
func report(t *testing.T, list []*setup, verbose bool) {
	var worst10, worst5, worst1, bad []string
	var sum10, sum5, sum1 []float64
	ratioSum, ratioN := [2]float64{}, [2]float64{}
	for _, s := range list {
		if verbose {
			t.Logf("%s: rate %.1f period %.1f", s.Name, s.Rate, s.truth.Period)
		}
		for k := range len(s.lengths) + 1 {
			if os.Getenv("STOPS") != "" && k < len(s.lengths) {
				continue
			}
			got := map[float64]tally{}
			early := map[float64]float64{}
			name, periods := "stop", 60/s.truth.Period
			if k < len(s.lengths) {
				periods = s.lengths[k] / s.truth.Period
				name = fmt.Sprintf("%4.0f s %5.1fP", s.lengths[k], periods)
			}
			for _, r := range ratios {
				if k < len(s.lengths) {
					got[r] = s.judge(k, r)
				} else {
					got[r], early[r] = s.stop(r)
				}
			}
			met, missed, most := 0.0, 0.0, 0.0
			for _, r := range above {
				met += got[r].met / float64(len(above))
				most = max(most, got[r].met)
			}
			for _, r := range below {
				missed += got[r].missed / float64(len(below))
				most = max(most, got[r].missed)
			}
			tag := fmt.Sprintf("%s %s %.1f/%.1f/%.0f", s.Name, name, met, missed, most)
			over := met > 5 || missed > 5 || most > 7.5
			switch {
			case periods >= 9.99:
				sum10 = append(sum10, met)
				if over {
					worst10 = append(worst10, tag)
				}
			case periods >= 4.99 && k < len(s.lengths):
				sum5 = append(sum5, met)
				if over {
					worst5 = append(worst5, tag)
				}
			default:
				sum1 = append(sum1, met)
				if over {
					worst1 = append(worst1, tag)
				}
			}
			line := fmt.Sprintf("   %-12s wrong met", name)
			for _, r := range above {
				line += fmt.Sprintf(" %3.0f", got[r].met)
			}
			line += fmt.Sprintf(" |%4.1f| missed", met)
			for _, r := range below {
				line += fmt.Sprintf(" %3.0f", got[r].missed)
			}
			line += fmt.Sprintf(" |%4.1f| right met", missed)
			for side, rs := range [][]float64{below, above} {
				if side == 1 {
					line += " missed"
				}
				for _, r := range rs {
					right := got[r].met
					if side == 1 {
						right = got[r].missed
					}
					line += fmt.Sprintf(" %3.0f", right)
					if k == 1 {
						best := s.oracle[r][side]
						line += fmt.Sprintf("/%.0f", best)
						share, allowed := s.share(r)
						if clear := share <= allowed/10 || share >= 10*allowed; clear && right < 90 || !clear && best >= 10 && right < 0.8*best-3 {
							mark := ""
							if clear {
								mark = "!"
							}
							bad = append(bad, fmt.Sprintf("%s %.2f%s %.0f/%.0f", s.Name, r, mark, right, best))
						}
						if best >= 10 {
							ratioSum[side] += math.Min(1, right/best)
							ratioN[side]++
						}
					}
				}
			}
			if k == len(s.lengths) {
				line += fmt.Sprintf("  by 90 s: %.0f %.0f %.0f", early[0.33], early[0.5], early[0.7])
			}
			if verbose {
				t.Log(line)
			}
		}
	}
	t.Logf("≥10P: mean %.2f; over: %s", stats.Mean(sum10), strings.Join(worst10, "; "))
	t.Logf("5–10P: mean %.2f; over: %s", stats.Mean(sum5), strings.Join(worst5, "; "))
	t.Logf("<5P: mean %.2f; over: %s", stats.Mean(sum1), strings.Join(worst1, "; "))
	t.Logf("power met %.2f missed %.2f of the oracle's; %d short: %s", ratioSum[0]/ratioN[0], ratioSum[1]/ratioN[1], len(bad), strings.Join(bad, "; "))
}
