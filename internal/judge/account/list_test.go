package account

import (
	"testing"
)

func TestAListKeepsItsOrderAndItsPlaces(t *testing.T) {
	t.Parallel()
	const n = 3*maxBlock + 1
	var l list[int]
	l.add(0)
	for first := range l.all {
		for i := 1; i < n; i++ {
			l.add(i)
		}
		*first = -1 // the value that was added first, not a copy left behind
	}
	want := -1
	for v := range l.all {
		if *v != want {
			t.Fatalf("%d, want %d", *v, want)
		}
		want = max(want, 0) + 1
	}
	if want != n || l.n != n {
		t.Errorf("walked over %d and counted %d of %d", want, l.n, n)
	}
	for range l.all {
		break // a walk may end early
	}
}
