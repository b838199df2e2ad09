package slo

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"redline/internal/judge/figure"
	"redline/internal/text"
)

// The largest limits that make sense; anything above is a typing error.
const (
	maxTime    = 24 * time.Hour
	maxTokens  = 1e9
	maxMemory  = 1e9
	maxDollars = 1e6
)

// quantity is the unit that a limit is read and written in.
type quantity figure.Unit

// read reads a limit in the metric's unit.
func (u quantity) read(text string) (float64, error) {
	switch figure.Unit(u) {
	case figure.Milliseconds:
		return readDuration(text)
	case figure.Fraction:
		return readFraction(text)
	case figure.TokenRate:
		return readNumber(text, "tokens per second, such as 45", maxTokens, suffixes{"tokens/s": 1, "tok/s": 1, "tps": 1})
	case figure.JobRate:
		return readNumber(text, "jobs per hour, such as 120", maxTokens, suffixes{"jobs/h": 1, "/h": 1})
	case figure.Memory:
		return readNumber(text, "MB, such as 1024MB", maxMemory, suffixes{"mib": 1, "mb": 1, "gib": 1024, "gb": 1024})
	default:
		return readNumber(strings.TrimPrefix(text, "$"), "dollars, such as $2.50", maxDollars, nil)
	}
}

func readDuration(text string) (float64, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, bare := strconv.ParseFloat(text, 64); bare == nil {
			return 0, fmt.Errorf("limit %q has no unit; write it as in 500ms or 1.2s", text)
		}
		return 0, fmt.Errorf("limit %q: expected a duration such as 500ms or 1.2s", text)
	}
	return checkDuration(d, text)
}

func checkDuration(d time.Duration, text string) (float64, error) {
	if d <= 0 || d > maxTime {
		return 0, fmt.Errorf("limit %q: expected a duration above 0 and at most 24h", text)
	}
	return float64(d), nil
}

func readFraction(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("limit %q: expected a share such as 1%% or 0.01", text)
	}
	if percent {
		v /= 100
	}
	return checkFraction(v, text)
}

func checkFraction(v float64, text string) (float64, error) {
	if !(v > 0 && v < 1) {
		return 0, fmt.Errorf("limit %q: expected a share above 0 and below 1, such as 1%% or 0.01", text)
	}
	return v, nil
}

// suffixes maps the units that may follow a number to their size.
type suffixes map[string]float64

func readNumber(text, want string, limit float64, units suffixes) (float64, error) {
	number, size := text, 1.0
	for suffix, s := range units {
		if cut, found := strings.CutSuffix(text, suffix); found {
			number, size = cut, s
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("limit %q: expected %s", text, want)
	}
	return checkNumber(v*size, text, want, limit)
}

func checkNumber(v float64, text, want string, limit float64) (float64, error) {
	if !(v > 0 && v <= limit) {
		return 0, fmt.Errorf("limit %q: expected %s, above 0 and at most %g", text, want, limit)
	}
	return v, nil
}

// write spells a limit so that read gives it back.
func (u quantity) write(v float64, stat string) string {
	switch {
	case u == quantity(figure.Milliseconds):
		return writeDuration(v)
	case u == quantity(figure.Fraction):
		// The rounding drops the noise of the multiplication.
		if percent := text.Plain(math.Round(v*100*1e9) / 1e9); stat == "rate" && percentOf(percent) == v {
			return percent + "%"
		}
		return text.Plain(v)
	case u == quantity(figure.Memory):
		return text.Plain(v) + "MB"
	case figure.Unit(u).Money():
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

func percentOf(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v / 100
}
