package sim

// formation is static batching: a batch is formed of what waits when the engine
// is free, and runs to its end before the next one is. Whoever comes in between
// waits for the slowest of the batch, and places that become free stay so. Its
// prompts may take several steps.
type formation struct {
	on      bool
	at      int64 // when the batch was formed
	open    bool  // its prompts are still being taken up
	members int
}

// allows reports whether the batch may take a sequence up that arrived then,
// with room for so many; running is how many it has now.
func (f *formation) allows(start, arrived int64, running, room int) bool {
	if !f.on {
		return true
	}
	if running == 0 {
		f.at, f.open, f.members = start, true, 0
	}
	return f.open && arrived <= f.at && f.members < room
}
