package token

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// variant is a way to split and normalize, with what Hugging Face's library
// makes of the first texts by it.
type variant struct {
	Name         string
	Normalizer   json.RawMessage
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	IgnoreMerges bool            `json:"ignore_merges"`
	IDs          [][]int32
	Pieces       [][]int
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	data := must.Read(t, path)
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// mixedTexts are the texts of testdata/record_hf.py.
func mixedTexts(t testing.TB) (texts []string) {
	readJSON(t, "testdata/texts.json", &texts)
	return texts
}

func variants(t testing.TB) (all []variant) {
	readJSON(t, "testdata/tiny_ids.json", &all)
	return all
}

var tinyFile = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("testdata/tiny.json") })

// editTokenizer gives tiny.json after a change to its top level and to its model.
func editTokenizer(t testing.TB, change func(file, model map[string]any)) []byte {
	t.Helper()
	data := must.Get(tinyFile())(t)
	var file map[string]any
	must.Do(t, json.Unmarshal(data, &file))
	change(file, file["model"].(map[string]any))
	data = must.Get(json.Marshal(file))(t)
	return data
}

func (v variant) load(t testing.TB, change func(file map[string]any)) *Vocabulary {
	t.Helper()
	loaded, err := parse(v.Name, editTokenizer(t, func(file, model map[string]any) {
		file["normalizer"], file["pre_tokenizer"] = v.Normalizer, v.PreTokenizer
		model["ignore_merges"] = v.IgnoreMerges
		change(file)
	}))
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	return loaded
}

func asItIs(map[string]any) {}

func TestLoadedEncodesAsHuggingFaceDoes(t *testing.T) {
	t.Parallel()
	texts := mixedTexts(t)
	for _, variant := range variants(t) {
		t.Run(variant.Name, func(t *testing.T) {
			t.Parallel()
			v := variant.load(t, asItIs)
			for i, want := range variant.IDs {
				expect.NoDiff(t, cmp.Diff(want, v.Encode([]int32{}, texts[i])), "Encode(%q): -hugging face +got", texts[i])
				if n := v.Count(texts[i]); n != len(want) {
					t.Errorf("Count(%q) = %d, want %d", texts[i], n, len(want))
				}
			}
		})
	}
}

func TestLoadedSplitsAsHuggingFaceDoes(t *testing.T) {
	t.Parallel()
	texts := mixedTexts(t)
	for _, variant := range variants(t) {
		v := variant.load(t, asItIs)
		for i, want := range variant.Pieces {
			text := texts[i]
			if v.prefix && text != "" && text[0] != ' ' {
				text = " " + text
			}
			if diff := cmp.Diff(want, pieceLengths([]int{}, text, v.stages)); diff != "" {
				t.Errorf("%s: pieces of %q: -hugging face +got\n%s", variant.Name, texts[i], diff)
			}
		}
	}
}

func pieceLengths(lengths []int, text string, stages []splitter) []int {
	if len(stages) == 0 {
		if text == "" {
			return lengths
		}
		return append(lengths, len(text))
	}
	for len(text) > 0 {
		n := stages[0](text)
		lengths = pieceLengths(lengths, text[:n], stages[1:])
		text = text[n:]
	}
	return lengths
}

func TestLoadedComposesExactly(t *testing.T) {
	t.Parallel()
	for _, variant := range variants(t) {
		v := variant.load(t, asItIs)
		r := rand.New(rand.NewPCG(2, 3))
		for n := range 100 {
			expect.OK(t, verify(v, r, 2, n))
		}
		expect.OK(t, verify(v, r, 1, 20000))
	}
}

func TestLoadReadsMergesOfBothSpellings(t *testing.T) {
	t.Parallel()
	pairs := must.Get(parse("pairs", editTokenizer(t, func(_, _ map[string]any) {})))(t)
	lines := must.Get(parse("lines", editTokenizer(t, func(_, model map[string]any) {
		var merges []string
		for _, pair := range model["merges"].([]any) {
			merges = append(merges, fmt.Sprintf("%s %s", pair.([]any)...))
		}
		model["merges"] = merges
		delete(model, "type") // as the oldest files have it
	})))(t)
	for _, text := range mixedTexts(t) {
		expect.NoDiff(t, cmp.Diff(pairs.Encode(nil, text), lines.Encode(nil, text)), "%q: -pairs +lines", text)
	}
}

