package measure

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"redline/internal/drive/load"
	"redline/internal/plan/config"
	"redline/internal/traffic/token"
	"redline/internal/traffic/workload"
)

// Preview is what a plan would send, found without asking a server anything.
type Preview struct {
	API            string
	Prompt, Output float64 // tokens of a request in the mean
	Turns          float64 // requests of a session in the mean
	Bodies         [][]byte
	Untimed        error          // why it cannot be sent at the times of its requests
	Unpaid         error          // why a limit on tokens or money leaves nothing to measure in a single run
	Recorded       int            // requests of the window, where the workload has times of its own
	LastDue        time.Duration  // when the last of the requests asked for is due, where it has
	Late           string         // that later turns of sessions are not all in the window
	Config         *config.Config // the plan with the length that those times give it
}

// Predict composes the first requests of a plan.
func Predict(c *config.Config, bodies int) (*Preview, error) {
	name := c.Tokenizer
	if name == config.ByServer { // which is not asked
		name = token.EmbeddedNames()[0]
	}
	words, err := Tokenizer(name)
	if err != nil {
		return nil, err
	}
	d, err := c.Provider.Dialect()
	if err != nil {
		return nil, err
	}
	work, err := c.Workload.New(words, c.Seed, workload.Options{Model: cmp.Or(c.Provider.Model, "MODEL"), Sampling: c.Generation.Sampling(),
		Stream: c.Streaming(), Pooling: c.Pools(), Ranking: c.Provider.API == "rerank"})
	if err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	defer work.Close()
	if err := checkSayable(work, c); err != nil {
		return nil, err
	}
	p := &Preview{API: d.Name, Turns: 1}
	p.Config, p.Untimed = settleReplay(c, work), checkTimes(c, work)
	b := p.Config.Load.Bounds
	preview := &run{Options: Options{Config: p.Config}, work: work, target: &Target{}, stage: load.Stage{Plain: b.Plain, Warmup: b.Warmup, Duration: cmp.Or(b.Duration, b.MaxDuration)}}
	if talk := work.Conversation(); talk != nil {
		p.Turns, preview.stage.SettleTime = talk.Turns, talk.SettleTime
	}
	if c.Recorded() && p.Untimed == nil {
		p.Recorded = int(p.Turns * float64(countTimes(work.Times(c.Seed), 0, int64(b.Duration))))
		p.LastDue = dueTime(work.Times(c.Seed), int(math.Ceil(float64(b.TotalRequests)/p.Turns)))
	}
	if p.Untimed == nil {
		_, p.Unpaid = preview.endsEarly()
	}
	p.Late = preview.lateTurns()
	p.Prompt, p.Output = work.Mean()
	for i := range bodies {
		turn := work.Session(i).Next(nil)
		if turn == nil {
			break
		}
		turn.Compose()
		body, err := c.Provider.Compose(turn.Request)
		if err != nil {
			return nil, err
		}
		p.Bodies = append(p.Bodies, body)
	}
	return p, work.Err()
}
