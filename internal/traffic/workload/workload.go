// Package workload says what is asked: from a Spec and a seed it makes sessions
// of requests, each with a prompt of exactly the designed length. It gives the
// i-th session without making those before it, and writes its text only when
// that is asked for. It knows neither when a request is due nor who answers
// it, but for a file that says itself when its requests came.
package workload

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/traffic/corpus"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/media"
	"redline/internal/traffic/token"
)

// Options is what every request of a workload carries besides its prompt.
type Options struct {
	Model    string
	Sampling llm.Sampling
	Stream   bool
	// Salt makes all text differ from that of another salt, with the same
	// lengths: the run's id. A Spec may have its own, or none.
	Salt string
	// Pooling says that answers are vectors or scores of texts, and Ranking that
	// the texts are documents behind a query.
	Pooling, Ranking bool
	// MaxContext is the most tokens that prompt and output may have together,
	// 0 where it is not known.
	MaxContext int
	// Lanes is how many agents there are, each of whom is met in the middle of a
	// job; 0 where all jobs begin at their start.
	Lanes int
	// Adds is what every request has, unless its class, tenant or row says otherwise.
	Adds llm.Additions
}

// Workload makes sessions. It is safe for concurrent use.
type Workload struct {
	name           string
	text           token.Text
	seed, textSeed uint64
	options        Options
	salt           string
	classes        []class
	mix            dist.Urn
	tenants        *tenants // nil: there are none
	times          func(seed uint64) iter.Seq[int64]
	requestTimes   func(seed uint64) iter.Seq[int64] // nil: each session is one
	notes          []string
	asks           []Ask
	tokenize       func(text string) []int32 // nil where prompts are text
	skipped        int
	buffers        sync.Pool // of *[]byte, in which prompts are written
	failure        atomic.Pointer[error]
	sampled        func() (prompt, output float64)
}

// class is one kind of traffic, ready to be sent.
type class struct {
	name     string
	adds     llm.Additions
	textSeed uint64
	sampling llm.Sampling
	// ownSampling says that it is not the plan's.
	ownSampling bool
	source      source
	// rows are those of its file that carry more than text, one of each kind.
	rows []corpus.Sample
	// attachments is what sessions carry beside their text; nil for nothing.
	attachments *attachments
	prose       *corpus.Text  // nil: text is made
	images      *media.Source // nil: there are none
	header      string        // that carries the session's name
	named       bool          // sessions have names
	natural     bool
	inputs      int // texts of one request, where answers are no text
	maxContext  int
	file        string
	format      string
	// mean is known where lengths are drawn and there is nothing else to
	// them.
	mean func() (prompt, output float64)
}

// New makes the workload of a seed. Two stages that must not find each other's
// prompts in a server's prefix cache need different seeds. A file is read from
// end to end, so that what is wrong in it is known before anything is sent.
func (s Spec) New(text token.Text, seed uint64, options Options) (*Workload, error) {
	s, err := s.Complete()
	if err != nil {
		return nil, err
	}
	w := &Workload{
		name:    s.String(),
		text:    text,
		seed:    seed,
		options: options,
		salt:    s.saltOf(options),
		tenants: newTenants(s.Tenants, s.HotSpot),
		buffers: sync.Pool{New: func() any { return new([]byte) }},
	}
	w.textSeed = textSeed(seed, w.salt)
	if s.TokenIDs {
		encoder, ok := text.(interface {
			Encode(dst []int32, text string) []int32
		})
		if !ok {
			return nil, fmt.Errorf("token_ids: the tokenizer %s only counts tokens: name that of the model by --tokenizer", text.Name())
		}
		w.tokenize = func(text string) []int32 { return encoder.Encode(nil, text) }
		w.askRequest("token_ids", &llm.Request{Tokenize: w.tokenize})
	}
	w.sampled = sync.OnceValues(w.sampleMean)
	classes := s.Classes
	if mix := findMix(s.Preset); mix != nil {
		classes = mix.Classes
	}
	if classes == nil {
		classes = []Class{{Workload: Part(s.Traffic)}}
	}
	var weights []float64
	for _, c := range classes {
		if err := w.add(c); err != nil {
			w.Close()
			return nil, err
		}
		weights = append(weights, c.weight())
	}
	w.mix = dist.NewUrn(weights)
	for i, c := range classes {
		if w.classes[i].images != nil {
			w.asks = append(w.asks, Ask{llm.NeedImages, "workload.images"})
		}
		if s.Classes != nil {
			w.ask("class "+c.Name, c.Additions)
		}
	}
	for _, t := range s.Tenants {
		w.ask("tenant "+t.Name, t.Additions)
	}
	if len(w.classes) > 1 {
		w.times = nil // a file's times are those of the whole load
	}
	return w, nil
}

// saltOf settles which salt is in force.
func (s Spec) saltOf(o Options) string {
	switch s.Salt {
	case "":
		return o.Salt
	case "false", "off", "none":
		return ""
	}
	return s.Salt
}

