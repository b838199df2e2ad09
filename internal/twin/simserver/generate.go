package simserver

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"redline/internal/drive/wire"
	"redline/internal/llm"
	"redline/internal/twin/faults"
	"redline/internal/twin/sim"
)

const (
	// bodyLimit bounds a request's body: a million tokens of text and more.
	bodyLimit = 64 << 20
	// completionsDefault is the output length of a completion that asks for
	// none, as in vLLM.
	completionsDefault = 16
	// chatDefault bounds the output of a chat that asks for no length. vLLM
	// fills the context there until the model stops by itself, which this
	// engine never does.
	chatDefault = 1024
)

// errGone says that nobody waits for the answer any more, or that the server is
// being closed.
var errGone = errors.New("sim: the client has gone")

// refusal is a request that is answered with an error status.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// generation is one answer in the making. It belongs to its handler's
// goroutine; only the flight is shared with the driver.
type generation struct {
	server  *Server
	driver  *driver
	dialect *wire.Dialect
	asked   *llm.Request
	reply   wire.Reply
	script  script
	flight  *flight
	trail   *trail
	fault   *faults.Effect // nil for none

	began      time.Time     // when the engine was asked
	reading    time.Duration // what it took to understand the request
	w          http.ResponseWriter
	flush      func() error
	clientGone <-chan struct{}
	buf        []byte

	direct *direct // nil where events go through net/http
	opened bool    // the opening events are written
	deaf   bool    // a client that leaves is not noticed
	others *string // what the request before it asked
}

func (s *Server) serveGeneration(w http.ResponseWriter, r *http.Request, spoken []*wire.Dialect) {
	s.active.Add(1)
	defer s.active.Add(-1)
	m := s.faults.Effect(s.arrived.Add(1))
	err := s.checkQuota(w)
	if err == nil {
		err = s.inject(m, w, r)
	}
	var g *generation
	if err == nil {
		g, err = s.admit(w, r, spoken)
	}
	if err == nil {
		if m != nil {
			g.flight.job.Leaks, g.deaf = m.Leak, m.Deaf
		}
		if m != nil && !m.SparesReply() {
			g.fault = m
		}
		err = g.run()
	}
	if errors.Is(err, errGone) {
		// To return would end the reply in order, as if it were whole: a server
		// that is being closed must not say so.
		panic(http.ErrAbortHandler)
	}
	var refused *refusal
	if errors.As(err, &refused) {
		d := spoken[len(spoken)-1]
		if g != nil {
			d = g.dialect
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refused.status)
		w.Write(d.EncodeError(nil, refused.status, refused.message))
	}
}

// admit reads the request and prepares its answer.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, spoken []*wire.Dialect) (*generation, error) {
	body, err := readBody(w, r)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "the body could not be read: " + err.Error()}
	}
	arrived := time.Now()
	body, shown := setAside(body)
	u, err := understand(spoken, r.URL.Path, body)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	d, asked := u.dialect, u.asked
	if err := s.checkCarried(asked); err != nil {
		return nil, err
	}
	prompt, images, err := s.encode(asked, shown)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	output, finish, err := s.outputLength(d, asked.MaxTokens, len(prompt))
	if err != nil {
		return nil, err
	}
	id, others := s.serial.Add(1), s.latest.Swap(lastText(asked.Messages))
	asked.ID = r.Header.Get("X-Request-Id")
	if asked.ID == "" {
		asked.ID = "sim-" + strconv.FormatUint(id, 10)
	}
	answer := s.compose(d, asked, prompt, output)
	if text, known := s.book.answer(asked.Messages, s.active.Load()-1); known {
		answer = s.reciteReply(asked, text, output)
		answer.perChunk = s.spec.TokensPerChunk
	}
	if len(answer.ids) < output {
		output, finish = len(answer.ids), "stop"
	}
	g := &generation{
		server: s, driver: s.drivers[s.turn.Add(1)%uint64(len(s.drivers))], dialect: d, asked: asked, script: answer,
		flight: &flight{job: sim.Job{ID: id, Prompt: prompt, Output: output, Reply: answer.ids, Images: images, Adapter: asked.Adapter, Grammar: grammarOf(asked), Session: sessionOf(r.Header)}, reason: finish},
		others: others,
		w:      w, flush: http.NewResponseController(w).Flush, clientGone: r.Context().Done(),
	}
	if salt := cacheSalt(body); salt != "" {
		// Blocks of another salt are never found in the prefix cache, as in vLLM.
		g.flight.job.Prompt = slices.Clone(prompt)
		g.flight.job.Prompt[0] ^= int32(crc32.ChecksumIEEE([]byte(salt)))
	}
	if asked.Priority != nil {
		g.flight.job.Priority = *asked.Priority
	}
	if g.script.tool && asked.Tools == nil {
		finish = "stop" // the call is whole, whatever its length
	}
	g.reply = wire.Reply{
		ID: asked.ID, Model: s.spec.ServedModelName, Created: time.Now().Unix(), Finish: finish,
		IncludeUsage: u.options.IncludeUsage, ContinuousUsage: u.options.ContinuousUsage, Tools: g.script.tool,
		Usage: llm.Usage{PromptTokens: len(prompt)}, Options: u.options, IncludeMetrics: u.options.IncludeMetrics,
	}
	for _, i := range images {
		g.reply.Usage.VisionTokens += i.Tokens
	}
	if d.PoolsReplies() {
		g.reply.Items = d.Items(asked)
	}
	g.trail = s.truth.begin(asked.ID, r.RemoteAddr, arrived, output)
	g.direct = s.newDirect(r)
	g.reading = time.Since(arrived)
	return g, nil
}

