package token

import "golang.org/x/text/unicode/norm"

// byteLevel says that a pre-tokenizer turns bytes into the byte alphabet.
func (s *step) byteLevel() bool {
	if s == nil {
		return false
	}
	if s.Type == "ByteLevel" {
		return true
	}
	for _, part := range s.Pretokenizers {
		if part.byteLevel() {
			return true
		}
	}
	return false
}

// forms gives the normal forms of a normalizer.
func (s *step) forms() ([]norm.Form, error) {
	if s == nil {
		return nil, nil
	}
	if s.Type == "Sequence" {
		var chain []norm.Form
		for _, part := range s.Normalizers {
			forms, err := part.forms()
			if err != nil {
				return nil, err
			}
			chain = append(chain, forms...)
		}
		return chain, nil
	}
	form, ok := forms[s.Type]
	if !ok {
		return nil, unsupportedError("normalizer %q", s.Type)
	}
	return []norm.Form{form}, nil
}

// stages gives the splitters of a pre-tokenizer that ends in ByteLevel, and
// whether text gets a space before it.
func (s *step) stages() (stages []splitter, prefix bool, err error) {
	parts := []*step{s}
	if s.Type == "Sequence" {
		parts = s.Pretokenizers
	}
	words := false
	for i, part := range parts {
		if part == nil {
			return nil, false, unsupportedError("an empty pre-tokenizer")
		}
		if part.Type == "ByteLevel" {
			if i != len(parts)-1 {
				return nil, false, unsupportedError("a pre-tokenizer after ByteLevel")
			}
			if part.AddPrefixSpace && i > 0 {
				return nil, false, unsupportedError("add_prefix_space after another pre-tokenizer")
			}
			if part.UseRegex == nil || *part.UseRegex {
				stages, words = append(stages, gpt2Piece), true
			}
			if !words {
				return nil, false, unsupportedError("ByteLevel without a pattern that parts words")
			}
			return stages, part.AddPrefixSpace, nil
		}
		stage, partsWords, err := part.stage()
		if err != nil {
			return nil, false, err
		}
		stages, words = append(stages, stage), words || partsWords
	}
	return nil, false, unsupportedError("a sequence of pre-tokenizers that does not end in ByteLevel")
}

// stage gives the splitter of one pre-tokenizer, and whether every word is a
// piece of its own after it.
func (s *step) stage() (split splitter, words bool, err error) {
	switch s.Type {
	case "Digits":
		if s.IndividualDigits {
			return numeralOrRest, false, nil
		}
		return numeralsOrRest, false, nil
	case "Split":
		if s.Pattern.Regex == nil {
			return nil, false, unsupportedError("pre-tokenizer Split at a fixed string")
		}
		known, ok := patterns[*s.Pattern.Regex]
		if !ok {
			return nil, false, unsupportedError("pre-tokenizer Split with the pattern %q", *s.Pattern.Regex)
		}
		isolated := s.Behavior == "Isolated" && !s.Invert
		if !isolated && !(known.whole && s.Behavior == "Removed" && s.Invert) {
			return nil, false, unsupportedError("pre-tokenizer Split with behavior %q, invert %v", s.Behavior, s.Invert)
		}
		return known.split, known.words, nil
	}
	return nil, false, unsupportedError("pre-tokenizer %q", s.Type)
}
