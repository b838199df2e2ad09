package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/stats"
	"redline/internal/twin/queue"
)

// Fleet is several equal engines behind a gateway in the place of one, each with
// a cache of its own: replicas, of which one serves a request from its first token to
// its last, or a pool that prefills and one that decodes.
type Fleet struct {
	Replicas int `yaml:"replicas,omitempty"`
	Prefill  int `yaml:"prefill,omitempty"`
	Decode   int `yaml:"decode,omitempty"`
	// Router is how the gateway chooses an engine, LeastOutstanding by default.
	Router string `yaml:"router,omitempty"`
	// GatewayDelay is what the gateway takes for each request.
	GatewayDelay time.Duration `yaml:"gateway_delay,omitempty"`
	// Failover is how long the gateway takes to notice that an engine was killed: until
	// then it sends requests to it, which fail.
	Failover time.Duration `yaml:"failover,omitempty"`
	// KVTransferRate is how fast a pool hands the cache of a prompt to the other, in
	// GB/s.
	KVTransferRate float64 `yaml:"kv_transfer_rate,omitempty"`
	// SlowReplicas are engines whose steps take longer, as NUMBER:FACTOR.
	SlowReplicas []string `yaml:"slow_replicas,omitempty"`
	// FailingReplicas are engines that answer a share of their requests with an error, as NUMBER:SHARE.
	FailingReplicas []string `yaml:"failing_replicas,omitempty"`
}

// DefaultKVTransferRate is about what a network of 200 Gbit/s carries.
const DefaultKVTransferRate = 25

// maxEngines bounds a fleet on a socket.
const maxEngines = 64

// IsGateway reports whether the engine, or several, stand behind a gateway.
func (f *Fleet) IsGateway() bool { return f.Replicas > 0 || f.HasPools() || f.GatewayDelay > 0 }

// HasPools reports whether engines prefill or decode, and none does both.
func (f *Fleet) HasPools() bool { return f.Prefill > 0 || f.Decode > 0 }

// Engines is how many there are.
func (f *Fleet) Engines() int {
	if f.HasPools() {
		return f.Prefill + f.Decode
	}
	return max(1, f.Replicas)
}

// EngineName is what the gateway calls an engine.
func (f *Fleet) EngineName(i int) string {
	switch {
	case !f.HasPools():
		return "sim-" + strconv.Itoa(i)
	case i < f.Prefill:
		return "sim-prefill-" + strconv.Itoa(i)
	}
	return "sim-decode-" + strconv.Itoa(i-f.Prefill)
}

func (f *Fleet) validate(hasLaw bool) error {
	_, err := f.factors()
	if err == nil {
		_, err = f.FailingShares()
	}
	switch {
	case f.Replicas < 0 || f.Prefill < 0 || f.Decode < 0:
		return fmt.Errorf("replicas, prefill, decode: expected how many engines there are, got %d, %d, %d", f.Replicas, f.Prefill, f.Decode)
	case f.HasPools() && f.Replicas > 0:
		return fmt.Errorf("replicas: a fleet has replicas, or pools by prefill and decode: leave one out")
	case f.HasPools() && (f.Prefill == 0 || f.Decode == 0):
		return fmt.Errorf("prefill, decode: a pool needs the other: must be at least 1 of each, got %d and %d", f.Prefill, f.Decode)
	case f.HasPools() && hasLaw:
		return fmt.Errorf("prefill, decode: how large the KV cache of a prompt is does not follow from measured constants: name a model and a gpu")
	case f.Engines() > maxEngines:
		return fmt.Errorf("replicas: must be at most %d engines, got %d", maxEngines, f.Engines())
	case f.GatewayDelay < 0 || f.GatewayDelay > time.Minute:
		return fmt.Errorf("gateway_delay: expected a time up to a minute such as 3ms, got %v", f.GatewayDelay)
	case f.Failover < 0 || f.Failover > time.Hour:
		return fmt.Errorf("failover: expected a time up to an hour such as 5s, got %v", f.Failover)
	case !(f.KVTransferRate >= 0 && f.KVTransferRate <= 1e6):
		return fmt.Errorf("kv_transfer_rate: expected GB/s, got %v", f.KVTransferRate)
	case err != nil:
		return err
	}
	return CheckRouter(f.Router)
}

