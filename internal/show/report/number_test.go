package report

import (
	"testing"

	"redline/internal/text"
)

func TestWordsForNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ what, got, want string }{
		{"one", plural(1, "request"), "1\u00a0request"},
		{"none", plural(0, "request"), "0\u00a0requests"},
		{"a window", seconds(60), "60\u00a0s"},
		{"twenty and a half", seconds(1230), "20\u00a0min\u00a030\u00a0s"},
		{"a short latency in a sentence", spoken(812.4), "812\u00a0ms"},
		{"a long latency in a sentence", spoken(152_300), "152\u00a0s"},
		{"not in dollars", amount(18.4213, "EUR"), "18.42\u00a0EUR"},
		{"the p999", text.Percentile("p999"), "p99.9"},
		{"the p99", text.Percentile("p99"), "p99"},
		{"a mean", text.Percentile("mean"), "mean"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
}
