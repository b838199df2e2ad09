package load

import "time"

// The adaptive warm-up: at least so many requests and twice the mean e2e seen
// so far, at most a minute. What still runs counts into that mean with the time
// it has taken: short replies end first, and a mean over those that have ended
// would call a server warm that has only begun to fill. Sessions of several
// turns take longer: until their later turns come as often as they ever will.
const (
	warmupRequests = 50
	warmupLimit    = time.Minute
	sessionsLimit  = 3 * time.Minute
	primeLimit     = 10 * time.Minute
	// warmupGrain rounds the start of the window up, so that runs of one seed
	// measure the same requests although a server's times differ a little.
	warmupGrain = int64(time.Second)
)

// warmUp begins the window once the adaptive warm-up has done its work or has
// lasted long enough.
func (w *window) warmUp(due int64) {
	if w.windowStart != 0 || w.stageEnd != 0 || w.stage.Orders != nil {
		return
	}
	limit := int64(w.stage.WarmupLimit())
	warm := w.counts.Due >= max(warmupRequests, w.stage.Prime) && w.e2eN > 0 && due-w.stageStart >= max(2*w.meanE2E(due), int64(w.stage.Stagger)) && w.hasSettled(due)
	// Whoever was taken in before stays in the warm-up, also where it was due
	// a little later than this one.
	lasted := max(due, w.lastDue+1) - w.stageStart
	switch {
	case lasted >= limit:
		w.warmupCut = !warm
		w.startAt(w.stageStart + limit)
	case warm:
		grains := (lasted + warmupGrain - 1) / warmupGrain
		w.startAt(w.stageStart + grains*warmupGrain)
	}
}

// WarmupLimit is how long an adaptive warm-up lasts at most.
func (s *Stage) WarmupLimit() time.Duration {
	switch {
	case s.Prime > warmupRequests:
		return primeLimit
	case s.SettleTime != nil:
		return sessionsLimit
	case s.MaxWarmup > 0:
		return min(warmupLimit, s.MaxWarmup)
	}
	return warmupLimit
}

// StaggerFor is over how long the first requests of a closed loop are spread where
// one is expected to take e2e. What is expected comes from the server's first replies,
// which may have waited for kernels to be compiled: the last request is sent before half
// of a fixed window is over, and before an adaptive warm-up is.
func (s *Stage) StaggerFor(e2e time.Duration) time.Duration {
	if s.Warmup != nil && s.Duration > 0 {
		return min(e2e, *s.Warmup+s.Duration/2)
	}
	return min(e2e, s.WarmupLimit()/2)
}

// hasSettled reports whether the mix of turns is steady. It is estimated again only
// when the last estimate is reached.
func (w *window) hasSettled(due int64) bool {
	if w.stage.SettleTime == nil {
		return true
	}
	if due-w.stageStart >= w.settleTime {
		w.settleTime = int64(w.stage.SettleTime(time.Duration(w.e2eSum / w.e2eN)))
	}
	w.unsettled = due-w.stageStart < w.settleTime
	return !w.unsettled
}

// meanE2E is the time that requests have taken up to now, those that still run
// too, for each that has ended.
func (w *window) meanE2E(now int64) int64 {
	return (w.e2eSum + w.running*(now-w.stageStart) - w.runningDue) / w.e2eN
}

// endWarmup says that the warm-up's limit has passed, where no request is due
// just then to show it.
func (w *window) endWarmup() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stageEnd == 0 {
		w.warmUp(w.stageStart + int64(w.stage.WarmupLimit()))
	}
}