// factors are by how much longer the steps of slow engines take.
func (f *Fleet) factors() (map[int]float64, error) {
	return f.each("slow_replicas", "a factor", "1.5", f.SlowReplicas, func(given string) (by float64, ok bool) {
		by, err := strconv.ParseFloat(given, 64)
		return by, err == nil && by >= 0.01 && by <= 1000
	})
}

// FailingShares are the shares of their requests that failing engines answer with an
// error.
func (f *Fleet) FailingShares() (map[int]float64, error) {
	return f.each("failing_replicas", "a share", "10%", f.FailingReplicas, func(given string) (share float64, ok bool) {
		percent, ok := strings.CutSuffix(given, "%")
		share, err := strconv.ParseFloat(percent, 64)
		return share / 100, ok && err == nil && share > 0 && share <= 100
	})
}

// each reads what is given for engines by their numbers.
func (f *Fleet) each(key, what, example string, list []string, read func(string) (float64, bool)) (map[int]float64, error) {
	all := map[int]float64{}
	for _, given := range list {
		number, value, _ := strings.Cut(given, ":")
		i, err := strconv.Atoi(number)
		v, ok := read(value)
		if err != nil || !ok || i < 0 || i >= f.Engines() {
			return nil, fmt.Errorf("%s: expected the number of an engine, 0 to %d, and %s, such as %d:%s, got %q",
				key, f.Engines()-1, what, f.Engines()-1, example, given)
		}
		all[i] = v
	}
	return all, nil
}

// FailsOn reports whether a job ends in an error of one of its engines, of which these
// shares do.
func (j *Job) FailsOn(shares map[int]float64, seed uint64) bool {
	if len(shares) == 0 {
		return false
	}
	fails := func(engine int) bool {
		return stats.Rand(seed, "failing engine "+strconv.Itoa(engine), j.ID).Float64() < shares[engine]
	}
	return fails(j.Replica) || j.Prefiller != j.Replica && fails(j.Prefiller)
}

// New gives the engine that s describes, or the fleet.
func New(s Spec) (Core, error) {
	if !s.IsGateway() {
		return NewBatching(s)
	}
	e, err := s.resolve()
	if err != nil {
		return nil, err
	}
	slow, err := s.factors()
	if err != nil {
		return nil, err
	}
	var latest pooled // they are all alike
	return NewFleet(s.Fleet, Engines{
		Raise: func(i int) (Core, error) {
			one := e.spec
			one.Seed += uint64(i)
			core, err := NewBatching(one)
			if err == nil {
				latest = core.(pooled)
				latest.slow(slow[i])
			}
			return core, err
		},
		Check:    func(j *Job) error { return latest.admissible(j) },
		Transfer: func(j *Job) int64 { return TransferTime(e.TransferBytes(len(j.Prompt)), e.spec.KVTransferRate) },
	})
}

// pooled is what a fleet asks of its engines beside what they do alone.
type pooled interface {
	admissible(*Job) error
	slow(by float64)
}

// Engines is what a fleet is made of.
type Engines struct {
	// Raise makes one of the engines.
	Raise func(i int) (Core, error)
	// Check says why a job can never run on one.
	Check func(*Job) error
	// Transfer is what handing the cache of a prompt from a pool to the other takes.
	Transfer func(*Job) int64
}

// NewFleet puts engines behind a gateway.
func NewFleet(f Fleet, of Engines) (Gateway, error) {
	all := &fleet{Fleet: f, of: of, alarms: queue.NewAlarms(f.Engines())}
	for i := range f.Engines() {
		core, err := of.Raise(i)
		if err != nil {
			return nil, err
		}
		all.engines = append(all.engines, member{core: core})
	}
	all.entry, all.decoders = NewRouter(f.Router, len(all.engines)), NewRouter(f.Router, f.Decode)
	if f.HasPools() {
		all.entry = NewRouter(f.Router, f.Prefill)
	}
	all.take = func(t Token) { all.pass(t, all.emit) }
	return all, nil
}

