package workload

import (
	"iter"

	"redline/internal/stats"
	"redline/internal/traffic/trace"
)

// replaySource is a source of single requests with the lengths of a trace's rows.
// Blocks that rows share are text that their prompts share.
type replaySource struct {
	file           *trace.File
	replay         trace.Replay
	seed           uint64
	prompt, output *Dist // nil leaves the rows' own
	breaks, cold   bool
}

func (p *replaySource) times(uint64) iter.Seq[int64] { return p.replay.Times(p.file) }

func (p *replaySource) close() error { return p.file.Close() }

func (p *replaySource) length() int { return p.replay.Len(p.file) }

func (p *replaySource) script(i int) (*script, error) {
	at, ok := p.replay.Index(p.file, i)
	if !ok {
		return nil, nil
	}
	row, err := p.file.Row(at)
	if err != nil {
		return nil, err
	}
	s := &script{tenant: row.Tenant, class: row.Class, session: row.Session, row: row.Line}
	prompt, output, err := p.lengths(i, row)
	if err != nil {
		return nil, err
	}
	s.steps = []step{{tokens: prompt, output: output, segments: p.segments(i, prompt, row)}}
	return s, nil
}

// lengths are the row's, but for what the workload says in their place.
func (p *replaySource) lengths(i int, row trace.Row) (prompt, output int, err error) {
	prompt, output = max(1, row.Prompt), max(1, row.Output)
	r := stats.Rand(p.seed, "workload lengths", uint64(i))
	if p.prompt != nil {
		prompt = p.prompt.Sample(r)
	}
	switch {
	case p.output != nil:
		output = p.output.Sample(r)
	case p.breaks:
		other, err := p.file.Row(r.IntN(p.file.Len()))
		return prompt, max(1, other.Output), err
	}
	return prompt, output, nil
}

// segments lays a prompt out in the row's blocks; what they do not cover is
// the request's own. Without sharing it is laid out as one.
func (p *replaySource) segments(i, prompt int, row trace.Row) []segment {
	var out []segment
	left := prompt
	if !p.cold && row.BlockTokens > 0 {
		for _, id := range row.Blocks {
			if left <= 0 {
				break
			}
			n := min(left, row.BlockTokens)
			out = append(out, segment{blockStream, id, n})
			left -= n
		}
	}
	if left > 0 {
		out = append(out, segment{ownStream, uint64(i), left})
	}
	return out
}
