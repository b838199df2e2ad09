package load

import (
	"redline/internal/drive/record"
	"redline/internal/llm"
)

// bytesPerToken is what most tokens take, so that the text of a reply seldom
// has to be moved; roomForText is what is set aside for it at most, and slack
// what the last event that is kept may take beyond a limit. mostText is what is
// kept to be counted: of a longer reply the beginning tells enough.
const (
	bytesPerToken = 5
	roomForText   = 1 << 16
	slack         = 128
	mostText      = 1 << 18
)

// kept is the text of a reply: all of it, or what tells how many tokens it has.
type kept struct {
	whole, counted bool
	needed         bool // for the next turn, however long it is
	all, beginning []byte
}

func newKept(t *llm.Turn, whole, counted bool) *kept {
	k := &kept{whole: whole, counted: counted, needed: t.KeepReply}
	room := bytesPerToken * max(t.Request.MaxTokens, 0)
	if whole {
		k.all = make([]byte, 0, min(room, roomForText))
	} else if counted {
		k.beginning = make([]byte, 0, min(room, record.KeptText+slack))
	}
	return k
}

// add takes an output event that its record has not observed yet.
func (k *kept) add(rec *record.Record, ev llm.Event) {
	if k.whole = k.whole && (k.needed || len(k.all)+len(ev.Text) <= mostText); k.whole {
		k.all = append(k.all, ev.Text...)
	} else {
		k.all = nil
	}
	switch {
	case k.needed || !k.counted || !rec.Wants(ev.Part):
	case len(k.beginning)+len(ev.Text) > mostText:
		k.counted, k.beginning = false, nil // it cannot be counted without this event
	default:
		k.beginning = append(k.beginning, ev.Text...)
	}
}

func (k *kept) text() []byte {
	if k.whole {
		return k.all
	}
	return k.beginning
}