// Replicas gives the engines of a fleet, and any other core alone.
func Replicas(core Core) []Core {
	f, ok := core.(*fleet)
	if !ok {
		return []Core{core}
	}
	var list []Core
	for _, m := range f.engines {
		list = append(list, m.core)
	}
	return list
}

// fleet is a gateway and the engines behind it.
type fleet struct {
	Fleet
	of      Engines
	engines []member
	alarms  *queue.Alarms // when each wants its next step
	// unnoticed are engines that were killed, which the gateway may not know.
	unnoticed []int
	entry     *Router // all engines, or those that prefill
	// decoders are behind those that prefill.
	decoders *Router
	events   queue.Heap[event]
	serial   uint64
	live     []*passage // by their places
	spare    []*passage
	take     func(Token) // from an engine
	emit     func(Token) // of the step being made
}

type member struct {
	core    Core
	isAway  bool
	noticed int64  // when the gateway knows that it was killed
	gone    func() // called once it is away, while it is being drained
}

// passage is a job on its way through the fleet.
type passage struct {
	job   *Job
	stage *Job // what its engine has: the job, or its prompt alone, or the rest
	at    int  // its engine, or the one that its cache is on the way to; -1 for none yet
	place int  // among those in the fleet; -1 once it has left
}

// event is a job that reaches an engine: from the gateway, or with its cache from
// the engine that prefilled it.
type event struct {
	at     int64
	serial uint64
	*passage
}

func (e event) Before(o event) bool { return e.at < o.at || e.at == o.at && e.serial < o.serial }

func (f *fleet) Submit(now int64, j *Job) error {
	if err := f.of.Check(j); err != nil {
		return err
	}
	j.AtGateway = now
	var p *passage
	if n := len(f.spare); n > 0 {
		p, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		p = new(passage)
	}
	*p = passage{job: j, at: -1, place: len(f.live)}
	j.way, f.live = p, append(f.live, p)
	f.schedule(now+int64(f.GatewayDelay), p)
	return nil
}

func (f *fleet) schedule(at int64, p *passage) {
	f.serial++
	f.events.Push(event{at, f.serial, p})
}

func (f *fleet) Cancel(now int64, id uint64) {
	i := slices.IndexFunc(f.live, func(p *passage) bool { return p.job.ID == id })
	if i < 0 {
		return
	}
	p := f.live[i]
	f.forget(p) // and does not use it again: it may be among the events
	if p.at >= 0 {
		f.engines[p.at].core.Cancel(now, id)
		f.release(p)
	}
}

// forget takes a job out of the fleet.
func (f *fleet) forget(p *passage) {
	last := len(f.live) - 1
	f.live[p.place] = f.live[last]
	f.live[p.place].place = p.place
	f.live[last], f.live = nil, f.live[:last]
	p.place = -1
}

// end forgets a job that nothing in the fleet refers to any more.
func (f *fleet) end(p *passage) {
	f.forget(p)
	f.spare = append(f.spare, p)
}

// release takes a job from its engine's count.
func (f *fleet) release(p *passage) {
	r, number := f.routerOf(p.at)
	r.Release(number)
	f.leaveWhenIdle(p.at)
	p.at = -1
}

func (f *fleet) Step(now int64, emit func(Token)) (next int64) {
	f.emit = emit
	for {
		next, first := f.alarms.First()
		if f.events.Len() > 0 && f.events.Top().at <= next {
			next, first = f.events.Top().at, -1
		}
		if next > now || next == Idle {
			return next
		}
		if first < 0 {
			f.arrive(f.events.Pop(), emit)
			continue
		}
		f.alarms.Set(first, f.engines[first].core.Step(next, f.take))
	}
}

