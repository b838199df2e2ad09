package job

import (
	"encoding/json"
	"fmt"

	"redline/internal/stats"
)

// weka reads sessions of kv-cache-tester and of what has its schema: an object a
// session, with the requests of subagents inside it.
type weka struct{ *reading }

func newWeka(in *reading) reader { return weka{in} }

// wekaSession is what is known of a session while its requests are read.
type wekaSession struct {
	weka
	size    int
	salt    uint64 // of block ids
	drafts  []draft
	streams []stream
}

func (w weka) read(value json.RawMessage, line int) error {
	var name, scope string
	var requests []json.RawMessage
	var ignored json.RawMessage // repeats what the requests say
	s := wekaSession{weka: w}
	if err := w.decode(value, fields{"id": &name, "block_size": &s.size, "hash_id_scope": &scope, "requests": &requests,
		"models": &ignored, "totals": &ignored}); err != nil {
		return err
	}
	switch scope {
	case "", "local":
		s.salt = idOf(w.part, name, fmt.Sprint(line))
	case "global":
	default:
		return fmt.Errorf("hash_id_scope is %q, expected local or global", scope)
	}
	if err := s.stream("", -1, 0, 0, false, requests); err != nil {
		return err
	}
	link(s.drafts, s.streams)
	findHistories(s.drafts, s.streams)
	return w.add(name, w.part, line, s.drafts)
}

func (w weka) end() error { return nil }

// stream reads the requests of one agent, whose times are from origin.
func (s *wekaSession) stream(agent string, parent, depth int, origin float64, detached bool, rows []json.RawMessage) error {
	own := len(s.streams)
	s.streams = append(s.streams, stream{name: agent, parent: parent, detached: detached})
	for k, row := range rows {
		where := fmt.Sprintf("requests[%d]", k)
		if agent != "" {
			where = agent + " " + where
		}
		var kind struct{ Type string }
		if err := json.Unmarshal(row, &kind); err != nil {
			return fmt.Errorf("%s: expected an object with a type", where)
		}
		var err error
		switch kind.Type {
		case "n", "s":
			err = s.request(own, depth, origin, where, row)
		case "subagent":
			err = s.subagent(own, depth+1, origin, row)
		default:
			err = fmt.Errorf("type is %q, expected n, s or subagent", kind.Type)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

func (s *wekaSession) request(own, depth int, origin float64, where string, row json.RawMessage) error {
	d := draft{where: where, from: -1}
	var t, took float64
	var ids []uint64
	var ignored json.RawMessage
	d.Agent, d.Depth = s.streams[own].name, depth
	// The pause before a request is the time since the end of what it waits for;
	// think_time has it of the request before alone.
	if err := s.decode(row, fields{"t": &t, "type": &ignored, "model": &d.Model, "in": &d.Prompt, "out": &d.Output, "hash_ids": &ids,
		"api_time": &took, "think_time": &ignored}); err != nil {
		return err
	}
	switch {
	case t < 0:
		return fmt.Errorf("t is %v; must be 0 or more seconds", t)
	case d.Prompt < 0:
		return fmt.Errorf("has %d prompt tokens; must be 0 or more", d.Prompt)
	}
	d.start, d.Took = seconds(origin+t), seconds(took)
	if s.salt != 0 {
		for i := range ids {
			ids[i] = stats.Scramble(ids[i] ^ s.salt)
		}
	}
	if s.size > 0 && len(ids) > d.Prompt/s.size {
		return fmt.Errorf("has %d block ids, more than whole blocks of %d tokens in a prompt of %d", len(ids), s.size, d.Prompt)
	}
	var err error
	if d.prompt, err = s.blocksOf(ids, s.size, d.Prompt); err != nil {
		return err
	}
	s.streams[own].drafts = append(s.streams[own].drafts, len(s.drafts))
	s.drafts = append(s.drafts, d)
	return nil
}

func (s *wekaSession) subagent(parent, depth int, origin float64, row json.RawMessage) error {
	var t float64
	var name, kind, status string
	var requests []json.RawMessage
	var ignored json.RawMessage
	if err := s.decode(row, fields{"t": &t, "type": &ignored, "agent_id": &name, "subagent_type": &kind, "status": &status,
		"requests": &requests, "models": &ignored, "duration_ms": &ignored, "total_tokens": &ignored}); err != nil {
		return err
	}
	// Old files count from the subagent's launch, new ones from the session's.
	var first struct{ T float64 }
	if len(requests) > 0 && json.Unmarshal(requests[0], &first) == nil && first.T < t {
		origin += t
	}
	if kind != "" {
		name += " " + kind
	}
	return s.stream(name, parent, depth, origin, status == "async_launched", requests)
}