// add makes one class ready.
func (w *Workload) add(c Class) error {
	t := Traffic(c.Workload)
	made := class{name: c.Name, adds: c.Additions, textSeed: classSeed(w.textSeed, len(w.classes)), sampling: w.options.Sampling,
		natural: t.Natural, inputs: t.Inputs, file: t.File, maxContext: w.options.MaxContext}
	if c.Generation != nil {
		made.sampling, made.ownSampling = c.Generation.Sampling(), true
	}
	err := w.addImages(&made, t)
	if err != nil {
		return err
	}
	if t.File == "" && t.isJobs() {
		made.converses(t.Session)
		err = w.fromJobs(&made, t)
	} else if t.File == "" {
		err = w.fromShape(&made, t)
	} else {
		err = w.fromFile(&made, t)
	}
	if err == nil {
		err = w.attach(&made, t)
	}
	if err != nil {
		made.close()
		if c.Name != "" {
			err = fmt.Errorf("class %s: %w", c.Name, err)
		}
		return err
	}
	w.classes = append(w.classes, made)
	return nil
}

// converses takes over what a session block says besides its turns.
func (c *class) converses(s *Session) {
	if s == nil {
		return
	}
	c.named, c.header = true, s.Header
	if s.MaxContext > 0 {
		c.maxContext = s.MaxContext
	}
}

// fromShape draws lengths and makes text.
func (w *Workload) fromShape(c *class, t Traffic) error {
	shape, err := t.shape()
	if err != nil {
		return err
	}
	w.draw(c, t, shape)
	return nil
}

// draw gives a class the lengths of a shape.
func (w *Workload) draw(c *class, t Traffic, shape preset) {
	prompt := shape.Prompt
	if shape.Prefix != nil && shape.Prefix.Suffix != nil {
		prompt = *shape.Prefix.Suffix
	}
	c.converses(shape.Session)
	c.source = &drawnSource{
		seed:    w.seed,
		lengths: pair(prompt, shape.Output),
		prefix:  newPrefixes(shape.Prefix, t.Cache == "cold"),
		session: shape.Session,
	}
	if shape.Session == nil && (shape.Prefix == nil || shape.Prefix.Suffixes == 0) {
		c.mean = func() (float64, float64) {
			before := 0.0
			if shape.Prefix != nil {
				before = float64(shape.Prefix.Tokens)
			}
			return before + prompt.Mean(), shape.Output.Mean()
		}
	}
}

// Name is the canonical spelling of the workload's Spec.
func (w *Workload) Name() string { return w.name }

// Notes are what a reader of the workload's figures should know, a sentence
// each.
func (w *Workload) Notes() []string { return w.notes }

// Ask is something that an API must have a word for, and who needs it: a row of a
// file, a class or a tenant.
type Ask struct {
	Need  llm.Need
	Place string
}

// ask notes what additions need.
func (w *Workload) ask(place string, a llm.Additions) {
	var r llm.Request
	a.Apply(&r)
	w.askRequest(place, &r)
}

// askRequest notes what a request needs.
func (w *Workload) askRequest(place string, r *llm.Request) {
	for _, need := range r.Needs() {
		w.asks = append(w.asks, Ask{need, place})
	}
}

// Asks are what an API must have words for.
func (w *Workload) Asks() []Ask { return w.asks }

// Times gives when the sessions are due, in nanoseconds from the start of the
// stage, where the workload itself says so: a replayed trace or a fitted
// workload. It is nil otherwise.
func (w *Workload) Times(seed uint64) iter.Seq[int64] {
	if w.times == nil {
		return nil
	}
	return w.times(seed)
}

// RequestTimes gives when requests come, the later turns of sessions among them, as
// Times does.
func (w *Workload) RequestTimes(seed uint64) iter.Seq[int64] {
	if w.times == nil || w.requestTimes == nil {
		return w.Times(seed)
	}
	return w.requestTimes(seed)
}

// Err is the first thing that went wrong while sessions were made: a file that
// could not be read any more. Sessions end there.
func (w *Workload) Err() error {
	if err := w.failure.Load(); err != nil {
		return *err
	}
	return nil
}

func (w *Workload) fail(err error) { w.failure.CompareAndSwap(nil, &err) }

// Close gives the files back.
func (w *Workload) Close() error {
	var errs []error
	for i := range w.classes {
		errs = append(errs, w.classes[i].close())
	}
	return errors.Join(errs...)
}

func (c *class) close() error {
	var errs []error
	if c.source != nil {
		errs = append(errs, c.source.close())
	}
	if c.prose != nil {
		errs = append(errs, c.prose.Close())
	}
	return errors.Join(errs...)
}

// classOf gives the kind of the i-th session.
func (w *Workload) classOf(i int) *class {
	if len(w.classes) == 1 {
		return &w.classes[0]
	}
	return &w.classes[w.mix.Draw(stats.Rand(w.seed, "workload class", uint64(i)))]
}

// tenantOf gives the tenant of the i-th session, or of a file's row.
func (w *Workload) tenantOf(i int, named string) tenant {
	switch {
	case w.tenants == nil:
		return tenant{name: named}
	case named != "":
		if t := w.tenants.byName[named]; t != nil {
			return *t
		}
		return tenant{name: named}
	}
	return w.tenants.list[w.tenants.shares.Draw(stats.Rand(w.seed, "workload tenant", uint64(i)))]
}
