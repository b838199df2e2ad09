package token

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// forms are the Unicode normal forms that can be reproduced. The compatibility
// forms are not among them: Hugging Face's tables for those are old, and miss
// dozens of characters that newer ones replace.
var forms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD}

// normalizer brings text into one form after another.
func normalizer(chain []norm.Form) func(string) string {
	if len(chain) == 0 {
		return nil
	}
	return func(text string) string {
		for _, form := range chain {
			text = normalForm(form, text)
		}
		return text
	}
}

// maxMarks is how many marks on one character the norm package lets pass: it
// parts longer runs by a joiner that no tokenizer puts there.
const maxMarks = 30

// normalForm is text in the given form.
func normalForm(form norm.Form, text string) string {
	if form.IsNormalString(text) {
		return text
	}
	if !tooManyMarks(text) {
		return form.String(text)
	}
	return longForm(form, text)
}

// tooManyMarks says that more marks than the norm package takes may come to
// stand on one character. A character may decompose into up to three marks,
// which is why a third of them is enough.
func tooManyMarks(text string) bool {
	marks := 0
	for i := range text {
		if norm.NFD.PropertiesString(text[i:]).LeadCCC() == 0 {
			marks = 0
		} else if marks++; marks > maxMarks/3 {
			return true
		}
	}
	return false
}

// longForm applies the definition of the forms one character at a time.
func longForm(form norm.Form, text string) string {
	var chars []string
	for len(text) > 0 {
		_, width := utf8.DecodeRuneInString(text)
		for part := norm.NFD.String(text[:width]); len(part) > 0; {
			_, n := utf8.DecodeRuneInString(part)
			chars = append(chars, part[:n])
			part = part[n:]
		}
		text = text[width:]
	}
	orderMarks(chars)
	if form == norm.NFC {
		chars = compose(chars)
	}
	var out []byte
	for _, c := range chars {
		out = append(out, c...)
	}
	return string(out)
}

func combiningClass(c string) uint8 { return norm.NFC.PropertiesString(c).CCC() }

// orderMarks sorts each run of marks by their combining classes.
func orderMarks(chars []string) {
	for start := 0; start < len(chars); start++ {
		end := start
		for end < len(chars) && combiningClass(chars[end]) != 0 {
			end++
		}
		slices.SortStableFunc(chars[start:end], func(a, b string) int {
			return int(combiningClass(a)) - int(combiningClass(b))
		})
		start = end
	}
}

// compose joins each character to the last starter before it where the two
// have a composed form and nothing between them keeps them apart.
func compose(chars []string) []string {
	out := chars[:0]
	starter, last := -1, uint8(0)
	for _, c := range chars {
		class := combiningClass(c)
		near := starter == len(out)-1 || last != 0 && last < class
		if starter >= 0 && near {
			if pair := norm.NFC.String(out[starter] + c); utf8.RuneCountInString(pair) == 1 {
				out[starter] = pair
				continue
			}
		}
		out, last = append(out, c), class
		if class == 0 {
			starter = len(out) - 1
		}
	}
	return out
}
