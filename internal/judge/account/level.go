package account

// levelStep is short against the points at which a level is looked at.
const levelStep = 50_000_000

// Level is how many requests were in flight at any time since the origin. It
// grows with the time and not with the requests. A sample of them would not do:
// it moves less against its mean than all of them.
type Level struct {
	changes []float64 // of the mean of a step from that of the step before
}

// Add counts a request that was in flight from one stamp to another.
func (l *Level) Add(from, to int64) {
	l.change(from, 1)
	l.change(to, -1)
}

func (l *Level) change(at int64, by float64) {
	step, past := int(at/levelStep), by*float64(at%levelStep)/levelStep
	for len(l.changes) < step+2 {
		l.changes = append(l.changes, 0)
	}
	l.changes[step] += by - past
	l.changes[step+1] += past
}

// Clone is a level that can go on by itself.
func (l *Level) Clone() *Level { return &Level{append([]float64(nil), l.changes...)} }

// series is the mean level at each of the points of a window.
func (l *Level) series(start, end int64) []float64 {
	series, steps := make([]float64, levelPoints), make([]float64, levelPoints)
	level := 0.0
	for i, change := range l.changes {
		level += change
		if at := int64(i)*levelStep + levelStep/2; at >= start && at < end {
			point := (at - start) * levelPoints / (end - start)
			series[point] += level
			steps[point]++
		}
	}
	for i, n := range steps {
		series[i] /= max(n, 1)
	}
	return series
}
