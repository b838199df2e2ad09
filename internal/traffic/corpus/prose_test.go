package corpus

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"redline/internal/must"
)

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func openText(t testing.TB, content string) *Text {
	t.Helper()
	prose := must.Get(OpenText(write(t, content)))(t)
	t.Cleanup(func() { prose.Close() })
	return prose
}

// TestCutsAreWholeWordsOfTheText looks every cut up in the text, written twice
// for those that pass its end.
func TestCutsAreWholeWordsOfTheText(t *testing.T) {
	t.Parallel()
	content := "The quick  brown fox\njumps over\r\n\r\nthe lazy dog. Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.\n"
	prose := openText(t, content)
	round := strings.Join(strings.Fields(content), " ")
	endless := " " + strings.Repeat(round+" ", 40)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 1 + r.IntN(500)
		cut := must.Get(prose.Cut([]byte("Q:"), r, n))(t)
		words, ok := strings.CutPrefix(string(cut), "Q:")
		if !ok || !strings.Contains(endless, " "+words+" ") {
			t.Fatalf("cut %q is not in the text", cut)
		}
		if len(words) < n-1 || len(words) > n+40 {
			t.Errorf("asked for %d bytes, got %d", n, len(words))
		}
	}
}

// TestCutsOfAnyTextAreText has texts without spaces and with characters of
// several bytes.
func TestCutsOfAnyTextAreText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringMatching(`[aé漢😀 \n]{1,80}x`).Draw(t, "text")
		prose := must.Get(newText("x", bytes.NewReader([]byte(content)), int64(len(content))))(t)
		seed := rapid.Uint64().Draw(t, "seed")
		n := rapid.IntRange(1, 600).Draw(t, "bytes")
		cut, err := prose.Cut(nil, rand.New(rand.NewPCG(seed, 0)), n)
		if err != nil || !utf8.Valid(cut) || strings.TrimSpace(string(cut)) != string(cut) {
			t.Fatalf("cut %q, %v", cut, err)
		}
		if len(cut) < n-4 {
			t.Fatalf("asked for %d bytes, got %d", n, len(cut))
		}
	})
}

func TestOpenTextRefuses(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                     "is empty",
		" \n\t\n":              "is empty",
		"fine\nbin\x00ary":     ":2: is not UTF-8 text",
		"fine\nfine\n\xff\xfe": ":3: is not UTF-8 text",
	} {
		if _, err := OpenText(write(t, content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", content, err, want)
		}
	}
	if _, err := OpenText(t.TempDir() + "/none"); err == nil {
		t.Error("opened a file that does not exist")
	}
}

func TestRecognize(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 20_000)
	for head, want := range map[string]Format{
		`[{"conversations": []}]`:                              ShareGPT,
		"\ufeff [\n {\"id\": 5, \"conversations\": [{\"from\"": ShareGPT,
		`{"conversations": []}`:                                ShareGPT,
		`{"prompt": "a"}`:                                      Lines,
		`{"tenant": "a", "messages": []}` + "\n{}":             Lines,
		`{"prompt": "` + long:                                  Lines,
		`{"custom_id": "1", "body": {"messages": []}}`:         Batch,
		`{"url": "/v1", "body": {}}`:                           Batch,
		"Call me Ishmael. Some years ago":                      Prose,
		"В начале было слово, и слово было у нас":              Prose,
		"起初神創造天地地是空虛混沌淵面黑暗":                                    Prose,
		`{"timestamp": 0, "input_length": 5}`:                  "",
		`[1, 2]`:                                               "",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n": "",
		"schema: redline/workload/1\nname: some words here":                              "",
		"# a plan\nworkload: chat with some words":                                       "",
		"":                       "",
		"\x00\x01\x02":           "",
		"\xff\xfe a b c d e f g": "",
	} {
		got, ok := Recognize([]byte(head))
		if got != want || ok != (want != "") {
			t.Errorf("%.60q is taken for %q, %v; want %q", head, got, ok, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, text := range []string{"[" + twoTalks + "]", `{"prompt": "a", "session": "s"}` + "\n" + `{"prompt": "b", "session": "s"}`,
		`{"body": {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}}`, "one\ntwo\n", "[", "{}", "\ufeff[]"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, skip bool) {
		Recognize(data)
		for _, format := range []Format{ShareGPT, Lines, Batch, Golden} {
			file, err := newFile("x", bytes.NewReader(data), int64(len(data)), Options{Format: format, SkipBadRows: skip})
			if err != nil {
				if strings.ContainsAny(err.Error(), "\n\r") {
					t.Errorf("%s: error of more than one line: %q", format, err)
				}
				continue
			}
			for i := range file.Len() {
				c, err := file.At(i)
				if err != nil || len(c.Turns) == 0 || len(c.Turns[0].Messages) == 0 {
					t.Fatalf("%s: row %d was let through and is read as %+v, %v", format, i, c, err)
				}
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add([]byte("The quick brown fox"), uint64(1), 30)
	f.Add([]byte("漢字"), uint64(2), 3)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, n int) {
		prose, err := newText("x", bytes.NewReader(data), int64(len(data)))
		if err != nil || n < 1 || n > 1<<16 {
			return
		}
		if cut, err := prose.Cut(nil, rand.New(rand.NewPCG(seed, 0)), n); err != nil || !utf8.Valid(cut) {
			t.Fatalf("cut %q, %v", cut, err)
		}
	})
}

func BenchmarkAt(b *testing.B) {
	var content strings.Builder
	for range 1000 {
		content.WriteString(`{"prompt": "` + strings.Repeat("word ", 500) + `"}` + "\n")
	}
	f := must.Get(Open(write(b, content.String()), Options{Format: Lines}))(b)
	defer f.Close()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := f.At(i * 7919 % 1000); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
