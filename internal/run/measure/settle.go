package measure

import (
	"redline/internal/llm"
	"redline/internal/plan/config"
	"redline/internal/store"
)

// SettlePlan is a plan as a run of it on this target writes it down: with the model
// that was found, and with the length of a trace that is replayed whole.
func (t *Target) SettlePlan(c *config.Config) (*config.Config, error) {
	r := &run{Options: Options{Config: c}, id: store.NewID(), target: t, text: t.text}
	r.settleModel()
	if !r.Config.Recorded() {
		return r.Config, nil
	}
	err := r.openWorkload()
	if r.work != nil {
		defer r.work.Close()
	}
	return r.Config, err
}

// Usage is what runs have taken of the plan's limits on tokens and money.
type Usage struct {
	Tokens int
	Money  float64
}

// Add takes in another run's.
func (u *Usage) Add(other Usage) { u.Tokens, u.Money = u.Tokens+other.Tokens, u.Money+other.Money }

func (u *Usage) take(c *config.Config, prompt, output int) {
	u.Tokens += prompt + output
	u.Money += c.Cost.Tokens(float64(prompt), 0, float64(output))
}

// Preflight is what the requests before the load took of the plan's limits.
func (t *Target) Preflight(c *config.Config) Usage {
	var u Usage
	for _, s := range t.asked {
		u.take(c, s.prompt, s.output)
	}
	return u
}

// UsedBy adds up what a run directory's requests took, warm-up and cool-down
// included: they are paid for too.
func UsedBy(path string, c *config.Config) (Usage, error) {
	var u Usage
	dir, err := store.Open(path)
	if err != nil {
		return u, err
	}
	for rec, err := range dir.Records() {
		if err != nil {
			return u, err
		}
		if rec.Sent == 0 || rec.Outcome == llm.Unsent {
			continue
		}
		u.take(c, max(rec.PromptTokens, rec.AskedPrompt), rec.OutputTokens)
	}
	return u, nil
}

// UsedUp names the limit of a plan that leaves nothing after what was used, ""
// where there is something left.
func (t *Target) UsedUp(c *config.Config, u Usage) string {
	r := &run{Options: Options{Config: c, Used: u}, target: t}
	for _, b := range r.budgets() {
		if b.Limit <= 0 {
			return b.Name + " reached"
		}
	}
	return ""
}
