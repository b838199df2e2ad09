package replay

import (
	"redline/internal/observe/engine"
	"redline/internal/twin/catalog"
	"redline/internal/twin/sim"
)

// Behind puts an engine with a law behind the front end and the host that its
// makers gave it, as far as somebody has measured them.
func Behind(s *sim.Spec, front *engine.Front, m catalog.Model) {
	s.FrontEnd = catalog.FrontEnd{APIServers: s.APIServers, Request: front.Request, TokenUS: front.TokenUS, EventUS: front.EventUS}
	s.RequestOverhead, s.AsyncScheduling = front.Delay, front.Async
	experts := m.ExpertLayers()
	launch := float64(m.Layers-experts)*front.EagerLayer.Seconds() + float64(experts)*front.EagerExperts.Seconds()
	s.Law.EagerUS, s.Law.EagerTokens, s.Law.EagerSequenceUS = 1e6*launch, front.GraphTokens, front.EagerSequenceUS
}
