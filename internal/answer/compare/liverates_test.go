package compare

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"redline/docs/pages"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/stats"
)

// playLive compares two servers in rounds of half a minute, once in all rounds and once
// until the comparison ends by itself.
func (c *pairCell) playLive(t testing.TB, s service) {
	for i := range uint64(c.Pairs) {
		rounds := c.liveRounds(t, s, c.First+i)
		tally(Live(rounds, Options{}), &c.All[0], &c.All[1], &c.All[2])
		for n := 1; n <= DefaultRounds; n++ {
			if _, look := looks[n]; !look && n < DefaultRounds {
				continue
			}
			if got := Sequential(rounds[:n], DefaultRounds, Options{}); got.Ended != "" || n == DefaultRounds {
				tally(got, &c.Called, &c.Found, &c.Equal)
				c.Rounds += n
				break
			}
		}
	}
}

func tally(c *Comparison, called, found, equal *int) {
	switch c.Standing {
	case slo.Same:
		*equal++
	case slo.Worse, slo.Mixed:
		*found++
		*called++
	case slo.Better:
		*called++
	}
}

// liveRounds are those of two servers. What slows the machine of both down wanders from one turn to the
// next, which begins 40 s later, and is forgotten within two minutes.
func (c *pairCell) liveRounds(t testing.TB, s service, trial uint64) []Round {
	rounds := make([]Round, DefaultRounds)
	own := stats.Rand(trial, "machine", 0)
	const keep = 0.717 // exp(−40/120)
	level := c.Wander * own.NormFloat64()
	for n := range 2 * DefaultRounds {
		i, side := TurnAt(n)
		seed := trial*DefaultRounds + uint64(i)
		level = keep*level + c.Wander*math.Sqrt(1-keep*keep)*own.NormFloat64()
		slow := math.Exp(level)
		if side == 1 {
			slow *= c.Longer
		}
		p := s.point(t, seed, 2*seed+uint64(side)+1, c.Seconds, delay{slow, slow})
		values, ends := ValuesOf(&p), EndsOf(&p)
		if side == 0 {
			rounds[i].A, rounds[i].EndsA = values, ends
		} else {
			rounds[i].B, rounds[i].EndsB = values, ends
		}
		if n%2 == 0 {
			rounds[i].First = "AB"[side : side+1]
		}
	}
	return rounds
}

// firstLive is the first trial of the table: none below it has one of them.
const firstLive, livePerCell = 21_000_000, 5

// liveSlower are by how many times B takes longer.
var liveSlower = []float64{1, 1.05, 1.25}

func liveCells(pairs int) (cells []*pairCell) {
	for _, s := range append(slices.Clone(services), service{}) {
		for _, longer := range liveSlower {
			number, name, wander := pairs, s.name, 0.0
			if longer > 1 {
				number /= 2
			}
			if name == "" { // the simplest one, on a machine that is slowed down
				name, wander = services[0].name, 0.3
			}
			for i := 0; i < number; i += livePerCell {
				cells = append(cells, &pairCell{Service: name, Seconds: 30, Longer: longer, First: firstLive + uint64(i), Pairs: min(livePerCell, number-i), Live: true, Wander: wander})
			}
		}
	}
	return cells
}

// TestLiveRates measures how often live comparisons are right, in all their rounds and
// where they end by themselves; `make pairs` writes its table.
func TestLiveRates(t *testing.T) {
	t.Parallel()
	if pairs, _ := strconv.Atoi(os.Getenv("REDLINE_PAIRS")); pairs > 0 {
		playPairs(t, liveCells(pairs), writeLiveRates)
	}
}

func writeLiveRates(t testing.TB, cells []*pairCell, done map[string]*pairCell) {
	type key struct {
		service string
		wander  bool
	}
	sums, order := map[key][]pairCell{}, []key{}
	for _, one := range cells {
		c, at := done[one.key()], key{one.Service, one.Wander > 0}
		if sums[at] == nil {
			sums[at], order = make([]pairCell, len(liveSlower)), append(order, at)
		}
		sum := &sums[at][slices.Index(liveSlower, c.Longer)]
		sum.Pairs, sum.Called, sum.Found, sum.Equal, sum.Rounds = sum.Pairs+c.Pairs, sum.Called+c.Called, sum.Found+c.Found, sum.Equal+c.Equal, sum.Rounds+c.Rounds
		for i := range sum.All {
			sum.All[i] += c.All[i]
		}
	}
	table := "| process | equal: called different | called the same | rounds |"
	for _, longer := range liveSlower[1:] {
		table += fmt.Sprintf(" B %.0f%% slower: found | called the same | rounds |", 100*(longer-1))
	}
	table += "\n|---|---|---|---|---|---|---|---|---|---|\n"
	for _, at := range order {
		name := at.service
		if at.wander {
			name += ", neighbor of both for 2 minutes"
		}
		table += "| " + name + " |"
		for i, c := range sums[at] {
			both := func(all, early int) string {
				return fmt.Sprintf(" %.1f%%, %.1f%% |", 100*float64(all)/float64(c.Pairs), 100*float64(early)/float64(c.Pairs))
			}
			first := both(c.All[0], c.Called)
			if i > 0 {
				first = both(c.All[1], c.Found)
			}
			table += first + both(c.All[2], c.Equal) + fmt.Sprintf(" %.1f |", float64(c.Rounds)/float64(c.Pairs))
		}
		table += "\n"
	}
	head := fmt.Sprintf("%d comparisons of equal servers in each row, half as many of others; rounds of 30 s of each side. The first figure is that of ten rounds, the second of those that end by themselves, after as many rounds on average as the column says.\n\n", sums[order[0]][0].Pairs)
	must.Do(t, pages.Write("RATES.md", "live rates", head+table))
}
