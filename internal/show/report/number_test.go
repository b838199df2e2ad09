package report

import (
	"math"
	"testing"
)

func TestFigure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{0.0004, "<0.001"},
		{0.00051, "0.001"},
		{0.0123, "0.012"},
		{0.41, "0.410"},
		{1.234, "1.23"},
		{9.996, "10.0"},
		{11.71, "11.7"},
		{99.96, "100"},
		{812.4, "812"},
		{999.6, "1,000"},
		{1234, "1,230"},
		{152_300, "152,000"},
		{1_234_567, "1,230,000"},
		{-12.34, "-12.3"},
		{-1234, "-1,230"},
		{math.NaN(), "–"},
		{math.Inf(1), "–"},
		{1e308, "1.00e+308"},
	} {
		if got := figure(tt.v); got != tt.want {
			t.Errorf("figure(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v, limit float64
		want     string
	}{
		{812.4, 500, "812"},
		{500.4, 500, "500.4"},
		{499.96, 500, "499.96"},
		{5998.7, 6000, "5,999"},
		{6000.2, 6000, "6,000.2"},
		{1234, 1230, "1,234"},
		{500, 500, "500"},
		{0.0312, 0.03, "0.031"},
		{0, 1, "0"},
		{0.166, 1, "0.166"},
	} {
		if got := apart(tt.v, tt.limit); got != tt.want {
			t.Errorf("apart(%v, %v) = %q, want %q", tt.v, tt.limit, got, tt.want)
		}
	}
}

func TestWordsForNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ what, got, want string }{
		{"a count", count(1204), "1,204"},
		{"a small count", count(204), "204"},
		{"a large count", count(int64(-1234567)), "-1,234,567"},
		{"a limit keeps its digits", exact(1234.5), "1,234.5"},
		{"no limit", exact(math.NaN()), "–"},
		{"one", plural(1, "request"), "1\u00a0request"},
		{"none", plural(0, "request"), "0\u00a0requests"},
		{"a share", percent(0.9543), "95.4%"},
		{"a whole share", percent(1), "100%"},
		{"almost all", percent(0.99996), "99.996%"},
		{"almost none", percent(0.0000123), "0.001%"},
		{"a window", seconds(60), "60\u00a0s"},
		{"an odd window", seconds(13.2), "13.2\u00a0s"},
		{"twenty minutes", seconds(1200), "20\u00a0min"},
		{"twenty and a half", seconds(1230), "20\u00a0min\u00a030\u00a0s"},
		{"a short latency in a sentence", spoken(812.4), "812\u00a0ms"},
		{"a long latency in a sentence", spoken(152_300), "152\u00a0s"},
		{"a price", amount(0.00041231, ""), "$0.000412"},
		{"a spend", amount(18.4213, "USD"), "$18.4"},
		{"not in dollars", amount(18.4213, "EUR"), "18.4\u00a0EUR"},
		{"the p999", percentileName("p999"), "p99.9"},
		{"the p99", percentileName("p99"), "p99"},
		{"a mean", percentileName("mean"), "mean"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
}

func TestPricesHaveTheirSignInFront(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ number, unit, want string }{
		{"4.40", "$/1M tokens", "$4.40 per 1M tokens"},
		{"2.5", "$/1M tokens", "$2.50 per 1M tokens"},
		{"0.002", "$/request", "$0.002 per request"},
		{"500", "ms", "500 ms"},
	} {
		if got := plainSpaces(judgedIn(tt.number, tt.unit)); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.number, tt.unit, got, tt.want)
		}
	}
}
