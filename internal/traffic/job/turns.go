package job

import (
	"encoding/json"
	"errors"
	"fmt"

	"redline/internal/text"
)

// assumedOutput is the length of a reply where a file says none.
const assumedOutput = 128

// grouped gathers the rows of each session, in the order of their first rows.
type grouped struct {
	*reading
	order []string
	rows  map[string]*group
}

// group is the rows of one session.
type group struct {
	part   string
	line   int
	drafts []draft
	// parent names the session that launched it, where a file says so.
	parent string
}

func newGrouped(in *reading) grouped { return grouped{reading: in, rows: map[string]*group{}} }

// group gives the session of a name.
func (g *grouped) group(name string, line int) *group {
	if g.rows[name] == nil {
		g.order = append(g.order, name)
		g.rows[name] = &group{part: g.part, line: line}
	}
	return g.rows[name]
}

// end takes each session as a job.
func (g *grouped) end() error {
	for _, name := range g.order {
		rows := g.rows[name]
		if err := g.add(name, rows.part, rows.line, rows.drafts); err != nil {
			return err
		}
	}
	return nil
}

// follow appends a request that waits for the one before it, and whose prompt
// is that one's, its reply, and what is new.
func (s *group) follow(d draft, reply Block, added []Block) {
	d.from = -1
	if n := len(s.drafts); n > 0 {
		before := &s.drafts[n-1]
		d.after, d.from = []int{n - 1}, n-1
		d.Keep = before.length()
		d.Blocks = append(d.Blocks, reply)
		d.Prompt = before.Prompt + reply.Tokens
	}
	d.Blocks = append(d.Blocks, added...)
	d.Prompt += tokensOf(added)
	s.drafts = append(s.drafts, d)
}

// live appends a turn behind a history that grows with what the server says.
func (s *group) live(in *reading, d draft, added []Block) {
	var reply Block
	if n := len(s.drafts); n > 0 {
		reply = Block{s.drafts[n-1].Reply, s.drafts[n-1].Output}
	}
	d.Reply = in.mint()
	s.follow(d, reply, added)
}

// message is one of a chat, as far as it is looked at.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   json.RawMessage `json:"tool_calls"`
}

// messageBlocks gives a block for each message.
func (in *reading) messageBlocks(messages []message) (blocks []Block) {
	for _, m := range messages {
		var content string
		if json.Unmarshal(m.Content, &content) != nil {
			content = string(m.Content) // parts
		}
		blocks = append(blocks, in.textBlock(m.Role, content+string(m.Calls)))
	}
	return blocks
}

// output is the length of a reply that a row asks for.
func (in *reading) output(n *int) int {
	if n == nil {
		in.assumed[fmt.Sprintf("replies assumed to have %d tokens, since the file does not say", assumedOutput)]++
		return assumedOutput
	}
	return *n
}

// multiTurn reads AIPerf's multi_turn files: a session a line.
type multiTurn struct{ grouped }

func newMultiTurn(in *reading) reader { return &multiTurn{newGrouped(in)} }

func (m *multiTurn) read(value json.RawMessage, line int) error {
	var name string
	var turns []json.RawMessage
	if err := m.decode(value, fields{"session_id": &name, "turns": &turns}); err != nil {
		return err
	}
	if name == "" {
		name = fmt.Sprintf("line %d", line)
	}
	s := m.group(name, line)
	for k, turn := range turns {
		where := fmt.Sprintf("turns[%d]", k)
		var one string
		var several []json.RawMessage
		var output *int
		var delay float64
		d := draft{where: where}
		if err := m.decode(turn, fields{"text": &one, "texts": &several, "output_length": &output, "delay": &delay, "model": &d.Model}); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		var added []Block
		if one != "" {
			added = append(added, m.textBlock("user", one))
		}
		for _, raw := range several {
			added = append(added, m.textBlock("user", string(raw)))
		}
		d.Pause, d.Output = milliseconds(delay), m.output(output)
		s.live(m.reading, d, added)
	}
	return nil
}

