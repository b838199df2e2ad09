package wire

import (
	"bytes"
	"errors"
	"fmt"

	"redline/internal/drive/jsonio"
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

// Decode reads one stream event. It overwrites *Delta, whose byte slices alias
// data or the Delta's own scratch and live until the next call. One Delta serves
// one stream: where events repeat all the text so far, it remembers what was
// already read.
func (d *Dialect) Decode(name, data []byte, into *Delta) error {
	if data = into.begin(data); data == nil {
		return nil
	}
	if d.PoolsReplies() {
		return errors.New("stream event: this API replies with one JSON body, not with a stream")
	}
	if d.scan != nil {
		s := &into.scanner // in the Delta, for one of its own would be allocated
		s.Reset(data)
		if d.scan(s, into); s.AtEnd() && string(name) != "error" {
			into.takeCalls()
			return nil
		}
		into.reset()
	}
	return d.decodeTree(name, data, into)
}

// decodeTree reads an event that the scanner found odd, or that is named as an
// error.
func (d *Dialect) decodeTree(name, data []byte, into *Delta) error {
	isError := string(name) == "error"
	t, err := jsonio.ParseTree(data)
	if err != nil && !isError {
		return fmt.Errorf("stream event: %w", err)
	}
	switch message, failed := d.failure(t); {
	case failed:
		into.fail(message)
	case isError:
		into.fail(string(data))
	default:
		d.tree(t, into)
		into.takeCalls()
	}
	return nil
}

// DecodeWhole reads the body of a reply that was not streamed.
func (d *Dialect) DecodeWhole(body []byte, into *Delta) error {
	into.reset()
	if d.wholeScan != nil {
		if done, err := d.wholeScan(body, into); done || err != nil {
			return err
		}
		into.reset()
	}
	t, err := jsonio.ParseTree(body)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	if message, failed := d.failure(t); failed {
		into.fail(message)
		return nil
	}
	d.whole(t, into)
	into.takeCalls()
	into.Done = true
	return nil
}

// DecodeError finds the message in an error body; "" when there is none.
func (d *Dialect) DecodeError(body []byte) string {
	t, err := jsonio.ParseTree(body)
	if err != nil {
		return ""
	}
	if m, ok := d.failure(t); ok {
		return m
	}
	if m, ok := errorMessage(t); ok {
		return m
	}
	switch detail := t["detail"].(type) {
	case nil:
		return t.Str("message")
	case string:
		return detail
	default:
		return jsonio.Compact(detail)
	}
}

func (d *Delta) fail(message string) { d.Err, d.HasErr = []byte(message), true }

// join appends t's meaning to a part of the Delta. A part that is one string
// without escapes aliases the event itself.
func (d *Delta) join(part *[]byte, t jsonio.Span) {
	switch {
	case len(t.Raw) == 0:
	case len(*part) == 0 && !t.Escaped:
		*part = t.Raw
	default:
		from := len(d.scratch)
		d.scratch = append(d.scratch, *part...)
		d.scratch = t.Unescape(d.scratch)
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
func (d *Delta) setFinish(t jsonio.Span) {
	if len(t.Raw) > 0 {
		d.Finish = nil
		d.join(&d.Finish, t)
		d.Finish = plainFinish(d.Finish)
	}
}

// readFinish does for the tree what setFinish does for the scanner.
func (d *Delta) readFinish(reason string) {
	if reason != "" {
		d.Finish = plainFinish([]byte(reason))
	}
}

// The words that Delta.Finish uses.
var (
	finishStop   = []byte("stop")
	finishLength = []byte("length")
	finishTools  = []byte("tool_calls")
)

// plainFinish gives any server's reason for stopping in OpenAI's words, so that
// nobody behind the dialect has to know more than one.
func plainFinish(reason []byte) []byte {
	switch string(reason) {
	case "none":
		return nil
	case "end_turn", "stop_sequence", "eos_token", "eos", "word", "completed":
		return finishStop
	case "max_tokens", "limit", "max_output_tokens":
		return finishLength
	case "tool_use":
		return finishTools
	}
	return reason
}

// running is the text of a stream whose events repeat all the text before them.
type running struct {
	text   []byte
	pieces bool // the server sends pieces after all
}

// joinRest makes d's text the part of a running text that is new. A server can
// be set to send pieces instead: the first text that does not begin with what
// came before it shows that. One that only lost its end, as a stop sequence
// does, holds nothing new.
func (d *Delta) joinRest(text []byte) {
	r := &d.running
	switch {
	case r.pieces:
		d.Text = text
	case bytes.HasPrefix(text, r.text):
		d.Text = text[len(r.text):]
		r.text = append(r.text, d.Text...)
	case bytes.HasPrefix(r.text, text):
	default:
		r.pieces = true
		d.Text = text
	}
}

// skipOther reads a top-level key that a dialect has no use for, but for those by
// which an event says that it is an error.
func skipOther(s *jsonio.Scanner, key []byte) {
	switch string(key) {
	case "error":
		s.FailIf(!s.Null())
	case "object", "type":
		kind := s.Str()
		s.FailIf(kind.Escaped || string(kind.Raw) == "error")
	default:
		s.Skip()
	}
}

// errorMessage finds what an object says went wrong: "error" as a string or an
// object, vLLM's {"object":"error","message":…}, FastAPI's "detail".
func errorMessage(t jsonio.Tree) (string, bool) {
	switch e := t["error"].(type) {
	case nil:
	case string:
		return e, true
	case map[string]any:
		if m := jsonio.Tree(e).Str("message"); m != "" {
			return m, true
		}
		return jsonio.Compact(e), true
	default:
		return jsonio.Compact(e), true
	}
	if t.Str("object") == "error" || t.Str("type") == "error" {
		if m := t.Str("message"); m != "" {
			return m, true
		}
		return jsonio.Compact(t), true
	}
	return "", false
}
