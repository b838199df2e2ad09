package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/frame"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

func ptr[T any](v T) *T { return &v }

// awkward is text that needs every kind of care.
const awkward = "He said: \"a\\b\"\n\r\t\x00\x1f </s> é 漢字 😀 \u2028 data: [DONE]\n\n"

func forEachDialect(t *testing.T, check func(t *testing.T, d *Dialect)) {
	t.Helper()
	for _, d := range Dialects {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			check(t, d)
		})
	}
}

func TestDialectsAreComplete(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		if got, ok := ByName(d.Name); !ok || got != d {
			t.Errorf("ByName(%q) does not find it", d.Name)
		}
		if got, ok := ByPath(d.Path); !ok || got != d {
			t.Errorf("ByPath(%q) does not find it", d.Path)
		}
		if d.KeyEnv == "" {
			t.Error("no KeyEnv")
		}
		secret := fmt.Sprint(d.Headers("secret"))
		if !strings.Contains(secret, "secret") || strings.Contains(fmt.Sprint(d.Headers("")), "Bearer") {
			t.Errorf("Headers: got %s with a key and %s without", secret, d.Headers(""))
		}
		if d.PoolsReplies() != (d.Framing == frame.Single) {
			t.Errorf("%s: what is generated streams, and only that", d.Name)
		}
	}
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		want llm.Request
	}{
		{"plain", llm.Request{Model: "m", MaxTokens: 16, Stream: true,
			Messages: []llm.Message{{Role: "user", Content: "hello"}}}},
		{"not streamed", llm.Request{Model: "org/m", MaxTokens: 1,
			Messages: []llm.Message{{Role: "user", Content: "hello"}}}},
		{"awkward text", llm.Request{Model: awkward, MaxTokens: 7,
			Messages: []llm.Message{{Role: "user", Content: awkward}}}},
		{"long", llm.Request{Model: "m", MaxTokens: 7,
			Messages: []llm.Message{{Role: "user", Content: strings.Repeat("long prompt\n", 50_000)}}}},
		{"a conversation", llm.Request{Model: "m", MaxTokens: 7, Messages: []llm.Message{
			{Role: "system", Content: "be brief"}, {Role: "user", Content: "a"},
			{Role: "assistant", Content: "b"}, {Role: "user", Content: "c"}}}},
		{"sampling", llm.Request{Model: "m", MaxTokens: 7, Messages: []llm.Message{{Role: "user", Content: "a"}},
			Sampling: llm.Sampling{Temperature: ptr(0.0), TopP: ptr(0.95), Seed: ptr(int64(-7)), Stop: []string{"\n", "END"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			forEachDialect(t, func(t *testing.T, d *Dialect) {
				body, ok := bytes.CutPrefix(d.Encode([]byte("kept"), &c.want, Quirks{}), []byte("kept"))
				if !ok {
					t.Fatal("Encode does not append")
				}
				got, options := must.Get2(d.ParseRequest(body))(t)
				expect.Same(t, expressible(d, c.want), *got)
				if options.IncludeUsage != c.want.Stream && !alwaysCounts(d) {
					t.Errorf("IncludeUsage: got %v for a stream: %v", options.IncludeUsage, c.want.Stream)
				}
			})
		})
	}
}

// expressible is what of a request a dialect has words for.
func expressible(d *Dialect, r llm.Request) llm.Request {
	switch d.Name {
	case "tgi-generate", "sglang-generate", "llamacpp-completion":
		r.Model = "" // one server, one model
	case "openai-responses":
		r.Sampling.Seed, r.Sampling.Stop = nil, nil
	}
	if seed, top := r.Sampling.Seed, r.Sampling.Temperature; d.Name == "tgi-generate" && seed != nil {
		r.Sampling.Seed, r.Sampling.Temperature = nil, nil // negative, and not more than 0
		if *seed >= 0 || *top > 0 {
			panic("the case has changed")
		}
	}
	switch d.Name {
	case "openai-completions", "ollama-generate", "tgi-generate", "sglang-generate", "llamacpp-completion":
		var contents []string
		var images []llm.Part
		for _, m := range r.Messages {
			contents = append(contents, m.Content)
			if d.Has(llm.NeedImages) {
				images = append(images, m.Parts...)
			}
		}
		r.Messages = []llm.Message{{Role: "user", Content: strings.Join(contents, "\n"), Parts: images}}
	case "anthropic-messages":
		r.Sampling.Seed = nil
	}
	return r
}

// alwaysCounts reports whether a dialect's streams carry usage unasked.
func alwaysCounts(d *Dialect) bool { return !strings.HasPrefix(d.Name, "openai-c") }

// usageOf is the part of a usage that a dialect has words for.
func usageOf(d *Dialect, u llm.Usage) llm.Usage {
	switch d.Name {
	case "tgi-generate", "ollama-chat", "ollama-generate":
		u.CachedTokens, u.ReasoningTokens = 0, 0
	case "sglang-generate", "llamacpp-completion":
		u.ReasoningTokens = 0
	}
	return u
}

// piece is one output of a stream.
type piece struct {
	Part llm.PartKind
	Text string
}

// answer is all that a reader learns from a stream or a whole reply.
type answer struct {
	Pieces []piece
	Usage  llm.Usage
	Finish string
	Done   bool
	Err    string
}

func (a *answer) add(d *Delta) {
	for _, p := range []piece{{llm.Reasoning, string(d.Reasoning)}, {llm.Text, string(d.Text)}, {llm.ToolCall, string(d.Tool)}} {
		if p.Text != "" {
			a.Pieces = append(a.Pieces, p)
		}
	}
	if d.HasUsage {
		MergeUsage(&a.Usage, d.Usage)
	}
	if len(d.Finish) > 0 {
		a.Finish = string(d.Finish)
	}
	if d.HasErr {
		a.Err = string(d.Err)
	}
	a.Done = a.Done || d.Done
}

// readAnswer reads a stream that comes in pieces.
func readAnswer(t *testing.T, d *Dialect, pieces ...string) answer {
	t.Helper()
	var a answer
	s := d.Framing.NewReader()
	var delta Delta
	for _, p := range pieces {
		s.Push([]byte(p))
		for f, ok := s.Next(); ok; f, ok = s.Next() {
			if err := d.Decode(f.Name, f.Data, &delta); err != nil {
				t.Fatalf("%s: %v", f.Data, err)
			}
			a.add(&delta)
		}
	}
	if s.Pending() {
		t.Error("the stream ends within an event")
	}
	return a
}

// asTold is what a reader of d should learn of an answer.
func asTold(d *Dialect, a answer) answer {
	a.Usage = usageOf(d, a.Usage)
	if d.WholeCalls {
		var whole []piece
		for i, p := range a.Pieces {
			if i > 0 && p.Part == llm.ToolCall && a.Pieces[i-1].Part == llm.ToolCall {
				whole[len(whole)-1].Text += p.Text
				continue
			}
			whole = append(whole, p)
		}
		if a.Pieces = whole; a.Finish == "tool_calls" {
			a.Finish = "stop"
		}
	}
	if !d.Tools {
		a.Pieces = append([]piece(nil), a.Pieces...)
		for i, p := range a.Pieces {
			if !d.Reasoning || p.Part == llm.ToolCall {
				a.Pieces[i].Part = llm.Text
			}
		}
		if a.Finish == "tool_calls" {
			a.Finish = "stop"
		}
	}
	return a
}

var streams = []struct {
	name   string
	pieces []piece
	finish string // as the server's Reply says it
	want   string // as the reader sees it
}{
	{"text", []piece{{llm.Text, "Hello"}, {llm.Text, ", world"}}, "stop", "stop"},
	{"cut short", []piece{{llm.Text, "Hello"}}, "length", "length"},
	{"awkward text", []piece{{llm.Text, awkward}, {llm.Text, `"`}, {llm.Text, awkward}}, "stop", "stop"},
	{"reasoning, then text", []piece{{llm.Reasoning, "hm\n"}, {llm.Reasoning, "so"}, {llm.Text, "yes"}}, "stop", "stop"},
	{"a tool call", []piece{{llm.Text, "look"}, {llm.ToolCall, "find"}, {llm.ToolCall, `{"q":`}, {llm.ToolCall, `"x"}`}}, "stop", "tool_calls"},
	{"two tool calls", []piece{{llm.ToolCall, "f"}, {llm.ToolCall, "{}"}, {llm.Reasoning, "again"}, {llm.ToolCall, "g"}, {llm.ToolCall, "{}"}}, "stop", "tool_calls"},
	{"nothing", nil, "stop", "stop"},
}

var someUsage = llm.Usage{PromptTokens: 100, CachedTokens: 64, OutputTokens: 12, ReasoningTokens: 3}

func newReply(finish string) *Reply {
	return &Reply{ID: `a"1`, Model: "org/m", Created: 1_700_000_000, Usage: someUsage, Finish: finish, IncludeUsage: true}
}

func serve(d *Dialect, r *Reply, pieces []piece) string {
	b := d.Open(nil, r)
	for _, p := range pieces {
		b = d.Output(b, r, p.Part, p.Text)
	}
	return string(d.Close(b, r))
}

func TestStreamRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range streams {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			forEachDialect(t, func(t *testing.T, d *Dialect) {
				want := asTold(d, answer{Pieces: c.pieces, Usage: someUsage, Finish: c.want, Done: true})
				stream := serve(d, newReply(c.finish), c.pieces)
				for _, ending := range []string{"\n", "\r\n", "\r"} {
					if ending == "\r" && d.Framing == frame.Lines {
						continue
					}
					form := strings.ReplaceAll(stream, "\n", ending)
					checkCuts(t, d, randomCuts(form), want)
					if ending == "\r\n" {
						checkCuts(t, d, cutsInTwo(form), want)
					}
				}
			})
		})
	}
}

