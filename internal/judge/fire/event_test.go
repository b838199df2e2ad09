package fire

import "testing"

// What an event hits is found where it hits all requests or those of one replica of
// several, and a failure that comes anyway is not taken for it.
func TestBoundary(t *testing.T) {
	t.Parallel()
	// Requests of which every nth fails, up to the given number.
	hit := func(n, every, until int) (list []request) {
		for i := range n {
			list = append(list, request{good: (i+1)%every != 0 || i >= until})
		}
		return list
	}
	for name, tt := range map[string]struct {
		usual float64
		list  []request
		want  int
	}{
		"all of twenty":             {0.001, hit(200, 1, 20), 20},
		"every third of sixty":      {0.001, hit(200, 3, 60), 60},
		"every eighth of eighty":    {0.001, hit(300, 8, 80), 80},
		"none":                      {0.001, hit(200, 1, 0), 0},
		"one at once, as usual":     {0.02, hit(200, 1, 1), 0},
		"every hundredth, as usual": {0.01, hit(400, 100, 400), 0},
		"one at once, never before": {0.001, hit(200, 1, 1), 1},
	} {
		k, low, high := boundary(tt.usual, tt.list)
		if k != tt.want || low > k || high < k {
			t.Errorf("%s: %d (%d to %d), want %d", name, k, low, high, tt.want)
		}
	}
}
