package validity

import (
	"fmt"
	"math"

	"redline/internal/judge/metric"
	"redline/internal/text"
)

const (
	// countsShare is how far two accounts of the same tokens may lie apart.
	countsShare = 0.1
	// scatterShare is by how much the ratio of two tokenizers may vary between
	// replies: text differs, but not by that much.
	scatterShare = 0.25
	// bundleTokens is from how many tokens an event, by any tokenizer, a server sends
	// several at once.
	bundleTokens = 1.7
	// contradictTokens is from how many tokens an event another model's tokenizer says
	// more than that it cuts words otherwise.
	contradictTokens = 1.35
)

// perToken are the figures that a wrong count of tokens spoils.
var perToken = []string{"tpot", "itl", "throughput"}

// askTokens lays the accounts of the tokens that arrived beside each other:
// usage, output events, and the local tokenizer.
func askTokens(e Evidence) outcome {
	t := e.Summary.Tokens
	switch {
	case e.Summary.Requests.OK == 0 || t.AskedOutput == 0 && t.Output == 0:
		return silent
	case t.Check == nil:
		return unread("no tokenizer counted the text of any reply")
	case t.Check.ByUsage == 0:
		return withoutUsage(*t.Check, e.OwnTokenizer)
	}
	return withUsage(*t.Check, e.OwnTokenizer)
}

// withUsage judges usage by what arrived.
func withUsage(c metric.TokenCheck, own bool) outcome {
	usage, local, events := float64(c.Usage), float64(c.Local), float64(c.Events)
	perEvent := float64(c.LocalByEvent) / max(float64(c.EventsCounted), 1)
	single := events > 0 && alike(usage, events) && 10*c.EventsAgree >= 9*c.Replies && !(own && local > usage*(1+countsShare)) && perEvent < bundleTokens
	switch {
	case c.ByUsage < c.Replies:
		return unread(fmt.Sprintf("only %s of %s that were counted came with usage", text.Count(c.ByUsage), replies(c.Replies)))
	case single && !own && perEvent > contradictTokens:
		return unread(fmt.Sprintf("usage counts a token an event, and another model's tokenizer finds %.3g in each: give the model's own (--tokenizer)", perEvent))
	case single:
		return counts(c, usage, events, "output events")
	case events > 0 && usage < events*(1-countsShare):
		// An event carries a token at least.
		return counts(c, usage, events, "output events")
	case own && c.Scatter != nil && *c.Scatter > countsShare:
		return scatterOutcome(c, countsShare)
	case own:
		return counts(c, usage, local, "tokens by the model's tokenizer")
	case events > 0 && alike(perEvent, 1):
		return counts(c, usage, events, "output events of one token each")
	}
	return foreign(c)
}

// withoutUsage judges the local tokenizer, whose count the figures rest on.
func withoutUsage(c metric.TokenCheck, own bool) outcome {
	local, events := float64(c.Local), float64(c.Events)
	switch {
	case events > 0 && local < events*(1-countsShare):
		o := counts(c, local, events, "output events")
		o.cure = "the tokenizer finds fewer tokens than events came, each of which carries one at least: give the model's own tokenizer (--tokenizer)"
		return o
	case own || events > 0 && alike(local, events):
		return outcome{mark: OK, figure: fmt.Sprintf("%s by the tokenizer in %s", text.Plural(c.Local, "token"), text.Plural(c.Events, "output event")), threshold: "no usage to compare with"}
	}
	return unread("the server reports no usage, and its tokens were counted with another model's tokenizer: give its own (--tokenizer)")
}

// foreign judges usage by another model's tokenizer, which may differ from the
// server's by a factor, but by the same one in every reply.
func foreign(c metric.TokenCheck) outcome {
	ratio := float64(c.Local) / float64(c.Usage)
	switch {
	case alike(ratio, 1) && c.Scatter != nil && *c.Scatter <= countsShare:
		return counts(c, float64(c.Usage), float64(c.Local), "tokens by another tokenizer")
	case c.Scatter == nil:
		return unread(fmt.Sprintf("another model's tokenizer counts %.3g times the usage, over too few replies to compare them: give the model's own (--tokenizer)", ratio))
	case *c.Scatter > scatterShare:
		return scatterOutcome(c, scatterShare)
	}
	return unread(fmt.Sprintf("another model's tokenizer counts %.3g times the usage, alike in all replies: give the model's own (--tokenizer) to check it", ratio))
}

// scatterOutcome is the answer where two accounts differ now by this factor, now by
// that.
func scatterOutcome(c metric.TokenCheck, share float64) outcome {
	return outcome{mark: Bad, touches: perToken, threshold: "± " + text.RoughPercent(share),
		figure: fmt.Sprintf("tokens by the tokenizer over usage: %.3g ± %s over %s", float64(c.Local)/float64(c.Usage), text.RoughPercent(*c.Scatter), replies(c.Replies))}
}

// counts compares a count with what arrived. Where less arrived than was
// counted, output may have come in a form that nobody read, and the first of it
// may be missing.
func counts(c metric.TokenCheck, counted, arrived float64, of string) outcome {
	o := outcome{mark: okOrBad(alike(counted, arrived)), touches: perToken,
		figure:    fmt.Sprintf("%s counted, %s %s arrived, in %s", text.Units(text.FixedNumber(counted, 0), "token"), text.FixedNumber(arrived, 0), of, replies(c.Replies)),
		threshold: "± " + text.RoughPercent(countsShare)}
	if counted > arrived {
		o.touches = append(append([]string{}, streamed...), "throughput")
		o.cure = "the server counts tokens that did not arrive in a field that redline reads: reasoning or tool calls under another name, or a wrong usage; -v shows the events"
	}
	return o
}

func replies(n int) string { return text.Plural(n, "reply", "replies") }

// alike reports whether a count is within the share of what arrived.
func alike(counted, arrived float64) bool { return math.Abs(counted-arrived) <= countsShare*arrived }
