package workload

import (
	"cmp"
	"strconv"
	"time"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/traffic/cancel"
	"redline/internal/traffic/structured"
)

// Session gives the i-th session: always the same for one seed and salt. It
// is over at once where a file has no more.
func (w *Workload) Session(i int) llm.Session {
	s := session{workload: w, index: i}
	if w.Branches() && s.begin() && s.script.job != nil {
		return newTree(s)
	}
	return &s
}

// session is a conversation whose text is written in Next.
type session struct {
	workload *Workload
	index    int
	class    *class
	tenant   tenant
	script   *script // nil before the first turn
	turn     int
	done     bool
	history  []llm.Message
	tokens   int // of history
	// illustrated is the message of the history that images go with.
	illustrated int
}

// Next gives the next turn, or nil when the conversation is over: all is said,
// a request failed or was answered by nothing, or the context would be full.
func (s *session) Next(prev *llm.Reply) *llm.Turn {
	if s.done = s.done || !s.ready(prev); s.done {
		return nil
	}
	next := s.script.steps[s.turn]
	s.say(next)
	s.turn++
	if s.workload.options.Pooling {
		s.done = true
		return &llm.Turn{Request: s.workload.poolingRequest(s.class, s.request(next), s.index)}
	}
	if s.turn == 1 {
		s.illustrated = lastUser(s.history)
	}
	turn := &llm.Turn{Request: s.request(next), Think: next.pauseAfter(prev), KeepReply: s.turn < len(s.script.steps), Of: s.length()}
	if first := s.script.steps[0].segments; len(first) > 0 && first[0].stream == prefixStream {
		turn.Prefix, turn.PrefixTokens = int(first[0].key)+1, first[0].tokens
	}
	return s.illustrate(turn)
}

// length is how many turns a conversation has where all goes well, 0 of a single
// request and where the context may be full before.
func (s *session) length() int {
	tokens := 0
	for _, next := range s.script.steps {
		tokens = next.promptAfter(tokens) + next.output
		if s.class.maxContext > 0 && tokens > s.class.maxContext {
			return 0
		}
	}
	if len(s.script.steps) == 1 && !s.class.named {
		return 0
	}
	return len(s.script.steps)
}

// ready takes in how the turn before went and says whether there is another.
func (s *session) ready(prev *llm.Reply) bool {
	if s.turn == 0 {
		return s.script != nil || s.begin()
	}
	if s.turn >= len(s.script.steps) || prev == nil || prev.Outcome != llm.OK {
		return false
	}
	next := s.script.steps[s.turn]
	if !next.whole && prev.Text == "" && prev.Calls == nil {
		return false
	}
	if !next.whole {
		said := llm.Message{Role: "assistant", Content: prev.Text, Parts: prev.Calls}
		s.history = append(s.history, said)
		s.tokens += count(s.workload.text, &said)
	}
	return s.class.maxContext == 0 || next.promptAfter(s.tokens)+next.output <= s.class.maxContext
}

// pauseAfter is the time from the end of the reply before to this turn.
func (s step) pauseAfter(prev *llm.Reply) time.Duration {
	if !s.paced || prev == nil {
		return s.think
	}
	return max(0, s.think-time.Duration(prev.End-prev.Due))
}

// promptAfter is the length of the prompt behind a history of so many tokens.
func (s step) promptAfter(tokens int) int {
	if s.whole {
		return s.tokens
	}
	return tokens + s.tokens
}

// begin opens the script.
func (s *session) begin() bool {
	s.class = s.workload.classOf(s.index)
	script, err := s.class.script(s.index)
	if err != nil {
		s.workload.fail(err)
	}
	if err != nil || script == nil {
		return false
	}
	s.script = script
	s.tenant = s.workload.tenantOf(s.index, script.tenant)
	return true
}

// say adds a turn's messages to the history. The last turn's list is not
// written to again, because a request may still be looked at.
func (s *session) say(next step) {
	s.tokens = next.promptAfter(s.tokens)
	if next.whole {
		s.history = next.messages
		return
	}
	messages := next.messages
	if messages == nil {
		messages = []llm.Message{{Role: "user", Content: s.workload.write(s.class, next.segments)}}
	}
	messages = s.results(messages)
	s.history = append(s.history[:len(s.history):len(s.history)], messages...)
}

// results makes of what follows calls what the first of the tools gave back:
// APIs want a result for each.
func (s *session) results(messages []llm.Message) []llm.Message {
	if len(s.history) == 0 || s.history[len(s.history)-1].Parts == nil {
		return messages
	}
	text := messages[0].Content
	result := llm.Message{Role: "tool"}
	for _, call := range s.history[len(s.history)-1].Parts {
		result.Parts = append(result.Parts, llm.Part{Kind: llm.ToolResult, Call: call.Call, Name: call.Name, Text: text})
		text = ""
	}
	return append([]llm.Message{result}, messages[1:]...)
}

func (s *session) request(next step) *llm.Request {
	o := s.workload.options
	r := &llm.Request{
		Model:        o.Model,
		Messages:     s.history,
		MaxTokens:    next.output,
		Stream:       o.Stream,
		Sampling:     mergeSampling(s.class.sampling, next.sampling),
		PromptTokens: s.tokens,
		Class:        s.class.name,
		Tenant:       s.tenant.name,
		Natural:      s.class.natural || next.tools != nil || next.format != nil, // a call or a document ends by itself
		Tools:        next.tools,
		Format:       next.format,
		Tokenize:     s.workload.tokenize,
		Check:        structured.Checker(next.tools, next.format),
	}
	if s.script.class != "" && r.Class == "" {
		r.Class = s.script.class
	}
	adds := next.adds.Over(s.tenant.adds).Over(llm.Additions{Adapter: next.adapter}).Over(s.class.adds).Over(o.Adds)
	adds.Apply(r)
	r.Cancel = cancel.Draw(stats.Rand(s.workload.seed, "cancel", uint64(s.index)<<20|uint64(s.turn)), adds, r.MaxTokens)
	if r.Session = s.name(); r.Session != "" && s.class.header != "" {
		r.Headers = append(r.Headers, [2]string{s.class.header, r.Session})
	}
	return r
}

// mergeSampling is what the plan says, else the row.
func mergeSampling(plan, row llm.Sampling) llm.Sampling {
	plan.Temperature, plan.TopP, plan.Seed = cmp.Or(plan.Temperature, row.Temperature), cmp.Or(plan.TopP, row.TopP), cmp.Or(plan.Seed, row.Seed)
	if len(plan.Stop) == 0 {
		plan.Stop = row.Stop
	}
	return plan
}

// name is the session's, with the salt in it, so that a router does not take
// it for one of another run.
func (s *session) name() string {
	name := s.script.session
	if name == "" && s.class.named {
		name = "s" + strconv.Itoa(s.index)
	}
	if name == "" || s.workload.salt == "" {
		return name
	}
	return s.workload.salt + "-" + name
}
