package assemble

import (
	"testing"

	"redline/internal/expect"
)

func TestAlone(t *testing.T) {
	t.Parallel()
	const ms = int64(1e6)
	at := func(sent, first, end int64, fresh int) stay {
		return stay{sent * ms, first * ms, end * ms, fresh, true}
	}
	failed := at(900, 0, 0, 5)
	failed.counts = false
	tokens, took := loneRequests([]stay{
		at(500, 530, 600, 300), // the next comes after its first token
		at(540, 560, 580, 100), // beside the one before
		at(1, 11, 50, 100),
		at(60, 80, 90, 200),
		at(700, 740, 800, 400), // another comes while it waits
		at(720, 790, 800, 500),
		failed,                 // never ends
		at(950, 960, 970, 600), // beside that
	})
	expect.Same(t, [][]float64{{100, 200, 300}, {10, 20, 30}}, [][]float64{tokens, took})
}
