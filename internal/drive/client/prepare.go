package client

import (
	"redline/internal/drive/wire"
	"redline/internal/llm"
)

// preparedBody is a request's body, composed ahead of its due time for a server as
// it was known then.
type preparedBody struct {
	quirks *wire.Quirks
	body   []byte
}

// Prepare composes the body of a request that will be sent later, and gives its
// size; 0 where it cannot be known yet, as with a template that may name the
// request's number.
func (c *Client) Prepare(r *llm.Request) (size int) {
	if c.dialect.Path == "" {
		return 0
	}
	quirks := c.quirks.Load()
	p := &preparedBody{quirks: quirks, body: c.dialect.Encode(nil, r, *quirks)}
	r.Prepared = p
	return len(p.body)
}

// takePrepared gives the request's body as it was prepared, nil where it was not, or
// where the server has taught another form since.
func (x *exchange) takePrepared(q *wire.Quirks) []byte {
	p, ok := x.r.Prepared.(*preparedBody)
	x.r.Prepared = nil
	if ok && p.quirks == q {
		return p.body
	}
	return nil
}
