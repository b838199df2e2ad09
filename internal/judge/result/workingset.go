package result

// WorkingSet is how many live sessions a server's prefix cache holds.
type WorkingSet struct {
	// SessionTokens is what one session holds in the cache.
	SessionTokens float64 `json:"session_tokens,omitempty"`
	// RoomTokens is what the server says that its KV cache holds.
	RoomTokens *float64          `json:"room_tokens,omitempty"`
	Levels     []WorkingSetLevel `json:"levels"`
	// Cliff is absent where the hits fell at no level, or at all.
	Cliff *Cliff `json:"cliff,omitempty"`
	// Eviction is the order in which the engine seems to forget: "lru" or "other";
	// absent where no level tells.
	Eviction string `json:"eviction,omitempty"`
	// Verdict is the answer in words.
	Verdict string `json:"verdict"`
}

// The orders of eviction.
const (
	EvictsLRU   = "lru"
	EvictsOther = "other"
)

// WorkingSetLevel is one number of live sessions.
type WorkingSetLevel struct {
	Sessions int `json:"sessions"`
	// Hits is the share of prompt tokens that were cached, absent where unknown.
	Hits *float64 `json:"hits,omitempty"`
	// Point is an index into the points, absent where the level does not count.
	Point *int `json:"point,omitempty"`
}

// Cliff is the interval in which hits fall: the most sessions that the cache
// held, and the fewest beyond them that it did not.
type Cliff struct {
	Held   int `json:"held"`
	Fallen int `json:"fallen"`
	// HostGiB is the host memory that keeps what the device's cache evicts, absent where
	// the server does not say.
	HostGiB *float64 `json:"host_gib,omitempty"`
}

// PointOf is the point at a number of sessions, nil where there is none.
func (w *WorkingSet) PointOf(r *Result, sessions int) *Point {
	for _, l := range w.Levels {
		if l.Sessions == sessions && l.Point != nil && *l.Point < len(r.Points) {
			return &r.Points[*l.Point]
		}
	}
	return nil
}
