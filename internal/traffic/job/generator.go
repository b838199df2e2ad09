package job

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"redline/internal/stats"
	"redline/internal/traffic/trace"
	"redline/internal/yaml"
)

// Fitted names the format of a generator's file.
const Fitted = "fitted_jobs"

const (
	fittedFamily = "redline/jobs/"
	fittedSchema = fittedFamily + "1"
)

// Generator makes jobs like those that it was fitted to, without an end. It holds
// no text and no names.
type Generator struct {
	Schema string          `yaml:"schema"`
	Source GeneratorSource `yaml:"source"`
	// MaxPrompt is the longest prompt: one that would pass it is cut, or reset.
	MaxPrompt int `yaml:"max_prompt_tokens"`
	// LiveReplies says that prompts grow with what a server really says.
	LiveReplies bool `yaml:"live_replies,omitempty"`
	// TokenTime is how long the server took for each token of a reply.
	TokenTime float64 `yaml:"token_s"`
	// Levels are the agents by their depth: the job's first, its subagents, theirs.
	Levels []Level `yaml:"levels"`
}

// GeneratorSource says what a generator was fitted to.
type GeneratorSource struct {
	Format   string `yaml:"format"`
	Jobs     int    `yaml:"jobs"`
	Requests int    `yaml:"requests"`
}

// Level is the agents of one depth.
type Level struct {
	// Kinds are groups of agents by how many requests they have.
	Kinds []Kind `yaml:"kinds"`
	// Shared is what agents of several jobs begin with, Siblings what those of one
	// job do, and Forked what they keep of the prompt of the agent that launched
	// them, as a share of it; nil for nothing.
	Shared   *Layer `yaml:"shared,omitempty"`
	Siblings *Layer `yaml:"siblings,omitempty"`
	Forked   *Layer `yaml:"forked,omitempty"`
}

// Layer is a common beginning of prompts.
type Layer struct {
	// Agents is the share of agents that have it, and Groups how many different
	// ones there are.
	Agents float64     `yaml:"agents"`
	Groups int         `yaml:"groups,omitempty"`
	Length trace.Curve `yaml:"length"`
}

// Kind is a group of agents.
type Kind struct {
	Share float64     `yaml:"share"`
	Turns trace.Curve `yaml:"turns"`
	// First is the length of the first prompt, and Added what each part of an
	// agent's life adds with a request: one part, or as many as lifeEdges.
	First  trace.Curve   `yaml:"first_tokens"`
	Added  []trace.Curve `yaml:"added_tokens"`
	Output trace.Curve   `yaml:"output_tokens"`
	// Dropped are tokens at the end of a prompt that the next one has not.
	Dropped trace.Curve `yaml:"dropped_tokens"`
	// Start is the pause before the first request, and Pause before the others.
	Start trace.Curve `yaml:"start_s"`
	Pause trace.Curve `yaml:"pause_s"`
	Reset *Reset      `yaml:"reset,omitempty"`
	// Launches is how often an agent launches subagents, nil for never.
	Launches *Launches `yaml:"launches,omitempty"`
}

// Reset is a prompt of which the middle is gone or another one: Keep is the share
// that it has of the one before, Length its length as a share of that one's. It
// comes by chance, and with WhenFull where a prompt would pass the longest.
type Reset struct {
	Chance   float64     `yaml:"chance"`
	WhenFull bool        `yaml:"when_full,omitempty"`
	Keep     trace.Curve `yaml:"keep"`
	Length   trace.Curve `yaml:"length"`
}

// Launches says how an agent launches others: how often, after which share of its
// requests, how many at once, and how many requests it sends until it waits for
// them.
type Launches struct {
	Times trace.Curve `yaml:"times"`
	At    trace.Curve `yaml:"at"`
	Width trace.Curve `yaml:"width"`
	Join  trace.Curve `yaml:"join"`
}

var generatorForm = yaml.Form{Name: "fitted jobs", Want: "jobs that redline workload fit wrote", MaxBytes: 4 << 20}

