package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
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
			return text.Number(float64(ns)/(u.upTo/1e3)) + " " + u.name
		}
	}
	return text.Number(float64(ns)/1e9) + " s"
}
