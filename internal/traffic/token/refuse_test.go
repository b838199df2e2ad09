package token

import (
	"strings"
	"testing"
)

// object is a JSON object.
type object = map[string]any

func TestParseRefusesWhatItCannotReproduce(t *testing.T) {
	t.Parallel()
	byteLevel := object{"type": "ByteLevel", "use_regex": false}
	splitBy := func(pattern object, behavior string, invert bool) object {
		split := object{"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
		return object{"type": "Sequence", "pretokenizers": []object{split, byteLevel}}
	}
	numbers := object{"Regex": `\p{N}{1,3}`}
	for _, c := range []struct {
		name   string
		change func(file, model object)
		want   string
	}{
		{"Unigram", func(_, m object) { m["type"], m["vocab"] = "Unigram", []any{} }, `a model of type "Unigram" is not supported: let the server count`},
		{"WordPiece", func(_, m object) { m["type"] = "WordPiece" }, `a model of type "WordPiece" is not supported`},
		{"no type, no merges", func(_, m object) { delete(m, "type"); delete(m, "merges") }, `a model of type "" is not supported`},
		{"no model", func(f, _ object) { delete(f, "model") }, "it has no model"},
		{"SentencePiece", func(f, m object) {
			f["pre_tokenizer"], m["byte_fallback"] = object{"type": "Metaspace"}, true
		}, "SentencePiece BPE (byte_fallback without ByteLevel) is not supported"},
		{"no pre-tokenizer", func(f, _ object) { f["pre_tokenizer"] = nil }, "BPE without a ByteLevel pre-tokenizer is not supported"},
		{"Metaspace first", func(f, _ object) {
			f["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []object{{"type": "Metaspace"}, byteLevel}}
		}, `pre-tokenizer "Metaspace" is not supported`},
		{"a lowercasing normalizer", func(f, _ object) { f["normalizer"] = object{"type": "Lowercase"} }, `normalizer "Lowercase" is not supported`},
		{"a compatibility form", func(f, _ object) { f["normalizer"] = object{"type": "NFKC"} }, `normalizer "NFKC" is not supported`},
		{"one among others", func(f, _ object) {
			f["normalizer"] = object{"type": "Sequence", "normalizers": []object{{"type": "NFC"}, {"type": "Strip"}}}
		}, `normalizer "Strip" is not supported`},
		{"a foreign pattern", func(f, _ object) {
			f["pre_tokenizer"] = splitBy(object{"Regex": `\w+`}, "Isolated", false)
		}, `pattern "\\w+" is not supported`},
		{"a fixed string", func(f, _ object) {
			f["pre_tokenizer"] = splitBy(object{"String": " "}, "Isolated", false)
		}, "Split at a fixed string is not supported"},
		{"merged matches", func(f, _ object) {
			f["pre_tokenizer"] = splitBy(numbers, "MergedWithNext", false)
		}, `behavior "MergedWithNext", invert false is not supported`},
		{"removed gaps", func(f, _ object) {
			f["pre_tokenizer"] = splitBy(numbers, "Removed", true)
		}, `behavior "Removed", invert true is not supported`},
		{"no words", func(f, _ object) { f["pre_tokenizer"] = splitBy(numbers, "Isolated", false) }, "ByteLevel without a pattern that parts words"},
		{"ByteLevel alone", func(f, _ object) { f["pre_tokenizer"] = byteLevel }, "ByteLevel without a pattern that parts words"},
		{"ByteLevel not last", func(f, _ object) {
			f["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []object{byteLevel, byteLevel}}
		}, "a pre-tokenizer after ByteLevel is not supported"},
		{"a late space", func(f, _ object) {
			f["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []object{{"type": "Digits"}, {"type": "ByteLevel", "add_prefix_space": true}}}
		}, "add_prefix_space after another pre-tokenizer is not supported"},
		{"dropout", func(_, m object) { m["dropout"] = 0.1 }, "BPE with a dropout of 0.1 is not supported"},
		{"word ends", func(_, m object) { m["end_of_word_suffix"] = "</w>" }, `end_of_word_suffix "</w>" is not supported`},
		{"continuations", func(_, m object) { m["continuing_subword_prefix"] = "##" }, `continuing_subword_prefix "##" is not supported`},
		{"a missing byte", func(_, m object) { delete(m["vocab"].(object), "ÿ") }, "a vocabulary without a token for byte 0xff is not supported"},
		{"an unknown part", func(_, m object) { m["merges"] = []any{"a b", "漢 字"} }, `merge 1 of "漢" and "字" is not of tokens in the vocabulary`},
		{"half a merge", func(_, m object) { m["merges"] = []any{[]any{"a"}} }, `merge ["a"]: expected two tokens`},
		{"a huge id", func(_, m object) { m["vocab"].(object)["xyzzy"] = 1 << 30 }, `token "xyzzy" has id 1073741824`},
		{"a shared id", func(_, m object) { m["vocab"].(object)["xyzzy"] = m["vocab"].(object)["a"] }, `model: "a" and "xyzzy" share id`},
		{"an added token of another id", func(f, _ object) { f["added_tokens"] = []object{{"id": 5000, "content": "a"}} }, `"a" has id 5000, the model gives it`},
		{"an id taken", func(f, m object) {
			f["added_tokens"] = []object{{"id": m["vocab"].(object)["a"], "content": "<x>"}}
		}, `"<x>" has the id`},
		{"a single word", func(f, _ object) {
			f["added_tokens"] = []object{{"id": 5000, "content": "<x>", "single_word": true}}
		}, `added token "<x>" with single_word is not supported`},
		{"an endless added token", func(f, _ object) {
			f["added_tokens"] = []object{{"id": 5000, "content": strings.Repeat("x", 2000)}}
		}, "token 5000 has 2000 bytes; must be at most 1024"},
		{"a plain added token", func(f, _ object) { f["added_tokens"] = []object{{"id": 5000, "content": "on. The"}} }, `added token "on. The", spelled in plain letters, is not supported`},
		{"too few words", func(_, m object) { m["merges"] = []any{} }, "only 0 of 1024 everyday words are single tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse("refused", editTokenizer(t, c.change))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwant %s", err, c.want)
			}
		})
	}
}
