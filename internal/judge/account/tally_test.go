package account

import (
	"errors"
	"iter"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// seen is one value and how often a batch has it.
type seen struct {
	batch int
	ms    float32
}

func seenIn(t tally) map[seen]int {
	counts := map[seen]int{}
	t.visit(batches{count: maxBatches}, func(batch int, ms float32, n int) { counts[seen{batch, ms}] += n })
	return counts
}

// TestTalliesHoldEveryGapOfTheirPart counts the gaps of any requests one by
// one and holds that against the tallies, whenever these were brought in order.
func TestTalliesHoldEveryGapOfTheirPart(t *testing.T) {
	t.Parallel()
	scope := slo.Scope{Class: "a"}
	o := Options{Start: 1000 * ms, End: 7000 * ms, Objectives: []slo.Objective{{Metric: "icl", Scope: scope}}}
	rapid.Check(t, func(t *rapid.T) {
		records := anyRecords(t)
		c := newCollector(o)
		for _, r := range records {
			c.add(r)
		}
		b := evenBatches(o.Start, o.End, maxBatches)
		tallies := newTallies(c)
		all, tokens, scoped, turns := map[seen]int{}, map[seen]int{}, map[seen]int{}, map[int32]map[seen]int{}
		for _, r := range records {
			if r.Outcome != "ok" || !r.Streamed {
				continue
			}
			k, groups := c.naming.keysOf(r), appendGroups(r, nil)
			tallies.add(r, Machine{}, k, groups)
			if rapid.Bool().Draw(t, "flush") {
				tallies.flush()
			}
			var own gaps
			own.take(r, groups, o.Start, o.End)
			for at, gap := range own.itl {
				tokens[seen{b.of(at), gap}]++
			}
			for at, gap := range own.icl {
				all[seen{b.of(at), gap}]++
				if turns[k[byTurn]] == nil {
					turns[k[byTurn]] = map[seen]int{}
				}
				turns[k[byTurn]][seen{b.of(at), gap}]++
				if r.Class == scope.Class {
					scoped[seen{b.of(at), gap}]++
				}
			}
		}
		tallies.close()
		check := func(name string, want map[seen]int, got tally) {
			if diff := cmp.Diff(want, seenIn(got), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: want −, got +:\n%s", name, diff)
			}
		}
		check("everything", all, tallies.everything.icl[asMeasured])
		check("everything between tokens", tokens, tallies.everything.itl[asMeasured])
		check("class a", scoped, tallies.ofScope(scope).icl[asMeasured])
		for key := range c.naming.names[byTurn] {
			check("turn "+c.naming.names[byTurn][key], turns[int32(key)], tallies.group(byTurn, key).icl[asMeasured])
		}
	})
}

// TestCountedValuesAreASample: whether values are sorted one by one or counted
// makes no difference.
func TestCountedValuesAreASample(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBatches(0, 1000, 0)
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float32 {
			return float32(rapid.Uint32Range(0, 400).Draw(t, "µs")) / 1000
		}), 1, 3000).Draw(t, "ms")
		byBatch := make([][]float32, b.count)
		at := func(i int) int64 { return int64(i) * 7 % 1000 }
		for i, v := range list {
			byBatch[b.of(at(i))] = append(byBatch[b.of(at(i))], v)
		}
		late := valuesOf([]float32{float32(math.Inf(1))}, func(int) int64 { return 500 })
		c := lateTally{times: rapid.IntRange(1, 3).Draw(t, "times"), late: late}
		for _, own := range byBatch {
			c.tally = append(c.tally, runOf(own))
		}
		for range c.times {
			list = append(list, float32(math.Inf(1)))
		}
		plain := new(workspace).sample(valuesOf(list, func(i int) int64 {
			if math.IsInf(float64(list[i]), 1) {
				return 500
			}
			return at(i)
		}))
		want := plain.dist(standard)
		if diff := cmp.Diff(want, c.sample(new(workspace)).dist(standard)); diff != "" {
			t.Fatalf("one by one −, counted +:\n%s", diff)
		}
	})
}

func TestTheSecondWalkCanFail(t *testing.T) {
	t.Parallel()
	torn := errors.New("line 7: torn")
	walks := 0
	_, err := Summarize(func() iter.Seq2[*record.Record, error] {
		walks++
		return func(yield func(*record.Record, error) bool) {
			if walks == 2 {
				yield(nil, torn)
			}
		}
	}, Options{Start: 0, End: 1000 * ms})
	if !errors.Is(err, torn) {
		t.Errorf("error %v, want %v", err, torn)
	}
}

// TestALogMayGrowBetweenItsWalks: requests of a tenant that the first walk did
// not see are left out, as they are from the counts.
func TestALogMayGrowBetweenItsWalks(t *testing.T) {
	t.Parallel()
	one := func(tenant string) *record.Record {
		return recordOf(life{due: 1000, sent: 1000, end: 1200, chunks: steadily(1100, 20, 4), tenant: tenant})
	}
	list := []*record.Record{one("a"), one("b")}
	s := must.Get(Summarize(func() iter.Seq2[*record.Record, error] {
		now := list
		list = append(list, one("c"))
		return record.FromList(now)()
	}, Options{Start: 1000 * ms, End: 2000 * ms}))(t)
	var names []string
	for _, g := range s.Tenants {
		names = append(names, g.Name)
	}
	expect.NoDiff(t, cmp.Diff([]string{"a", "b"}, names), "tenants: want −, got +")
}
