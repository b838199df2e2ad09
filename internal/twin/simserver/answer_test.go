package simserver

import (
	"strings"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/golden"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

func user(text string) []llm.Message { return []llm.Message{{Role: "user", Content: text}} }

// wrongs is how many questions of the built-in set an engine answers wrongly.
func wrongs(t *testing.T, s sim.Spec, others int64) int {
	t.Helper()
	s.Golden = golden.Builtin
	b := must.Get(openBook(s))(t)
	set := must.Get(golden.Open(golden.Builtin))(t)
	n := 0
	for i := range set.Items {
		it := &set.Items[i]
		text, known := b.answer(it.Messages, others)
		if !known {
			t.Fatalf("%s is not known", it.ID)
		}
		if !it.Expect.Match(text).Right {
			n++
		}
	}
	return n
}

func TestAnswersGoWrongWithLoadAndBits(t *testing.T) {
	t.Parallel()
	const all = 25
	for _, c := range []struct {
		name        string
		spec        sim.Spec
		alone, busy [2]int // from and to
	}{
		{"never", sim.Spec{}, [2]int{0, 0}, [2]int{0, 0}},
		{"always", sim.Spec{AnswerError: 1}, [2]int{all, all}, [2]int{all, all}},
		{"under load", sim.Spec{AnswerErrorUnderLoad: 1}, [2]int{0, 0}, [2]int{all, all}},
		{"half", sim.Spec{AnswerError: 0.5}, [2]int{6, 19}, [2]int{6, 19}},
	} {
		for others, want := range map[int64][2]int{0: c.alone, 1: c.alone, 2: c.busy, 50: c.busy} {
			if got := wrongs(t, c.spec, others); got < want[0] || got > want[1] {
				t.Errorf("%s, beside %d others: %d wrong, want %d to %d", c.name, others, got, want[0], want[1])
			}
		}
	}
	fine, coarse := 0, 0
	for seed := range uint64(20) {
		fine += wrongs(t, sim.Spec{Seed: seed, AnswerError: 0.05}, 0)
		coarse += wrongs(t, sim.Spec{Seed: seed, AnswerError: 0.05, Quantization: "awq"}, 0)
	}
	// 500 answers, of which 25 and 55 are to be expected.
	if fine < 10 || fine > 40 || coarse < 35 || coarse > 80 || coarse <= fine {
		t.Errorf("of 500 answers %d are wrong at 16 bits and %d at 4", fine, coarse)
	}
}

func TestOtherQuestionsAreNotInTheBook(t *testing.T) {
	t.Parallel()
	b := must.Get(openBook(sim.Spec{Golden: golden.Builtin}))(t)
	if text, known := b.answer(user("What is the capital of Peru?"), 0); known {
		t.Errorf("answered %q", text)
	}
	if _, known := (*book)(nil).answer(user("What is 2 + 2? Answer with the number only."), 0); known {
		t.Error("an engine without a set knows an answer")
	}
	if _, err := openBook(sim.Spec{Golden: "/nowhere.jsonl"}); err == nil {
		t.Error("a set that is not there was read")
	}
}

// A text is recited token by token, in whole letters, and is as long as its
// tokens.
func TestRecitedTextIsTheText(t *testing.T) {
	t.Parallel()
	v := token.O200k()
	for _, text := range []string{"Paris", `{"name": "Ada", "age": 36}`, "漢字と😀 é", ""} {
		s := recite(v, text, 100)
		var told strings.Builder
		for !s.isDone() {
			_, piece := s.next()
			if piece != strings.ToValidUTF8(piece, "?") {
				t.Errorf("%q: half a letter in %q", text, piece)
			}
			told.WriteString(piece)
		}
		if told.String() != text || len(s.ids) != v.Count(text) {
			t.Errorf("%q was told as %q in %d tokens", text, told.String(), len(s.ids))
		}
	}
	if s := recite(v, "one two three four", 2); len(s.ids) != 2 || len(s.ends) != 2 {
		t.Errorf("of two tokens: %+v", s)
	}
}
