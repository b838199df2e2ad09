package load

// Share is the part of a stage that one of several workers offers: of sessions
// and slots every Of-th, from Index on. However many workers there are, together
// they offer what one would. The zero value is all of it.
type Share struct{ Index, Of int }

// at is the number, among those of all workers, of the i-th here.
func (s Share) at(i int) int { return s.Index + i*max(1, s.Of) }

// has reports whether the i-th of all is part of the share.
func (s Share) has(i int) bool { return i%max(1, s.Of) == s.Index }

// Part is how many of so many are part of the share.
func (s Share) Part(all int) int {
	n := max(1, s.Of)
	return (all + n - 1 - s.Index) / n
}
