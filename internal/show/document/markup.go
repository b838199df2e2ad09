package document

import (
	"strconv"
	"strings"

	"redline/internal/text"
)

// Tone is what a color means.
type Tone byte

// The tones: of single words, and of the verdict itself.
const (
	Plain Tone = iota
	Good
	Weak
	Bad
	Bold
	Met
	Open
	Lost
)

// Markup within a text is set off by control characters, which no text from
// outside can hold once it was cleaned.
const (
	toneOn, toneOff   = '\x01', '\x02'
	markOn, markOff   = '\x03', '\x04'
	doubtOn, doubtOff = '\x05', '\x06'
)

// Spaces that a terminal shows as plain ones.
const (
	Hard        = "\u00a0" // no line breaks at it, so that a number keeps its unit
	FigureSpace = "\u2007" // as wide as a digit where letters are not all alike
)

// Unit is a number with its unit, between which no line breaks.
func Unit(number, unit string) string {
	return strings.Replace(text.Unit(number, unit), " ", Hard, 1)
}

// PlainSpaces is a text for where no special space means anything.
func PlainSpaces(text string) string {
	return strings.NewReplacer(Hard, " ", FigureSpace, " ").Replace(text)
}

// Paint gives a text a tone.
func Paint(t Tone, text string) string {
	if t == Plain || text == "" {
		return text
	}
	return string(toneOn) + string('a'+rune(t)) + text + string(toneOff)
}

// Mark is the reference to a footnote of that text, to be put behind what it is
// about; nothing where there is no text.
func Mark(note string) string { return enclose(markOn, note, markOff) }

// Doubt is a mark on a number of a table that is said only once where a whole
// row, column or table shares it.
func Doubt(note string) string { return enclose(doubtOn, note, doubtOff) }

func enclose(on rune, text string, off rune) string {
	if text == "" {
		return ""
	}
	return string(on) + text + string(off)
}

// segment is a stretch of a text in one tone; a mark has its footnote's text
// instead.
type segment struct {
	text string
	tone Tone
	mark bool
}

// segments takes a text apart at its markup.
func segments(text string) []segment {
	var list []segment
	tone := Plain
	add := func(one segment) {
		if one.text != "" {
			list = append(list, one)
		}
	}
	for text != "" {
		at := strings.IndexAny(text, "\x01\x02\x03\x04\x05\x06")
		if at < 0 {
			break
		}
		add(segment{text: text[:at], tone: tone})
		sign := rune(text[at])
		text = text[at+1:]
		switch sign {
		case toneOn:
			if text != "" {
				tone, text = Tone(text[0]-'a'), text[1:]
			}
		case toneOff:
			tone = Plain
		case markOn, doubtOn:
			note, rest, _ := strings.Cut(text, string(sign+1))
			add(segment{note, tone, true})
			text = rest
		}
	}
	add(segment{text: text, tone: tone})
	return list
}

// cellTone is the tone of a cell, which is that of its first letter, and its text
// without marks.
func cellTone(cell string) (tone Tone, text string) {
	for i, s := range segments(cell) {
		if i == 0 {
			tone = s.tone
		}
		if !s.mark {
			text += s.text
		}
	}
	return tone, text
}

// doubtful parts a cell from its doubt.
func doubtful(cell string) (rest, doubt string) {
	before, after, found := strings.Cut(cell, string(doubtOn))
	if !found {
		return cell, ""
	}
	doubt, after, _ = strings.Cut(after, string(doubtOff))
	return before + after, doubt
}

// footnotes numbers the remarks on weak numbers. One text has one number,
// however many figures carry it, and is printed once: where the first footnotes
// after it go.
type footnotes struct {
	texts   []string
	printed int
}

// mark gives the superscript that refers to text. A text that begins another
// one is said by it.
func (f *footnotes) mark(text string) string {
	for i, known := range f.texts {
		if strings.HasPrefix(known, text) {
			return superscript(i + 1)
		}
	}
	f.texts = append(f.texts, text)
	return superscript(len(f.texts))
}

// due calls show with each footnote that was not yet shown.
func (f *footnotes) due(show func(mark, text string)) {
	for ; f.printed < len(f.texts); f.printed++ {
		show(superscript(f.printed+1), f.texts[f.printed])
	}
}

// layOut is a text with its footnotes numbered and its tones as paint gives them.
func (f *footnotes) layOut(text string, paint func(Tone, string) string) string {
	var out strings.Builder
	run, tone := "", Plain
	for _, s := range segments(text) {
		if s.tone != tone {
			out.WriteString(paint(tone, run))
			run, tone = "", s.tone
		}
		if s.mark {
			s.text = f.mark(s.text)
		}
		run += s.text
	}
	return out.String() + paint(tone, run)
}

func noPaint(_ Tone, text string) string { return text }

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var out strings.Builder
	for _, digit := range strconv.Itoa(n) {
		out.WriteRune(digits[digit-'0'])
	}
	return out.String()
}
