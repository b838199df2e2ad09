package workload

import (
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"redline/internal/text"
)

// plannedRequest is one request as it is designed, before any text is written.
type plannedRequest struct {
	session, turn  int
	class          *class
	script         *script
	step           *step
	tenant         string
	prompt, output int
	// known is how much of the prompt the session has sent or got before.
	known int
}

// plan gives the requests of the first n sessions, with every reply as long
// as it is asked for. Where n is 0 it gives all that a file has.
func (w *Workload) plan(n int) iter.Seq2[plannedRequest, error] {
	return func(yield func(plannedRequest, error) bool) {
		for i := 0; n <= 0 || i < n; i++ {
			c := w.classOf(i)
			s, err := c.script(i)
			if err != nil {
				yield(plannedRequest{}, err)
				return
			}
			if s == nil || !w.planSession(i, c, s, yield) {
				return
			}
		}
	}
}

// planSession walks one session's turns and says whether to go on.
func (w *Workload) planSession(i int, c *class, s *script, yield func(plannedRequest, error) bool) bool {
	name := w.tenantOf(i, s.tenant).name
	context := 0
	for t := range s.steps {
		next := &s.steps[t]
		prompt := next.promptAfter(context)
		if t > 0 && s.job == nil && c.maxContext > 0 && prompt+next.output > c.maxContext {
			return true
		}
		known := context
		if next.whole {
			known = 0
		}
		if !yield(plannedRequest{i, t, c, s, next, name, prompt, next.output, known}, nil) {
			return false
		}
		context = prompt + next.output
	}
	return true
}

// CheckContext says which of the first n sessions, or of all that a file has
// where n is 0, would be longer than the model's context.
func (w *Workload) CheckContext(n int) error {
	most := w.options.MaxContext
	if most <= 0 {
		return nil
	}
	if n <= 0 {
		n = w.sessions()
	}
	for p, err := range w.plan(n) {
		if err != nil {
			return err
		}
		if p.prompt+p.output > most && !p.script.anyLength {
			return fmt.Errorf("%s: %s prompt and %s output tokens do not fit the model's context of %s; %s",
				p.place(), text.Count(p.prompt), text.Count(p.output), text.Count(most), p.cure())
		}
	}
	return nil
}

// place says where a request comes from.
func (p plannedRequest) place() string {
	switch {
	case p.script.job != nil:
		return fmt.Sprintf("%s: request %d of %s", p.script.job.Place, p.turn, p.script.job.Name)
	case p.class.file != "" && p.script.row > 0:
		return fmt.Sprintf("%s:%d", p.class.file, p.script.row)
	case p.class.name != "":
		return fmt.Sprintf("workload class %s, session %d", p.class.name, p.session)
	}
	return fmt.Sprintf("workload session %d", p.session)
}

// cure says what keeps a request within bounds.
func (p plannedRequest) cure() string {
	switch {
	case p.script.job != nil:
		return "leave such jobs out by --overflow skip, cut their prompts by --overflow truncate, or serve a model with a longer context"
	case p.class.file != "" && p.script.row > 0:
		return "take the row out, or serve a model with a longer context"
	case p.turn > 0 || p.step.whole:
		return "end conversations sooner with session.max_context"
	}
	return "clip the lengths, such as lognormal(500,0.8,50..4000), or serve a model with a longer context"
}

// sessions is how many a file has; where sessions do not end it is enough of
// them to know their lengths well.
func (w *Workload) sessions() int {
	const enough, enoughJobs = 10_000, 200
	switch {
	case w.endless() && w.Branches():
		return enoughJobs
	case w.endless():
		return enough
	}
	longest := 0
	for _, c := range w.classes {
		longest = max(longest, c.source.length())
	}
	return longest
}

// endless says that sessions are drawn, as many as are wanted.
func (w *Workload) endless() bool {
	return slices.ContainsFunc(w.classes, func(c class) bool { return c.source.length() == 0 })
}

// maxShared bounds the sessions of which sharing is worked out, and so the
// memory it takes.
const maxShared = 50_000

// DesignedSharing is the share of prompt tokens of the first n sessions that
// an ideal prefix cache would have: one that forgets nothing and in which
// sessions come one after another. Where n is 0 all that a file has are
// taken. The first round of groups that come in turn is a warm-up and does not
// count.
func (w *Workload) DesignedSharing(n int) (float64, error) {
	if n <= 0 {
		n = w.sessions()
	}
	if s, ok := w.classes[0].source.(*jobs); ok && len(w.classes) == 1 {
		return s.sharing(min(n, maxShared))
	}
	cache := &idealCache{maphash.MakeSeed(), map[uint64]struct{}{}}
	var prompts, hits float64
	unmeasured := w.Rounds()
	for p, err := range w.plan(min(max(n, unmeasured+1), maxShared)) {
		if err != nil {
			return 0, err
		}
		hit := float64(cache.hit(w, p))
		if unmeasured--; unmeasured < 0 {
			prompts += float64(p.prompt)
			hits += hit
		}
	}
	if prompts == 0 {
		return 0, nil
	}
	return hits / prompts, nil
}

// idealCache remembers every beginning of a prompt that could come again.
type idealCache struct {
	seed maphash.Seed
	seen map[uint64]struct{}
}

// beginning is a prompt up to some point.
type beginning struct {
	before uint64
	segment
	text string
}

// hit gives how many tokens of a request's prompt were there before, and
// remembers the rest.
func (c *idealCache) hit(w *Workload, p plannedRequest) (tokens int) {
	if p.turn > 0 && !p.step.whole {
		return p.known
	}
	chain := p.class.textSeed // classes share no text that is made
	if p.step.messages != nil {
		chain = 0
	}
	follow := func(b beginning, n int) {
		b.before = chain
		chain = maphash.Comparable(c.seed, b)
		// A beginning that was seen was seen with all that comes before it.
		if _, seen := c.seen[chain]; seen {
			tokens += n
		}
		c.seen[chain] = struct{}{}
	}
	if texts := slices.Collect(p.step.tools.Texts); texts != nil { // which servers write before all else
		n := 0
		for _, text := range texts {
			n += w.text.Count(text)
		}
		follow(beginning{text: strings.Join(texts, "\x00")}, n)
	}
	for _, s := range p.step.segments {
		if !s.isShared() {
			break
		}
		follow(beginning{segment: s}, s.tokens)
	}
	for i := range p.step.messages {
		m := &p.step.messages[i]
		follow(beginning{text: m.Role + "\x00" + strings.Join(slices.Collect(m.Texts), "\x00")}, count(w.text, m))
	}
	return tokens
}
