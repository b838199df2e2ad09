package experiment

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

// side is one of two servers that answer the same requests.
type side struct {
	name   string
	config *config.Config
	target *measure.Target
	// rig and values launch the server where it is not there; label says what
	// it is.
	rig    *rig
	values map[string]string
	place  int
	label  string
}

// open finds a server. Its side has the plan with the model that was found.
func (x *conductor) open(ctx context.Context, name string, c *config.Config) (side, error) {
	o := x.Options.Options
	o.Config = c
	target, err := measure.Open(ctx, o)
	if err != nil {
		return side{}, err
	}
	found := *c
	if !c.Embedded() {
		found.Provider.Model = target.Model()
	}
	return side{name: name, config: &found, target: target}, nil
}

func (s side) about() compare.Side {
	if s.rig != nil {
		return compare.Side{Name: s.label, Model: s.rig.model}
	}
	return compare.Side{Name: s.name, Model: s.target.Model(), URL: s.target.URL()}
}

// rest sends nothing for a while, so that what the run before heated cools down.
func (x *conductor) rest(ctx context.Context, while time.Duration) {
	if while <= 0 {
		return
	}
	select {
	case <-time.After(while):
	case <-x.Stop:
	case <-ctx.Done():
	}
}

// attemptMark stands in the salt of a turn before the number of its attempt, from
// the second on.
const attemptMark = "-attempt"

// saltsBefore reads which prompts each turn of a comparison that is resumed has:
// those that it had where it is over, so that its result stands, and fresh ones where
// it was cut off: its server has seen some of the others, and has them in its cache.
func (x *conductor) saltsBefore() map[string]string {
	salts := map[string]string{}
	for _, path := range x.dir.Stages() {
		dir, err := store.Open(path)
		if err != nil {
			continue
		}
		plan, err := config.Reopen(dir.PlanPath())
		if err != nil {
			continue // it was killed before anything was sent
		}
		salt := plan.Workload.Salt
		if res, err := dir.Result(); err != nil || isUnfinished(res) {
			own, attempt, _ := strings.Cut(salt, attemptMark)
			n, _ := strconv.Atoi(attempt)
			salt = fmt.Sprint(own, attemptMark, max(n, 1)+1)
		}
		_, name, _ := strings.Cut(filepath.Base(path), "-")
		salts[name] = salt
	}
	return salts
}

// turn is one side's stage of a round: the plan's load on the side's server,
// with the same requests for both, in other words than any run before. Sides that may
// share a cache have words of their own: the second would find those of the first in the
// cache, and not every server tells.
func (x *conductor) turn(s side, round int, name, purpose string, warmup time.Duration, shared bool) Stage {
	c := *s.config
	c.Load, c.Workload, c.Generation, c.Objectives = x.Config.Load, x.Config.Workload, x.Config.Generation, x.Config.Objectives
	c.Experiment = config.Experiment{}
	if c.Load.Bounds.Warmup == nil {
		c.Load.Bounds.Warmup = &warmup
	}
	c.Seed = x.Config.Seed + uint64(round)
	if c.Workload.Salt == "" {
		c.Workload.Salt = fmt.Sprintf("%s-%d", x.id, round)
		if shared {
			c.Workload.Salt += "-" + s.name
		}
		c.Workload.Salt = cmp.Or(x.salts[fileName(name)], c.Workload.Salt)
	}
	stage := Stage{Name: name, Side: s.name, Purpose: purpose, Config: &c, on: s.target}
	if s.rig != nil {
		stage.launched = s.rig.hold(s.values, s.place)
	}
	return stage
}
