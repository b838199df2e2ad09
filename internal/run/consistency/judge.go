package consistency

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/text"
)

// Report is what was found.
type Report struct {
	Schema  string `json:"schema"`
	Model   string `json:"model"`
	URL     string `json:"url"`
	Prompts int    `json:"prompts"`
	// Base is alone against alone again: how often a reply differs anyway.
	Base       Base        `json:"base"`
	Conditions []Condition `json:"conditions"`
	// Garbage counts replies by what is wrong with them and by condition.
	Garbage map[string]map[string]int `json:"garbage,omitempty"`
	// Examples are a prompt each whose reply differs most early, by condition.
	Examples []Example `json:"examples,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
	// Interrupted says that not everything was asked.
	Interrupted bool `json:"interrupted,omitempty"`
	// Standing is worse where any condition changes replies, any reply has another
	// request's mark or half of them are garbage, else undecided where one is too close
	// to call or fewer than half were answered under it.
	Standing slo.Standing `json:"outcome"`
	Verdict  string       `json:"verdict"`

	replies, garbled int // those there are, and those of them with any garbage
}

// Base is the rate by which a reply alone differs from itself.
type Base struct {
	N       int `json:"n"`
	Differs int `json:"differs"`
}

// Condition is one of them against alone.
type Condition struct {
	Name string `json:"name"`
	// N counts the prompts that were answered alone, again and under it.
	N int `json:"n"`
	// Differs counts replies that are not the one alone, BaseDiffers those of alone
	// again; Only and BaseOnly are those where just one of the two differs.
	Differs     int `json:"differs"`
	BaseDiffers int `json:"base_differs"`
	Only        int `json:"only_here"`
	BaseOnly    int `json:"only_base"`
	Failed      int `json:"failed,omitempty"`
	// Cached is the share of prompts of which the server found a part in its cache,
	// 0 where it reports none.
	Cached float64 `json:"cached_share"`
	// Excess is the difference of the two shares, with its interval.
	Excess   float64    `json:"excess"`
	Interval [2]float64 `json:"interval"`
	// P is the exact chance of so many more, PHolm that corrected for all conditions.
	P     float64 `json:"p"`
	PHolm float64 `json:"p_holm"`
	// Agrees is how much of the reply is the same before the first difference, by
	// the median of those that differ.
	Agrees float64 `json:"agrees_until,omitempty"`
	// NotReached says that no reply shows that it was under the condition.
	NotReached bool         `json:"not_reached,omitempty"`
	Standing   slo.Standing `json:"outcome"`
}

// Example is a reply that differs.
type Example struct {
	Condition string `json:"condition"`
	Prompt    string `json:"prompt"`
	Alone     string `json:"alone"`
	Reply     string `json:"reply"`
}

// alpha is the chance that a server whose replies depend on nothing is accused by any
// condition, level that of the intervals.
const alpha, level = 0.02, 0.95

func (r *Report) judge(prompts []prompt, order []string, replies map[string][]reply) {
	alone, again := replies[Alone], replies[Again]
	for i := range prompts {
		if alone[i].failed == "" && again[i].failed == "" {
			if r.Base.N++; alone[i].text != again[i].text {
				r.Base.Differs++
			}
		}
	}
	var chances []float64
	for _, name := range order {
		list := replies[name]
		if list == nil {
			continue
		}
		c := compare(name, alone, again, list)
		r.Conditions, chances = append(r.Conditions, c), append(chances, c.P)
	}
	var guilty, open, near []string
	for i, p := range stats.Holm(chances) {
		c := &r.Conditions[i]
		if c.PHolm = p; p > alpha && 2*c.N < max(r.Prompts, len(prompts)) {
			c.Standing = slo.NotJudged
			open = append(open, fmt.Sprintf("%s (%d of %d were answered)", c.Name, c.N, max(r.Prompts, len(prompts))))
		}
		switch {
		case p <= alpha || c.Standing == slo.NotJudged:
		case c.Name == CacheHit && c.Cached == 0:
			c.Standing, c.NotReached = slo.NotJudged, true
			r.Notes = append(r.Notes, CacheHit+": not reached: no reply reports cached tokens; is prefix caching on, and do replies report it (vLLM: --enable-prompt-tokens-details)?")
		case c.Interval[0] > 0: // the test of all conditions does not accuse it, its own interval does
			c.Standing = slo.Undecided
			near = append(near, c.Name)
		}
		if p <= alpha {
			c.Standing = slo.Worse
			guilty = append(guilty, c.Name)
			r.Examples = append(r.Examples, example(c.Name, prompts, alone, replies[c.Name]))
		}
	}
	r.countGarbage(prompts, replies)
	r.conclude(guilty, near, open)
}

// compare pairs the replies of one condition with those alone. If the condition changes
// nothing, a reply under it is as likely to be the odd one of three as the reply alone
// again, so that of those where just one differs each side has half.
func compare(name string, alone, again, list []reply) Condition {
	c := Condition{Name: name, Standing: slo.Same}
	var agrees []float64
	cached := 0
	for i := range list {
		if list[i].failed != "" {
			c.Failed++
		}
		if list[i].failed != "" || alone[i].failed != "" || again[i].failed != "" {
			continue
		}
		c.N++
		if list[i].cached > 0 {
			cached++
		}
		here, base := list[i].text != alone[i].text, again[i].text != alone[i].text
		if here {
			c.Differs++
			agrees = append(agrees, agreement(alone[i].text, list[i].text))
		}
		if base {
			c.BaseDiffers++
		}
		switch {
		case here && !base:
			c.Only++
		case base && !here:
			c.BaseOnly++
		}
	}
	c.P = stats.BinomialAtLeast(float64(c.Only), float64(c.Only+c.BaseOnly), 0.5)
	c.Interval[0], c.Interval[1] = stats.PairedShares(c.N, c.Only, c.BaseOnly, level)
	if n := float64(c.N); n > 0 {
		c.Excess, c.Cached = float64(c.Only-c.BaseOnly)/n, float64(cached)/n
	}
	if len(agrees) > 0 {
		c.Agrees = stats.Median(agrees)
	}
	return c
}

// agreement is the share of the longer text that both begin with.
func agreement(a, b string) float64 {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	return float64(same) / float64(max(len(a), len(b), 1))
}

// example is the prompt whose reply differs earliest.
func example(name string, prompts []prompt, alone, list []reply) Example {
	best, least := 0, 2.0
	for i := range list {
		if list[i].failed == "" && alone[i].failed == "" && list[i].text != alone[i].text {
			if a := agreement(alone[i].text, list[i].text); a < least {
				best, least = i, a
			}
		}
	}
	const shown = 400
	return Example{name, prompts[best].text, text.Cut(alone[best].text, shown), text.Cut(list[best].text, shown)}
}

// AnothersLabel is the kind of garbage that prompts with labels show, beside those of
// llm.
const AnothersLabel = "another request's label"

// countGarbage looks at every reply there is.
func (r *Report) countGarbage(prompts []prompt, replies map[string][]reply) {
	for _, name := range slices.Sorted(maps.Keys(replies)) {
		for i, got := range replies[name] {
			if got.failed != "" {
				continue
			}
			kinds := text.Each(llm.FindGarbage(got.text), func(g llm.Garbage) string { return string(g) })
			if anothersLabel(prompts, i, got.text) {
				kinds = append(kinds, AnothersLabel)
			}
			r.replies++
			if len(kinds) > 0 {
				r.garbled++
			}
			for _, kind := range kinds {
				if r.Garbage == nil {
					r.Garbage = map[string]map[string]int{}
				}
				if r.Garbage[kind] == nil {
					r.Garbage[kind] = map[string]int{}
				}
				r.Garbage[kind][name]++
			}
		}
	}
}

func anothersLabel(prompts []prompt, own int, reply string) bool {
	return slices.ContainsFunc(prompts, func(p prompt) bool {
		return p.mark != prompts[own].mark && strings.Contains(reply, p.mark)
	})
}

// conclude names what changes replies, what is too close to call, and what too few were
// answered under to say.
func (r *Report) conclude(guilty, near, open []string) {
	mixed := 0
	for _, n := range r.Garbage[AnothersLabel] {
		mixed += n
	}
	largest := 0.0
	for _, c := range r.Conditions {
		if !c.NotReached {
			largest = max(largest, c.Interval[1])
		}
	}
	r.Standing = slo.Worse
	switch {
	case mixed > 0 && len(guilty) > 0:
		r.Verdict = fmt.Sprintf("replies change by %s, and %s of another request", text.List(guilty), text.Plural(mixed, "reply has the label", "replies have the label"))
	case mixed > 0:
		r.Verdict = text.Plural(mixed, "reply has the label", "replies have the label") + " of another request"
	case len(guilty) > 0:
		r.Verdict = "replies change by " + text.List(guilty)
	case 2*r.garbled >= r.replies && r.garbled > 0:
		r.Verdict = "replies are garbage"
	case r.Interrupted:
		r.Standing, r.Verdict = slo.Undecided, "interrupted before every condition was tried"
	case len(near) > 0:
		r.Standing, r.Verdict = slo.Undecided, "too close to call: "+text.List(near)+": ask more --prompts"
	case len(open) > 0:
		r.Standing, r.Verdict = slo.Undecided, "too few replies to judge: "+text.List(open)
	default:
		r.Standing = slo.Same
		r.Verdict = fmt.Sprintf("no condition changes more than %s of replies beyond what differs anyway", text.RoughPercent(max(0, largest)))
	}
	if r.garbled > mixed {
		kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Garbage)), func(kind string) bool { return kind == AnothersLabel })
		r.Verdict += fmt.Sprintf("; garbage in %d of %d replies (%s)", r.garbled, r.replies, strings.Join(kinds, ", "))
	}
}
