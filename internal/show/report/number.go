package report

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

const (
	// absent stands for a figure that is not known.
	absent = "–"
	// hard is a space at which no line breaks, so that a number keeps its
	// unit; the page turns it into a plain one.
	hard = "\u00a0"
	// figureSpace is as wide as a digit where letters are not all alike; the
	// page of a terminal turns it into a plain one.
	figureSpace = "\u2007"
	// figureDigits is how many significant digits a measured figure shows:
	// the fourth is noise in any load test.
	figureDigits = 3
	// maxDecimals ends a small number at its microseconds or its thousandth.
	maxDecimals = 3
	// absurdPower is the power of ten from which a number, which only a broken
	// server can have sent, is written with an exponent.
	absurdPower = 15
)

// Figure writes a measured number: three significant digits, thousands
// separated.
func Figure(v float64) string { return figure(v) }

func figure(v float64) string { return significant(v, figureDigits, maxDecimals) }

func significant(v float64, digits, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return absent
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
	return grouped(out)
}

// exact writes a number that a person chose, such as a limit, with every digit
// it was given.
func exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return absent
	}
	return grouped(strconv.FormatFloat(v, 'f', -1, 64))
}

// apart writes a figure with as many digits as it takes to tell it from the
// marks it is held against: "500.4" beside a limit of 500, never "500 > 500".
func apart(v float64, marks ...float64) string {
	for digits := figureDigits; digits < 9; digits++ {
		text := significant(v, digits, max(maxDecimals, digits-figureDigits))
		shown, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil || toldApart(v, shown, marks) {
			return text
		}
	}
	return exact(v)
}

// toldApart reports whether the number as shown stands to every mark as the
// real one does.
func toldApart(v, shown float64, marks []float64) bool {
	for _, mark := range marks {
		if cmp.Compare(v, mark) != cmp.Compare(shown, mark) {
			return false
		}
	}
	return true
}

// count writes a whole number, which is exact.
func count[N int | int64](n N) string { return grouped(strconv.FormatInt(int64(n), 10)) }

// grouped puts a comma between the thousands of a decimal number.
func grouped(number string) string {
	sign, rest := "", number
	if strings.HasPrefix(rest, "-") {
		sign, rest = "-", rest[1:]
	}
	whole, fraction := rest, ""
	if dot := strings.IndexByte(rest, '.'); dot >= 0 {
		whole, fraction = rest[:dot], rest[dot:]
	}
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return sign + whole + fraction
}

// trimmed drops the zeros that end a fraction: "60.0" is "60" in a sentence.
func trimmed(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimRight(strings.TrimRight(number, "0"), ".")
}

// inUnit joins a number and its unit so that no line breaks between them.
func inUnit(number, unit string) string {
	if unit == "" || number == absent {
		return number
	}
	return number + hard + unit
}

func milliseconds(v float64) string { return inUnit(figure(v), "ms") }

// percent never rounds a share up to all or down to none.
func percent(fraction float64) string {
	return inPercent(trimmed(apart(100*fraction, 0, 100)))
}

// inPercent marks a number as a percentage, but for one that is not known.
func inPercent(number string) string {
	if number == absent {
		return number
	}
	return number + "%"
}

// seconds writes a length of time for a sentence; whole minutes take over
// where seconds stop being easy to grasp.
func seconds(s float64) string {
	if s < 600 {
		return inUnit(trimmed(figure(s)), "s")
	}
	whole := int64(math.Round(s))
	text := inUnit(count(whole/60), "min")
	if rest := whole % 60; rest != 0 {
		text += hard + inUnit(count(rest), "s")
	}
	return text
}

// spoken writes milliseconds for a sentence, in seconds from ten of them on.
func spoken(ms float64) string {
	if ms >= 10_000 {
		return inUnit(figure(ms/1000), "s")
	}
	return milliseconds(ms)
}

// number of something: "1 request", "2 requests".
func plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1" + hard + noun
	}
	return count(n) + hard + noun + "s"
}
