package text

import (
	"math"
	"testing"
	"time"
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
		if got := Figure(tt.v); got != tt.want {
			t.Errorf("Figure(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestDistinct(t *testing.T) {
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
		if got := Distinct(tt.v, tt.limit); got != tt.want {
			t.Errorf("Distinct(%v, %v) = %q, want %q", tt.v, tt.limit, got, tt.want)
		}
	}
}

func TestRoughPair(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v, limit     float64
		want, beside string
	}{
		{3.8, 1, "3.8", "1"},
		{1.14, 1.12, "1.14", "1.12"},
		{1.1201, 1.12, "1.1201", "1.12"},
		{85.4, 85, "85.4", "85"},
		{0.0498, 0.0502, "0.0498", "0.0502"},
		{1235.2, 1234.9, "1,235.2", "1,234.9"},
		{5, 5, "5", "5"},
		{0, 0, "0", "0"},
		{0, 1, "0", "1"},
	} {
		if got, beside := RoughPair(tt.v, tt.limit); got != tt.want || beside != tt.beside {
			t.Errorf("RoughPair(%v, %v) = %q, %q, want %q, %q", tt.v, tt.limit, got, beside, tt.want, tt.beside)
		}
	}
}

func TestNumbersInWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ what, got, want string }{
		{"a figure in a sentence", Number(60), "60"},
		{"a fraction in a sentence", Number(0.41), "0.41"},
		{"a long fraction", Number(14.999999999999986), "15"},
		{"no exponent", Number(2.63e3), "2,630"},
		{"an absurd number", Number(1e300), "1.00e+300"},
		{"four digits", Digits(1234.56, 4), "1,235"},
		{"a small one of four", Digits(0.000123456, 4), "0.0001235"},
		{"a rough number", Rough(134.4), "134"},
		{"a rough fraction", Rough(0.123), "0.12"},
		{"not ten", Rough(9.96), "10"},
		{"a negative number", Rough(-1234.4), "-1,234"},
		{"a count", Count(1204), "1,204"},
		{"a small count", Count(204), "204"},
		{"a large count", Count(int64(-1234567)), "-1,234,567"},
		{"a limit keeps its digits", Exact(1234.5), "1,234.5"},
		{"what arithmetic leaves", Exact(14.999999999999986), "15"},
		{"no limit", Exact(math.NaN()), "–"},
		{"a flag", Plain(1e7), "10000000"},
		{"a rounded flag", Plain(Round(12.3456, 3)), "12.3"},
		{"two decimals", FixedNumber(1234.5, 2), "1,234.50"},
		{"tokens", Short(1900), "1.9k"},
		{"more", Short(52_340), "52k"},
		{"a million", Short(999_900), "1M"},
		{"a thousand", Short(996), "1k"},
		{"a large context", Short(131_072), "130k"},
		{"a few", Short(4.26), "4.3"},
		{"none", Short(0), "0"},
		{"a change", SignedNumber(12.34), "+12"},
		{"a fall", SignedNumber(-0.123), "−0.12"},
		{"nearly all of a fall", SignedNumber(-99.921), "−99.92"},
		{"all of a fall", SignedNumber(-100), "−100"},
		{"no change", SignedNumber(0.0001), "0"},
		{"a share", Percent(0.9543), "95.4%"},
		{"a whole share", Percent(1), "100%"},
		{"almost all", Percent(0.99996), "99.996%"},
		{"almost none", Percent(0.0000123), "0.001%"},
		{"no share", Percent(math.NaN()), "–"},
		{"a rough share", RoughPercent(0.9543), "95%"},
		{"a load", Rate(17.3456), "17.35 requests/s"},
		{"a slow load", Rate(1), "1 request/s"},
		{"a rate of another kind", Unit(Number(1), "good requests/s"), "1 good request/s"},
		{"a latency", Milliseconds(84), "84.0 ms"},
		{"a latency in a sentence", Time(84), "84 ms"},
		{"a long one", Time(26_340), "26.3 s"},
		{"a window", Seconds(60), "60 s"},
		{"an odd window", Seconds(13.2), "13.2 s"},
		{"twenty minutes", Seconds(1200), "20 min"},
		{"twenty and a half", Seconds(1230), "20 min 30 s"},
		{"a chosen length", Length(3 * time.Minute), "3 min"},
		{"an odd length", Length(185 * time.Second), "3 min 5 s"},
		{"an estimate", About(119_400 * time.Millisecond), "119 s"},
		{"a longer one", About(150 * time.Minute), "2.5 h"},
		{"bytes", Bytes(512), "512 B"},
		{"many bytes", Bytes(80 << 30), "80 GiB"},
		{"an odd size", Bytes(1.5 * (1 << 20)), "1.5 MiB"},
		{"no cost", Money(math.NaN(), ""), "–"},
		{"no price", Price(math.Inf(1), "EUR"), "–"},
		{"no time", Seconds(math.NaN()), "–"},
		{"no end", Seconds(math.Inf(1)), "–"},
		{"a time without an end in sight", Seconds(1e300), "1.00e+300 s"},
		{"no size", Bytes(math.NaN()), "–"},
		{"nothing fixed", FixedNumber(math.Inf(-1), 2), "–"},
		{"the largest count", Count(uint64(math.MaxUint64)), "18,446,744,073,709,551,615"},
		{"the smallest count", Count(int64(math.MinInt64)), "-9,223,372,036,854,775,808"},
		{"a cost", Money(0.00041231, ""), "$0.000412"},
		{"a spend", Money(18.4213, "USD"), "$18.42"},
		{"not in dollars", Money(18.4213, "EUR"), "18.42 EUR"},
		{"a price", Price(2.5, ""), "$2.50"},
		{"a small price", Price(0.00125, "EUR"), "0.00125 EUR"},
		{"one", Plural(1, "request"), "1 request"},
		{"none of them", Plural(0, "request"), "0 requests"},
		{"many", Plural(int64(2000), "request was", "requests were"), "2,000 requests were"},
		{"a point", Units(Number(1), "point"), "1 point"},
		{"points", Units(Number(1.5), "point"), "1.5 points"},
		{"a list", List([]string{"a", "b", "c"}), "a, b and c"},
		{"a short list", List([]string{"a"}), "a"},
		{"parts that are there", Join(" · ", "a", "", "b"), "a · b"},
		{"a quotation", Quote("a\n\"b\""), `"a\n\"b\""`},
		{"a word", Shell("--rate=5"), "--rate=5"},
		{"two words", Shell("it's so"), `'it'\''s so'`},
		{"no word", Shell(""), "''"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]string{0: "0 ns", 999: "999 ns", 1400: "1.4 µs", 23_456: "23.5 µs", 5_000_000: "5 ms",
		123_456_789: "123 ms", 7_000_000_000: "7 s", -2_500_000: "-2.5 ms"} {
		if got := Span(ns); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}