func TestLoadTakesAFileOrItsDirectory(t *testing.T) {
	t.Parallel()
	data := must.Get(tinyFile())(t)
	dir := filepath.Join(t.TempDir(), "tiny-model")
	must.Do(t, os.Mkdir(dir, 0o755))
	path := filepath.Join(dir, "tokenizer.json")
	must.Write(t, path, data)
	var names []string
	for _, p := range []string{dir, path, "testdata/tiny.json"} {
		v := must.Get(Load(p))(t)
		name, sum, _ := strings.Cut(v.Name(), "@")
		if len(sum) != 8 {
			t.Errorf("name %q, want a checksum of eight digits", v.Name())
		}
		names = append(names, name)
	}
	expect.Same(t, []string{"tiny-model", "tiny-model", "tiny.json"}, names)
}

func TestLoadRefusesPathsThatHoldNoTokenizer(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	broken := filepath.Join(empty, "broken.json")
	must.Write(t, broken, "{")
	for path, want := range map[string]string{
		"/no/such/file":         "no such file",
		empty:                   "a tokenizer's directory holds a tokenizer.json",
		broken:                  "broken.json: not a tokenizer.json",
		"testdata/corpus.json":  "corpus.json: not a tokenizer.json",
		"/dev/null":             "expected a tokenizer.json",
		"testdata/record_hf.py": "record_hf.py: not a tokenizer.json",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%q): %v, want %q", path, err, want)
		}
	}
}

// TestDecodeUndoesLoadedEncode has the exceptions that Decode names.
func TestDecodeUndoesLoadedEncode(t *testing.T) {
	t.Parallel()
	v := must.Get(Load("testdata/tiny.json"))(t)
	for text, want := range map[string]string{
		"a <|end|>b\n":  "a <|end|>b\n",
		"x  <mask>  y":  "x<mask>  y",
		"x <pad>  \n y": "x <pad>y",
		"é漢🙂\xff":       "é漢🙂\xff",
	} {
		if got := v.Decode(v.Encode(nil, text)); got != want {
			t.Errorf("%q comes back as %q, want %q", text, got, want)
		}
	}
}

func TestLoadedCountAllocatesNothing(t *testing.T) {
	v := must.Get(Load("testdata/tiny.json"))(t)
	text := "Nobody in <|end|>the kitchen  <mask> moved. zxqvkjw"
	v.Count(text)
	if n := allocates(t, func() { v.Count(text) }); n != 0 {
		t.Errorf("%v allocations per count", n)
	}
}

func FuzzLoad(f *testing.F) {
	data := must.Get(tinyFile())(f)
	f.Add(data)
	f.Add([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a"]},"pre_tokenizer":{"type":"ByteLevel"}}`))
	f.Add([]byte(`{"added_tokens":[null,{"id":-1}],"model":{"merges":[["a"]]},"pre_tokenizer":{"type":"Sequence","pretokenizers":[null]}}`))
	f.Add([]byte(`{"normalizer":{"type":"Sequence","normalizers":[null,{"type":"NFC"}]},"model":{"type":"Unigram","vocab":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parse("fuzzed", data)
		if err != nil {
			return
		}
		for _, text := range []string{"Hello, wörld!", "<|end|> \n e\u0301"} {
			if n, ids := v.Count(text), v.Encode(nil, text); n != len(ids) {
				t.Errorf("Count(%q) = %d, Encode gives %d", text, n, len(ids))
			}
		}
	})
}

func FuzzLoadedEncode(f *testing.F) {
	var loaded []*Vocabulary
	for _, variant := range variants(f) {
		loaded = append(loaded, variant.load(f, func(file map[string]any) { file["added_tokens"] = nil }))
	}
	for _, text := range mixedTexts(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, v := range loaded {
			want := text
			if v.normalize != nil {
				want = v.normalize(want)
			}
			if v.prefix && want != "" && want[0] != ' ' {
				want = " " + want
			}
			ids := v.Encode(nil, text)
			if got := v.Decode(ids); got != want {
				t.Errorf("%s: Decode(Encode(%q)) = %q", v.Name(), text, got)
			}
			if n := v.Count(text); n != len(ids) {
				t.Errorf("%s: Count(%q) = %d, Encode gives %d", v.Name(), text, n, len(ids))
			}
		}
	})
}
