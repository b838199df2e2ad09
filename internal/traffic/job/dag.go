package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"redline/internal/text"
)

// dag reads AIPerf's dag_jsonl: a session a line, which names others that it
// forks or spawns. A session that no other names is a job.
type dag struct {
	*reading
	sessions map[string]*dagSession
	order    []string
	children map[string]bool
}

// dagSession is one line.
type dagSession struct {
	name, part   string
	line         int
	turns        []dagTurn
	alone        bool // each turn is sent without those before it
	orchestrator bool
	think        float64 // ms before each turn or round but the first
	rounds       []dagRound
	before       []string // children that start with the session
}

// dagTurn is one request of a session.
type dagTurn struct {
	blocks []Block
	model  string
	output int
	delay  float64 // ms
	forks  []dagFork
	spawns []dagSpawn
}

// dagRound is what an orchestrator starts at once.
type dagRound struct {
	Spawns []string `json:"spawns"`
	Think  float64  `json:"think_time_ms"`
}

// dagFork is "a", or {"child":"a","background":true}.
type dagFork struct {
	Child      string `json:"child"`
	Background bool   `json:"background"`
}

func (f *dagFork) UnmarshalJSON(raw []byte) error {
	type plain dagFork
	if json.Unmarshal(raw, &f.Child) == nil {
		return nil
	}
	return json.Unmarshal(raw, (*plain)(f))
}

// dagSpawn is "a", or {"children":["a","b"],"join_at":2}.
type dagSpawn struct {
	Children []string `json:"children"`
	JoinAt   *int     `json:"join_at"`
}

func (s *dagSpawn) UnmarshalJSON(raw []byte) error {
	type plain dagSpawn
	var one string
	if json.Unmarshal(raw, &one) == nil {
		s.Children = []string{one}
		return nil
	}
	return json.Unmarshal(raw, (*plain)(s))
}

func newDAG(in *reading) reader {
	return &dag{reading: in, sessions: map[string]*dagSession{}, children: map[string]bool{}}
}

func (g *dag) read(value json.RawMessage, line int) error {
	s := &dagSession{part: g.part, line: line}
	var turns []json.RawMessage
	var rounds, mode json.RawMessage
	var spawns []string
	var sigma, least, most *float64
	if err := decodeStrictly(value, fields{"session_id": &s.name, "turns": &turns, "orchestrator": &s.orchestrator, "spawns": &spawns,
		"rounds": &rounds, "think_time_ms": &s.think, "think_time_sigma": &sigma, "think_time_min_ms": &least, "think_time_max_ms": &most,
		"context_mode": &mode, "pre_session_spawns": &s.before}); err != nil {
		return err
	}
	if sigma != nil || least != nil || most != nil {
		g.unused["think_time_sigma, _min_ms, _max_ms"]++
	}
	switch {
	case s.name == "":
		return errors.New("has no session_id")
	case g.sessions[s.name] != nil:
		return fmt.Errorf("has the session_id %s of line %d, expected one of its own", text.Quote(s.name), g.sessions[s.name].line)
	case s.orchestrator && len(turns) > 0:
		return errors.New("is an orchestrator with turns, expected spawns and rounds alone")
	}
	if err := s.readRounds(rounds, spawns); err != nil {
		return err
	}
	switch string(mode) {
	case "", `"deltas_without_responses"`:
	case `"message_array_with_responses"`:
		s.alone = true
	default:
		return fmt.Errorf("context_mode is %s, expected deltas_without_responses or message_array_with_responses", text.Brief(string(mode)))
	}
	for k, raw := range turns {
		turn, err := g.turn(raw)
		if err == nil {
			err = turn.check(k, len(turns))
		}
		if err != nil {
			return fmt.Errorf("turns[%d]: %w", k, err)
		}
		s.turns = append(s.turns, turn)
	}
	g.sessions[s.name] = s
	g.order = append(g.order, s.name)
	for _, child := range s.nodeNames() {
		g.children[child] = true
	}
	return nil
}

