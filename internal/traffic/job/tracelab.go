package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"redline/internal/text"
)

// traceLab reads rounds of coding agents: a round a line, in any order.
type traceLab struct {
	*reading
	sessions map[string]*labSession
}

// labSession is the rounds of one session.
type labSession struct {
	name, owner, part string
	line              int
	rounds            []labRound
	parent            *labSession
	children          []*labSession
}

// labRound is one request.
type labRound struct {
	draft
	sent, done time.Time
	prefix     int // tokens that it has in common with the round before
	tools      []labTool
}

type labTool struct {
	Name    string    `json:"tool_name"`
	Emitted time.Time `json:"emitted_at"`
	Result  time.Time `json:"result_at"`
}

func newTraceLab(in *reading) reader { return &traceLab{in, map[string]*labSession{}} }

func (t *traceLab) read(value json.RawMessage, line int) error {
	var name, project, user, provider string
	var events []struct {
		Kind string    `json:"event_type"`
		At   time.Time `json:"timestamp"`
	}
	r := labRound{draft: draft{where: fmt.Sprintf("line %d", line), from: -1}}
	var known json.RawMessage // the order is that of times, and the lengths add up
	if err := t.decode(value, fields{"session_id": &name, "project": &project, "user": &user, "provider": &provider, "model": &r.Model,
		"input_tokens_total": &r.Prompt, "prefix_tokens": &r.prefix, "newly_append_tokens": &known, "output_tokens": &r.Output,
		"timing_events": &events, "tools": &r.tools, "round_index": &known, "round_id": &known}); err != nil {
		return err
	}
	for _, e := range events {
		switch e.Kind {
		case "user_message", "tool_result":
			if e.At.After(r.sent) {
				r.sent = e.At
			}
		default:
			if e.At.After(r.done) {
				r.done = e.At
			}
		}
	}
	switch {
	case name == "":
		return errors.New("has no session_id")
	case r.Prompt < 0 || r.Prompt > maxTokens:
		return fmt.Errorf("input_tokens_total is %d; must be 0 to %s", r.Prompt, text.Count(maxTokens))
	case r.prefix < 0 || r.prefix > r.Prompt:
		return fmt.Errorf("prefix_tokens is %d; must be 0 to the %d of the prompt", r.prefix, r.Prompt)
	case r.sent.IsZero():
		t.assumed["rounds left out because they have neither a user's message nor a tool's result"]++
		return nil
	}
	if r.done.Before(r.sent) {
		r.done = r.sent
	}
	s := t.sessions[name]
	if s == nil {
		s = &labSession{name: name, owner: user + "\x00" + project, part: t.part, line: line}
		t.sessions[name] = s
	}
	s.rounds = append(s.rounds, r)
	return nil
}

// minAgentCall is the length from which on a tool call may hold a subagent.
const minAgentCall = 10 * time.Second

func (t *traceLab) end() error {
	all := slices.SortedFunc(maps.Values(t.sessions), func(a, b *labSession) int {
		a.sort()
		b.sort()
		return cmp.Or(a.first().Compare(b.first()), cmp.Compare(a.name, b.name))
	})
	for _, s := range all {
		for _, other := range all {
			if other != s && other.owner == s.owner && s.parent == nil && other.parent != s && other.launches(s) {
				s.parent = other
				other.children = append(other.children, s)
			}
		}
	}
	for _, s := range all {
		if s.parent != nil {
			continue
		}
		var drafts []draft
		var streams []stream
		t.lay(s, s.first(), -1, 0, &drafts, &streams)
		link(drafts, streams)
		findHistories(drafts, streams)
		if err := t.add(s.name, s.part, s.line, drafts); err != nil {
			return err
		}
	}
	return nil
}

func (s *labSession) sort() {
	slices.SortStableFunc(s.rounds, func(a, b labRound) int { return a.sent.Compare(b.sent) })
}

func (s *labSession) first() time.Time { return s.rounds[0].sent }

// launches says that a session lies inside a call by which this one starts
// agents.
func (s *labSession) launches(child *labSession) bool {
	from, to := child.first(), child.rounds[len(child.rounds)-1].done
	var spawned, awaited time.Time
	for _, r := range s.rounds {
		for _, tool := range r.tools {
			switch tool.Name {
			case "Agent", "Task":
				if tool.Result.Sub(tool.Emitted) >= minAgentCall && !from.Before(tool.Emitted) && !to.After(tool.Result) {
					return true
				}
			case "spawn_agent":
				if spawned.IsZero() {
					spawned = tool.Emitted
				}
			case "wait_agent":
				awaited = tool.Result
			}
		}
	}
	return !spawned.IsZero() && awaited.Sub(spawned) >= minAgentCall && !from.Before(spawned) && !to.After(awaited)
}

// labBlock is the length of the blocks that are made of prefix lengths.
const labBlock = 64

// lay appends a session and those that it launched.
func (t *traceLab) lay(s *labSession, origin time.Time, parent, depth int, drafts *[]draft, streams *[]stream) {
	own := len(*streams)
	*streams = append(*streams, stream{name: s.name, parent: parent})
	var before []Block
	for _, r := range s.rounds {
		d := r.draft
		d.start, d.Took, d.Depth = r.sent.Sub(origin), r.done.Sub(r.sent), depth
		if depth > 0 {
			d.Agent = s.name
		}
		// Whole blocks of the round before as far as the prefix reaches, the rest
		// is new.
		d.prompt = slices.Clone(before[:min(r.prefix/labBlock, len(before))])
		for len(d.prompt) > 0 && d.prompt[len(d.prompt)-1].Tokens < labBlock {
			d.prompt = d.prompt[:len(d.prompt)-1] // a tail
		}
		for n := r.Prompt - tokensOf(d.prompt); n > 0; n -= labBlock {
			d.prompt = append(d.prompt, Block{t.mint(), min(n, labBlock)})
		}
		before = d.prompt
		(*streams)[own].drafts = append((*streams)[own].drafts, len(*drafts))
		*drafts = append(*drafts, d)
	}
	for _, child := range s.children {
		t.lay(child, origin, own, depth+1, drafts, streams)
	}
}
