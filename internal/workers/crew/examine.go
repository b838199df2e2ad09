package crew

import (
	"context"
	"sync"

	"redline/internal/plan/config"
	"redline/internal/run/doctor"
)

// examine looks at this machine, and at the server of a plan where that names
// one.
func examine(ctx context.Context, plan []byte, pace doctor.Pace) (*doctor.Report, error) {
	c, err := config.FromWhole(plan)
	if err != nil {
		return nil, err
	}
	c.Provider.Secrets = c.Secrets()
	found, err := doctor.Run(ctx, doctor.Options{Target: c.Provider, Telemetry: c.Telemetry, Pace: pace})
	if err == nil {
		c.Mask().Tidy(found)
	}
	return found, err
}

// Examine has every worker look at its machine and at the server, those of one
// machine one after the other.
func (c *Crew) Examine(ctx context.Context, plan []byte) ([]*doctor.Worker, error) {
	turns := map[string]*sync.Mutex{}
	for _, l := range c.links {
		turns[l.Hello().Host] = &sync.Mutex{}
	}
	list := make([]*doctor.Worker, len(c.links))
	err := each(c.links, func(i int, l Link) error {
		h := l.Hello()
		turns[h.Host].Lock()
		defer turns[h.Host].Unlock()
		wait, cancel := context.WithTimeout(ctx, prepareWait)
		defer cancel()
		a, err := l.Ask(wait, Question{Examine: plan})
		if err = answerError(a, err); err == nil {
			list[i] = &doctor.Worker{Name: h.Name, Host: h.Host, Report: a.Found}
		}
		return err
	})
	return list, err
}
