package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"redline/internal/must"
)

func TestCleanShowsWhatActsUnseen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, clean, line string }{
		{"plain words, ümläut, 漢字, 👩‍🔧", "plain words, ümläut, 漢字, 👩‍🔧", "plain words, ümläut, 漢字, 👩‍🔧"},
		{"\x1b[2J\x1b]0;owned\a", `\x1b[2J\x1b]0;owned\x07`, `\x1b[2J\x1b]0;owned\x07`},
		{"two\nlines\tand a tab", "two\nlines\tand a tab", "two lines and a tab"},
		{"back\rover", `back\x0dover`, `back\x0dover`},
		{"one\r\ntwo", "one\\x0d\ntwo", "one two"},
		{"\u202egnp.exe\u202c \u2066x\u2069", `\u202egnp.exe\u202c \u2066x\u2069`, `\u202egnp.exe\u202c \u2066x\u2069`},
		{"\u009b31m \x9b31m", `\u009b31m \x9b31m`, `\u009b31m \x9b31m`},
		{"\u2028 \u200f \ufeff \U000e0041", `\u2028 \u200f \ufeff \U000e0041`, `\u2028 \u200f \ufeff \U000e0041`},
		{"a real \ufffd", "a real \ufffd", "a real \ufffd"},
	} {
		if got := Clean(c.in); got != c.clean {
			t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.clean)
		}
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
	}
}

func TestCutKeepsWholeCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		most int
		want string
	}{{"short", 5, "short"}, {"longer", 4, "long…"}, {"ab漢字", 4, "ab…"}, {"ab漢字", 5, "ab漢…"}, {"漢", 2, "…"}} {
		if got := Cut(c.in, c.most); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.most, got, c.want)
		}
	}
}

func TestMaskHidesEveryForm(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD9\n-----END KEY-----"
	for _, c := range []struct{ secret, said, want string }{
		{"sk-12345678", "the key sk-12345678 is wrong", "the key *** is wrong"},
		{"AB%2FCDsecret", "sig=AB%2FCDsecret", "sig=***"},
		{"AB%2FCDsecret", "no such signature: AB/CDsecret", "no such signature: ***"},
		{"AB%2FCDsecret", "AB%2fCDsecret", "***"},
		{"AB%2FCDsecret", "AB%252FCDsecret", "***"},
		{"AB/CDsecret", `{"sig":"AB\/CDsecret"}`, `{"sig":"***"}`},
		{`quo"te\key`, `{"error":"bad quo\"te\\key"}`, `{"error":"bad ***"}`},
		{`quo"te\key`, `{"error":"{\"key\":\"quo\\\"te\\\\key\"}"}`, `{"error":"{\"key\":\"***\"}"}`},
		{"käy<&>12", `bad k\u00e4y\u003c\u0026\u003e12`, `bad ***`},
		{"käy<&>12", "<b>k&#228;y&lt;&amp;&gt;12</b>", "<b>***</b>"},
		{"sm\U0001f600ile", `sm\ud83d\ude00ile`, "***"},
		{"two words", "q=two+words&r=two%20words", "q=***&r=***"},
		{"nvapi-1234", `C:\nvapi-1234`, `C:\***`}, // no escape of ours to begin with
		{"abcdef", "abcdefabcdef", "******"},
		{pem, "line MIIBOgIBAAJBAKj34GkxFhD9 of it", "line *** of it"},
		{pem, `{"key":"-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD9\n-----END KEY-----"}`, `{"key":"***\n***\n***"}`},
		{"short", "short", "short"},
		{"", "nothing", "nothing"},
	} {
		if got := NewMask(c.secret).Hide(c.said); got != c.want {
			t.Errorf("%q in %q: %q, want %q", c.secret, c.said, got, c.want)
		}
	}
}

func TestSecretsThatOverlapAreHiddenWhole(t *testing.T) {
	t.Parallel()
	m := NewMask("abcdefgh", "efghijkl", "abcdef")
	if got := m.Hide("<abcdefghijkl>"); got != "<***>" {
		t.Errorf("got %q", got)
	}
	if got := (*Mask)(nil).With("abcdefgh").Hide("<abcdefgh>"); got != "<***>" {
		t.Errorf("got %q", got)
	}
	if got := (*Mask)(nil).Hide("abcdefgh"); got != "abcdefgh" {
		t.Errorf("got %q", got)
	}
}

