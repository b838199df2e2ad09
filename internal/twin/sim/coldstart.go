package sim

// coldFactor is how much longer a step takes while the engine is cold: weights
// are read from storage, kernels are compiled, graphs are captured.
const coldFactor = 8

// coldStart is the time after an engine's first request in which it is slow.
type coldStart struct {
	lasts   int64
	ends    int64
	started bool
}

// arrive notes a request; the first begins the time.
func (c *coldStart) arrive(now int64) {
	if !c.started {
		c.started, c.ends = true, now+c.lasts
	}
}

// stretch gives how long a step takes that begins at start and would take so
// long on a warm engine.
func (c *coldStart) stretch(start, took int64) int64 {
	if start < c.ends {
		return coldFactor * took
	}
	return took
}
