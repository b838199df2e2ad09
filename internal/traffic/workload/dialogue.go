package workload

import (
	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/traffic/corpus"
	"redline/internal/traffic/token"
)

// dialogue is a source of conversations that a file holds.
type dialogue struct {
	file     *corpus.File
	text     token.Text
	seed     uint64
	session  *Session
	output   *Dist // nil leaves the file's own
	fallback Dist  // where neither says
	order    order
	breaks   bool
	// turns says that more than the first turn is sent.
	turns bool
	// salt gives the words before the first message of a pass through the
	// file; nil for none.
	salt func(pass uint64) string
}

func (d *dialogue) length() int { return d.file.Len() }

func (d *dialogue) close() error { return d.file.Close() }

func (d *dialogue) script(i int) (*script, error) {
	pass, row := d.order.at(d.file.Len(), i)
	c, err := d.file.At(row)
	if err != nil {
		return nil, err
	}
	s := &script{tenant: c.Tenant, class: c.Class, session: c.Session, row: c.Row}
	r := stats.Rand(d.seed, "workload turns", uint64(i))
	turns := c.Turns
	switch {
	case !d.turns:
		turns = turns[:1]
	case d.session != nil && d.session.Turns != nil:
		turns = turns[:min(len(turns), d.session.Turns.Sample(r))]
	}
	for t, turn := range turns {
		next := step{messages: d.addSalt(turn.Messages, pass, t == 0 || turn.Whole), whole: turn.Whole,
			sampling: turn.Sampling, tools: turn.Tools, format: turn.Format, adds: turn.Additions}
		for i := range next.messages {
			next.tokens += count(d.text, &next.messages[i])
		}
		for text := range next.tools.Texts {
			next.tokens += d.text.Count(text)
		}
		if next.output, err = d.outputOf(i, t, turn); err != nil {
			return nil, err
		}
		if t > 0 && d.session != nil {
			next.think = d.session.Think.Sample(r)
		}
		s.steps = append(s.steps, next)
	}
	return s, nil
}

// count is how many tokens a message has.
func count(text token.Text, m *llm.Message) (n int) {
	for t := range m.Texts {
		n += text.Count(t)
	}
	return n
}

// addSalt puts the salt before what a conversation begins with.
func (d *dialogue) addSalt(messages []llm.Message, pass uint64, first bool) []llm.Message {
	if d.salt == nil || !first {
		return messages
	}
	out := append([]llm.Message(nil), messages...)
	out[0].Content = d.salt(pass) + "\n\n" + out[0].Content
	return out
}

// outputOf is how many tokens a turn asks for: what the workload says, else
// the row, else as many as the recorded reply has.
func (d *dialogue) outputOf(i, t int, turn corpus.Turn) (int, error) {
	key := uint64(i)<<20 | uint64(t)
	if d.output != nil {
		return d.output.Sample(stats.Rand(d.seed, "workload lengths", key)), nil
	}
	if d.breaks {
		r := stats.Rand(d.seed, "workload broken pairs", key)
		other, err := d.file.At(r.IntN(d.file.Len()))
		if err != nil {
			return 0, err
		}
		turn = other.Turns[r.IntN(len(other.Turns))]
	}
	switch {
	case turn.Output > 0:
		return turn.Output, nil
	case turn.Reply != "":
		return max(1, d.text.Count(turn.Reply)), nil
	}
	return d.fallback.Sample(stats.Rand(d.seed, "workload lengths", key)), nil
}

// order says which row of a file a session has: each once in a pass.
type order struct {
	seed     uint64
	shuffled bool
}

// at gives the pass through n rows in which session i falls, and its row. A
// shuffled pass steps through the rows by a stride that shares no divisor
// with their number, so that no list of them is needed.
func (o order) at(n, i int) (pass uint64, row int) {
	pass, k := uint64(i/n), uint64(i%n)
	if !o.shuffled || n < 3 {
		return pass, int(k)
	}
	r := stats.Rand(o.seed, "workload order", pass)
	stride := 1 + r.Uint64N(uint64(n-1))
	for divisor(stride, uint64(n)) != 1 {
		stride = 1 + stride%uint64(n-1)
	}
	return pass, int((k*stride + r.Uint64N(uint64(n))) % uint64(n))
}

// divisor is the greatest that a and b share.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
