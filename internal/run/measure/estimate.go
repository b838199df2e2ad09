package measure

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"redline/internal/drive/load"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// tokenUse is what one request used up.
type tokenUse struct{ prompt, output int }

// budgets are what the plan's limits on tokens and money leave after the
// preflight requests and what other runs have used.
func (r *run) budgets() []load.Budget {
	list := limits(r.Config)
	for i := range list {
		switch list[i].Name {
		case result.TokensLimit:
			list[i].Limit -= float64(r.Used.Tokens)
		case result.SpendLimit:
			list[i].Limit -= r.Used.Money
		}
		for _, s := range r.target.asked {
			list[i].Limit -= list[i].Cost(s.prompt, s.output)
		}
	}
	return list
}

// shortFor names the budget that so many preflight requests more would overrun,
// "" for none.
func (r *run) shortFor(more int, asked []tokenUse) string {
	for _, b := range limits(r.Config) {
		used := float64(more) * b.Cost(preflightTokens, preflightTokens)
		for _, s := range asked {
			used += b.Cost(s.prompt, s.output)
		}
		if used > b.Limit {
			return b.Name + " " + text.Exact(b.Limit)
		}
	}
	return ""
}

// limits are the plan's own.
func limits(c *config.Config) []load.Budget {
	var list []load.Budget
	if most := c.Load.Bounds.MaxTokensTotal; most > 0 {
		list = append(list, load.Budget{Name: result.TokensLimit, Limit: float64(most),
			Cost: func(prompt, output int) float64 { return float64(prompt + output) }})
	}
	if most := c.Load.Bounds.MaxSpend; most > 0 {
		list = append(list, load.Budget{Name: result.SpendLimit, Limit: most,
			Cost: func(prompt, output int) float64 { return c.Cost.Tokens(float64(prompt), 0, float64(output)) }})
	}
	return list
}

// EarlyEnds says which limits on tokens and money end a load of so many requests of
// these mean lengths before its time.
func EarlyEnds(c *config.Config, requests, prompt, output float64) (lines []string) {
	for _, b := range limits(c) {
		if each := meanCost(b, prompt, output); requests*each > b.Limit {
			lines = append(lines, earlyEnd(b, b.Limit, each))
		}
	}
	return lines
}

// meanCost is what a request of these mean lengths takes of a budget.
func meanCost(b load.Budget, prompt, output float64) float64 {
	return b.Cost(int(math.Ceil(prompt)), int(math.Ceil(output)))
}

// earlyEnd says when a limit ends a load, by what is left of it and each request costs.
func earlyEnd(b load.Budget, given, each float64) string {
	return fmt.Sprintf("%s %s ends it early, after about %s", b.Name, text.Plain(given), text.Units(text.Short(math.Floor(b.Limit/each)), "request"))
}

// warnAhead says before the load what will fall short of it: a length that cannot
// decide, a limit on tokens or money that ends it early; and what it will cost.
// Its error is that of a limit that leaves nothing to measure.
func (r *run) warnAhead() error {
	if r.Options.Target == nil { // of several runs none has to decide alone
		for _, line := range []string{r.tooShort(), r.lateTurns()} {
			if line != "" {
				r.say("%s", line)
			}
		}
		early, err := r.endsEarly()
		if err != nil {
			return err
		}
		if early != "" {
			r.say("%s", early)
		}
	}
	r.announce()
	if s := &r.stage; s.Warmup == nil && s.SettleTime != nil && !s.Plain {
		r.say("the warm-up lasts until later turns come as often as they will, %s at most; --warmup sets its length", text.Length(s.WarmupLimit()))
	}
	return nil
}

