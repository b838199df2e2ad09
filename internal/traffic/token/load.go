package token

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"redline/internal/traffic/hub"
)

// fileName is what Hugging Face calls a tokenizer's file.
const fileName = "tokenizer.json"

// Load reads a Hugging Face tokenizer.json, the one in the directory given, or that
// of a repository (org/name).
// Byte-level BPE is read, split as Llama 3, Qwen, GPT-2, GPT-4o, Mistral Nemo,
// DeepSeek V3 and their kin do; anything else is refused with a line that
// names it. Encode then gives what the Hugging Face library gives without
// added special tokens: the spelling of a special token in the text is that
// token.
func Load(name string) (*Vocabulary, error) {
	found, err := hub.Tokenizer(name)
	if err != nil {
		return nil, err
	}
	path, err := tokenizerFile(found)
	if found == name {
		name = path
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := parse(loadedName(name, path, data), data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// tokenizerFile resolves a directory and refuses what is not worth reading.
func tokenizerFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		path = filepath.Join(path, fileName)
		if info, err = os.Stat(path); err != nil {
			return "", fmt.Errorf("%w: a tokenizer's directory holds a %s", err, fileName)
		}
	}
	if !info.Mode().IsRegular() || info.Size() > hub.MaxTokenizer {
		return "", fmt.Errorf("%s: expected a %s of at most %d MB", path, fileName, hub.MaxTokenizer>>20)
	}
	return path, nil
}

// loadedName is the repository's, the directory's or the file's name, whichever
// says most, and the start of the content's checksum.
func loadedName(name, path string, data []byte) string {
	if name == path {
		name = filepath.Base(path)
		if absolute, err := filepath.Abs(path); err == nil && name == fileName {
			name = filepath.Base(filepath.Dir(absolute))
		}
	}
	name = strings.TrimPrefix(name, hub.Prefix)
	sum := sha256.Sum256(data)
	return fmt.Sprintf("%s@%x", name, sum[:4])
}

// tokenizerJSON is the part of a tokenizer.json that decides how text is
// encoded.
type tokenizerJSON struct {
	AddedTokens  []*addedToken `json:"added_tokens"`
	Normalizer   *step         `json:"normalizer"`
	PreTokenizer *step         `json:"pre_tokenizer"`
	Model        *modelJSON    `json:"model"`
}

// addedToken is a token that is recognised by its spelling.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LeftStrip  bool   `json:"lstrip"`
	RightStrip bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

// step is a normalizer or pre-tokenizer of any type, or a sequence of them.
type step struct {
	Type          string  `json:"type"`
	Normalizers   []*step `json:"normalizers"`
	Pretokenizers []*step `json:"pretokenizers"`
	Pattern       struct {
		Regex *string `json:"Regex"`
	} `json:"pattern"`
	Behavior         string `json:"behavior"`
	Invert           bool   `json:"invert"`
	AddPrefixSpace   bool   `json:"add_prefix_space"`
	UseRegex         *bool  `json:"use_regex"`
	IndividualDigits bool   `json:"individual_digits"`
}

// modelJSON is a BPE model, or enough of another to refuse it.
type modelJSON struct {
	Type         string      `json:"type"`
	ByteFallback bool        `json:"byte_fallback"`
	Dropout      *float64    `json:"dropout"`
	Continuing   string      `json:"continuing_subword_prefix"`
	EndOfWord    string      `json:"end_of_word_suffix"`
	IgnoreMerges bool        `json:"ignore_merges"`
	Vocab        vocabJSON   `json:"vocab"`
	Merges       []mergeJSON `json:"merges"`
}

// vocabJSON gives each token's id. Other models than BPE have a list instead,
// which is passed over.
type vocabJSON map[string]int32

// UnmarshalJSON reads an object.
func (v *vocabJSON) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return nil
	}
	return json.Unmarshal(data, (*map[string]int32)(v))
}

// mergeJSON is two neighbours that a merge joins: "a b" in older files,
// ["a", "b"] in newer ones.
type mergeJSON [2]string

// UnmarshalJSON reads either spelling. A file has hundreds of thousands, so
// those without escapes are cut out by hand.
func (m *mergeJSON) UnmarshalJSON(data []byte) error {
	text := string(data)
	if text[0] == '[' {
		if parts := strings.Split(text, `"`); len(parts) == 5 && !strings.Contains(text, `\`) {
			m[0], m[1] = parts[1], parts[3]
			return nil
		}
		var pair []string
		if err := json.Unmarshal(data, &pair); err != nil || len(pair) != 2 {
			return fmt.Errorf("model: merge %.40s: expected two tokens", data)
		}
		m[0], m[1] = pair[0], pair[1]
		return nil
	}
	line := strings.Trim(text, `"`)
	if strings.Contains(text, `\`) {
		if err := json.Unmarshal(data, &line); err != nil {
			return fmt.Errorf("model: merge %.40s: expected two tokens", data)
		}
	}
	m[0], m[1], _ = strings.Cut(line, " ")
	return nil
}

// parse builds a vocabulary from the content of a tokenizer.json.
func parse(name string, data []byte) (*Vocabulary, error) {
	var file tokenizerJSON
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	if err := file.check(); err != nil {
		return nil, err
	}
	v := newVocabulary(name)
	var err error
	if v.stages, v.prefix, err = file.PreTokenizer.stages(); err != nil {
		return nil, err
	}
	chain, err := file.Normalizer.forms()
	if err != nil {
		return nil, err
	}
	v.normalize = normalizer(chain)
	if err := v.fill(file.Model, file.AddedTokens); err != nil {
		return nil, err
	}
	if err := v.spell(file.AddedTokens); err != nil {
		return nil, err
	}
	v.composer, err = composerFor(v)
	return v, err
}

// errCure ends the lines that refuse a kind of tokenizer.
var errCure = errors.New("let the server count its tokens, or take an embedded vocabulary")

// unsupportedError says what part of a file cannot be reproduced exactly.
func unsupportedError(what string, arguments ...any) error {
	return fmt.Errorf("%s is not supported: %w", fmt.Sprintf(what, arguments...), errCure)
}

// check refuses other kinds of models than byte-level BPE by their own name.
func (f *tokenizerJSON) check() error {
	m := f.Model
	switch {
	case m == nil:
		return errors.New("not a tokenizer.json: it has no model")
	// The oldest files leave the type out; only BPE has merges.
	case m.Type != "BPE" && (m.Type != "" || m.Merges == nil):
		return unsupportedError("a model of type %q", m.Type)
	case m.ByteFallback && !f.PreTokenizer.byteLevel():
		return unsupportedError("SentencePiece BPE (byte_fallback without ByteLevel)")
	case !f.PreTokenizer.byteLevel():
		return unsupportedError("BPE without a ByteLevel pre-tokenizer")
	case m.Dropout != nil && *m.Dropout != 0:
		return unsupportedError("BPE with a dropout of %v", *m.Dropout)
	case m.Continuing != "":
		return unsupportedError("BPE with continuing_subword_prefix %q", m.Continuing)
	case m.EndOfWord != "":
		return unsupportedError("BPE with end_of_word_suffix %q", m.EndOfWord)
	case len(m.Merges) >= maxRanks:
		return fmt.Errorf("model: %d merges; must be fewer than %d", len(m.Merges), maxRanks)
	}
	return nil
}
