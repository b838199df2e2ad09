package report

import (
	"strings"

	"redline/internal/show/document"
	"redline/internal/text"
)

const (
	absent = text.Absent
	hard   = document.Hard

	maxDecimals = 3
)

// Numbers are written as everywhere, but for their spaces, which are hard.
var (
	inUnit       = document.Unit
	figure       = text.Figure
	significant  = text.Significant
	exact        = text.Exact
	trimNumber   = text.Trim
	percent      = text.Percent
	percent2     = text.RoughPercent
	inPercent    = text.Percentage
	signedNumber = text.SignedNumber
)

// noBreak keeps a line from breaking inside of a text.
func noBreak(s string) string { return strings.ReplaceAll(s, " ", hard) }

func count[N int | int64](n N) string { return text.Count(n) }

func milliseconds(ms float64) string { return noBreak(text.Milliseconds(ms)) }

func seconds(s float64) string { return noBreak(text.Seconds(s)) }

func amount(v float64, currency string) string { return noBreak(text.Money(v, clean(currency))) }

func plural[N int | int64](n N, noun string) string {
	return strings.Replace(text.Plural(n, noun), " ", hard, 1)
}

// spoken writes milliseconds for a sentence, in seconds from ten of them on.
func spoken(ms float64) string {
	unit, by := text.TimeUnit(ms)
	return inUnit(figure(ms/by), unit)
}
