package fire

import (
	"math/rand/v2"
	"os"
	"testing"

	"redline/internal/catalog"
	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/twin/sim"
)

// warmScene is how sessions come back to an engine that has lost its cache.
type warmScene struct {
	name     string
	sessions int
	inTurn   bool
	first    float64 // share of requests that come back to nothing
	rate     float64
}

var warmScenes = []warmScene{
	{"16 sessions at random", 16, false, 0, 8},
	{"64 sessions at random", 64, false, 0, 8},
	{"64 sessions in turn", 64, true, 0, 8},
	{"64 sessions at random, a fifth of the requests new", 64, false, 0.2, 8},
}

// play sends requests to a simulated engine which loses its cache after 600 of
// them, and gives what replies say and when nine tenths of the sessions were back.
func (s warmScene) play(t testing.TB, seed uint64) (hits Hits, lostAt, end int64, truth int) {
	t.Helper()
	const before, after, session = 600, 600, 400
	core := must.Get(sim.NewBatching(sim.Spec{Law: &catalog.Law{WeightsUS: 4000, TokenUS: 10, ContextUS: 0.01, Corner: 1}, Seed: seed,
		NumGPUBlocksOverride: 100_000, MaxNumBatchedTokens: 8192, MaxModelLen: 1024}))(t)
	r := rand.New(rand.NewPCG(seed, 5))
	seen, at := map[int]bool{}, 0.0
	if s.inTurn { // the next one is always one that is not back
		truth = s.sessions
	}
	due := map[uint64]int64{}
	sim.RunOpen(core, func(yield func(int64, *sim.Job) bool) {
		for i := range before + after {
			at += r.ExpFloat64() / s.rate
			if i == before {
				lostAt = int64(at * 1e9)
			}
			who := r.IntN(s.sessions)
			if s.inTurn {
				who = i % s.sessions
			}
			if fresh := r.Float64() < s.first; fresh {
				who = 1_000_000 + i
			} else if i >= before && truth == 0 {
				if seen[who] = true; float64(len(seen)) >= (1-back)*float64(s.sessions) {
					truth = i - before + 1
				}
			}
			epoch := 0
			if i >= before {
				epoch = 1 // what it had is not found any more
			}
			prompt := make([]int32, session+32)
			for k := range prompt {
				prompt[k] = int32(r.Uint32())
				if k < session {
					prompt[k] = int32((epoch*2_000_000+who)*512 + k)
				}
			}
			due[uint64(i+1)], end = int64(at*1e9), int64(at*1e9)+1
			if !yield(int64(at*1e9), &sim.Job{ID: uint64(i + 1), Prompt: prompt, Output: 4}) {
				return
			}
		}
	}, sim.Watch{Token: func(tok sim.Token) {
		if tok.Last {
			hits.Add(&record.Record{Due: due[tok.Job.ID], Outcome: llm.OK, PromptTokens: len(tok.Job.Prompt), CachedTokens: tok.Job.Cached})
		}
	}, Refused: func(_ *sim.Job, err error) { t.Fatal(err) }})
	return hits, lostAt, end, truth
}

// The interval of the time to warm holds the request at which nine tenths of the
// sessions are back in the cache. REDLINE_WARM=1 tries 200 seeds of each scene.
func TestWarmingHoldsTheTruth(t *testing.T) {
	t.Parallel()
	trials, wanted := 4, 4
	if os.Getenv("REDLINE_WARM") != "" {
		trials, wanted = 200, 190
	}
	for _, s := range warmScenes {
		right, ended, off, width := 0, 0, 0.0, 0.0
		for seed := range uint64(trials) {
			hits, at, end, truth := s.play(t, seed)
			w := hits.Warming(at, end, [2]int64{at / 2, at})
			if w == nil {
				t.Fatalf("%s: not told", s.name)
			}
			if w.RequestInterval[0] <= truth && truth <= w.RequestInterval[1] {
				right++
			}
			if w.Ended {
				ended++
			}
			off += float64(w.Requests-truth) / float64(trials)
			width += float64(w.RequestInterval[1]-w.RequestInterval[0]) / float64(trials)
		}
		t.Logf("%s: right %d of %d, ended %d, mean error %.1f, width %.1f", s.name, right, trials, ended, off, width)
		if right < wanted {
			t.Errorf("%s: right in %d of %d", s.name, right, trials)
		}
	}
}
