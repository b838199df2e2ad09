package diagnose

import (
	"slices"

	"redline/internal/observe/engine"
)

// flags is the engine whose flags fit, nil where its name is not known.
func (s *scene) flags() *engine.Engine {
	for _, name := range []string{s.res.Engine.Name, s.server.Engine} {
		if found := engine.Recognize(name); found != nil {
			return found.AdvisedEngine()
		}
	}
	return nil
}

// responses is what to try first, in the engine's own flags where they are
// known.
func responses(r *rule, s *scene) []string {
	all := slices.Clone(r.Response)
	if e := s.flags(); e != nil && e.Advice[r.Regime] != "" {
		all = append(all, e.Name+": "+e.Advice[r.Regime])
	}
	return all
}