// What was cut before it was masked shows nothing of the secret in it.
func TestSecretsThatWereCutAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789+abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz"
	m := NewMask(secret, "sk-0123456zzz")
	for _, before := range []string{"", "x", `a "quoted" `, "sk-0123456", strings.Repeat("ä", 50), strings.Repeat("sk-012345", 4)} {
		got := m.Hide("expected a number, got " + Quote(before+secret) + " there")
		if want := "expected a number, got " + strings.TrimSuffix(Quote(before), `"`) + `***…" there`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, kept := range []string{"sk-01…", "sk-0123456789 abd…", "x…", "…"} {
		if got := m.Hide(kept); kept != got {
			t.Errorf("%q became %q", kept, got)
		}
	}
}

// A secret that stands where the text is cut is hidden first.
func TestLineMasksBeforeItCuts(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdefghijklmnop"
	for before := range 40 {
		got := NewMask(secret).Line(strings.Repeat("x", before)+secret+"\x1b[31m after", 30)
		if strings.Contains(got, "sk-") || strings.Contains(got, "\x1b") || len(got) > 30+len("…") {
			t.Fatalf("%d bytes before it: %q", before, got)
		}
	}
}

func TestPiecesThatBreakASecret(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	m := NewMask(secret)
	text := "data: " + secret + " is wrong"
	for cut := range len(text) {
		a, b := m.HidePiece(text[:cut]), m.HidePiece(text[cut:])
		for _, piece := range []string{a, b} {
			for i := range len(secret) - MinSecret {
				if strings.Contains(piece, secret[i:i+MinSecret]) {
					t.Fatalf("cut at %d: %q and %q", cut, a, b)
				}
			}
		}
	}
}

type named string