// encode gives the tokens of the texts of tools and messages, and of images in
// their places; there is no chat template around them.
func (s *Server) encode(r *llm.Request, shown attachments) (ids []int32, images []sim.Image, err error) {
	ids = slices.Clone(r.PromptIDs)
	for text := range r.Tools.Texts {
		ids = s.vocab.Encode(ids, text)
	}
	for i := range r.Messages {
		m := r.Messages[i]
		parts := m.Parts
		m.Parts = nil
		for text := range m.Texts {
			ids = s.vocab.Encode(ids, text)
		}
		for k, p := range parts {
			if p.Kind != llm.Image {
				one := llm.Message{Parts: parts[k : k+1]}
				for text := range one.Texts {
					ids = s.vocab.Encode(ids, text)
				}
				continue
			}
			data, encoded := shown.find(p.Data)
			seen, err := s.look(data, encoded, len(ids))
			if err != nil {
				return nil, nil, err
			}
			for n := range seen.Tokens {
				ids = append(ids, seen.Token(n))
			}
			images = append(images, seen)
		}
	}
	if most := s.spec.MaxImages(); len(images) > most {
		return nil, nil, fmt.Errorf("At most %d image(s) may be provided in one prompt.", most) //nolint:staticcheck // vLLM's words
	}
	return ids, images, nil
}

// outputLength decides how long the answer will be and how it will say that
// it ended.
func (s *Server) outputLength(d *wire.Dialect, asked, prompt int) (tokens int, finish string, err error) {
	if d.PoolsReplies() {
		return pooledLength, "stop", s.fits(prompt)
	}
	limit := s.spec.MaxModelLen
	room := limit - prompt
	switch {
	case prompt == 0:
		return 0, "", &refusal{http.StatusBadRequest, "The prompt is empty."}
	case asked < 0:
		return 0, "", &refusal{http.StatusBadRequest, fmt.Sprintf("max_tokens must be at least 1, got %d.", asked)}
	case room < max(asked, 1):
		return 0, "", &refusal{http.StatusBadRequest, fmt.Sprintf(
			"This model's maximum context length is %d tokens; the prompt has %d and the output asked for %d. Shorten one of them.",
			limit, prompt, max(asked, 1))}
	case asked > 0:
		return asked, "length", nil
	case !d.Reasoning:
		return min(completionsDefault, room), "length", nil
	case room > chatDefault:
		return chatDefault, "stop", nil
	}
	return room, "length", nil
}

// compose writes the answer. The same prompt and seed give the same text.
func (s *Server) compose(d *wire.Dialect, asked *llm.Request, prompt []int32, output int) script {
	seed := s.spec.Seed
	if asked.Sampling.Seed != nil {
		seed ^= uint64(*asked.Sampling.Seed)
	}
	reasoning, tool := s.spec.ReasoningTokens, s.spec.ToolCalls
	if !d.Reasoning {
		reasoning = 0
	}
	if !d.Tools {
		tool = false
	}
	random := rand.New(rand.NewPCG(seed, promptSeed(prompt)))
	if made, ok := s.composeStructured(d, asked, random, output); ok {
		return made
	}
	text := newScript(s.vocab, random, output, reasoning, tool)
	text.perChunk = s.spec.TokensPerChunk
	return text
}

// run has the answer generated and writes it. It returns a refusal only while
// nothing has been written.
func (g *generation) run() error {
	d := g.driver
	if g.fault != nil {
		if err := g.server.linger(g.fault.BeforeHead, g.clientGone); err != nil {
			return err
		}
	}
	g.began = time.Now()
	d.submit(g.flight)
	err := g.await(func(p progress) bool { return p.accepted && (p.tokens > 0 || !g.server.spec.IsGateway()) })
	if err == nil {
		g.w.Header().Set("X-Request-Id", g.asked.ID)
		if g.server.spec.IsGateway() {
			g.nameReplica()
		}
		if g.flight.job.FailsOn(g.server.failing, g.server.spec.Seed) {
			d.cancel(g.flight)
			return &refusal{http.StatusInternalServerError, faultMessage}
		}
		if g.asked.Stream {
			err = g.stream()
		} else {
			err = g.whole()
		}
	}
	if errors.As(err, new(*refusal)) {
		return err
	}
	if err != nil && !g.deaf {
		d.cancel(g.flight)
	}
	g.server.truth.end(g.trail)
	return err
}

