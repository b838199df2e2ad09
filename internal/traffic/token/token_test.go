package token

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
	"github.com/tiktoken-go/tokenizer"
)

// oracle is an independent implementation with its own copy of the vocabulary
// and a regular-expression splitter.
var oracle = sync.OnceValue(func() tokenizer.Codec {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err)
	}
	return codec
})

func oracleIDs(t testing.TB, text string) []int32 {
	t.Helper()
	ids, _, err := oracle().Encode(text)
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	var converted []int32
	for _, id := range ids {
		converted = append(converted, int32(id))
	}
	return converted
}

// oracleErrs matches texts that the oracle splits wrongly, as the recorded
// corpus shows: it loses the delete character, and parts white space after a
// line end although another line end follows.
var oracleErrs = regexp.MustCompile(`\x7f|[\r\n][^\S\r\n]+[\r\n]`)

// recorded is a text with the ids that OpenAI's own tiktoken gives it, by
// o200k_base and by cl100k_base.
type recorded struct {
	Name   string
	Text   string
	IDs    []int32
	Cl100k []int32
}

// corpus reads what testdata/record.py recorded.
func corpus(t testing.TB) []recorded {
	t.Helper()
	data := must.Read(t, "testdata/corpus.json")
	var entries []recorded
	must.Do(t, json.Unmarshal(data, &entries))
	return entries
}

func TestEncodeAgreesWithTiktoken(t *testing.T) {
	t.Parallel()
	for _, entry := range corpus(t) {
		t.Run(entry.Name, func(t *testing.T) {
			t.Parallel()
			got := O200k().Encode([]int32{}, entry.Text)
			expect.NoDiff(t, cmp.Diff(entry.IDs, got), "Encode(%q): -tiktoken +got", entry.Text)
			checkAgainstOracle(t, entry.Text)
		})
	}
}

func TestCl100kAgreesWithTiktoken(t *testing.T) {
	t.Parallel()
	v, ok := EmbeddedVocabulary("cl100k_base")
	if !ok || v != Cl100k() || v.Name() != "cl100k_base" {
		t.Fatalf("Embedded gives %v, %v", v, ok)
	}
	for _, entry := range corpus(t) {
		got := v.Encode([]int32{}, entry.Text)
		expect.NoDiff(t, cmp.Diff(entry.Cl100k, got), "Encode(%q): -tiktoken +got", entry.Text)
		if back := v.Decode(got); back != entry.Text {
			t.Errorf("Decode(Encode(%q)) = %q", entry.Text, back)
		}
	}
	expect.OK(t, verify(v, rand.New(rand.NewPCG(1, 2)), 10, 1000))
}

func TestEmbeddedNamesAreAll(t *testing.T) {
	t.Parallel()
	for _, name := range EmbeddedNames() {
		if v, ok := EmbeddedVocabulary(name); !ok || v.Name() != name {
			t.Errorf("Embedded(%q) gives %v, %v", name, v, ok)
		}
	}
	if _, ok := EmbeddedVocabulary("p50k_base"); ok {
		t.Error("p50k_base is not embedded")
	}
}

func TestEncodeAgreesWithTheOracleOnLongWords(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"a", "ab", "aeiounrst", "ABCDEFGH", "äöüß", "字母表很长", "!?-=", "\u0301\u0302a", "สวัดี"} {
		letters := []rune(alphabet)
		for _, length := range []int{50, 99, 200, 3000} {
			var word strings.Builder
			for range length {
				word.WriteRune(letters[r.IntN(len(letters))])
			}
			checkAgainstOracle(t, word.String())
		}
	}
}

func TestEncodeAgreesWithTheOracleOnRandomMixtures(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	parts := []rune("aAbBzZsStTlLdDmMrReEvV''  \n\r\t/.!0123ſßéÀǅʰªªאא\u0301\u0301中中🙂½\u00a0\u2003\u3000")
	for range 20000 {
		var text strings.Builder
		for range 1 + r.IntN(12) {
			text.WriteRune(parts[r.IntN(len(parts))])
		}
		checkAgainstOracle(t, text.String())
	}
}

// TestEncodeKnowsEveryCharacter holds the classes of all characters, or of some
// from every block, against the oracle's: each stands between letters, spaces and line ends.
func TestEncodeKnowsEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x20000; r += effort.Of[rune](23, 1) {
		if r >= 0x3500 && r < 0x4d00 || r >= 0x5000 && r < 0x9f00 || r >= 0xac80 && r < 0xfa00 || r >= 0x17100 && r < 0x1af00 {
			continue // long blocks of one kind, and surrogates
		}
		c := string(r)
		checkAgainstOracle(t, "aA"+c+"Bb "+c+c+" "+c+"\n")
	}
}

