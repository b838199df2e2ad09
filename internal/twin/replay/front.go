package replay

import (
	"redline/internal/catalog"
	"redline/internal/observe/engine"
	"redline/internal/twin/sim"
)

// Behind puts an engine with a law behind the front end and the host that its
// makers gave it, as far as somebody has measured them.
func Behind(s *sim.Spec, front *engine.Front, m catalog.Model) {
	s.FrontEnd = catalog.FrontEnd{APIServers: s.APIServers, Request: front.Request, TokenUS: front.TokenUS, EventUS: front.EventUS, StepUS: front.StepUS}
	s.RequestOverhead, s.AsyncScheduling = front.Delay, front.Async
	experts := m.ExpertLayers()
	launch := float64(m.Layers-experts)*front.EagerLayer.Seconds() + float64(experts)*front.EagerExperts.Seconds()
	s.Law.EagerUS, s.Law.EagerTokens, s.Law.EagerSequenceUS = 1e6*launch, front.GraphTokens, 1e6*launch*front.EagerSequence
	s.Law.PromptUS = 1e6 * float64(m.Layers) * front.PromptLayer.Seconds()
}

// passing is what goes through the front end: a request in, or the tokens of a
// step out, of which only the first and the last of a request matter.
type passing struct {
	request      *sequence
	fresh, ended []*sequence
	events       int
}

// pass lets a request into the engine, or the tokens of a step out to clients.
func (e *Instance) pass(p passing, began, ended int64) {
	if s := p.request; s != nil {
		e.passing--
		s.arrived = ended + e.delay
		e.waiting.Push(s)
		return
	}
	for _, s := range p.fresh {
		s.first = ended // those that join come last in their step
	}
	for _, s := range p.ended {
		e.passing--
		e.answer(s, max(s.first, began+(ended-began)/2))
	}
}

// send makes the step's tokens ready for the front end, an equal share for each of its
// processes.
func (e *Instance) send(n int) {
	for p := range e.desk.Processes() {
		own := passing{events: (n + e.desk.Processes() - 1 - p) / e.desk.Processes()}
		for _, s := range e.fresh {
			if s.process == p && s.first == e.end { // not one that was preempted
				own.fresh = append(own.fresh, s)
			}
		}
		for _, s := range e.ended {
			if s.process == p {
				own.ended = append(own.ended, s)
			}
		}
		e.ready = append(e.ready, own)
	}
	e.passing += len(e.ended)
	e.ended = e.ended[:0]
}

// handOut gives the front end the tokens of a step that has ended.
func (e *Instance) handOut(at int64) {
	for p, own := range e.ready {
		e.desk.Send(p, at, own.events, own)
	}
	e.ready = e.ready[:0]
}