// readRounds reads a number of equal rounds, or a list of them.
func (s *dagSession) readRounds(rounds json.RawMessage, spawns []string) error {
	const limit = 100_000
	n := 1
	switch {
	case rounds == nil:
	case json.Unmarshal(rounds, &s.rounds) == nil:
		return nil
	case json.Unmarshal(rounds, &n) != nil || n < 1 || n > limit:
		return fmt.Errorf("rounds is %s, expected a number or a list of {spawns, think_time_ms}", text.Brief(string(rounds)))
	}
	if spawns != nil {
		s.rounds = slices.Repeat([]dagRound{{Spawns: spawns, Think: s.think}}, n)
	}
	return nil
}

func (g *dag) turn(raw json.RawMessage) (turn dagTurn, err error) {
	var messages []message
	var output *int
	var tools, extra json.RawMessage
	if err := decodeStrictly(raw, fields{"messages": &messages, "model": &turn.model, "max_tokens": &output, "tools": &tools, "extra": &extra,
		"delay": &turn.delay, "forks": &turn.forks, "spawns": &turn.spawns}); err != nil {
		return turn, err
	}
	if extra != nil {
		g.unused["extra"]++
	}
	if tools != nil {
		turn.blocks = append(turn.blocks, g.textBlock("tools", string(tools)))
	}
	turn.blocks = append(turn.blocks, g.messageBlocks(messages)...)
	turn.output = g.output(output)
	return turn, nil
}

// check refuses joins and forks that a session cannot have.
func (t *dagTurn) check(k, turns int) error {
	for _, spawn := range t.spawns {
		if at := spawn.JoinAt; at != nil && (*at <= k || *at > turns) {
			return fmt.Errorf("join_at is %d, expected a later turn, %d at most", *at, turns-1)
		}
	}
	for _, fork := range t.forks {
		if !fork.Background && k+1 < turns {
			return fmt.Errorf("forks %s, which ends the session, but has turns behind it; expected it in the last turn, or in the background", text.Quote(fork.Child))
		}
	}
	return nil
}

// nodeNames gives the sessions that a session names.
func (s *dagSession) nodeNames() (names []string) {
	names = slices.Clone(s.before)
	for _, r := range s.rounds {
		names = append(names, r.Spawns...)
	}
	for _, t := range s.turns {
		for _, f := range t.forks {
			names = append(names, f.Child)
		}
		for _, spawn := range t.spawns {
			names = append(names, spawn.Children...)
		}
	}
	return names
}

// end makes a job of each session that no other names.
func (g *dag) end() error {
	for _, name := range g.order {
		if g.children[name] {
			continue
		}
		s := g.sessions[name]
		e := expansion{dag: g, root: name, active: map[string]bool{}}
		if _, err := e.session(s, nil, -1, 0); err != nil {
			return err
		}
		if err := g.add(name, s.part, s.line, e.drafts); err != nil {
			return err
		}
	}
	// Sessions that only name each other are part of no job.
	covered := map[string]bool{}
	var cover func(name string)
	cover = func(name string) {
		if s := g.sessions[name]; s != nil && !covered[name] {
			covered[name] = true
			for _, child := range s.nodeNames() {
				cover(child)
			}
		}
	}
	for _, name := range g.order {
		if !g.children[name] {
			cover(name)
		}
	}
	for _, name := range g.order {
		if s := g.sessions[name]; !covered[name] {
			return fault(s.part, s.line, "session %s is started by itself, by way of others; expected one that nothing starts", text.Quote(name))
		}
	}
	return nil
}

// maxRequests bounds one job: sessions that name others twice double it with
// every level.
const maxRequests = 100_000

// expansion makes the drafts of one job.
type expansion struct {
	*dag
	root   string
	drafts []draft
	active map[string]bool // sessions around the one that is being made
}

