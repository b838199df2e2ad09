package token

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// TestLongFormAgreesWithNorm holds the definition's own steps against the norm
// package where that inserts nothing.
func TestLongFormAgreesWithNorm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 3))
	parts := []rune("aAeéÅ\u212b\u030a\u0301\u0327\u0308\u0323\u1100\u1161\u11a8가각ﬁ½①\u0f71\u0f72\u0344\u09c7\u09be\u1e9b\u0958\U0001d15e中 \n")
	for range 20000 {
		var b strings.Builder
		for range 1 + r.IntN(10) {
			b.WriteRune(parts[r.IntN(len(parts))])
		}
		for name, form := range forms {
			if got, want := longForm(form, b.String()), form.String(b.String()); got != want {
				t.Fatalf("%s of %+q: got %+q, norm says %+q", name, b.String(), got, want)
			}
		}
	}
}

func TestNormalFormOfManyMarks(t *testing.T) {
	t.Parallel()
	accents, cedillas := strings.Repeat("\u0301", 40), strings.Repeat("\u0327", 40)
	for _, c := range []struct {
		name string
		form norm.Form
		text string
		want string
	}{
		{"nothing composes", norm.NFC, "x" + accents, "x" + accents},
		{"the first composes", norm.NFC, "e" + accents, "é" + accents[2:]},
		{"marks are sorted", norm.NFD, "é" + cedillas, "e" + cedillas + "\u0301"},
		{"sorted, then composed", norm.NFC, "c" + accents + cedillas, "\u1e09" + cedillas[2:] + accents[2:]},
		{"marks of two marks", norm.NFD, strings.Repeat("\u0f73", 20), strings.Repeat("\u0f71", 20) + strings.Repeat("\u0f72", 20)},
		{"no base", norm.NFC, accents, accents},
	} {
		if got := normalForm(c.form, c.text); got != c.want {
			t.Errorf("%s: got %+q, want %+q", c.name, got, c.want)
		}
	}
}

func TestNormalFormKeepsInvalidBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\xffe\u0301": "a\xff\u00e9",
		"\xc3":         "\xc3",
		strings.Repeat("\u0301", 40) + "\xff\xfe": strings.Repeat("\u0301", 40) + "\xff\xfe",
	} {
		if got := normalForm(norm.NFC, text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