func TestTidyReachesEveryText(t *testing.T) {
	t.Parallel()
	type inner struct {
		Text  string
		Words []string
	}
	doc := struct {
		Inner   inner
		Pointer *inner
		Nil     *inner
		Any     any
		Plan    map[string]any
		Flags   map[string]string
		Counts  map[string]int
		Kind    named
		private string
	}{
		Inner: inner{"has sekret1 in it", []string{"\x1b[31m", "sekret1"}}, Pointer: &inner{Text: "sekret1"},
		Any: []any{"sekret1", 1.5, map[string]any{"k": "sekret1"}}, Plan: map[string]any{"a": map[string]any{"b": "sekret1"}},
		Flags: map[string]string{"sekret1": "sekret1"}, Counts: map[string]int{"x sekret1": 3}, Kind: "sekret1", private: "sekret1",
	}
	NewMask("sekret1").Tidy(&doc)
	got := must.Get(json.Marshal(doc))(t)
	const want = `{"Inner":{"Text":"has *** in it","Words":["\\x1b[31m","***"]},"Pointer":{"Text":"***","Words":null},"Nil":null,` +
		`"Any":["***",1.5,{"k":"***"}],"Plan":{"a":{"b":"***"}},"Flags":{"***":"***"},"Counts":{"x ***":3},"Kind":"sekret1"}`
	if string(got) != want || doc.private != "sekret1" {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestTidyLeavesWhatOthersHave: a result shares lists and maps with the plan and
// with tables of the program, which other runs read at the same time.
func TestTidyLeavesWhatOthersHave(t *testing.T) {
	t.Parallel()
	type document struct {
		List []string
		Map  map[string][]string
	}
	list, of := []string{"sesame-1234"}, map[string][]string{"sesame-1234": {"sesame-1234"}}
	d := document{list, of}
	NewMask("sesame-1234").Tidy(&d)
	if d.List[0] != "***" || len(d.Map) != 1 || d.Map["***"][0] != "***" {
		t.Errorf("tidied: %+v", d)
	}
	if list[0] != "sesame-1234" || len(of) != 1 || of["sesame-1234"][0] != "sesame-1234" {
		t.Errorf("the list is %v, the map %v: another's were written", list, of)
	}
}

func TestWriterHides(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	const line = "{\"url\":\"http://h/?sig=AB%2FCDsecret\"}\n"
	n, err := NewMask("AB/CDsecret").Writer(&b).Write([]byte(line))
	if n != len(line) || err != nil || b.String() != "{\"url\":\"http://h/?sig=***\"}\n" {
		t.Errorf("%d, %v: %q", n, err, b.String())
	}
}

var percents = regexp.MustCompile("%[0-9A-F]{2}")

// However a text is quoted on its way, its secret does not come out of it.
func TestNoQuotingLetsASecretThrough(t *testing.T) {
	t.Parallel()
	quote := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text)
	}
	ways := []func(string) string{
		func(s string) string { return s }, url.QueryEscape, url.PathEscape, html.EscapeString, quote, strconv.Quote, strconv.QuoteToASCII,
		func(s string) string { return percents.ReplaceAllStringFunc(url.QueryEscape(s), strings.ToLower) },
		func(s string) string { return strings.ReplaceAll(quote(s), "/", `\/`) },
		func(s string) string { return quote(quote(s)) }, func(s string) string { return quote(url.QueryEscape(s)) },
		func(s string) string { return url.QueryEscape(url.QueryEscape(s)) },
	}
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.RuneFrom([]rune(`abcxyz0189/+=&"\<>%é漢 `)), 20, 40, -1).Draw(t, "secret")
		if strings.Contains(secret, `\`) {
			secret = strings.ReplaceAll(secret, "%", "_") // with both it is not clear which of them was quoted
		}
		way := rapid.SampledFrom(ways).Draw(t, "way")
		quoted := way(secret)
		before, after := rapid.StringN(0, 20, -1).Draw(t, "before"), rapid.StringN(0, 20, -1).Draw(t, "after")
		got := NewMask(secret).Hide(before + " " + quoted + " " + after)
		if !strings.Contains(got, Masked) {
			t.Fatalf("%q, as %q, stands in %q", secret, quoted, got)
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add("sk-12345678", `{"key":"sk-12345678"}`)
	f.Add("AB%2FCDsecret", "sig=AB%2fCDsecret&%")
	f.Add(`\u00`, `\u00\ud83d\u`)
	f.Fuzz(func(t *testing.T, secret, text string) {
		m := NewMask(secret)
		hidden := m.Hide(text)
		if len(secret) >= MinSecret && !strings.Contains(Masked, secret) && strings.Contains(hidden, secret) && !strings.Contains(secret, "*") {
			t.Errorf("%q still holds %q", hidden, secret)
		}
		if line := m.Line(text, 50); !utf8.ValidString(line) || strings.ContainsFunc(line, harmful) || len(line) > 50+len("…") {
			t.Errorf("line %q", line)
		}
	})
}

func TestReasonNamesNoTypesOfOurs(t *testing.T) {
	t.Parallel()
	type part struct {
		Name   string
		Size   *int
		Share  float64
		On     bool
		Parts  []part
		Inside struct{ Deep uint8 }
	}
	for text, want := range map[string]string{
		`[]`:                       "expected an object, got an array",
		`{"Name": 1}`:              "Name: expected a string, got a number",
		`{"Size": 1.5}`:            "Size: expected a whole number, got the number 1.5",
		`{"Share": "x"}`:           "Share: expected a number, got a string",
		`{"On": {}}`:               "On: expected true or false, got an object",
		`{"Parts": true}`:          "Parts: expected an array, got a boolean",
		`{"Inside": {"Deep": []}}`: "Inside.Deep: expected a whole number, got an array",
		`{"Inside": 3}`:            "Inside: expected an object, got a number",
		`{`:                        "unexpected end of JSON input",
	} {
		err := json.Unmarshal([]byte(text), &part{})
		if got := Reason(fmt.Errorf("file: %w; mend it", err)); got != "file: "+want+"; mend it" {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A document from elsewhere may have anything where the program has a word of its
// own; a secret that is spelled like such a word is none there.
func TestWordsOfADocumentFromElsewhere(t *testing.T) {
	t.Parallel()
	type word string
	document := struct{ Valid, Other word }{"yes\x1b[2J", "undecided"}
	NewMask("undecided").Tidy(&document)
	if strings.Contains(string(document.Valid), "\x1b") || document.Other != "undecided" {
		t.Errorf("%+q", document)
	}
}
