package text

import (
	"math"
	"strings"
	"time"
)

// Unit puts a unit behind a number that is known: "20 requests/s", "1 request/s".
func Unit(number, unit string) string {
	if unit == "" || number == Absent {
		return number
	}
	switch {
	case number == "1" && unit == "agents":
		unit = "agent"
	case number == "1":
		unit = strings.Replace(unit, "s/s", "/s", 1)
	}
	return number + " " + unit
}

// Percent writes a share. It is never rounded up to all or down to none.
func Percent(share float64) string { return Percentage(Trim(Distinct(100*share, 0, 100))) }

// RoughPercent is Percent with two digits, or all before the point.
func RoughPercent(share float64) string { return Percentage(rough(100*share, 2)) }

// Percentage marks a number as one, if it is known.
func Percentage(number string) string {
	if number == Absent {
		return number
	}
	return number + "%"
}

// Rate is requests in a second with four digits, as an offered load has them.
func Rate(perSecond float64) string { return Unit(Digits(perSecond, 4), "requests/s") }

// Milliseconds is a measured time for a table.
func Milliseconds(ms float64) string { return Unit(Figure(ms), "ms") }

// Time is a measured time for a sentence, in seconds from ten of them on.
func Time(ms float64) string {
	if math.Abs(ms) >= 10_000 {
		return Unit(Number(ms/1000), "s")
	}
	return Unit(Number(ms), "ms")
}

// TimeUnit is the unit of times of which the longest has so many ms, and what to
// divide them by: seconds from ten of them on.
func TimeUnit(longest float64) (unit string, by float64) {
	if longest >= 10_000 {
		return "s", 1000
	}
	return "ms", 1
}

// Seconds is a length of time for a sentence; minutes take over where seconds
// stop being easy to grasp.
func Seconds(s float64) string {
	if !(s >= 600 && s < math.MaxInt64) {
		return Unit(Number(s), "s")
	}
	return minutes(s)
}

// Length is a length that was chosen: in minutes from two of them on.
func Length(d time.Duration) string {
	if d < 2*time.Minute {
		return Seconds(d.Seconds())
	}
	return minutes(d.Seconds())
}

// Option is a length as options and plans have it: 3h, 1m30s.
func Option(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func minutes(s float64) string {
	whole := int64(math.Round(s))
	text := Unit(Count(whole/60), "min")
	if rest := whole % 60; rest != 0 {
		text += " " + Unit(Count(rest), "s")
	}
	return text
}

// About is a rough duration.
func About(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return Unit(FixedNumber(d.Seconds(), 0), "s")
	case d < 2*time.Hour:
		return Unit(FixedNumber(d.Minutes(), 0), "min")
	}
	return Unit(FixedNumber(d.Hours(), 1), "h")
}

// Bytes shows a size in the largest unit that leaves a number above 1.
func Bytes(n float64) string {
	for _, u := range []struct {
		size float64
		unit string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if math.Abs(n) >= u.size {
			return Unit(Number(n/u.size), u.unit)
		}
	}
	return Unit(FixedNumber(n, 0), "B")
}

// Money is a computed amount: three digits, or cents, dollars where no currency is named.
func Money(v float64, currency string) string {
	if a := math.Abs(v); a >= 10 && a < 100 {
		return price(FixedNumber(v, 2), currency) // one decimal reads as no price
	}
	return price(Significant(v, figureDigits, 8), currency)
}

// Price is an amount that a person chose: every digit that was given, cents at
// least.
func Price(v float64, currency string) string {
	number := Exact(v)
	if cents := FixedNumber(v, 2); math.Abs(v) >= 0.01 && len(cents) > len(number) {
		number = cents
	}
	return price(number, currency)
}

func price(number, currency string) string {
	if number == Absent {
		return number
	}
	if currency == "" || currency == "USD" {
		return "$" + number
	}
	return Unit(number, currency)
}

// Percentile is "p99.9" for the key "p999".
func Percentile(key string) string {
	if digits, ok := strings.CutPrefix(key, "p"); ok && len(digits) > 2 && strings.Trim(digits, "0123456789") == "" {
		return "p" + digits[:2] + "." + digits[2:]
	}
	return key
}

// Span is a length in nanoseconds, in the unit that suits it.
func Span(ns int64) string {
	v := math.Abs(float64(ns))
	for _, u := range []struct {
		upTo float64
		name string
	}{{1e3, "ns"}, {1e6, "µs"}, {1e9, "ms"}} {
		if v < u.upTo {
			return Number(float64(ns)/(u.upTo/1e3)) + " " + u.name
		}
	}
	return Number(float64(ns)/1e9) + " s"
}
