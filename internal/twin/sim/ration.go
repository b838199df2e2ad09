package sim

import "net/http"

// Ration lets requests through at a rate, as a gateway with a quota does: a
// bucket that holds one second's worth, one request at least. It is pure: the
// time of each request is an argument and must not go backwards.
type Ration struct {
	perSecond float64
	left      float64
	latest    int64
	begun     bool
}

// NewRation lets so many requests through in a second; 0 lets all through.
func NewRation(perSecond float64) *Ration { return &Ration{perSecond: perSecond} }

// Allow reports whether a request that comes at now, in nanoseconds, is let
// through, and takes its share if so.
func (r *Ration) Allow(now int64) bool {
	if r.perSecond == 0 {
		return true
	}
	most := max(1, r.perSecond)
	if !r.begun {
		r.begun, r.left, r.latest = true, most, now
	}
	r.left = min(most, r.left+r.perSecond*seconds(now-r.latest))
	r.latest = now
	if r.left < 1 {
		return false
	}
	r.left--
	return true
}

// ration refuses a request above the rate that the engine was told to allow.
func (s *Server) ration(w http.ResponseWriter) error {
	s.mu.Lock()
	allowed := s.quota.Allow(s.driver.clock.Now())
	s.mu.Unlock()
	if allowed {
		return nil
	}
	w.Header().Set("Retry-After", "1")
	return &refusal{http.StatusTooManyRequests, "Rate limit reached. Try again in a second."}
}
