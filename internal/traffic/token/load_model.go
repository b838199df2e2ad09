package token

import "fmt"

const (
	// maxTokens bounds ids, so that a broken file cannot ask for all memory.
	maxTokens = 1 << 22
	// maxAdded bounds how far a search for added tokens looks ahead.
	maxAdded = 1 << 10
)

// byteAlphabet gives the character that stands for each byte in a byte-level
// vocabulary: printable bytes of Latin-1 stand for themselves, the others for
// the characters from U+0100 on.
var byteAlphabet = func() (alphabet [256]rune) {
	next := rune(0x100)
	for b := range alphabet {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			alphabet[b] = rune(b)
			continue
		}
		alphabet[b] = next
		next++
	}
	return alphabet
}()

// alphabetBytes undoes byteAlphabet.
var alphabetBytes = func() map[rune]byte {
	bytes := map[rune]byte{}
	for b, r := range byteAlphabet {
		bytes[r] = byte(b)
	}
	return bytes
}()

// unspell appends the bytes that a token of a byte-level vocabulary stands
// for. A token with other characters is spelled as it stands and never arises
// from a text's bytes.
func unspell(dst []byte, token string) (bytes []byte, ok bool) {
	start := len(dst)
	for _, r := range token {
		b, ok := alphabetBytes[r]
		if !ok {
			return append(dst[:start], token...), false
		}
		dst = append(dst, b)
	}
	return dst, true
}

// fill lays out the tokens by their ids, ranks the merges and fills the table
// of whole pieces.
func (v *Vocabulary) fill(model *modelJSON, added []*addedToken) error {
	spelled, err := arrange(model.Vocab, added)
	if err != nil {
		return err
	}
	literal := make([]bool, len(spelled)) // tokens that no bytes lead to
	var all []byte
	v.starts = make([]uint32, 1, len(spelled)+1)
	for id, token := range spelled {
		var ok bool
		if known, has := model.Vocab[token]; has && known == int32(id) {
			all, ok = unspell(all, token)
		} else {
			all = append(all, token...)
		}
		literal[id] = !ok
		v.starts = append(v.starts, uint32(len(all)))
	}
	v.bytes = string(all)
	for b, r := range byteAlphabet {
		id, ok := model.Vocab[string(r)]
		if !ok {
			return unsupportedError("a vocabulary without a token for byte 0x%02x", b)
		}
		v.single[b] = id
	}
	if v.joins, err = model.joins(); err != nil {
		return err
	}
	m := new(merger)
	v.index(func(id int) bool {
		return !literal[id] && (model.IgnoreMerges || m.merge(v, v.token(id)) == 1)
	})
	return nil
}

// arrange gives all tokens in the order of their ids, gaps left empty.
func arrange(vocab map[string]int32, added []*addedToken) ([]string, error) {
	most := int32(-1)
	for token, id := range vocab {
		if id < 0 || id >= maxTokens {
			return nil, fmt.Errorf("model: token %q has id %d; must be 0 to %d", token, id, maxTokens-1)
		}
		most = max(most, id)
	}
	for _, token := range added {
		if token == nil || token.ID < 0 || token.ID >= maxTokens {
			return nil, fmt.Errorf("added_tokens: an id is missing or not within 0 to %d", maxTokens-1)
		}
		most = max(most, token.ID)
	}
	spelled := make([]string, most+1)
	for token, id := range vocab {
		if spelled[id] != "" {
			return nil, fmt.Errorf("model: %q and %q share id %d", min(token, spelled[id]), max(token, spelled[id]), id)
		}
		spelled[id] = token
	}
	for _, token := range added {
		if id, ok := vocab[token.Content]; ok && id != token.ID {
			return nil, fmt.Errorf("added_tokens: %q has id %d, the model gives it %d", token.Content, token.ID, id)
		}
		if known := spelled[token.ID]; known != "" && known != token.Content {
			return nil, fmt.Errorf("added_tokens: %q has the id %d of %q", token.Content, token.ID, known)
		}
		spelled[token.ID] = token.Content
	}
	return spelled, nil
}

// joins ranks the merges by their order in the file.
func (m *modelJSON) joins() (*joins, error) {
	ranked := newJoins(len(m.Merges))
	var both []byte
	for rank, merge := range m.Merges {
		left, hasLeft := m.Vocab[merge[0]]
		right, hasRight := m.Vocab[merge[1]]
		both = append(append(both[:0], merge[0]...), merge[1]...)
		id, hasBoth := m.Vocab[string(both)]
		if !hasLeft || !hasRight || !hasBoth {
			return nil, fmt.Errorf("model: merge %d of %q and %q is not of tokens in the vocabulary", rank, merge[0], merge[1])
		}
		// Of two that join the same pair the later one counts.
		*ranked.slot(pairOf(left, right)) = join{pair: pairOf(left, right), rank: int32(rank), id: id}
	}
	return ranked, nil
}

// spell makes the added tokens recognisable.
func (v *Vocabulary) spell(added []*addedToken) error {
	for _, token := range added {
		content, set := token.Content, &v.raw
		if token.Normalized {
			set = &v.normal
			if v.normalize != nil {
				content = v.normalize(content)
			}
		}
		switch {
		case content == "":
			continue
		case token.SingleWord:
			return unsupportedError("added token %q with single_word", token.Content)
		case len(content) > maxAdded:
			return fmt.Errorf("added_tokens: token %d has %d bytes; must be at most %d", token.ID, len(content), maxAdded)
		}
		if *set == nil {
			*set = new(spellings)
		}
		(*set).add(content, token)
	}
	return nil
}