// arrive hands a job to the engine that it has reached.
func (f *fleet) arrive(e event, emit func(Token)) {
	p, j := e.passage, e.job
	if p.place < 0 {
		return // its client has gone
	}
	switch {
	case p.stage != nil: // the prompt is prefilled, and its cache is here
		j.First = e.at
		emit(Token{Job: j, Last: j.Output == 1, At: e.at})
		if j.Output == 1 {
			j.Last = e.at
			f.release(p)
			f.end(p)
			return
		}
		p.stage = rest(j)
	case !f.choose(p, e.at, emit):
		return
	case f.HasPools():
		j.Prefiller = p.at
		prompt := *j
		prompt.Output, prompt.Reply = 1, nil
		p.stage = &prompt
	default:
		j.Prefiller = p.at
		p.stage = j
	}
	// It was found admissible when it came.
	_ = f.engines[p.at].core.Submit(e.at, p.stage)
	if e.at < f.alarms.At(p.at) {
		f.alarms.Set(p.at, e.at)
	}
}

// choose gives a job the engine of its next stage, or cuts it where all are away, or the
// chosen one is and the gateway has not noticed.
func (f *fleet) choose(p *passage, now int64, emit func(Token)) bool {
	f.unnoticed = slices.DeleteFunc(f.unnoticed, func(i int) bool {
		m := &f.engines[i]
		if m.isAway && now >= m.noticed {
			r, number := f.routerOf(i)
			r.take(number, false)
		}
		return !m.isAway || now >= m.noticed
	})
	r, first := f.entry, 0
	if p.stage != nil {
		r, first = f.decoders, f.Prefill
	}
	if i := r.Pick(p.job); i >= 0 {
		p.at = first + i
		p.job.Replica = p.at
		if !f.engines[p.at].isAway {
			return true
		}
		f.release(p)
	}
	j := p.job
	f.end(p)
	emit(Token{Job: j, Cut: true, At: now})
	return false
}

// rest is what is left of a job for the engine that decodes it: all but the first
// token, which it has with the cache of the prompt.
func rest(j *Job) *Job {
	left := Job{ID: j.ID, way: j.way, Output: j.Output - 1, Priority: j.Priority, Adapter: j.Adapter, Leaks: j.Leaks}
	if j.PromptLength > 0 {
		left.PromptLength, left.Transferred = j.PromptLength+1, j.PromptLength
		return &left
	}
	left.Prompt, left.Transferred = append(j.Prompt[:len(j.Prompt):len(j.Prompt)], int32(j.ID)), len(j.Prompt)
	if len(j.Reply) > 0 {
		left.Prompt[len(j.Prompt)], left.Reply = j.Reply[0], j.Reply[1:]
	}
	return &left
}

// pass takes a token from an engine.
func (f *fleet) pass(t Token, emit func(Token)) {
	p := t.Job.way
	if p.place < 0 {
		return
	}
	j := p.job
	switch {
	case p.stage == j:
	case p.at < f.Prefill:
		j.Received, j.Arrived, j.Scheduled, j.Cached = p.stage.Received, p.stage.Arrived, p.stage.Scheduled, p.stage.Cached
		j.Prefilled, j.Preempted = t.At, p.stage.Preempted
		f.release(p)
		if f.choose(p, t.At, emit) {
			f.schedule(t.At+f.of.Transfer(j), p)
		}
		return
	default:
		t.Index++
		j.Last = p.stage.Last
		t.Job = j
	}
	emit(t)
	if t.Last {
		if p.stage != j {
			j.Preempted += p.stage.Preempted
		}
		f.release(p)
		f.end(p)
	}
}

// transferLatency is what handing a cache over takes beside its bytes.
const transferLatency = time.Millisecond

// TransferTime is what handing so many bytes over takes at a rate in GB/s.
func TransferTime(bytes int64, rate float64) int64 {
	return int64(transferLatency) + int64(float64(bytes)/rate)
}

// TransferBytes is the cache of a prompt.
func (e *instance) TransferBytes(tokens int) int64 {
	return e.deploy.Model.KVBytes(tokens, e.deploy.KV)
}

func (f *fleet) Stats() (all Stats) {
	for _, m := range f.engines {
		all.add(m.core.Stats())
	}
	all.KVUsage /= float64(len(f.engines))
	return all
}
