package load

import (
	"bytes"

	"redline/internal/drive/record"
	"redline/internal/llm"
)

// bytesPerToken is what most tokens take, so that the text of a reply seldom
// has to be moved; roomForText is what is set aside for it at most, and slack
// what the last event that is kept may take beyond a limit. maxText is what is
// kept to be counted: of a longer reply the beginning tells enough.
const (
	bytesPerToken = 5
	roomForText   = 1 << 16
	slack         = 128
	maxText       = 1 << 18
)

// replyText is the text of a reply: all of it, or what tells how many tokens it has.
type replyText struct {
	whole, counted bool
	needed         bool // for the next turn, however long it is
	// spoken is the text without that of tool calls, where there are any.
	spoken []byte
	calls  []llm.Part
	// answer is what the reply says, without reasoning and calls, where it is to be
	// checked.
	check          func(text string, calls []llm.Part) (called, formed llm.Check)
	answer         []byte
	all, beginning []byte
	// last is the text of the latest event while each begins with all that the one
	// before it said; grown of so many events added to it.
	last          []byte
	part          llm.PartKind
	grown, events int
	distinct      bool // some event does not
}

func newReplyText(t *llm.Turn, whole, counted bool) *replyText {
	k := &replyText{whole: whole, counted: counted, needed: t.KeepReply, check: t.Request.Check}
	room := bytesPerToken * max(t.Request.MaxTokens, 0)
	if whole {
		k.all = make([]byte, 0, min(room, roomForText))
	} else if counted {
		k.beginning = make([]byte, 0, min(room, record.KeptText+slack))
	}
	return k
}

// add takes an output event that its record has not observed yet.
func (k *replyText) add(rec *record.Record, ev llm.Event) {
	if k.counted && !k.distinct {
		k.follow(ev)
	}
	if k.check != nil && ev.Part == llm.Text {
		k.answer = append(k.answer, ev.Text...)
	}
	switch {
	case !k.needed:
	case ev.Part == llm.ToolCall && k.spoken == nil:
		k.spoken = append([]byte{}, k.all...)
	case ev.Part != llm.ToolCall && k.spoken != nil:
		k.spoken = append(k.spoken, ev.Text...)
	}
	if k.whole = k.whole && (k.needed || len(k.all)+len(ev.Text) <= maxText); k.whole {
		k.all = append(k.all, ev.Text...)
	} else {
		k.all = nil
	}
	switch {
	case k.needed || !k.counted || !rec.Wants(ev.Part):
	case len(k.beginning)+len(ev.Text) > maxText:
		k.counted, k.beginning = false, nil // it cannot be counted without this event
	default:
		k.beginning = append(k.beginning, ev.Text...)
	}
}

// follow keeps the event of a server that repeats the whole text in each.
func (k *replyText) follow(ev llm.Event) {
	switch {
	case len(ev.Text) > maxText, k.events > 0 && (ev.Part != k.part || !bytes.HasPrefix(ev.Text, k.last)):
		k.distinct, k.last = true, nil
		return
	case k.events > 0 && len(ev.Text) > len(k.last):
		k.grown++
	}
	k.last, k.part = append(k.last[:0], ev.Text...), ev.Part
	k.events++
}

// reply tells the next turn how this one went.
func (k *replyText) reply(outcome llm.Outcome) llm.Reply {
	r := llm.Reply{Outcome: outcome}
	if k != nil && k.needed {
		r.Text, r.Calls = string(k.all), k.calls
		if len(k.calls) > 0 {
			r.Text = string(k.spoken)
		}
	}
	return r
}

// text is what is counted of a reply: all of it, the last event where that has said
// all, which its record then knows, or the beginning.
func (k *replyText) text(rec *record.Record) []byte {
	switch {
	case k == nil: // it was never sent
		return nil
	case k.whole:
		return k.all
	case !k.distinct && record.Grows(k.grown, k.events):
		rec.Repeats = true
		return k.last
	}
	return k.beginning
}

// checkInto compares an ok reply with what was asked for.
func (k *replyText) checkInto(rec *record.Record) {
	if k == nil || k.check == nil || rec.Outcome != llm.OK {
		return
	}
	rec.Calls = len(k.calls)
	rec.Called, rec.Formed = k.check(string(k.answer), k.calls)
	if rec.AskedOutput > 0 && rec.OutputTokens >= rec.AskedOutput {
		if n := len(k.calls); n > 0 && rec.Called != llm.CheckOK && k.calls[n-1].Text == "" {
			rec.Called = llm.CheckCut // before its arguments, or within its name
		}
		for _, c := range []*llm.Check{&rec.Called, &rec.Formed} {
			if *c == llm.CheckNotJSON {
				*c = llm.CheckCut
			}
		}
	}
}
