package trace

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"time"
)

// The magnitudes from which on a plain number is taken for milli-, micro- and
// nanoseconds since 1970: as seconds the first would lie in the year 5138.
const (
	fromMillis = 1e11
	fromMicros = 1e14
	fromNanos  = 1e17
)

// parseStamp reads a timestamp as nanoseconds since 1970, or since the
// trace's own start where it is a small number. unit is that of plain
// numbers, 0 to tell it by their size.
func parseStamp(text string, unit time.Duration) (int64, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	stamp, ok := int64(0), false
	if len(text) > 10 && text[4] == '-' {
		stamp, ok = parseDate(text)
	} else {
		stamp, ok = parseNumber(text, unit)
	}
	// The bound, of 146 years either way, keeps every difference within range.
	return stamp, ok && stamp > -1<<62 && stamp < 1<<62
}

// parseNumber reads a plain number by its digits: a float would round
// nanoseconds since 1970.
func parseNumber(text string, unit time.Duration) (int64, bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || !digits(fraction) {
		return parseFloat(text, unit)
	}
	unit = cmp.Or(unit, unitOf(math.Abs(float64(n))))
	if n > math.MaxInt64/int64(unit)-1 || n < math.MinInt64/int64(unit)+1 {
		return 0, false
	}
	part := fractionOf(fraction, int64(unit))
	if strings.HasPrefix(whole, "-") {
		part = -part
	}
	return n*int64(unit) + part, true
}

// parseFloat reads a number with an exponent.
func parseFloat(text string, unit time.Duration) (int64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) {
		return 0, false
	}
	unit = cmp.Or(unit, unitOf(math.Abs(x)))
	if x *= float64(unit); math.Abs(x) >= math.MaxInt64/2 {
		return 0, false
	}
	return int64(math.Round(x)), true
}

func unitOf(size float64) time.Duration {
	switch {
	case size >= fromNanos:
		return time.Nanosecond
	case size >= fromMicros:
		return time.Microsecond
	case size >= fromMillis:
		return time.Millisecond
	}
	return time.Second
}

// fractionOf is the decimal fraction of the given digits, of unit.
func fractionOf(digits string, unit int64) int64 {
	part := int64(0)
	for i := 0; i < len(digits) && unit >= 10; i++ {
		unit /= 10
		part += int64(digits[i]-'0') * unit
	}
	return part
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// parseDate reads 2023-11-16 18:15:46.6805900, with a T or a space, with or
// without a fraction and a zone; without a zone it is UTC.
func parseDate(text string) (int64, bool) {
	if len(text) < 19 || (text[10] != ' ' && text[10] != 'T') {
		return 0, false
	}
	var parts [6]int
	for i, place := range [6][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}} {
		field := text[place[0]:place[1]]
		n, err := strconv.Atoi(field)
		if err != nil || !digits(field) {
			return 0, false
		}
		parts[i] = n
	}
	year, month, day, hour, minute, second := parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]
	if text[7] != '-' || text[13] != ':' || text[16] != ':' || month < 1 || month > 12 || day < 1 || day > 31 ||
		hour > 23 || minute > 59 || second > 60 || year < 1900 || year > 2100 {
		return 0, false
	}
	fraction, zone := splitFraction(text[19:])
	offset, ok := parseZone(zone)
	if !ok {
		return 0, false
	}
	seconds := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix() - offset
	return seconds*int64(time.Second) + fractionOf(fraction, int64(time.Second)), true
}

// splitFraction parts ".680590Z" into digits and zone.
func splitFraction(rest string) (fraction, zone string) {
	if rest == "" || (rest[0] != '.' && rest[0] != ',') {
		return "", rest
	}
	end := 1
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	return rest[1:end], rest[end:]
}

// parseZone reads "", Z, UTC, +02:00, +0200 or +02 as seconds east.
func parseZone(zone string) (int64, bool) {
	zone = strings.TrimSpace(zone)
	switch zone {
	case "", "Z", "z", "UTC", "GMT":
		return 0, true
	}
	sign := int64(1)
	switch zone[0] {
	case '+':
	case '-':
		sign = -1
	default:
		return 0, false
	}
	hhmm := strings.Replace(zone[1:], ":", "", 1)
	if len(hhmm) == 2 {
		hhmm += "00"
	}
	n, err := strconv.Atoi(hhmm)
	if len(hhmm) != 4 || err != nil || !digits(hhmm) || n%100 > 59 || n > 1800 {
		return 0, false
	}
	return sign * int64(n/100*3600+n%100*60), true
}