// Write writes the document that ReadGenerator reads.
func (g *Generator) Write(w io.Writer) error {
	data, err := yaml.Marshal(g)
	if err != nil {
		return fmt.Errorf("cannot write the jobs: %w", err)
	}
	_, err = w.Write(append([]byte("# Jobs fitted to recorded ones: statistics only, no text.\n"), data...))
	return err
}

// ReadGenerator reads a generator; name is the file's, for errors.
func ReadGenerator(name string, data []byte) (*Generator, error) {
	g := &Generator{}
	if err := trace.ReadDocument(generatorForm, name, data, g, g.validate); err != nil {
		return nil, err
	}
	return g, nil
}

// maxTurns bounds the requests of an agent, and maxAgents what one launches.
const (
	maxTurns  = 10_000
	maxAgents = 1000
)

// validate says what makes no sense.
func (g *Generator) validate() error {
	switch {
	case g.Schema != fittedSchema:
		return trace.Invalidf("schema", "is %q, expected %q", g.Schema, fittedSchema)
	case g.MaxPrompt < 1 || g.MaxPrompt > maxTokens:
		return trace.Invalidf("max_prompt_tokens", "must be 1 to %d, got %d", maxTokens, g.MaxPrompt)
	case !(g.TokenTime >= 0 && g.TokenTime <= 1000):
		return trace.Invalidf("token_s", "must be 0 to 1000 seconds, got %v", g.TokenTime)
	case len(g.Levels) == 0 || len(g.Levels) > 16:
		return trace.Invalidf("levels", "must be 1 to 16 depths of agents, got %d", len(g.Levels))
	}
	for d := range g.Levels {
		if err := g.Levels[d].validate(fmt.Sprintf("levels[%d]", d)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Level) validate(path string) error {
	total := 0.0
	for k := range l.Kinds {
		kind := &l.Kinds[k]
		at := fmt.Sprintf("%s.kinds[%d].", path, k)
		if !(kind.Share > 0 && kind.Share <= 1) {
			return trace.Invalidf(at+"share", "expected a share above 0 and up to 1, got %v", kind.Share)
		}
		if n := len(kind.Added); n != 1 && n != len(lifeEdges) {
			return trace.Invalidf(at+"added_tokens", "must be 1 or %d curves, got %d", len(lifeEdges), n)
		}
		total += kind.Share
		for _, c := range kind.curves() {
			if err := c.curve.Validate(at+c.name, c.max); err != nil {
				return err
			}
		}
		if r := kind.Reset; r != nil && !(r.Chance >= 0 && r.Chance <= 1) {
			return trace.Invalidf(at+"reset.chance", "must be 0 to 1, got %v", r.Chance)
		}
	}
	if math.Abs(total-1) > 0.001 {
		return trace.Invalidf(path+".kinds", "the shares sum to %.4f, expected 1", total)
	}
	for name, layer := range map[string]*Layer{"shared": l.Shared, "siblings": l.Siblings, "forked": l.Forked} {
		at := path + "." + name
		switch {
		case layer == nil:
		case !(layer.Agents >= 0 && layer.Agents <= 1):
			return trace.Invalidf(at+".agents", "must be 0 to 1, got %v", layer.Agents)
		case layer.Groups < 0 || layer.Groups > 1<<40:
			return trace.Invalidf(at+".groups", "expected a number of groups, got %d", layer.Groups)
		default:
			if err := layer.Length.Validate(at+".length", maxTokens); err != nil {
				return err
			}
		}
	}
	return nil
}

// boundedCurve is a curve with its place in a kind and its maximum.
type boundedCurve struct {
	name  string
	curve trace.Curve
	max   float64
}

func (k *Kind) curves() []boundedCurve {
	year := maxTime.Seconds()
	all := []boundedCurve{{"turns", k.Turns, maxTurns}, {"first_tokens", k.First, maxTokens}, {"output_tokens", k.Output, maxTokens},
		{"dropped_tokens", k.Dropped, maxTokens}, {"start_s", k.Start, year}, {"pause_s", k.Pause, year}}
	for i, c := range k.Added {
		all = append(all, boundedCurve{fmt.Sprintf("added_tokens[%d]", i), c, maxTokens})
	}
	if r := k.Reset; r != nil {
		all = append(all, boundedCurve{"reset.keep", r.Keep, 1}, boundedCurve{"reset.length", r.Length, maxTokens})
	}
	if l := k.Launches; l != nil {
		all = append(all, boundedCurve{"launches.times", l.Times, maxAgents}, boundedCurve{"launches.at", l.At, 1},
			boundedCurve{"launches.width", l.Width, maxAgents}, boundedCurve{"launches.join", l.Join, maxTurns})
	}
	return all
}

// Job draws the i-th job of a seed.
func (g *Generator) Job(seed uint64, i int) *Job {
	d := &drawing{Generator: g, r: stats.Rand(seed, "jobs", uint64(i)), job: &Job{Name: fmt.Sprintf("job %d", i)}, seed: uint64(i)}
	d.agent(0, "", -1)
	return d.job
}

// Sample is a file of the first n jobs of a seed.
func (g *Generator) Sample(path string, seed uint64, n int) *File {
	f := &File{Path: path, Format: Fitted, Generator: g, Untimed: g.TokenTime == 0}
	for i := range n {
		f.Jobs = append(f.Jobs, g.Job(seed, i))
	}
	return f
}

// drawing is a job that is being drawn.
type drawing struct {
	*Generator
	r      *rand.Rand
	job    *Job
	seed   uint64
	minted uint64
	agents int
}

func value(c trace.Curve, r *rand.Rand) float64 { return c.Quantile(r.Float64()) }

func whole(c trace.Curve, r *rand.Rand) int { return int(math.Round(value(c, r))) }

func pause(c trace.Curve, r *rand.Rand) time.Duration { return seconds(value(c, r)) }

// maxDrawnRequests bounds a job: beyond it nothing is launched.
const maxDrawnRequests = 20_000

// agent draws the requests of an agent that is launched by a request of another,
// -1 for none, and gives the last.
func (d *drawing) agent(depth int, name string, launcher int) (last int) {
	level := &d.Levels[depth]
	kind := &level.Kinds[len(level.Kinds)-1]
	left := d.r.Float64()
	for k := range level.Kinds {
		if left -= level.Kinds[k].Share; left < 0 {
			kind = &level.Kinds[k]
			break
		}
	}
	turns := max(1, whole(kind.Turns, d.r))
	launches := d.launches(kind, depth, turns)
	joins := make([][]int, turns)
	tail := 0 // blocks of the last prompt that the next one has not
	for t := range turns {
		r := Request{From: -1, Agent: name, Depth: depth, Output: max(1, whole(kind.Output, d.r))}
		var left int
		if t == 0 {
			r.Pause = pause(kind.Start, d.r)
			if launcher >= 0 {
				r.After = []int{launcher}
			}
			left = d.begin(level, kind, &r, launcher)
		} else {
			r.After, r.Pause = append(joins[t], last), pause(kind.Pause, d.r)
			slices.Sort(r.After)
			left = d.goOn(kind, &r, last, tail, float64(t-1)/float64(turns-1))
		}
		dropped := min(whole(kind.Dropped, d.r), left-1)
		d.fill(&r, left-dropped)
		tail = -len(r.Blocks)
		d.fill(&r, dropped)
		tail += len(r.Blocks)
		r.Took = seconds(float64(r.Output) * d.TokenTime)
		if d.LiveReplies {
			r.Reply = d.mint()
		}
		last = len(d.job.Requests)
		d.job.Requests = append(d.job.Requests, r)
		for range launches[t] {
			d.agents++
			child := d.agent(depth+1, fmt.Sprintf("subagent %d", d.agents), last)
			if at := t + 1 + whole(kind.Launches.Join, d.r); at < turns {
				joins[at] = append(joins[at], child)
			}
		}
	}
	return last
}

// launches gives how many subagents follow each request of an agent.
func (d *drawing) launches(kind *Kind, depth, turns int) []int {
	counts := make([]int, turns)
	if kind.Launches == nil || depth+1 >= len(d.Levels) || len(d.job.Requests) > maxDrawnRequests {
		return counts
	}
	for range whole(kind.Launches.Times, d.r) {
		at := min(turns-1, int(value(kind.Launches.At, d.r)*float64(turns)))
		counts[at] += max(1, whole(kind.Launches.Width, d.r))
	}
	return counts
}

// grain is the length of blocks that prompts of different agents share, and
// maxBlock that of others: a reset keeps whole blocks.
const (
	grain    = 64
	maxBlock = 512
)

// begin makes what the first prompt of an agent has in common with others, and
// gives how many tokens it has behind that.
func (d *drawing) begin(level *Level, kind *Kind, r *Request, launcher int) (left int) {
	if f := level.Forked; f != nil && launcher >= 0 && d.r.Float64() < f.Agents {
		d.keep(r, launcher, value(f.Length, d.r)*float64(d.job.Requests[launcher].Prompt))
	}
	covered := 0
	left = max(1, min(whole(kind.First, d.r), d.MaxPrompt-r.Prompt))
	cover := func(l *Layer, key, mark uint64) {
		if l == nil || d.r.Float64() >= l.Agents {
			return
		}
		key = stats.Scramble(key<<16 + uint64(r.Depth))
		for end := whole(l.Length, d.r); covered+grain <= end && left > grain; covered += grain {
			r.add(Block{stats.Scramble(key+uint64(covered))&^1 | mark, grain})
			left -= grain
		}
	}
	if s := level.Shared; s != nil {
		cover(s, 1<<40+d.r.Uint64N(uint64(max(1, s.Groups))), 1)
	}
	cover(level.Siblings, d.seed, 0)
	return left
}

// goOn keeps the prompt of the request before but for its tail, or, with a reset,
// the beginning of it, and gives how many tokens come behind that. life is how
// far the agent has come.
func (d *drawing) goOn(kind *Kind, r *Request, last, tail int, life float64) (left int) {
	before := d.job.Requests[last]
	added := max(1, whole(kind.Added[min(lifePart(life), len(kind.Added)-1)], d.r))
	chance, at := d.r.Float64(), d.r.Float64()
	if s := kind.Reset; s != nil && (chance < s.Chance || s.WhenFull && before.Prompt+added > d.MaxPrompt) {
		length := min(s.Length.Quantile(at)*float64(before.Prompt), float64(d.MaxPrompt))
		d.keep(r, last, min(s.Keep.Quantile(at)*float64(before.Prompt), length))
		return max(1, int(length)-r.Prompt)
	}
	r.From, r.Keep = last, before.length()-tail
	r.Prompt = before.Prompt - tokensOf(before.Blocks[len(before.Blocks)-tail:])
	if d.LiveReplies {
		r.add(Block{before.Reply, before.Output})
	}
	return max(1, min(added, d.MaxPrompt-r.Prompt))
}

// keep begins a prompt with as many whole blocks of another as tokens hold.
func (d *drawing) keep(r *Request, from int, tokens float64) {
	for _, b := range d.job.Blocks(from) {
		if float64(r.Prompt+b.Tokens) > tokens {
			break
		}
		r.From = from
		r.Keep++
		r.Prompt += b.Tokens
	}
}

// fill adds tokens that no prompt has had.
func (d *drawing) fill(r *Request, tokens int) {
	for ; tokens > 0; tokens -= maxBlock {
		r.add(Block{d.mint(), min(tokens, maxBlock)})
	}
}

func (d *drawing) mint() uint64 {
	d.minted++
	return stats.Scramble(d.seed<<24+d.minted) &^ 1
}

// IsShared says of a block that a generator made that other jobs may have it, too.
func IsShared(id uint64) bool { return id&1 == 1 }

func (r *Request) add(b Block) {
	r.Blocks = append(r.Blocks, b)
	r.Prompt += b.Tokens
}
