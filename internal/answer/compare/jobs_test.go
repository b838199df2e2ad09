package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"redline/internal/judge/figure"
)

// Jobs differ by far more than two servers do: within the same jobs a tenth is found,
// in one stored run of each side and in live rounds; jobs of which the lengths differ
// are no pair.
func TestSameJobsArePaired(t *testing.T) {
	t.Parallel()
	draws := rand.New(rand.NewPCG(1, 2))
	side := func(slower float64) (list Jobs) {
		base := rand.New(rand.NewPCG(3, 4))
		for session := range 40 {
			first := math.Exp(5 + 2*base.NormFloat64())
			for turn := range 3 {
				list = append(list, jobRow{jobKey{session, turn, 1000 * turn, 50}, map[string]float64{"ttft": slower * first * math.Exp(0.05*draws.NormFloat64())}})
			}
		}
		return list
	}
	ttft, _ := figure.Find("ttft")
	coarse := emptyEvidence(criterion{figure.Statistic{Figure: ttft, Stat: "p50"}, "ttft:p50"})
	coarse.se = 0.5
	find := func(rounds ...[2]Jobs) *evidence {
		for _, e := range (Options{}).addJobs([]evidence{coarse}, rounds, 0.01) {
			if e.Stat == "paired" {
				return &e
			}
		}
		return nil
	}
	stored := find([2]Jobs{side(1), side(1.1)})
	var rounds [][2]Jobs
	for range 6 {
		rounds = append(rounds, [2]Jobs{side(1), side(1.1)})
	}
	for name, e := range map[string]*evidence{"stored": stored, "live": find(rounds...)} {
		if e == nil || math.Abs(e.test.Mean-math.Log(1.1)) > 0.03 || !(e.test.P < 0.01) {
			t.Errorf("%s: a tenth slower within the same jobs is %+v", name, e)
		}
	}
	others := side(1.1)
	for i := range others {
		others[i].prompt++
	}
	if e := find([2]Jobs{side(1), others}); e != nil {
		t.Errorf("other jobs are paired: %+v", e)
	}
}
