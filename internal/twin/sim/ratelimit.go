package sim

// RateLimiter lets requests through at a rate, as a gateway with a quota does: a
// bucket that holds one second's worth, one request at least. It is pure: the
// time of each request is an argument and must not go backwards.
type RateLimiter struct {
	perSecond float64
	tokens    float64
	latest    int64
	started   bool
}

// NewRateLimiter lets so many requests through in a second; 0 lets all through.
func NewRateLimiter(perSecond float64) *RateLimiter { return &RateLimiter{perSecond: perSecond} }

// Allow reports whether a request that comes at now, in nanoseconds, is let
// through, and takes its share if so.
func (r *RateLimiter) Allow(now int64) bool {
	if r.perSecond == 0 {
		return true
	}
	most := max(1, r.perSecond)
	if !r.started {
		r.started, r.tokens, r.latest = true, most, now
	}
	r.tokens = min(most, r.tokens+r.perSecond*float64(now-r.latest)/1e9)
	r.latest = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}
