package workload

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
)

func newWorkload(t testing.TB, text string, seed uint64) *Workload {
	t.Helper()
	spec := must.Get(Parse(text))(t)
	w := must.Get(spec.New(token.O200k(), seed, Options{Model: "m"}))(t)
	return w
}

// allSpecs is every preset, every mix and every kind of distribution.
func allSpecs() []string {
	return append(Names(), "fixed(64,100)", "in=uniform(20,400) out=uniform(1,9)", "in=lognormal(300,1.2)",
		"in=normal(300,120,9..500) out=normal(50,5)", "in=gamma(300,0.5,3..2000) out=gamma(90,4)",
		"in=zipf(1.4,16..4096) out=zipf(2.5)", "in=choice(0..512:0.4,512..2048:0.6) out=choice(5:1,10..20:3)",
		"in=choice(512:0.15,2048:0.25,8192:0.3,16384:0.2,32768:0.1)")
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, name := range allSpecs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, name, 7)
			t.Run("lengths", func(t *testing.T) { checkLengths(t, w) })
			t.Run("seeds", func(t *testing.T) { checkSeeds(t, name) })
			t.Run("prompts", func(t *testing.T) { checkPrompts(t, w) })
			t.Run("name", func(t *testing.T) {
				if again := newWorkload(t, w.Name(), 7); again.Name() != w.Name() {
					t.Errorf("%q is read as %q", w.Name(), again.Name())
				}
			})
		})
	}
}

// checkLengths draws 20,000 lengths and holds their mean against the
// distribution's.
func checkLengths(t *testing.T, w *Workload) {
	spec := must.Get(Parse(w.Name()))(t)
	shape, err := spec.shape()
	if findMix(w.Name()) != nil || err == nil && (shape.Jobs != nil || shape.Session != nil && shape.Session.Agent != nil) {
		t.Skip("has more to it than two distributions")
	}
	must.Do(t, err)
	before := 0
	if shape.Prefix != nil {
		before = shape.Prefix.Tokens
	}
	const n = 20000
	prompts, outputs := make([]float64, n), make([]float64, n)
	for i := range n {
		prompt, output := w.lengths(i)
		prompts[i], outputs[i] = float64(prompt-before), float64(output)
	}
	checkSample(t, "prompt", shape.Prompt, prompts)
	checkSample(t, "output", shape.Output, outputs)
}

func checkSample(t *testing.T, what string, d Dist, sample []float64) {
	t.Helper()
	sum, squares := 0.0, 0.0
	for _, x := range sample {
		sum += x
		squares += x * x
	}
	n := float64(len(sample))
	mean := sum / n
	standardError := math.Sqrt((squares/n - mean*mean) / n)
	if math.Abs(mean-d.Mean()) > 4*standardError+1e-9*mean {
		t.Errorf("%s: mean %v ± %v, want %v", what, mean, standardError, d.Mean())
	}
}

// checkSeeds wants one seed to give the same sessions in any order, and
// another seed others.
func checkSeeds(t *testing.T, name string) {
	a, b, other := newWorkload(t, name, 1), newWorkload(t, name, 1), newWorkload(t, name, 2)
	for _, i := range []int{5, 0, 3} {
		request := func(w *Workload) *llm.Request { return turnsOf(w.Session(i).Next(nil))[0].Request }
		first := request(a)
		expect.NoDiff(t, cmp.Diff(first, request(b)), "session %d of one seed differs", i)
		if cmp.Equal(first, request(other)) {
			t.Errorf("session %d is the same for two seeds", i)
		}
	}
}

// checkPrompts holds conversations in which every reply has the tokens asked
// for, and counts those of every prompt again: as many as designed.
func checkPrompts(t *testing.T, w *Workload) {
	for i := range 12 {
		prompt, output := w.lengths(i)
		requests := talk(t, w, i)
		if first := requests[0]; first.PromptTokens != prompt || first.MaxTokens != output {
			t.Errorf("session %d: designed %d and %d tokens; the request says %d and %d",
				i, prompt, output, first.PromptTokens, first.MaxTokens)
		}
		for turn, r := range requests {
			if got := countMessages(r); got != r.PromptTokens {
				t.Errorf("session %d, turn %d: the request says %d prompt tokens, its text has %d", i, turn, r.PromptTokens, got)
			}
		}
	}
}

func countMessages(r *llm.Request) int {
	n := 0
	for _, m := range r.Messages {
		n += token.O200k().Count(m.Content)
	}
	return n
}

// talk holds the i-th conversation to its end and gives its requests.
func talk(t *testing.T, w *Workload, i int) []*llm.Request {
	t.Helper()
	out := holdConversation(w, i)
	if len(out) == 0 {
		t.Fatalf("session %d says nothing", i)
	}
	return out
}

// TestNoTwoPromptsShareTheirFirstCacheBlock covers two seeds, as two stages of
// one run have them.
func TestNoTwoPromptsShareTheirFirstCacheBlock(t *testing.T) {
	t.Parallel()
	v := token.O200k()
	seen := map[[16]int32]bool{}
	for _, seed := range []uint64{7, 8} {
		w := newWorkload(t, "fixed(16,1)", seed)
		for i := range 10000 {
			ids := v.Encode(nil, w.Session(i).Next(nil).Request.Messages[0].Content)
			block := [16]int32(ids)
			if seen[block] {
				t.Fatalf("seed %d: session %d begins as an earlier one: %q", seed, i, v.Decode(ids))
			}
			seen[block] = true
		}
	}
}