// mooncake reads rows of Mooncake with the names of sessions: block ids are of
// the whole prompt, lengths without ids and text are behind the history.
type mooncake struct {
	grouped
	times map[string]float64 // of each session's last row
}

func newMooncake(in *reading) reader { return &mooncake{newGrouped(in), map[string]float64{}} }

func (m *mooncake) read(value json.RawMessage, line int) error {
	const size = 512
	var name, words string
	var ids []uint64
	var messages []message
	var length, output *int
	var delay, at *float64
	d := draft{where: fmt.Sprintf("line %d", line), from: -1}
	if err := m.decode(value, fields{"session_id": &name, "input_length": &length, "hash_ids": &ids, "text_input": &words, "messages": &messages,
		"output_length": &output, "timestamp": &at, "delay": &delay, "model": &d.Model}); err != nil {
		return err
	}
	if name == "" {
		return errors.New("has no session_id, expected one in every row")
	}
	s := m.group(name, line)
	d.Output = m.output(output)
	switch before, later := m.times[name]; {
	case at != nil && *at < 0:
		return fmt.Errorf("timestamp is %v; must be 0 or more ms", *at)
	case delay != nil:
		d.Pause = milliseconds(*delay)
	case at != nil && later:
		if d.Pause = milliseconds(*at - before); d.Pause < 0 {
			return fmt.Errorf("goes back in time by %v within its session; expected rows in order", -d.Pause)
		}
	}
	if at != nil {
		m.times[name] = *at
	}
	switch {
	case length != nil && (*length < 0 || *length > maxTokens):
		return fmt.Errorf("input_length is %d; must be 0 to %s tokens", *length, text.Count(maxTokens))
	case len(s.drafts) > 0 && (s.drafts[len(s.drafts)-1].prompt != nil) != (ids != nil):
		return errors.New("expected hash_ids in all rows of a session, or in none")
	case length != nil && ids != nil:
		d.Prompt = *length
		var err error
		if d.prompt, err = m.blocksOf(ids, size, *length); err != nil {
			return err
		}
		if n := len(s.drafts); n > 0 {
			d.after, d.from = []int{n - 1}, n-1
		}
		s.drafts = append(s.drafts, d)
	case length != nil:
		s.live(m.reading, d, []Block{{m.mint(), *length}})
	case words != "":
		s.live(m.reading, d, []Block{m.textBlock("user", words)})
	case messages != nil:
		s.live(m.reading, d, m.messageBlocks(messages))
	default:
		return errors.New("has no prompt, expected input_length, text_input or messages")
	}
	return nil
}

// bailian reads chains of chats: each names the one that it follows.
type bailian struct {
	*reading
	rows  []chat
	index map[int64]int
}

// chat is a row of a chain.
type chat struct {
	draft
	id, parent int64
	at         float64
	part       string
	line       int
}

func newBailian(in *reading) reader { return &bailian{reading: in, index: map[int64]int{}} }

func (b *bailian) read(value json.RawMessage, line int) error {
	const size = 16
	var ids []uint64
	var turn json.RawMessage
	c := chat{draft: draft{where: fmt.Sprintf("line %d", line), from: -1}, parent: -1, part: b.part, line: line}
	if err := b.decode(value, fields{"chat_id": &c.id, "parent_chat_id": &c.parent, "timestamp": &c.at, "input_length": &c.Prompt,
		"output_length": &c.Output, "hash_ids": &ids, "turn": &turn}); err != nil {
		return err
	}
	if c.at < 0 {
		return fmt.Errorf("timestamp is %v; must be 0 or more seconds", c.at)
	}
	if before, twice := b.index[c.id]; twice {
		return fmt.Errorf("has the chat_id %d of line %d, expected one of its own", c.id, b.rows[before].line)
	}
	var err error
	if c.prompt, err = b.blocksOf(ids, size, max(0, c.Prompt)); err != nil {
		return err
	}
	b.index[c.id] = len(b.rows)
	b.rows = append(b.rows, c)
	return nil
}

