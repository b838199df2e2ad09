package token

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"redline/internal/must"
)

func TestWordsAreSingleTokens(t *testing.T) {
	t.Parallel()
	v := O200k()
	list := strings.Fields(wordList)
	if len(list) != 1<<wordBits {
		t.Fatalf("%d words, want %d", len(list), 1<<wordBits)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(list))); len(unique) != len(list) {
		t.Errorf("%d words are listed twice", len(list)-len(unique))
	}
	for _, word := range list {
		capital := strings.ToUpper(word[:1]) + word[1:]
		for _, form := range []string{word, capital, " " + word, " " + capital} {
			if strings.Trim(form, " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				t.Errorf("%q has characters that JSON or a splitter may treat apart", form)
			}
			if n := len(oracleIDs(t, form)); n != 1 || v.Count(form) != 1 {
				t.Errorf("%q: the oracle counts %d tokens, Count %d", form, n, v.Count(form))
			}
		}
	}
}

func TestComposeGivesExactlyTheTokensAskedFor(t *testing.T) {
	t.Parallel()
	v := O200k()
	lengths := []int{1000, 4097, 30000}
	for n := range 130 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		for seed := range uint64(20) {
			text := string(v.Compose(nil, rand.New(rand.NewPCG(seed, uint64(n))), n))
			if got := v.Count(text); got != n {
				t.Fatalf("n = %d, seed %d: %d tokens in %q", n, seed, got, text)
			}
			if text != strings.TrimSpace(text) {
				t.Fatalf("n = %d, seed %d: trimming would change %q", n, seed, text)
			}
			checkJSON(t, text)
		}
	}
}

// checkJSON wants text to survive JSON, and to need no escaping on the way.
func checkJSON(t *testing.T, text string) {
	t.Helper()
	encoded := must.Get(json.Marshal(text))(t)
	if string(encoded) != `"`+text+`"` {
		t.Errorf("JSON escapes %q as %s", text, encoded)
	}
}

func TestComposeAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 17, 500, 4000} {
		text := string(O200k().Compose(nil, rand.New(rand.NewPCG(9, uint64(n))), n))
		if got := len(oracleIDs(t, text)); got != n {
			t.Errorf("n = %d: the oracle counts %d", n, got)
		}
	}
}

// TestComposeIsNearlyAsLongInAnotherVocabulary holds the claim that a server
// with a vocabulary of its own counts about what was designed.
func TestComposeIsNearlyAsLongInAnotherVocabulary(t *testing.T) {
	t.Parallel()
	text := string(O200k().Compose(nil, rand.New(rand.NewPCG(5, 5)), 5000))
	for _, encoding := range []tokenizer.Encoding{tokenizer.Cl100kBase, tokenizer.P50kBase} {
		codec := must.Get(tokenizer.Get(encoding))(t)
		if n, err := codec.Count(text); err != nil || n < 4990 || n > 5010 {
			t.Errorf("%s: %d tokens, %v; want 5000 or very nearly", encoding, n, err)
		}
	}
}

func TestComposeAppendsToText(t *testing.T) {
	t.Parallel()
	v := O200k()
	r := rand.New(rand.NewPCG(1, 1))
	dst := []byte("A question:")
	before := v.Count(string(dst))
	want := before
	for _, n := range []int{3, 0, 1, 40, -2, 2, 1, 1} {
		dst = v.Compose(dst, r, n)
		want += max(n, 0)
		if got := v.Count(string(dst)); got != want {
			t.Fatalf("after %d more: %d tokens in %q, want %d", n, got, dst, want)
		}
	}
}

func TestComposeLooksLikeSentences(t *testing.T) {
	t.Parallel()
	text := string(O200k().Compose(nil, rand.New(rand.NewPCG(2, 8)), 2000))
	if !strings.HasSuffix(text, ".") {
		t.Errorf("no full stop at the end of …%q", text[len(text)-30:])
	}
	for _, sentence := range strings.SplitAfter(text, ". ") {
		words := strings.Fields(sentence)
		if len(words) < 4 || len(words) > 30 {
			t.Errorf("%d words in %q", len(words), sentence)
		}
		if first := sentence[0]; first < 'A' || first > 'Z' {
			t.Errorf("no capital at the start of %q", sentence)
		}
	}
}

func TestComposeIsItsSeed(t *testing.T) {
	t.Parallel()
	v := O200k()
	compose := func(seed uint64) string {
		return string(v.Compose(nil, rand.New(rand.NewPCG(seed, 0)), 64))
	}
	if a, b := compose(1), compose(1); a != b {
		t.Errorf("one seed gave %q and %q", a, b)
	}
	if a, b := compose(1), compose(2); a == b {
		t.Errorf("two seeds gave %q", a)
	}
}

func TestPiecesAddUp(t *testing.T) {
	t.Parallel()
	v := O200k()
	r := rand.New(rand.NewPCG(6, 6))
	var text strings.Builder
	seen := map[string]bool{}
	for n := 1; n <= 3000; n++ {
		piece := v.Piece(r)
		seen[piece] = true
		text.WriteString(piece)
		if n%100 == 1 && v.Count(text.String()) != n {
			t.Fatalf("%d pieces give %d tokens", n, v.Count(text.String()))
		}
	}
	if len(seen) < 900 {
		t.Errorf("only %d different pieces in 3000", len(seen))
	}
}

func BenchmarkCompose(b *testing.B) {
	v := O200k()
	r := rand.New(rand.NewPCG(1, 1))
	var dst []byte
	tokens := 0
	for b.Loop() {
		dst = v.Compose(dst[:0], r, 1000)
		tokens += 1000
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

func BenchmarkPiece(b *testing.B) {
	v := O200k()
	r := rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	for b.Loop() {
		v.Piece(r)
	}
}