// TestPromptsOfOneWorkloadDifferFromTheirFirstWords holds more than the block:
// four words are enough to tell ten thousand prompts of any length apart.
func TestPromptsOfOneWorkloadDifferFromTheirFirstWords(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "chat", 3)
	seen := map[string]bool{}
	for i := range 10000 {
		words := strings.SplitN(w.Session(i).Next(nil).Request.Messages[0].Content, " ", 5)
		seen[strings.Join(words[:4], " ")] = true
	}
	if len(seen) < 9999 {
		t.Errorf("%d different beginnings of 10000", len(seen))
	}
}

func TestRequestCarriesTheOptions(t *testing.T) {
	t.Parallel()
	options := Options{Model: "llama", Stream: true, Sampling: llm.Sampling{Temperature: new(0.5), Stop: []string{"x"}}}
	w := must.Get(Spec{Traffic: Traffic{Prompt: fixedAt(3), Output: fixedAt(9)}}.New(token.O200k(), 1, options))(t)
	session := w.Session(0)
	turn := session.Next(nil)
	content := turn.Request.Messages[0].Content
	want := &llm.Turn{Request: &llm.Request{
		Model:        "llama",
		Messages:     []llm.Message{{Role: "user", Content: content}},
		MaxTokens:    9,
		Stream:       true,
		Sampling:     options.Sampling,
		PromptTokens: 3,
	}}
	expect.Same(t, want, turn)
	if again := session.Next(&llm.Reply{Outcome: llm.OK}); again != nil {
		t.Errorf("a second turn: %+v", again)
	}
}

func TestNewRefusesAnInvalidSpec(t *testing.T) {
	t.Parallel()
	if _, err := (Spec{Traffic: Traffic{Preset: "chta"}}).New(token.O200k(), 1, Options{}); err == nil {
		t.Error("made a workload of an unknown preset")
	}
}

func TestZeroSpecIsChat(t *testing.T) {
	t.Parallel()
	zero := must.Get(Spec{}.New(token.O200k(), 5, Options{Model: "m"}))(t)
	chat := newWorkload(t, "chat", 5)
	if zero.Name() != "chat" || !cmp.Equal(zero.Session(1).Next(nil), chat.Session(1).Next(nil)) {
		t.Errorf("the zero Spec is %q, want chat", zero.Name())
	}
}

func TestSessionsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "fixed(200,1)", 1)
	want := make([]string, 50)
	for i := range want {
		want[i] = w.Session(i).Next(nil).Request.Messages[0].Content
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range want {
				if got := w.Session(i).Next(nil).Request.Messages[0].Content; got != want[i] {
					t.Errorf("session %d changed under concurrency", i)
				}
			}
		})
	}
	group.Wait()
}

// TestPresetsAreTheDocumentedShapes states the published figures once more,
// as rows.
func TestPresetsAreTheDocumentedShapes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"chat":            "lognormal(500,0.8,50..4000) lognormal(200,0.8,10..2000)",
		"code_generation": "lognormal(1500,0.8,200..8000) lognormal(500,0.8,50..4000)",
		"long_context_qa": "lognormal(16000,0.8,2000..128000) lognormal(300,0.8,20..2000)",
		"summarization":   "lognormal(4000,0.8,500..32000) lognormal(150,0.8,50..500)",
	} {
		p := must.Get(findPreset(name))(t)
		if got := p.Prompt.String() + " " + p.Output.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestRAGAgentFavoursTwoToSixteenThousandTokens(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "rag_agent", 11)
	const n = 20000
	inside := 0
	for i := range n {
		if prompt, _ := w.lengths(i); prompt >= 2000 && prompt <= 16384 {
			inside++
		}
	}
	if share := float64(inside) / n; share < 0.78 || share > 0.84 {
		t.Errorf("%.3f of the prompts have 2k to 16k tokens, want about 0.81", share)
	}
}

func BenchmarkSession(b *testing.B) {
	w := newWorkload(b, "chat", 1)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		w.Session(i).Next(nil)
		i++
	}
}

// lengths gives the tokens of the i-th session's first prompt and of the
// output it asks for; zeros where there is no such session.
func (w *Workload) lengths(i int) (prompt, output int) {
	s, err := w.classOf(i).source.script(i)
	if err != nil || s == nil {
		return 0, 0
	}
	return s.steps[0].tokens, s.steps[0].output
}

// TestResidence: a reply of 10 tokens to a prompt of 100 holds 105 tokens on
// average, for as long as 10 tokens take; of a mixture it is the mean.
func TestResidence(t *testing.T) {
	t.Parallel()
	if got := newWorkload(t, "fixed(100,10)", 1).Residence(); got != 1050 {
		t.Errorf("%g tokens, want 1050", got)
	}
	// Replies of 1, 2 and 3 tokens, equally often.
	if got, want := newWorkload(t, "in=fixed(100) out=uniform(1,3)", 1).Residence(), (1*100.5+2*101+3*101.5)/3; math.Abs(got/want-1) > 0.05 {
		t.Errorf("%g tokens, want about %g", got, want)
	}
}
