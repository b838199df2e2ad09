package slo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// readPercentile reads p99, p99.9 or p999. The key is p and the digits without
// the dot: two digits before it, any after it.
func readPercentile(text string) (key string, p float64, err error) {
	whole, decimals, dotted := strings.Cut(strings.TrimPrefix(text, "p"), ".")
	bad := fmt.Errorf("unknown statistic %q; want a percentile such as p50, p99 or p99.9, or mean or max", text)
	if !strings.HasPrefix(text, "p") || !digits(whole) || dotted && !digits(decimals) {
		return "", 0, bad
	}
	if !dotted && len(whole) > 2 {
		// Only of high percentiles is the dot left out: p101 is a slip.
		high := whole[0] == '9'
		whole, decimals = whole[:2], whole[2:]
		if !high || strings.HasSuffix(decimals, "0") {
			return "", 0, fmt.Errorf("percentile %q: want one below 100, such as p99 or p999 (which is p99.9)", text)
		}
	}
	decimals = strings.TrimRight(decimals, "0")
	switch {
	case len(whole) > 2:
		return "", 0, fmt.Errorf("percentile %q: want one below 100, such as p99.9", text)
	case whole[0] == '0' || len(whole) == 1 && decimals != "":
		return "", 0, fmt.Errorf("percentile %q: want a whole one from p1 to p9, or one from p10 up", text)
	case len(decimals) > 3:
		return "", 0, fmt.Errorf("percentile %q: want at most three decimals, such as p99.999", text)
	}
	key = "p" + whole + decimals
	if len(whole) == 1 {
		whole = "0" + whole
	}
	// The digits are read as one decimal fraction, so p999 is the float64
	// nearest to 0.999 and not a quotient beside it.
	p, err = strconv.ParseFloat("0."+whole+decimals, 64)
	return key, p, err
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// The largest limits that make sense; anything above is a slip of the pen.
const (
	longest     = 24 * time.Hour
	mostTokens  = 1e9
	mostMemory  = 1e9
	mostDollars = 1e6
)

// read reads a limit in the metric's unit.
func (u unit) read(text string) (float64, error) {
	switch u {
	case duration:
		return readDuration(text)
	case fraction:
		return readFraction(text)
	case tokenRate:
		return readNumber(text, "tokens per second, such as 45", mostTokens, suffixes{"tokens/s": 1, "tok/s": 1, "tps": 1})
	case memory:
		return readNumber(text, "MB, such as 1024MB", mostMemory, suffixes{"mib": 1, "mb": 1, "gib": 1024, "gb": 1024})
	default:
		return readNumber(strings.TrimPrefix(text, "$"), "dollars, such as $2.50", mostDollars, nil)
	}
}

func readDuration(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, bare := strconv.ParseFloat(text, 64); bare == nil {
			return 0, fmt.Errorf("limit %q has no unit; write it as in 500ms or 1.2s", text)
		}
		return 0, fmt.Errorf("limit %q: want a duration such as 500ms or 1.2s", text)
	}
	return checkDuration(d, text)
}

func checkDuration(d time.Duration, text string) (float64, error) {
	if d <= 0 || d > longest {
		return 0, fmt.Errorf("limit %q: want a duration above 0 and at most 24h", text)
	}
	return float64(d), nil
}

func readFraction(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("limit %q: want a share such as 1%% or 0.01", text)
	}
	if percent {
		v /= 100
	}
	return checkFraction(v, text)
}

func checkFraction(v float64, text string) (float64, error) {
	if !(v > 0 && v < 1) {
		return 0, fmt.Errorf("limit %q: want a share above 0 and below 1, such as 1%% or 0.01", text)
	}
	return v, nil
}

// suffixes maps the units that may follow a number to their size.
type suffixes map[string]float64

func readNumber(text, want string, most float64, units suffixes) (float64, error) {
	number, size := text, 1.0
	for suffix, s := range units {
		if cut, found := strings.CutSuffix(text, suffix); found {
			number, size = cut, s
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("limit %q: want %s", text, want)
	}
	return checkNumber(v*size, text, want, most)
}

func checkNumber(v float64, text, want string, most float64) (float64, error) {
	if !(v > 0 && v <= most) {
		return 0, fmt.Errorf("limit %q: want %s, above 0 and at most %g", text, want, most)
	}
	return v, nil
}

// write spells a limit so that read gives it back.
func (u unit) write(v float64, stat string) string {
	switch u {
	case duration:
		return writeDuration(v)
	case fraction:
		if percent := text.Plain(round(v * 100)); stat == "rate" && percentOf(percent) == v {
			return percent + "%"
		}
		return text.Plain(v)
	case memory:
		return text.Plain(v) + "MB"
	case money:
		return "$" + text.Plain(v)
	default:
		return text.Plain(v)
	}
}

// writeDuration takes the largest unit, up to seconds, that the limit reaches.
func writeDuration(ns float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}} {
		if ns >= u.size {
			return text.Plain(ns/u.size) + u.name
		}
	}
	return text.Plain(ns) + "ns"
}

// round drops the noise of a multiplication by a power of ten.
func round(v float64) float64 {
	return math.Round(v*1e9) / 1e9
}

func percentOf(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v / 100
}
