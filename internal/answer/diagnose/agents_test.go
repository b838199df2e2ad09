package diagnose

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/stats"
	"redline/internal/traffic/job"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// recordingCore makes a record of every request.
type recordingCore struct {
	*watchedCore
	records []*record.Record
	byJob   map[uint64]*record.Record
	ending  *record.Record // whose last token is on its way
}

func (c *recordingCore) Submit(now int64, j *sim.Job) error {
	rec := &record.Record{ID: len(c.records), Session: -1 - len(c.records), Phase: record.Measure, Try: 1, Due: now, Begin: now, Slot: now, Conn: now, Sent: now,
		AskedPrompt: len(j.Prompt), AskedOutput: j.Output, Streamed: true}
	c.records, c.byJob[j.ID] = append(c.records, rec), rec
	return c.watchedCore.Submit(now, j)
}

func (c *recordingCore) Step(now int64, emit func(sim.Token)) int64 {
	return c.watchedCore.Step(now, func(tok sim.Token) {
		c.ending = c.byJob[tok.Job.ID]
		c.take(tok, c.ending, 0)
		emit(tok)
	})
}

// playJobs keeps so many agents at work.
func (tr trial) playJobs(w *watchedCore) []*record.Record {
	c := &recordingCore{watchedCore: w, byJob: map[uint64]*record.Record{}}
	replay.PlayJobs([]sim.Core{c}, replay.Agents{Jobs: tr.jobs.Jobs, Live: tr.agents, Start: origin, End: origin + int64(tr.warmup+tr.window+5*time.Second)}, func(t replay.Turn) {
		j := tr.jobs.Jobs[t.Session%len(tr.jobs.Jobs)]
		c.ending.Session, c.ending.Turn, c.ending.Turns, c.ending.Depth = t.Session, t.Number, len(j.Requests), j.Requests[t.Number].Depth
	})
	return settledRecords(c.records)
}

// cacheOfJobs is what a run of jobs says of the prefix cache.
func (tr trial) cacheOfJobs(p *result.Point, w *watchedCore) *result.Cache {
	c := &result.Cache{Designed: new(tr.jobs.Ideal()), LiveTokens: new(tr.jobs.LiveTokens(func(d time.Duration) time.Duration { return d })),
		Usage: new(float64(p.Tokens.Cached) / float64(p.Tokens.Prompt))}
	if p.Server != nil {
		c.Server, c.RoomTokens = p.Server.PrefixHitRate, new(float64(w.Stats().KVBlocks*replay.BlockSize))
	}
	return c
}

// shape is what the jobs of agents are like: lengths in tokens, times in seconds.
type shape struct {
	turns                       int
	first, grows, output, pause float64
	// rewritten is the share of turns that begin anew with as long a prompt, spawns
	// of those that start so many subagents at once with prompts of their own.
	rewritten, spawns float64
	width             int
	own               float64
	took              time.Duration // by a request, for the time that a job lasts
}

// jobs makes so many.
func (s shape) jobs(r *rand.Rand, n int) *job.File {
	file := &job.File{}
	block := uint64(0)
	fresh := func(tokens float64) []job.Block {
		block++
		return []job.Block{{ID: block, Tokens: max(16, int(tokens*between(r, 0.7, 1.3)))}}
	}
	for range n {
		j := &job.Job{}
		add := func(q job.Request) int {
			q.Output, q.Took = max(2, int(s.output*between(r, 0.5, 1.5))), s.took
			q.Prompt = q.Blocks[0].Tokens
			if q.From >= 0 {
				q.Prompt += j.Requests[q.From].Prompt
			}
			j.Requests = append(j.Requests, q)
			return len(j.Requests) - 1
		}
		pause := func() time.Duration { return time.Duration(1e9 * s.pause * between(r, 0.2, 1.8)) }
		last := add(job.Request{From: -1, Blocks: fresh(s.first)})
		for range s.turns - 1 {
			after := []int{last}
			if r.Float64() < s.spawns {
				lead := pause()
				for range s.width {
					after = append(after, add(job.Request{After: []int{last}, Pause: lead, From: -1, Blocks: fresh(s.own), Depth: 1}))
				}
			}
			q := job.Request{After: after, Pause: pause(), From: last, Keep: j.Requests[last].Keep + 1, Blocks: fresh(s.grows)}
			if r.Float64() < s.rewritten {
				q.From, q.Keep, q.Blocks = -1, 0, fresh(float64(j.Requests[last].Prompt))
			}
			last = add(q)
		}
		file.Jobs = append(file.Jobs, j)
	}
	return file
}

