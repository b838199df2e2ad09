package wire

import (
	"bytes"
	"fmt"
)

// closingMark is the data of the event that ends an OpenAI stream. Servers that
// add Anthropic's dialect to OpenAI's send it there too.
const closingMark = "[DONE]"

// begin readies d for an event and gives the JSON that is left to be read; nil
// where there is none.
func (d *Delta) begin(data []byte) []byte {
	d.reset()
	data = bytes.TrimSpace(data)
	if string(data) == closingMark {
		d.Done = true
		return nil
	}
	if len(data) == 0 {
		return nil
	}
	return data
}

// decodeTree reads an event that the scanner found odd, or that is named as an
// error.
func decodeTree(name, data []byte, d *Delta, read func(tree, *Delta)) error {
	d.reset()
	isError := string(name) == "error"
	t, err := parseTree(data)
	if err != nil && !isError {
		return fmt.Errorf("stream event: %w", err)
	}
	if !t.readError(d) && isError {
		d.Err, d.HasErr = data, true
	}
	if !d.HasErr {
		read(t, d)
	}
	return nil
}

// decodeWhole reads a reply that was not streamed.
func decodeWhole(body []byte, d *Delta, read func(tree, *Delta)) error {
	d.reset()
	t, err := parseTree(body)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if !t.readError(d) {
		read(t, d)
		d.Done = true
	}
	return nil
}

// decodeError finds the message of an error body, in any dialect's shape.
func decodeError(body []byte) string {
	t, err := parseTree(body)
	if err != nil {
		return ""
	}
	if m, ok := t.errorMessage(); ok {
		return m
	}
	switch detail := t["detail"].(type) {
	case nil:
		return t.str("message")
	case string:
		return detail
	default:
		return compact(detail)
	}
}

// join appends t's meaning to a part of the Delta. A part that is one string
// without escapes aliases the event itself.
func (d *Delta) join(part *[]byte, t span) {
	switch {
	case len(t.raw) == 0:
	case len(*part) == 0 && !t.escaped:
		*part = t.raw
	default:
		from := len(d.scratch)
		d.scratch = append(d.scratch, *part...)
		d.scratch = t.unescape(d.scratch)
		*part = d.scratch[from:len(d.scratch):len(d.scratch)]
	}
}

// joinString does for the tree what join does for the scanner.
func (d *Delta) joinString(part *[]byte, s string) {
	if s != "" {
		*part = append((*part)[:len(*part):len(*part)], s...)
	}
}

// setFinish notes a reason for stopping, if there is one.
func (d *Delta) setFinish(t span) {
	if len(t.raw) > 0 {
		d.Finish = nil
		d.join(&d.Finish, t)
	}
}

// telling is what a stream has told so far, for dialects whose events repeat
// all the text before them.
type telling struct {
	said   []byte
	pieces bool // the server sends pieces after all
}

// joinRest makes d's text the part of a running text that is new. A server can
// be set to send pieces instead: the first text that does not begin with what
// came before it shows that. One that only lost its end, as a stop sequence
// does, holds nothing new.
func (d *Delta) joinRest(running []byte) {
	t := &d.told
	switch {
	case t.pieces:
		d.Text = running
	case bytes.HasPrefix(running, t.said):
		d.Text = running[len(t.said):]
		t.said = append(t.said, d.Text...)
	case bytes.HasPrefix(t.said, running):
	default:
		t.pieces = true
		d.Text = running
	}
}
