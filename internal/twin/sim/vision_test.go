package sim

import (
	"testing"

	"redline/internal/must"
)

// TestEncoderCache: an image takes the encoder's time once, and none where it is
// in the cache or, with the text before it, in the prefix cache.
func TestEncoderCache(t *testing.T) {
	tokens := Vision{}.ImageTokens(1920, 1080)
	job := func(id, hash uint64) *Job {
		j := &Job{ID: id, Output: 1, Images: []Image{{At: 16, Tokens: tokens, Hash: hash}}}
		for i := range 16 { // a text of its own, which the prefix cache does not have
			j.Prompt = append(j.Prompt, int32(1000*int(id)+i))
		}
		for i := range tokens {
			j.Prompt = append(j.Prompt, j.Images[0].Token(i))
		}
		return j
	}
	exact := 0.0
	core := must.Get(NewBatching(Spec{Jitter: &exact}))(t)
	ttft := func(j *Job, now int64) int64 {
		t.Helper()
		must.Do(t, core.Submit(now, j))
		for next := now; next != Idle; {
			next = core.Step(next, func(Token) {})
		}
		return j.First - now
	}
	first, again, other := ttft(job(1, 7), 0), ttft(job(2, 7), 1e12), ttft(job(3, 8), 2e12)
	if s := core.Stats(); s.MMQueries != 3 || s.MMHits != 1 {
		t.Errorf("%d of %d images were found in the cache, want 1 of 3", s.MMHits, s.MMQueries)
	}
	if other <= again || first <= again {
		t.Errorf("first tokens after %d ns, %d with the same image, %d with another", first, again, other)
	}
}

// TestImageTokens compares with what Qwen2-VL's processor makes of these sizes.
func TestImageTokens(t *testing.T) {
	for _, c := range []struct{ width, height, want int }{{28, 28, 4}, {224, 224, 64}, {512, 512, 18 * 18}, {1920, 1080, 69 * 39}} {
		if got := (Vision{}).ImageTokens(c.width, c.height); got != c.want {
			t.Errorf("%d × %d pixels are %d tokens, want %d", c.width, c.height, got, c.want)
		}
	}
	if full, small := (Vision{}).ImageTokens(4000, 3000), (Vision{MaxPixels: 1_000_000}).ImageTokens(4000, 3000); small*784 > 1_100_000 || small >= full {
		t.Errorf("%d tokens with a maximum of a million pixels, %d without", small, full)
	}
}