// end joins chats to the root of their chain.
func (b *bailian) end() error {
	chains := map[int][]int{}
	for i := range b.rows {
		root, err := b.root(i)
		if err != nil {
			return err
		}
		chains[root] = append(chains[root], i)
	}
	for root := range b.rows {
		if chains[root] == nil {
			continue
		}
		place := map[int]int{}
		var drafts []draft
		for _, i := range chains[root] {
			place[i] = len(drafts)
			drafts = append(drafts, b.rows[i].draft)
		}
		for n, i := range chains[root] {
			drafts[n].start = seconds(b.rows[i].at - b.rows[root].at)
			parent, ok := b.index[b.rows[i].parent]
			if !ok {
				continue
			}
			drafts[n].after, drafts[n].from = []int{place[parent]}, place[parent]
			if drafts[n].Pause = seconds(b.rows[i].at - b.rows[parent].at); drafts[n].Pause < 0 {
				return fault(b.rows[i].part, b.rows[i].line, "is earlier than the chat %d that it follows", b.rows[i].parent)
			}
		}
		r := &b.rows[root]
		if err := b.add(fmt.Sprintf("chat %d", r.id), r.part, r.line, drafts); err != nil {
			return err
		}
	}
	return nil
}

// root is the first chat of a chain.
func (b *bailian) root(i int) (int, error) {
	for steps := 0; b.rows[i].parent != -1; steps++ {
		parent, ok := b.index[b.rows[i].parent]
		switch r := &b.rows[i]; {
		case !ok:
			return 0, fault(r.part, r.line, "follows the chat %d, which is not in the file", r.parent)
		case steps > len(b.rows):
			return 0, fault(r.part, r.line, "follows itself, by way of others; expected chats that follow earlier ones")
		}
		i = parent
	}
	return i, nil
}

// mlperf reads MLPerf's agentic conversations: a message a line.
type mlperf struct {
	grouped
	open map[string]*exchange
}

// exchange is where a conversation is: its last turn, and the recorded reply.
type exchange struct {
	turn  int
	reply Block
}

func newMLPerf(in *reading) reader { return &mlperf{newGrouped(in), map[string]*exchange{}} }

func (m *mlperf) read(value json.RawMessage, line int) error {
	var name, role, content, system, reasoning string
	var turn int
	var tools, calls, results json.RawMessage
	var delay float64
	d := draft{where: fmt.Sprintf("line %d", line)}
	if err := m.decode(value, fields{"conversation_id": &name, "turn": &turn, "role": &role, "content": &content, "system": &system, "tools": &tools,
		"tool_calls": &calls, "tool_results": &results, "reasoning_content": &reasoning, "delay_seconds": &delay, "model": &d.Model}); err != nil {
		return err
	}
	s := m.group(name, line)
	x := m.open[name]
	if x == nil {
		x = &exchange{}
		m.open[name] = x
	}
	if x.turn++; turn != x.turn {
		return fmt.Errorf("is turn %d of %s, expected %d", turn, text.Quote(name), x.turn)
	}
	said := reasoning + content + string(calls) + string(results)
	switch role {
	case "assistant":
		x.reply = m.textBlock(role, said)
		if len(s.drafts) == 0 {
			return errors.New("is an assistant's turn before any request; expected a user's first")
		}
		s.drafts[len(s.drafts)-1].Output = x.reply.Tokens
		return nil
	case "user", "tool":
	default:
		return fmt.Errorf("role is %s, expected user, assistant or tool", text.Quote(role))
	}
	var added []Block
	if len(s.drafts) == 0 {
		for _, part := range []struct{ role, words string }{{"tools", string(tools)}, {"system", system}} {
			if part.words != "" {
				added = append(added, m.textBlock(part.role, part.words))
			}
		}
	}
	d.Pause = seconds(delay)
	reply := x.reply
	x.reply = Block{}
	s.follow(d, reply, append(added, m.textBlock(role, said)))
	return nil
}
