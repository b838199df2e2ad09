package objective

import (
	"testing"

	"redline/internal/show/document"
)

func TestPricesHaveTheirSignInFront(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ number, unit, want string }{
		{"4.40", "$/1M tokens", "$4.40 per 1M tokens"},
		{"2.5", "$/1M tokens", "$2.50 per 1M tokens"},
		{"0.002", "$/request", "$0.002 per request"},
		{"500", "ms", "500 ms"},
	} {
		if got := document.PlainSpaces(inUnit(tt.number, tt.unit)); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.number, tt.unit, got, tt.want)
		}
	}
}
