package text

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// Absent stands for a figure that is not known.
	Absent = "–"
	// figureDigits is how many significant digits a measured figure shows:
	// the fourth is noise in any load test.
	figureDigits = 3
	// maxDecimals ends a small number at its microseconds or its thousandth.
	maxDecimals = 3
	// absurdPower is the power of ten from which a number, which only a broken
	// server can have sent, is written with an exponent.
	absurdPower = 15
)

// Figure writes a measured number for a table: three significant digits,
// thousands grouped.
func Figure(v float64) string { return Significant(v, figureDigits, maxDecimals) }

// Number is Figure for a sentence: "60", not "60.0".
func Number(v float64) string { return Trim(Figure(v)) }

// Digits is Number with another count of significant digits.
func Digits(v float64, digits int) string { return Trim(Significant(v, digits, 8)) }

// Rough writes two significant digits, or all before the point: for checks and
// differences, which need no more.
func Rough(v float64) string { return rough(v, maxDecimals) }

func rough(v float64, decimals int) string {
	if a := math.Abs(v); a >= 9.95 && a < math.Pow10(absurdPower) {
		return FixedNumber(v, 0)
	}
	return Trim(Significant(v, 2, decimals))
}

// RoughPair is Rough for a figure and its limit, with more digits where the two
// differ and would look equal: "1.14" and "1.12", never twice "1.1".
func RoughPair(v, limit float64) (figure, bound string) {
	figure, bound = Rough(v), Rough(limit)
	before := max(0, int(math.Log10(max(1, math.Abs(limit))))-1) // digits that Rough shows beyond two
	for digits := figureDigits + before; figure == bound && v != limit && digits < 9+before; digits++ {
		figure, bound = Digits(v, digits), Digits(limit, digits)
	}
	return figure, bound
}

// Significant writes a number with that many digits, and at most decimals of them behind the
// point.
func Significant(v float64, digits, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Absent
	}
	if v == 0 {
		return "0"
	}
	text := strconv.FormatFloat(v, 'e', digits-1, 64)
	rounded, _ := strconv.ParseFloat(text, 64)
	_, power, _ := strings.Cut(text, "e")
	exponent, _ := strconv.Atoi(power)
	if exponent >= absurdPower {
		return text
	}
	places := min(max(digits-1-exponent, 0), decimals)
	out := strconv.FormatFloat(rounded, 'f', places, 64)
	if strings.Trim(out, "-0.") == "" {
		return "<" + strconv.FormatFloat(math.Pow10(-decimals), 'f', decimals, 64)
	}
	return group(out)
}

// FixedNumber writes a number with so many digits behind the point, thousands
// grouped.
func FixedNumber(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Absent
	}
	return group(strconv.FormatFloat(v, 'f', decimals, 64))
}

// Exact writes a number that a person chose, such as a limit, with every digit
// it was given; what arithmetic leaves behind the twelfth was not.
func Exact(v float64) string { return FixedNumber(Round(v, 12), -1) }

// Plain is a number as a file, a flag or a spreadsheet reads it back: every
// digit, no groups, no exponent.
func Plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Round keeps so many significant digits.
func Round(v float64, digits int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return rounded
}

// Distinct writes a figure with as many digits as it takes to tell it from the
// marks it is compared with: "500.4" beside a limit of 500, never "500 > 500".
func Distinct(v float64, marks ...float64) string {
	for digits := figureDigits; digits < 9; digits++ {
		text := Significant(v, digits, max(maxDecimals, digits-figureDigits))
		shown, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil || !slices.ContainsFunc(marks, func(mark float64) bool { return cmp.Compare(v, mark) != cmp.Compare(shown, mark) }) {
			return text
		}
	}
	return Exact(v)
}

// Count writes a whole number, which is exact.
func Count[N int | int64 | uint64](n N) string {
	if n < 0 {
		return group(strconv.FormatInt(int64(n), 10))
	}
	return group(strconv.FormatUint(uint64(n), 10))
}

// group puts a comma between the thousands of a decimal number.
func group(number string) string {
	rest, negative := strings.CutPrefix(number, "-")
	whole, _, _ := strings.Cut(rest, ".")
	fraction := rest[len(whole):]
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if negative {
		whole = "-" + whole
	}
	return whole + fraction
}

// Trim drops the zeros that end a fraction: "60.0" is "60" in a sentence.
func Trim(number string) string {
	if !strings.Contains(number, ".") || strings.Contains(number, "e") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// Short writes two significant digits with a mark for the thousands, for what
// another try would give differently: "1.9k", "52k", "4.2M".
func Short(v float64) string {
	v = Round(v, 2)
	for _, unit := range []struct {
		size float64
		mark string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= unit.size {
			return Plain(Round(v/unit.size, 2)) + unit.mark
		}
	}
	return Digits(v, 2)
}

// SignedNumber writes a change with its sign and two digits: more would be noise,
// but for a percentage that is not all of it.
func SignedNumber(v float64) string {
	switch text := Significant(math.Abs(v), 2, 2); {
	case text == "100" && -100 < v && v < 0:
		return "−" + Trim(strconv.FormatFloat(math.Floor(-v*100)/100, 'f', 2, 64))
	case text == Absent:
		return text
	case text == "0" || strings.HasPrefix(text, "<"):
		return "0"
	case v < 0:
		return "−" + text
	default:
		return "+" + text
	}
}
