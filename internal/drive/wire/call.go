package wire

import (
	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// calls puts the tool calls of one reply together, whose arguments come in
// pieces. What an event says is taken in when the event has been read whole.
type calls struct {
	pieces []callPiece
	joined []joinedCall
}

// callPiece is what one event says of a call. Events that do not say which call
// they mean have the index of noCall.
type callPiece struct {
	index               int
	id, name, arguments []byte
}

type joinedCall struct {
	index int
	part  llm.Part
	text  []byte
}

const noCall = -1

// callIndex reads which call is meant.
func callIndex(t jsonio.Tree, key string) int {
	if !t.Has(key) {
		return noCall
	}
	return t.Count(key)
}

// piece notes what an event says of a call.
func (d *Delta) piece(index int, id, name, arguments jsonio.Span) {
	p := callPiece{index: index}
	d.join(&p.id, id)
	d.join(&p.name, name)
	d.join(&p.arguments, arguments)
	d.join(&d.Tool, name)
	d.join(&d.Tool, arguments)
	d.notePiece(p)
}

// pieceString does for the tree what piece does for the scanner.
func (d *Delta) pieceString(index int, id, name, arguments string) {
	d.joinString(&d.Tool, name)
	d.joinString(&d.Tool, arguments)
	d.notePiece(callPiece{index, []byte(id), []byte(name), []byte(arguments)})
}

func (d *Delta) notePiece(p callPiece) {
	if len(p.id)+len(p.name)+len(p.arguments) == 0 {
		return
	}
	if d.calls == nil {
		d.calls = &calls{}
	}
	d.calls.pieces = append(d.calls.pieces, p)
}

// takeCalls adds the pieces of an event to the calls before it.
func (d *Delta) takeCalls() {
	c := d.calls
	if c == nil {
		return
	}
	for _, p := range c.pieces {
		call := c.find(p)
		if call == nil {
			c.joined = append(c.joined, joinedCall{index: p.index, part: llm.Part{Kind: llm.ToolCall, Call: string(p.id), Name: string(p.name)}})
			call = &c.joined[len(c.joined)-1]
		}
		call.text = append(call.text, p.arguments...)
	}
	c.pieces = c.pieces[:0]
}

// find is the call that a piece continues, nil where it begins one: by its
// index, and by its id or, where there is none, by its name.
func (c *calls) find(p callPiece) *joinedCall {
	for i := len(c.joined) - 1; i >= 0; i-- {
		call := &c.joined[i]
		if p.index != noCall && p.index != call.index {
			continue
		}
		if len(p.id) > 0 && string(p.id) != call.part.Call || len(p.id) == 0 && len(p.name) > 0 {
			return nil
		}
		return call
	}
	return nil
}

// Calls are the tool calls of the reply so far, put together.
func (d *Delta) Calls() []llm.Part {
	if d.calls == nil {
		return nil
	}
	list := make([]llm.Part, len(d.calls.joined))
	for i, call := range d.calls.joined {
		list[i] = call.part
		list[i].Text = string(call.text)
	}
	return list
}
