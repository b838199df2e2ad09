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
