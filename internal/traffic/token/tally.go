package token

// tally counts the tokens of a text, and keeps their ids where asked to.
type tally struct {
	vocabulary *Vocabulary
	ids        []int32
	keep       bool
	count      int
}

// text takes a whole text: tokens known by their spelling are cut out of it,
// of what is left the normal form is taken, and others are cut out of that.
func (t *tally) text(text string) {
	t.splitAdded(text, t.vocabulary.raw, t.countNormalized)
}

func (t *tally) countNormalized(text string) {
	if normalize := t.vocabulary.normalize; normalize != nil {
		text = normalize(text)
	}
	t.splitAdded(text, t.vocabulary.normal, t.plain)
}

// splitAdded adds the tokens that s finds in text and hands on what lies between.
func (t *tally) splitAdded(text string, s *spellings, rest func(string)) {
	if s == nil {
		rest(text)
		return
	}
	done := 0
	for at := 0; at < len(text); {
		found, ok := s.find(text, at, done)
		if !ok {
			break
		}
		if found.start > done {
			rest(text[done:found.start])
		}
		t.add(found.id)
		at, done = found.next, found.end
	}
	if done < len(text) {
		rest(text[done:])
	}
}

// plain takes text in which no token is known by its spelling.
func (t *tally) plain(text string) {
	if t.vocabulary.prefix && text != "" && text[0] != ' ' {
		text = " " + text
	}
	t.split(text, t.vocabulary.stages)
}

func (t *tally) split(text string, stages []splitter) {
	if len(stages) == 0 {
		if text != "" {
			t.piece(text)
		}
		return
	}
	for len(text) > 0 {
		n := stages[0](text)
		if len(stages) == 1 {
			t.piece(text[:n])
		} else {
			t.split(text[:n], stages[1:])
		}
		text = text[n:]
	}
}

// piece takes text that no merge leaves.
func (t *tally) piece(piece string) {
	v := t.vocabulary
	if id, ok := v.lookup(piece); ok {
		t.add(id)
		return
	}
	m := v.scratch.Get().(*merger)
	count := m.merge(v, piece)
	if t.keep {
		for start := 0; start < len(piece); start = m.parts[start].end {
			t.ids = append(t.ids, m.parts[start].id)
		}
	}
	t.count += count
	v.scratch.Put(m)
}

func (t *tally) add(id int32) {
	t.count++
	if t.keep {
		t.ids = append(t.ids, id)
	}
}