// checkCuts reads a stream in each of the ways it is cut.
func checkCuts(t *testing.T, d *Dialect, cuts [][]string, want answer) {
	t.Helper()
	for _, pieces := range cuts {
		got := readAnswer(t, d, pieces...)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in %d pieces, the first %q (-want +got):\n%s", len(pieces), pieces[0], cmp.Diff(want, got))
		}
	}
}

// cutsInTwo cuts a stream in two at every byte, or every few where it is long.
func cutsInTwo(stream string) [][]string {
	var cuts [][]string
	for i := 0; i < len(stream); i += 1 + len(stream)/300 {
		cuts = append(cuts, []string{stream[:i], stream[i:]})
	}
	return cuts
}

// randomCuts has the stream whole, byte by byte, and cut at random.
func randomCuts(stream string) [][]string {
	cuts := [][]string{{stream}, bytewise(stream)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var pieces []string
		for rest := stream; rest != ""; {
			n := 1 + random.IntN(min(len(rest), 100))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		cuts = append(cuts, pieces)
	}
	return cuts
}

func TestUsageOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, d *Dialect) {
		if d.Name == "anthropic-messages" {
			t.Skip("its streams always carry usage")
		}
		r := newReply("stop")
		r.IncludeUsage = false
		got := readAnswer(t, d, serve(d, r, []piece{{llm.Text, "a"}}))
		expect.Same(t, answer{Pieces: []piece{{llm.Text, "a"}}, Finish: "stop", Done: true}, got)
		switch d.Name {
		case "openai-responses", "tgi-generate", "ollama-chat", "ollama-generate":
			return // they count at the end alone
		}
		r = newReply("stop")
		r.IncludeUsage, r.ContinuousUsage = false, true
		var delta Delta
		s := d.Framing.NewReader()
		r.Usage.OutputTokens = 5
		s.Push(d.Output(nil, r, llm.Text, "a"))
		f, _ := s.Next()
		want := usageOf(d, r.Usage)
		if d.Name == "llamacpp-completion" {
			want.CachedTokens = 0 // told at the end
		}
		if err := d.Decode(f.Name, f.Data, &delta); err != nil || delta.Usage != want {
			t.Errorf("continuous usage: got %+v, %v; want %+v", delta.Usage, err, want)
		}
	})
}

func TestWholeReplyRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                  string
		text, reasoning, tool string
		finish, want          string
	}{
		{"text", "Hello", "", "", "stop", "stop"},
		{"awkward text", awkward, awkward, "", "length", "length"},
		{"all parts", "yes", "hm", `find{"q":"<x>"}`, "stop", "tool_calls"},
		{"a call without arguments", "", "", "now", "stop", "tool_calls"},
		{"nothing", "", "", "", "stop", "stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			forEachDialect(t, func(t *testing.T, d *Dialect) {
				var delta Delta
				body := d.Whole(nil, newReply(c.finish), c.text, c.reasoning, c.tool)
				if err := d.DecodeWhole(body, &delta); err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				want := Delta{Text: []byte(c.text), Reasoning: []byte(c.reasoning), Tool: []byte(c.tool),
					Usage: usageOf(d, someUsage), HasUsage: true, Finish: []byte(c.want), Done: true}
				if d.WholeCalls && c.tool == "now" {
					want.Tool = []byte("now{}")
				}
				if !d.Tools {
					want.Text, want.Tool = []byte(c.text+c.tool), nil
				}
				if !d.Reasoning {
					want.Text, want.Reasoning, want.Tool = []byte(c.reasoning+c.text+c.tool), nil, nil
				}
				want.Finish = []byte(asTold(d, answer{Finish: c.want}).Finish)
				expect.NoDiff(t, cmp.Diff(want, delta, asDeltas), "%s (-want +got)", body)
			})
		})
	}
}

func TestErrorRoundTrips(t *testing.T) {
	t.Parallel()
	forEachDialect(t, func(t *testing.T, d *Dialect) {
		for _, status := range []int{400, 401, 404, 418, 422, 429, 500, 503} {
			body := d.EncodeError(nil, status, awkward)
			if got := d.DecodeError(body); got != awkward {
				t.Errorf("status %d: got %q from %s", status, got, body)
			}
			var delta Delta
			if err := d.DecodeWhole(body, &delta); err != nil || !delta.HasErr || delta.Done {
				t.Errorf("status %d: as a reply: got %+v, %v; want an error", status, delta, err)
			}
		}
		r := newReply("stop")
		stream := string(d.EncodeErrorEvent(d.Output(d.Open(nil, r), r, llm.Text, "a"), awkward))
		got := readAnswer(t, d, stream)
		got.Usage = llm.Usage{}
		want := answer{Pieces: []piece{{llm.Text, "a"}}, Err: awkward}
		expect.NoDiff(t, cmp.Diff(want, got), "in the stream (-want +got)")
	})
}

func bytewise(stream string) []string {
	var out []string
	for i := range len(stream) {
		out = append(out, stream[i:i+1])
	}
	return out
}
