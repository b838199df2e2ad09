package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"redline/internal/text"
)

// tones are the terminal colours of the marks.
var tones = map[Mark]string{OK: "32", Warn: "33", Bad: "31"}

// shownAs is the word for each mark.
var shownAs = map[Mark]string{OK: "ok", Warn: "warn", Bad: "bad", Unread: "–"}

// Text writes the verdict and then one line per finding.
func Text(w io.Writer, r *Report, colour bool) error {
	paint := func(tone, text string) string {
		if !colour || tone == "" {
			return text
		}
		return "\x1b[" + tone + "m" + text + "\x1b[0m"
	}
	var b strings.Builder
	tone := tones[OK]
	if !r.Ready {
		tone = tones[Bad]
	}
	fmt.Fprintln(&b, paint("1;"+tone, text.Line(r.Verdict)))
	widest := 0
	for _, f := range r.Findings {
		widest = max(widest, utf8.RuneCountInString(f.What))
	}
	about := ""
	for _, f := range r.Findings {
		if f.About != about {
			about = f.About
			fmt.Fprintf(&b, "\n%s\n", paint("1", text.Line(heading(r, about))))
		}
		mark := paint(tones[f.Mark], fmt.Sprintf("%-4s", shownAs[f.Mark]))
		line := fmt.Sprintf("  %s  %s  %s", mark, padded(f.What, widest), text.Line(f.Figure))
		if f.Cure != "" {
			line += " → " + text.Line(f.Cure)
		}
		fmt.Fprintln(&b, line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func heading(r *Report, about string) string {
	if about == "machine" {
		return "this machine (" + r.Machine.System + ")"
	}
	return about
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// JSON writes the whole report, with the evidence.
func JSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// span writes nanoseconds in the unit that suits them.
func span(ns int64) string {
	v := math.Abs(float64(ns))
	for _, u := range []struct {
		upTo float64
		name string
	}{{1e3, "ns"}, {1e6, "µs"}, {1e9, "ms"}} {
		if v < u.upTo {
			return number(float64(ns)/(u.upTo/1e3)) + " " + u.name
		}
	}
	return number(float64(ns)/1e9) + " s"
}

// number writes at most three significant digits.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return grouped(int64(math.Round(v)))
	case a >= 10:
		return trimmed(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return trimmed(strconv.FormatFloat(v, 'f', 2, 64))
}

func trimmed(decimal string) string {
	return strings.TrimRight(strings.TrimRight(decimal, "0"), ".")
}

// about writes two significant digits, for what another try would give
// differently: "52k".
func about(v float64) string {
	if v <= 0 {
		return "0"
	}
	scale := math.Pow(10, math.Floor(math.Log10(v))-1)
	v = math.Round(v/scale) * scale
	switch {
	case v >= 1e6:
		return number(v/1e6) + "M"
	case v >= 1e3:
		return number(v/1e3) + "k"
	}
	return number(v)
}

// percent never rounds a share up to all.
func percent(share float64) string {
	if share < 1 && share > 0.999 {
		return "over 99.9 %"
	}
	return number(100*share) + " %"
}

// grouped puts a comma between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
