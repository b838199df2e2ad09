package job

import (
	"math"
	"testing"
	"time"

	"redline/internal/must"
)

// What a job holds equals the sum over every block of every prompt, looked up one
// by one.
func TestLiveTokensEqualASlowSum(t *testing.T) {
	file := must.Get(Open("testdata/weka.tgz", Options{}))(t)
	var held, lasted float64
	for _, j := range file.Jobs {
		spans := j.Schedule(file.Took)
		// A block is known by who had it first, and by its place there.
		type place struct{ owner, at int }
		last := map[place]time.Duration{}
		end := time.Duration(0)
		for i, r := range j.Requests {
			end = max(end, spans[i].End)
			for from, keep := r.From, r.Keep; keep > 0; from, keep = j.Requests[from].From, min(keep, j.Requests[from].Keep) {
				for at := j.Requests[from].Keep; at < keep; at++ {
					last[place{from, at}] = max(last[place{from, at}], spans[i].Start)
				}
			}
		}
		for p, until := range last {
			held += float64(j.Requests[p.owner].Blocks[p.at-j.Requests[p.owner].Keep].Tokens) * max(0, until-spans[p.owner].Start).Seconds()
		}
		lasted += end.Seconds()
	}
	got := file.LiveTokens(func(recorded time.Duration) time.Duration { return recorded })
	if want := held / lasted; math.Abs(got/want-1) > 1e-9 || want < 10_000 {
		t.Errorf("%.3f tokens of a live job, want %.3f", got, want)
	}
}