// agents is a draw of so many agents that are healthy until a regime is put into
// them: a few of them are in the engine at once, and the cache has room for all.
func agents(r *rand.Rand, n int, s shape) *draw {
	length := s.first + s.grows*float64(s.turns)/2
	d := newDraw(r, length, s.output)
	d.roomy(2.5 * float64(n))
	inside := between(r, 1.5, 3)
	f := d.forecast(inside)
	// What a turn takes: its new tokens are few beside what the cache has.
	took := f.TTFT*(s.grows+s.rewritten*length+s.spawns*float64(s.width)*s.own)/length + s.output*f.TPOT
	s.took, s.pause = time.Duration(1e9*took), max(s.pause, took*float64(n)/inside)
	d.jobs, d.agents = s.jobs(r, 3*n), n
	lasts := float64(s.turns) * (s.pause + took)
	d.warmup = time.Duration(1e9 * lasts / 2)
	d.window = time.Duration(1e9 * max(lasts, 200/float64(n)*(s.pause+took)))
	return d
}

func usualShape(r *rand.Rand) shape {
	return shape{turns: 6 + r.IntN(8), first: spread(r, 2000, 5000), grows: spread(r, 200, 600), output: spread(r, 60, 150)}
}

// ofAgents are regimes of agents.
var ofAgents = []regime{
	{name: "session-cache", make: func(r *rand.Rand, i int) []*draw {
		d := agents(r, 8+r.IntN(10), usualShape(r))
		live := d.jobs.LiveTokens(func(t time.Duration) time.Duration { return t })
		fit := float64(d.agents) / between(r, 1.3, 2.5)
		d.spec.NumGPUBlocksOverride = int(fit * live / 16)
		if i%2 == 1 {
			d.slo = []string{fmt.Sprintf("ttft:p90<%dms", int(300*d.forecast(1).TTFT))}
		}
		return one(d)
	}},
	{name: "subagent-bursts", make: func(r *rand.Rand, i int) []*draw {
		s := usualShape(r)
		s.spawns, s.width, s.own = between(r, 0.25, 0.5), 5+r.IntN(4), spread(r, 2000, 5000)
		d := agents(r, 2+r.IntN(2), s)
		d.in = s.own
		d.slo, d.hidden = []string{fmt.Sprintf("ttft:p90<%dms", int(1500*d.forecast(1).TTFT))}, i%2 == 1
		return one(d)
	}},
	{name: "uncached-turns", make: func(r *rand.Rand, i int) []*draw {
		s := usualShape(r)
		s.first, s.rewritten = spread(r, 6000, 10000), between(r, 0.12, 0.25)
		d := agents(r, 4+r.IntN(5), s)
		d.slo, d.hidden = []string{fmt.Sprintf("ttft:p95<%dms", int(600*d.forecast(1).TTFT))}, i%2 == 1
		return one(d)
	}},
}

// controlAgents are agents on servers that are well.
func controlAgents(r *rand.Rand, i int) []*draw {
	s := usualShape(r)
	if i%3 == 1 {
		s.spawns, s.width, s.own = 0.2, 2, 600
	}
	if i%4 == 2 {
		s.rewritten = 0.05
	}
	d := agents(r, 4+r.IntN(8), s)
	d.hidden = i%5 == 4
	if i%2 == 0 {
		f := d.forecast(4)
		d.slo = []string{fmt.Sprintf("ttft:p95<%dms", int(10e3*f.TTFT)), fmt.Sprintf("tpot:p95<%dms", int(4e3*f.TPOT))}
	}
	return one(d)
}

// Subagents that are sent at once wait for each other where the cache has all that it
// can have; where it is too small for the live sessions, that is the cause.
func TestBurstsInASmallCache(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		for _, small := range []bool{false, true} {
			r := stats.Rand(truthSeed, "bursts in a small cache", uint64(i))
			s := usualShape(r)
			s.spawns, s.width, s.own = 0.4, 6, spread(r, 2000, 5000)
			d := agents(r, 8, s)
			d.slo = []string{fmt.Sprintf("ttft:p90<%dms", int(1500*d.forecast(1).TTFT))}
			want := "subagent-bursts"
			if small {
				live := d.jobs.LiveTokens(func(t time.Duration) time.Duration { return t })
				d.spec.NumGPUBlocksOverride, want = int(float64(5+2*i)*live/16), "session-cache"
			}
			if found := Find(d.run(t, r.Uint64())); len(found) == 0 || found[0].Regime != want {
				t.Errorf("draw %d: %+v, want %s", i, found, want)
			}
		}
	}
}