// checkAgainstOracle holds Encode against the oracle where that can be
// trusted, and Count and Decode against Encode always.
func checkAgainstOracle(t testing.TB, text string) {
	t.Helper()
	v := O200k()
	got := v.Encode(nil, text)
	if utf8.ValidString(text) && !oracleErrs.MatchString(text) {
		if want := oracleIDs(t, text); !slices.Equal(want, got) {
			t.Errorf("Encode(%q) = %v, oracle says %v", text, got, want)
		}
	}
	if n := v.Count(text); n != len(got) {
		t.Errorf("Count(%q) = %d, Encode gives %d", text, n, len(got))
	}
	if back := v.Decode(got); back != text {
		t.Errorf("Decode(Encode(%q)) = %q", text, back)
	}
}

func TestEncodeAppends(t *testing.T) {
	t.Parallel()
	v := O200k()
	got := v.Encode([]int32{7}, " hello")
	if want := []int32{7, oracleIDs(t, " hello")[0]}; !cmp.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestInvalidUTF8ComesBackUnchanged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\xff", "a\xc3", "\xe4\xb8 x", "ok \xf0\x9f\x99 ok", "\xed\xa0\x80"} {
		checkAgainstOracle(t, text)
	}
}

func TestDecodeOfUnknownIDs(t *testing.T) {
	t.Parallel()
	v := O200k()
	a := oracleIDs(t, "a")[0]
	if got, want := v.Decode([]int32{a, -1, int32(v.Size()), 1 << 30, a}), "a\ufffd\ufffd\ufffda"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestVocabulariesAreThePublishedOnes writes each as OpenAI publishes it, a line of
// base64 and rank for each token, and compares that with the sum by which tiktoken
// (tiktoken_ext/openai_public.py) checks the file.
func TestVocabulariesAreThePublishedOnes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"o200k_base":  "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
		"cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
	} {
		v := map[string]*Vocabulary{"o200k_base": O200k(), "cl100k_base": Cl100k()}[name]
		if v.Name() != name {
			t.Errorf("name %q, want %q", v.Name(), name)
		}
		sum := sha256.New()
		for id := range v.Size() {
			token := v.Decode([]int32{int32(id)})
			fmt.Fprintf(sum, "%s %d\n", base64.StdEncoding.EncodeToString([]byte(token)), id)
			if got, ok := v.lookup(token); !ok || int(got) != id {
				t.Fatalf("lookup(%q) = %d, %v; published as %d", token, got, ok, id)
			}
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != want {
			t.Errorf("%s: the sum is %s, published is %s", name, got, want)
		}
	}
}

func TestUnpackRefusesBrokenData(t *testing.T) {
	t.Parallel()
	for name, packed := range map[string][]byte{
		"nothing":      {},
		"no flate":     []byte("plainly not compressed"),
		"cut short":    packedO200k[:len(packedO200k)/2],
		"no end mark":  {0x4b, 0x04, 0x00}, // the letter "a"
		"empty stream": {0x03, 0x00},
	} {
		if v, err := unpack(name, packed, o200kPiece); err == nil {
			t.Errorf("%s: unpacked %d tokens, want an error", name, v.Size())
		}
	}
}

// allocates counts what a call allocates, which under the race detector, where
// pools drop a part on purpose, is not the program's doing.
func allocates(t *testing.T, call func()) float64 {
	t.Helper()
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector allocates")
	}
	return testing.AllocsPerRun(100, call)
}

func TestCountAllocatesNothing(t *testing.T) {
	v := O200k()
	text := "Nobody in the kitchen moved. antidisestablishmentarianistically zxqvkjw"
	v.Count(text)
	if n := allocates(t, func() { v.Count(text) }); n != 0 {
		t.Errorf("%v allocations per count", n)
	}
}

func FuzzEncode(f *testing.F) {
	for _, entry := range corpus(f) {
		f.Add(entry.Text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkAgainstOracle(t, text) })
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := unpack("o200k_base", packedO200k, o200kPiece); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	v := O200k()
	var text strings.Builder
	for _, c := range corpus(b) {
		text.WriteString(c.Text)
	}
	for name, text := range map[string]string{
		"composed": string(v.Compose(nil, rand.New(rand.NewPCG(1, 1)), 10000)),
		"mixed":    text.String(),
		"longword": strings.Repeat("zxqvkjw", 10000),
	} {
		b.Run(name, func(b *testing.B) {
			tokens := 0
			for b.Loop() {
				tokens += v.Count(text)
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
		})
	}
}
