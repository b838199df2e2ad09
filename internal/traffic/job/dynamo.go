package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"redline/internal/text"
)

// dynamo reads request traces of a Dynamo front end: an event a line. Tool events
// repeat what lies between the requests.
type dynamo struct{ grouped }

func newDynamo(in *reading) reader { return &dynamo{newGrouped(in)} }

func (y *dynamo) read(value json.RawMessage, line int) error {
	var kind string
	var context, request, ignored json.RawMessage
	if err := y.decode(value, fields{"event_type": &kind, "agent_context": &context, "request": &request, "event_time_unix_ms": &ignored,
		"tool": &ignored, "schema": &ignored}); err != nil {
		return err
	}
	if kind != "request_end" {
		y.assumed["events left out because they are no ends of requests, "+text.Brief(kind)]++
		return nil
	}
	var session, parent, trajectory, parentTrajectory string
	if err := y.decode(context, fields{"session_id": &session, "parent_session_id": &parent, "trajectory_id": &trajectory,
		"parent_trajectory_id": &parentTrajectory}); err != nil {
		return fmt.Errorf("agent_context: %w", err)
	}
	if trajectory != "" {
		session, parent = trajectory, parentTrajectory
	}
	if session == "" {
		return errors.New("agent_context has neither session_id nor trajectory_id")
	}
	d := draft{where: fmt.Sprintf("line %d", line), from: -1}
	var received, took float64
	var replay json.RawMessage
	if err := y.decode(request, fields{"request_id": &ignored, "model": &d.Model, "input_tokens": &d.Prompt, "output_tokens": &d.Output,
		"request_received_ms": &received, "total_time_ms": &took, "replay": &replay}); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if err := checkTokens("prompt", d.Prompt); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	if received < 0 {
		return fmt.Errorf("request_received_ms is %v; must be 0 or more", received)
	}
	d.start, d.Took = milliseconds(received), milliseconds(took)
	if err := y.blocks(&d, replay); err != nil {
		return err
	}
	s := y.group(session, line)
	s.parent = parent
	s.drafts = append(s.drafts, d)
	return nil
}

// blocks takes the hashes of a prompt, which stand for all that comes before
// them, too.
func (y *dynamo) blocks(d *draft, replay json.RawMessage) error {
	var size, length int
	var hashes []uint64
	if replay != nil {
		if err := y.decode(replay, fields{"trace_block_size": &size, "input_length": &length, "input_sequence_hashes": &hashes}); err != nil {
			return fmt.Errorf("request.replay: %w", err)
		}
		if err := checkTokens("prompt", length); err != nil {
			return fmt.Errorf("request.replay: %w", err)
		}
		if length > 0 {
			d.Prompt = length
		}
	}
	if hashes == nil {
		y.assumed["prompts without hashes of blocks, taken to share nothing"]++
		d.prompt = []Block{{y.mint(), max(0, d.Prompt)}}
		return nil
	}
	var err error
	d.prompt, err = y.blocksOf(hashes, size, max(0, d.Prompt))
	return err
}

// end joins sessions to those that launched them.
func (y *dynamo) end() error {
	jobs := map[string][]string{}
	for _, name := range y.order {
		root := name
		for steps := 0; y.rows[root].parent != ""; steps++ {
			s := y.rows[root]
			if y.rows[s.parent] == nil {
				return fault(s.part, s.line, "the parent session %s is not in the file", text.Quote(s.parent))
			}
			if steps > len(y.order) {
				return fault(s.part, s.line, "session %s is its own parent, by way of others", text.Quote(root))
			}
			root = s.parent
		}
		jobs[root] = append(jobs[root], name)
	}
	for _, root := range y.order {
		if jobs[root] == nil {
			continue
		}
		drafts, streams := y.streams(root, jobs[root])
		link(drafts, streams)
		findHistories(drafts, streams)
		if err := y.add(root, y.rows[root].part, y.rows[root].line, drafts); err != nil {
			return err
		}
	}
	return nil
}

// streams gives the requests of a job's sessions, with times from the first.
func (y *dynamo) streams(root string, names []string) (drafts []draft, streams []stream) {
	place := map[string]int{"": -1}
	for i, name := range names {
		place[name] = i
	}
	origin := time.Duration(1 << 62)
	for _, name := range names {
		s := y.rows[name]
		slices.SortStableFunc(s.drafts, func(a, b draft) int { return int(max(-1, min(1, a.start-b.start))) })
		origin = min(origin, s.drafts[0].start)
		depth := 0
		for up := s; up.parent != ""; up = y.rows[up.parent] {
			depth++
		}
		own := stream{name: name, parent: place[s.parent]}
		for _, d := range s.drafts {
			if d.Depth = depth; depth > 0 {
				d.Agent = name
			}
			own.drafts = append(own.drafts, len(drafts))
			drafts = append(drafts, d)
		}
		streams = append(streams, own)
	}
	for i := range drafts {
		drafts[i].start -= origin
	}
	return drafts, streams
}