// await waits until the job has come far enough.
func (g *generation) await(enough func(progress) bool) error {
	for {
		p := g.flight.box.read()
		if p.refused != nil {
			return &refusal{http.StatusBadRequest, p.refused.Error()}
		}
		if enough(p) {
			g.reply.Usage.CachedTokens, g.reply.Timing = p.cached, p.timing
			if job := &g.flight.job; p.tokens >= job.Output { // the driver is done with it
				g.reply.Usage.Drafted, g.reply.Usage.Accepted = job.Drafted, job.Accepted
			}
			return nil
		}
		switch {
		case p.cut && p.tokens > 0:
			return errGone
		case p.cut: // a gateway's head waits for the first token; the words are Envoy's
			return &refusal{http.StatusServiceUnavailable, "upstream connect error or disconnect/reset before headers"}
		}
		select {
		case <-g.flight.box.called:
		case <-g.clientGone:
			return errGone
		case <-g.server.stopping:
			return errGone
		}
	}
}

// stream writes one event after another. The head goes out as soon as the
// engine has taken the job, and the opening events with the first token, as
// vLLM does it.
func (g *generation) stream() error {
	g.w.Header().Set("Content-Type", g.dialect.Framing.ContentType()+"; charset=utf-8")
	g.w.Header().Set("Cache-Control", "no-cache")
	if err := g.flush(); err != nil {
		return err
	}
	if g.fault != nil {
		return (&faultyStream{generation: g}).run()
	}
	if err := g.follow(); err != nil {
		return err
	}
	wanted := 1
	enough := func(p progress) bool { return p.tokens >= wanted }
	if !g.opened {
		if err := g.await(enough); err != nil {
			return err
		}
		g.buf = g.dialect.Open(g.buf[:0], &g.reply)
		if err := g.write(); err != nil {
			return err
		}
	}
	write := g.write // bound once: a method value allocates
	for !g.script.isDone() {
		wanted = g.script.spoken + g.script.chunk()
		if err := g.await(enough); err != nil {
			return err
		}
		if g.server.spec.Speculation.Tokens > 0 { // all that one step brought is one event
			g.script.atOnce = g.flight.box.read().tokens - g.script.spoken
		}
		part, text := g.script.next()
		g.countWritten()
		g.buf = g.dialect.Output(g.buf[:0], &g.reply, part, text)
		if err := g.trail.around(write); err != nil {
			return err
		}
		g.driver.noteWrite(g.flight, g.script.spoken)
	}
	// The handler's return sends this together with the end of the body.
	_, err := g.w.Write(g.dialect.Close(g.buf[:0], &g.reply))
	return err
}

func (g *generation) countWritten() {
	g.countTime()
	g.countUsage()
}

func (g *generation) countTime() {
	took := time.Since(g.began)
	if g.reply.Prefill == 0 {
		g.reply.Prefill = took
	}
	g.reply.Decode = took - g.reply.Prefill
}

func (g *generation) countUsage() {
	g.reply.Usage.OutputTokens = g.script.spoken
	g.reply.Usage.ReasoningTokens = min(g.script.spoken, g.script.reasoning)
	account(g.fault, &g.reply)
}

// write sends what is in the buffer at once.
func (g *generation) write() error {
	if len(g.buf) == 0 {
		return nil
	}
	if _, err := g.w.Write(g.buf); err != nil {
		return err
	}
	return g.flush()
}

// whole waits for the last token and sends the answer as one body.
func (g *generation) whole() error {
	if err := g.await(func(p progress) bool { return p.tokens == len(g.script.ends) }); err != nil {
		return err
	}
	g.misword()
	text, reasoning, tool := g.script.split()
	g.script.spoken = len(g.script.ends)
	g.countWritten()
	if g.dialect.PoolsReplies() {
		g.reply.Usage.OutputTokens = 0
	}
	g.buf = g.dialect.Whole(g.buf[:0], &g.reply, text, reasoning, tool)
	if g.fault != nil {
		return g.sendFaultyReply()
	}
	g.w.Header().Set("Content-Type", "application/json")
	g.w.Header().Set("Content-Length", strconv.Itoa(len(g.buf)))
	defer g.driver.noteWrite(g.flight, len(g.script.ends))
	return g.trail.around(g.write)
}

// checkQuota refuses a request above the rate that the engine was told to allow.
func (s *Server) checkQuota(w http.ResponseWriter) error {
	s.mu.Lock()
	allowed := s.quota.Allow(s.drivers[0].clock.Now())
	s.mu.Unlock()
	if allowed {
		return nil
	}
	w.Header().Set("Retry-After", "1")
	return &refusal{http.StatusTooManyRequests, "Rate limit reached. Try again in a second."}
}
