package token

import "strings"

// spellings finds tokens by how they are spelled, before text is split: the
// leftmost, and of those that begin there the longest.
type spellings struct {
	root   spelling
	starts [256]bool // the bytes that a token begins with
}

// spelling is a node of the tree of all spellings.
type spelling struct {
	next  map[byte]*spelling
	token *addedToken // that ends here, or nil
}

func (s *spellings) add(text string, token *addedToken) {
	s.starts[text[0]] = true
	node := &s.root
	for i := range len(text) {
		if node.next == nil {
			node.next = map[byte]*spelling{}
		}
		child := node.next[text[i]]
		if child == nil {
			child = new(spelling)
			node.next[text[i]] = child
		}
		node = child
	}
	node.token = token
}

// sighting is a token found in a text: it stands for text[start:end], and the
// search goes on at next.
type sighting struct {
	id               int32
	start, end, next int
}

// find gives the first token in text from at on. White space that the token
// takes with it reaches back no further than done.
func (s *spellings) find(text string, at, done int) (sighting, bool) {
	for ; at < len(text); at++ {
		if !s.starts[text[at]] {
			continue
		}
		token, end := s.longestMatch(text, at)
		if token == nil {
			continue
		}
		found := sighting{id: token.ID, start: at, end: end, next: end}
		if token.LeftStrip {
			found.start = max(done, len(strings.TrimRightFunc(text[:at], isBlank)))
		}
		if token.RightStrip {
			found.end = len(text) - len(strings.TrimLeftFunc(text[end:], isBlank))
		}
		return found, true
	}
	return sighting{}, false
}

func (s *spellings) longestMatch(text string, at int) (token *addedToken, end int) {
	node := &s.root
	for i := at; i < len(text); i++ {
		if node = node.next[text[i]]; node == nil {
			break
		}
		if node.token != nil {
			token, end = node.token, i+1
		}
	}
	return token, end
}

func isBlank(r rune) bool { return searchClass(r).blank() }