// lateTurns says that turns of sessions are due so long after the first ones that
// the window has fewer of them than the workload; "" where it has nearly all.
func (r *run) lateTurns() string {
	s, talk := &r.stage, r.work.Conversation()
	if talk == nil || s.Duration == 0 || lanesOf(r.Config) > 0 {
		return ""
	}
	warmup := s.WarmupLimit()
	if s.Plain {
		warmup = 0
	} else if s.Warmup != nil {
		warmup = *s.Warmup
	}
	const nearlyAll, grain = 0.9, 10 * time.Second
	share, settled := talk.ShareIn(warmup, s.Duration, r.e2e), talk.SettleTime(r.e2e)
	if share >= nearlyAll {
		return ""
	}
	return fmt.Sprintf("later turns come late: only about %s of the requests that this workload has in the long run come in a window of %s behind a warm-up of %s; --warmup %s brings them in",
		text.RoughPercent(share), text.Length(s.Duration), text.Length(warmup), text.Option((settled + grain).Truncate(grain)))
}

// endsEarly says what the plan needs where a limit on tokens or money ends it
// before its time; "" where they suffice. Its error is that of a limit that the
// warm-up alone would use up.
func (r *run) endsEarly() (string, error) {
	const measured = 10 // requests in the window, without which a run shows nothing
	before, window, after := r.expectedRequests()
	prompt, output := r.work.Mean()
	given := limits(r.Config)
	for i, b := range r.budgets() {
		each := meanCost(b, prompt, output)
		all, unit := (before+window+after)*each, "tokens"
		if b.Name == result.SpendLimit {
			unit = cmp.Or(r.Config.Cost.Currency, "USD")
		}
		amount := func(v float64) string { return text.Short(v) + " " + unit }
		limit := b.Name + " " + text.Plain(given[i].Limit)
		switch {
		case all <= b.Limit:
		case before > 0 && (before+min(measured, window))*each > b.Limit:
			return "", &config.Error{What: fmt.Sprintf("%s is used up by the warm-up of about %s (%s) before anything is measured: the plan needs about %s; %s",
				limit, text.Units(text.Short(before), "request"), amount(before*each), amount(all), r.fittingAdvice(b.Limit/each-after, amount((measured+after)*each)))}
		default:
			about := "about"
			if r.Config.UntilDecided() {
				about = "at most about"
			}
			return fmt.Sprintf("the plan needs %s %s, %s: %s", about, text.Units(text.Short(before+window+after), "request"), amount(all), earlyEnd(b, given[i].Limit, each)), nil
		}
	}
	return "", nil
}

// fittingAdvice says what to give for a plan that a limit pays for without a warm-up, when
// it leaves so many requests for the window; enough is what a short one takes.
func (r *run) fittingAdvice(requests float64, enough string) string {
	rate, most := r.requestRate(), text.Plain(math.Floor(requests))
	switch b := r.Config.Load.Bounds; {
	case requests < 1:
		return "raise it: even 10 requests without a warm-up take about " + enough
	case b.TotalRequests > 0 && b.Duration == 0, rate == 0, math.Floor(requests/rate) < 1:
		return "raise it, or give --warmup 0s --requests " + most + " or fewer"
	}
	return "raise it, or give --warmup 0s --duration " + text.Option(time.Duration(math.Floor(requests/rate))*time.Second) + " or less"
}

// announce says what the load will use up before a server that may send a
// bill: one that is not on this machine and wants a key.
func (r *run) announce() {
	if r.target.client.Local() || r.Config.Provider.APIKey == "" && len(r.Config.Secrets()) == 0 {
		return
	}
	before, window, after := r.expectedRequests()
	n := float64(len(r.target.asked)) + before + window + after
	prompt, output := r.work.Mean()
	about := "about"
	if r.Config.UntilDecided() {
		about = "at most about"
	}
	line := fmt.Sprintf("estimate: %s %s, %s prompt and %s output tokens",
		about, text.Units(text.Short(n), "request"), text.Short(n*prompt), text.Short(n*output))
	if c := r.Config.Cost; c.ByToken() {
		line += fmt.Sprintf(", %.2f %s", n*c.Tokens(prompt, 0, output), cmp.Or(c.Currency, "USD"))
	} else {
		line += "; no price known (--price-per-1m-prompt-tokens, --price-per-1m-output-tokens)"
	}
	r.say("%s", line)
}