// session makes the requests of a session that begins after others, and gives
// the last of them: those that nothing in it waits for. from is the request whose
// history it inherits, -1 for none.
func (e *expansion) session(s *dagSession, after []int, from, depth int) (leaves []int, err error) {
	if e.active[s.name] {
		return nil, fault(s.part, s.line, "session %s is started by itself, by way of others; expected sessions that start later ones", text.Quote(s.name))
	}
	e.active[s.name] = true
	defer delete(e.active, s.name)
	early, err := e.start(s, s.before, after, -1, depth+1)
	if err != nil {
		return nil, err
	}
	leaves = after
	for k, round := range s.rounds {
		if leaves, err = e.round(s, round, leaves, k > 0, depth); err != nil {
			return nil, err
		}
	}
	waits := map[int][]int{} // by the turn that waits
	last := -1
	for k := range s.turns {
		turn := &s.turns[k]
		last = e.request(s, k, append(slices.Clone(leaves), waits[k]...), from, depth)
		if len(e.drafts) > maxRequests {
			return nil, fault(s.part, s.line, "makes a job of more than %s requests", text.Count(maxRequests))
		}
		leaves, from = []int{last}, last
		for _, spawn := range turn.spawns {
			ends, err := e.start(s, spawn.Children, []int{last}, -1, depth+1)
			if err != nil {
				return nil, err
			}
			at := k + 1
			if spawn.JoinAt != nil {
				at = *spawn.JoinAt
			}
			waits[at] = append(waits[at], ends...)
		}
		for _, fork := range turn.forks {
			ends, err := e.start(s, []string{fork.Child}, []int{last}, last, depth)
			if err != nil {
				return nil, err
			}
			early = append(early, ends...)
		}
	}
	return slices.Concat(leaves, waits[len(s.turns)], early), nil
}

// start makes the sessions that one names, and gives the last of their requests.
func (e *expansion) start(s *dagSession, names []string, after []int, from, depth int) (leaves []int, err error) {
	for _, name := range names {
		child := e.sessions[name]
		if child == nil {
			return nil, fault(s.part, s.line, "names the session %s, which is not in the file: %s", text.Quote(name), text.HintWithKnown(name, e.order))
		}
		ends, err := e.session(child, after, from, depth)
		if err != nil {
			return nil, err
		}
		leaves = append(leaves, ends...)
	}
	slices.Sort(leaves)
	return slices.Compact(leaves), nil // a session without turns ends with what it waits for
}

// round makes what an orchestrator starts at once, behind a pause.
func (e *expansion) round(s *dagSession, r dagRound, after []int, pause bool, depth int) ([]int, error) {
	first := len(e.drafts)
	leaves, err := e.start(s, r.Spawns, after, -1, depth+1)
	if err != nil || !pause {
		return leaves, err
	}
	for i := first; i < len(e.drafts); i++ {
		if slices.Equal(e.drafts[i].after, after) {
			e.drafts[i].Pause += milliseconds(r.Think)
		}
	}
	return leaves, nil
}

// request makes one turn.
func (e *expansion) request(s *dagSession, k int, after []int, from, depth int) int {
	turn := &s.turns[k]
	d := draft{where: fmt.Sprintf("session %s turns[%d]", s.name, k), after: after, from: -1}
	d.Model, d.Output, d.Depth, d.Reply = turn.model, turn.output, depth, e.mint()
	if s.name != e.root {
		d.Agent = s.name
	}
	if d.Pause = milliseconds(turn.delay); turn.delay == 0 && k > 0 {
		d.Pause = milliseconds(s.think)
	}
	if from >= 0 && !s.alone {
		before := &e.drafts[from]
		d.from, d.Keep = from, before.length()
		d.Prompt = before.Prompt + before.Output
		d.Blocks = []Block{{before.Reply, before.Output}}
	}
	d.Blocks = append(d.Blocks, turn.blocks...)
	d.Prompt += tokensOf(turn.blocks)
	e.drafts = append(e.drafts, d)
	return len(e.drafts) - 1
}
