package job

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"redline/internal/text"
)

// satf reads Dynamo's exchange format: graphs of requests and tools.
type satf struct{ *reading }

func newSATF(in *reading) reader { return satf{in} }

func (x satf) end() error { return nil }

func (x satf) read(value json.RawMessage, line int) error {
	var kind, version, base string
	var size int
	var sessions []json.RawMessage
	var ignored json.RawMessage
	if err := x.decode(value, fields{"format": &kind, "format_version": &version, "time_base": &base, "block_size_tokens": &size,
		"producer": &ignored, "sessions": &sessions}); err != nil {
		return err
	}
	if base != "us" && base != "" {
		return fmt.Errorf("time_base is %s, expected us", text.Quote(base))
	}
	if size < 0 {
		return fmt.Errorf("block_size_tokens is %d; must be 0 or more", size)
	}
	for i, raw := range sessions {
		if err := x.session(raw, size, line); err != nil {
			return x.atLine(line, fmt.Errorf("sessions[%d]: %w", i, err))
		}
	}
	return nil
}

// satfNode is a request or a tool.
type satfNode struct {
	draft
	id, kind string
	edges    []satfEdge // from what it waits for
	state    int
	requests []int // drafts that end right before it, by way of tools
	at       int   // its draft
}

type satfEdge struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Delay float64 `json:"delay_after_predecessor_us"`
}

// satfGraph is one session.
type satfGraph struct {
	nodes  map[string]*satfNode
	order  []*satfNode
	drafts []draft
}

func (x satf) session(raw json.RawMessage, size, line int) error {
	var name string
	var rows []json.RawMessage
	var edges []satfEdge
	if err := x.decode(raw, fields{"session_id": &name, "nodes": &rows, "edges": &edges}); err != nil {
		return err
	}
	g := &satfGraph{nodes: map[string]*satfNode{}}
	for i, row := range rows {
		n, err := x.node(row, size)
		if err == nil && g.nodes[n.id] != nil {
			err = fmt.Errorf("has the id %s of another node", text.Quote(n.id))
		}
		if err != nil {
			return fmt.Errorf("nodes[%d]: %w", i, err)
		}
		g.nodes[n.id] = n
		g.order = append(g.order, n)
	}
	for i, e := range edges {
		if g.nodes[e.From] == nil || g.nodes[e.To] == nil {
			return fmt.Errorf("edges[%d]: %s to %s: expected two ids of nodes", i, text.Quote(e.From), text.Quote(e.To))
		}
		if e.Delay < 0 {
			return fmt.Errorf("edges[%d]: delay_after_predecessor_us is %v; must be 0 or more", i, e.Delay)
		}
		g.nodes[e.To].edges = append(g.nodes[e.To].edges, e)
	}
	for _, n := range g.order {
		if err := g.visit(n); err != nil {
			return err
		}
	}
	g.findHistories()
	return x.add(name, x.part, line, g.drafts)
}

// visit places a node behind all that it waits for, and makes a draft of it where
// it is a request.
func (g *satfGraph) visit(n *satfNode) error {
	const begun, done = 1, 2
	switch n.state {
	case done:
		return nil
	case begun:
		return fmt.Errorf("node %s waits for itself, by way of others", text.Quote(n.id))
	}
	n.state = begun
	for _, e := range n.edges {
		before := g.nodes[e.From]
		if err := g.visit(before); err != nil {
			return err
		}
		n.start = max(n.start, before.end()+durationOf(e.Delay, time.Microsecond))
		if before.kind == "llm_infer" {
			n.requests = append(n.requests, before.at)
		} else {
			n.requests = append(n.requests, before.requests...)
		}
	}
	slices.Sort(n.requests)
	n.requests = slices.Compact(n.requests)
	n.state = done
	if n.kind == "llm_infer" {
		n.at = len(g.drafts)
		n.after, n.from = n.requests, -1
		n.pauseBehind(g.drafts)
		g.drafts = append(g.drafts, n.draft)
	}
	return nil
}

// findHistories finds which of the requests that one waits for it continues for
// the longest.
func (g *satfGraph) findHistories() {
	for i := range g.drafts {
		d := &g.drafts[i]
		for _, before := range d.after {
			if d.from < 0 || common(g.drafts[before].prompt, d.prompt) > common(g.drafts[d.from].prompt, d.prompt) {
				d.from = before
			}
		}
	}
}

func (x satf) node(raw json.RawMessage, size int) (*satfNode, error) {
	n := &satfNode{}
	var took, delay float64
	var payload, ignored json.RawMessage
	if err := x.decode(raw, fields{"id": &n.id, "kind": &n.kind, "duration_us": &took, "min_start_delay_us": &delay, "payload": &payload,
		"performance_metrics": &ignored}); err != nil {
		return nil, err
	}
	n.where = "node " + n.id
	n.start, n.Took = durationOf(delay, time.Microsecond), durationOf(took, time.Microsecond)
	if took < 0 || delay < 0 {
		return nil, fmt.Errorf("has a negative time; must be 0 or more microseconds")
	}
	switch n.kind {
	case "tool_call", "tool_result":
		return n, nil
	case "llm_infer":
	default:
		return nil, fmt.Errorf("kind is %s, expected llm_infer, tool_call or tool_result", text.Quote(n.kind))
	}
	var parameters json.RawMessage
	var ids []uint64
	if err := x.decode(payload, fields{"input_tokens_total": &n.Prompt, "output_tokens": &n.Output, "kv_block_ids": &ids,
		"request_parameters": &parameters}); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if parameters != nil {
		if err := x.decode(parameters, fields{"model": &n.Model}); err != nil {
			return nil, fmt.Errorf("request_parameters: %w", err)
		}
	}
	var err error
	n.prompt, err = x.blocksOf(ids, max(size, 1), max(0, n.Prompt))
	return n, err
}