// expectedRequests are those of warm-up, window and cool-down: all are paid for.
func (r *run) expectedRequests() (before, window, after float64) {
	const warmup = 50
	bounds, e2e, perSecond := r.Config.Load.Bounds, r.e2e.Seconds(), r.requestRate()
	window = float64(bounds.TotalRequests)
	if seconds := max(bounds.Duration, bounds.MaxDuration).Seconds(); seconds > 0 && (window == 0 || perSecond*seconds < window) {
		window = perSecond * seconds
	}
	before = max(warmup, 2*e2e*perSecond)
	if bounds.Duration > 0 && r.work.Conversation() == nil {
		before = min(before, perSecond*bounds.MaxAround().Seconds())
	}
	if bounds.Warmup != nil {
		before = perSecond * bounds.Warmup.Seconds()
	}
	after = 2 * e2e * perSecond
	if r.stage.Plain {
		after = 0
	}
	return before, window, after
}

// requestRate is how many requests are due in a second, later turns of sessions
// among them; in a closed loop as many as replies of the expected length make
// room for, and the users' pace. It is 0 where that is unknown.
func (r *run) requestRate() float64 {
	turns, b := 1.0, r.Config.Load.Bounds
	if talk := r.work.Conversation(); talk != nil {
		turns = talk.Turns
	}
	if session := max(turns*r.e2e.Seconds(), b.Pace.Seconds()); r.Config.Mode() == config.Closed && session > 0 {
		return float64(b.MaxConcurrency) * turns / session
	}
	return r.meanRate() * turns
}

// tooShort says that the length which was given cannot decide an objective,
// however far the server stays within it, and which one would; "" where it can
// or where the number of requests is unknown.
func (r *run) tooShort() string {
	o, needed := HardestObjective(r.Config, r.shareOf)
	b, perSecond := r.Config.Load.Bounds, r.requestRate()
	byTime := perSecond * b.Duration.Seconds()
	switch {
	case needed == 0 || r.Config.Recorded() || r.Config.UntilDecided():
	case b.TotalRequests > 0 && b.TotalRequests < needed:
		return fmt.Sprintf("%s too few to call %s met, which takes at least %d, and more where slow ones come together: give --requests %d or more, or no length",
			text.Plural(b.TotalRequests, "request is", "requests are"), o.Text, needed, needed)
	case byTime > 0 && byTime < float64(needed):
		const grain = 10 * time.Second
		enough := time.Duration(float64(needed) / perSecond * float64(time.Second))
		return fmt.Sprintf("about %s in %v s, too few to call %s met, which takes at least %d, and more where slow ones come together: give --duration %ds or more, or no length",
			text.Units(text.FixedNumber(byTime, 0), "request comes", "requests come"), b.Duration.Seconds(), o.Text, needed, (enough+grain-1)/grain*grain/time.Second)
	}
	return ""
}

// HardestObjective is the objective that takes the most requests to be met with none
// beyond its limit, and how many that are; 0 where none is about a share of
// the requests. What is about a class or tenant takes as many of its requests.
func HardestObjective(c *config.Config, share func(slo.Scope) float64) (hard slo.Objective, needed int) {
	for _, o := range c.Objectives {
		p := o.P
		switch o.Metric {
		case "error", "reject", "retry":
			p = 1 - o.Limit
		case "good", "calls_ok", "schema_ok":
			p = o.Limit
		case "itl", "icl":
			continue // a request has many gaps
		}
		if p <= 0 || p >= 1 {
			continue
		}
		own := float64(stats.MinToMeet(p, 1-c.Confidence))
		if n := int(math.Ceil(own / share(o.Scope))); n > needed {
			hard, needed = o, n
		}
	}
	return hard, needed
}

// shareOf is the share of requests that an objective is about, 1 where nobody
// knows.
func (r *run) shareOf(scope slo.Scope) float64 {
	const sample = 1000
	share := 1.0
	if scope == (slo.Scope{}) {
		return share
	}
	s, err := r.work.Summary(sample)
	if err != nil {
		return share
	}
	for _, part := range []struct {
		name string
		of   []workload.Share
	}{{scope.Class, s.Classes}, {scope.Tenant, s.Tenants}} {
		for _, one := range part.of {
			if one.Name == part.name && one.Share > 0 {
				share *= one.Share
			}
		}
	}
	return share
}
