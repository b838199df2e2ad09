package simserver

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"

	"redline/internal/llm"
	"redline/internal/twin/faults"
)

// lastText is what the last message of a request says.
func lastText(messages []llm.Message) *string {
	said := ""
	if len(messages) > 0 {
		said = messages[len(messages)-1].Content
	}
	return &said
}

// cacheSalt is the request's own, by which it shares the prefix cache with requests of
// the same salt alone.
func cacheSalt(body []byte) string {
	const key = "cache_salt"
	if !bytes.Contains(body, []byte(key)) {
		return ""
	}
	var fields struct {
		Salt string `json:"cache_salt"`
	}
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	return fields.Salt
}

// misword changes what is still to be said, once the condition of the fault holds. The
// number of tokens stays.
func (g *generation) misword() {
	if g.fault == nil || g.fault.Text == faults.AsAlone || !g.meets(g.fault.When) {
		return
	}
	s := &g.script
	how, from := g.fault.Text, s.spoken
	var other script
	if g.others != nil && how == faults.AnothersText {
		other = recite(g.server.vocab, *g.others, len(s.ends)-from)
	}
	if how == faults.OneWord || how == faults.CutCharacters {
		from = max(from, len(s.ends)/2)
	}
	effect := *g.fault
	effect.Text = faults.AsAlone
	g.fault = &effect
	text, ends := []byte(s.textOf(0, from)), append([]int(nil), s.ends[:from]...)
	random := rand.New(rand.NewPCG(g.flight.job.ID, 0x6c6965))
	for i := from; i < len(s.ends); i++ {
		switch {
		case how == faults.OneWord:
			text = append(text, " again"...)
		case how == faults.CutCharacters:
			text = append(text, "\uFFFD"...)
		case how == faults.AnothersText && i-from < len(other.ends):
			text = append(text, other.textOf(i-from, i-from+1)...)
		case how == faults.AnothersText:
			text = append(text, s.textOf(i, i+1)...)
		default:
			text = append(text, g.server.vocab.Piece(random)...)
		}
		ends = append(ends, len(text))
	}
	s.text, s.ends = string(text), ends
}

// meets reports whether the condition of a fault holds now.
func (g *generation) meets(when faults.Condition) bool {
	switch when {
	case faults.InBatch:
		return g.server.active.Load()-1 >= busyFrom
	case faults.OnCacheHit:
		return g.flight.box.read().cached > 0
	case faults.Preempted:
		return g.flight.box.read().preempted
	}
	return true
}
