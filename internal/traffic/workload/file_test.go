package workload

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
	"redline/internal/traffic/trace"
)

const (
	azure = `TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:47.1805900,396,109
2023-11-16 18:15:50.6805900,91,16
`
	mooncake = `{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]}
{"timestamp": 1000, "input_length": 1200, "output_length": 6, "hash_ids": [0, 1, 3]}
{"timestamp": 2000, "input_length": 700, "output_length": 7, "hash_ids": [0, 4]}
`
)

func TestRecognize(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"azure":             {azure, "azure"},
		"mooncake":          {mooncake, "mooncake"},
		"burstgpt":          {"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n", "burstgpt"},
		"sharegpt":          {shareGPT, "sharegpt"},
		"prompts":           {`{"prompt": "a", "output_tokens": 4}`, "jsonl"},
		"messages":          {`{"messages": [{"role": "user", "content": "a"}]}`, "jsonl"},
		"a batch":           {`{"custom_id": "1", "body": {"messages": []}}`, "batch"},
		"prose":             {"It was the best of times, it was the worst of times.", "text"},
		"any columns":       {"time,prompt_tokens,output_tokens\n1,2,3\n", "csv"},
		"any keys":          {`{"time": 1, "prompt_tokens": 2, "output_tokens": 3}`, "trace"},
		"a fitted workload": {"# by redline\nschema: redline/workload/1\n", Fitted},
	} {
		if got, err := recognize(must.File(t, "file", row.text)); err != nil || got != row.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, row.want)
		}
	}
}

func TestRecognizeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "is empty",
		"\n \n":                     "is empty",
		"\x1f\x8b\x08":              "is compressed; unpack it first",
		"\x00\x01\x02\x03":          "is not recognized: looked for ShareGPT JSON",
		"[1, 2, 3]":                 "or the format with --workload-format",
		"a,b\n1,2\n3,4\n5,6\n":      "--column prompt=input_tokens",
		"workload: chat\nseed: 1\n": "looks like a plan: give it by --plan",
	} {
		path := must.File(t, "file", text)
		_, err := recognize(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	for _, name := range []string{"bad.csv", "bad.JSON", "bad.jsonl"} {
		path := must.File(t, name, "garbage\n")
		if _, err := recognize(path); err == nil || !strings.Contains(err.Error(), name+": holds prose") || !strings.Contains(err.Error(), "--workload-format text") {
			t.Errorf("%s: error %v", name, err)
		}
		if format, err := (Traffic{File: path, Format: "text"}).formatOf(); err != nil || format != "text" {
			t.Errorf("%s as text: %q, %v", name, format, err)
		}
	}
	if _, err := recognize("./chta.csv"); err == nil || !strings.Contains(err.Error(), "./chta.csv: no such file; the known workloads are chat,") {
		t.Errorf("error %v", err)
	}
}

func TestATraceIsReplayedRowByRow(t *testing.T) {
	t.Parallel()
	path := must.File(t, "azure.csv", azure)
	w := open(t, Spec{Traffic: Traffic{File: path}}, Options{Model: "m"})
	for i, want := range [][2]int{{374, 44}, {396, 109}, {91, 16}} {
		r := w.Session(i).Next(nil).Request
		if r.PromptTokens != want[0] || r.MaxTokens != want[1] || countMessages(r) != want[0] {
			t.Errorf("row %d: %d prompt tokens said, %d in the text, %d asked; want %v", i, r.PromptTokens, countMessages(r), r.MaxTokens, want)
		}
	}
	if w.Session(3).Next(nil) != nil {
		t.Error("a fourth row")
	}
	times := slices.Collect(w.Times(1))
	expect.NoDiff(t, cmp.Diff([]int64{0, 500e6, 4000e6}, times), "times: -want +got")
}

// TestJSONLinesAreReadByWhatTheyHold gives prompts and traces the one name
// they share, and none.
func TestJSONLinesAreReadByWhatTheyHold(t *testing.T) {
	t.Parallel()
	prompts := must.File(t, "p.jsonl", `{"prompt": "One two", "output_tokens": 3}`+"\n")
	rows := must.File(t, "t.jsonl", `{"time": 1, "prompt_tokens": 2, "output_tokens": 3}`+"\n")
	both := must.File(t, "b.jsonl", `{"time": 1, "prompt": "One two three", "prompt_tokens": 2, "output_tokens": 3}`+"\n")
	for name, row := range map[string]struct {
		traffic Traffic
		timed   bool
	}{
		"prompts":         {Traffic{File: prompts}, false},
		"named prompts":   {Traffic{File: prompts, Format: "jsonl"}, false},
		"a trace":         {Traffic{File: rows}, true},
		"a named trace":   {Traffic{File: rows, Format: "jsonl"}, true},
		"both as a trace": {Traffic{File: both, Format: "trace"}, true},
	} {
		w := open(t, Spec{Traffic: row.traffic}, Options{})
		prompt, output := w.lengths(0)
		if timed := w.Times(1) != nil; prompt != 2 || output != 3 || timed != row.timed {
			t.Errorf("%s: %d and %d tokens, times %v; want 2, 3 and %v", name, prompt, output, timed, row.timed)
		}
		if got := (Spec{Traffic: row.traffic}).HasTimes(); got != row.timed {
			t.Errorf("%s: Timed is %v", name, got)
		}
	}
	w := open(t, Spec{Traffic: Traffic{File: both}}, Options{})
	if got := w.Session(0).Next(nil).Request.Messages[0].Content; got != "One two three" {
		t.Errorf("a row with a prompt sends %q", got)
	}
}

func TestATraceIsSlicedAndSpedUp(t *testing.T) {
	t.Parallel()
	path := must.File(t, "azure.csv", azure)
	w := open(t, Spec{Traffic: Traffic{File: path, Replay: &trace.Replay{Speedup: 2, From: 400 * time.Millisecond}}}, Options{})
	expect.NoDiff(t, cmp.Diff([]int64{50e6, 1800e6}, slices.Collect(w.Times(1))), "times: -want +got")
	if got, want := w.Span(), 1800*time.Millisecond; got < want || got > 2*want {
		t.Errorf("the slice lasts %v, want at least %v", got, want)
	}
	if prompt, output := w.lengths(0); prompt != 396 || output != 109 {
		t.Errorf("the slice begins with %d and %d tokens", prompt, output)
	}
	_, err := Spec{Traffic: Traffic{File: path, Replay: &trace.Replay{From: time.Hour}}}.New(token.O200k(), 1, Options{})
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a slice behind the end: %v", err)
	}
}

// TestMooncakeBlocksAreSharedText compares token by token: rows that name the
// same first blocks begin with as many equal tokens.
func TestMooncakeBlocksAreSharedText(t *testing.T) {
	t.Parallel()
	path := must.File(t, "mooncake.jsonl", mooncake)
	w := open(t, Spec{Traffic: Traffic{File: path}}, Options{Salt: "run"})
	a, b, c := ids(w, 0), ids(w, 1), ids(w, 2)
	if len(a) != 1100 || len(b) != 1200 || len(c) != 700 {
		t.Fatalf("%d, %d and %d tokens, want 1100, 1200 and 700", len(a), len(b), len(c))
	}
	for name, row := range map[string]struct{ got, want int }{"two blocks": {alike(a, b), 1024}, "one block": {alike(a, c), 512}} {
		if row.got < row.want || row.got > row.want+3 {
			t.Errorf("%s: %d tokens alike, want %d", name, row.got, row.want)
		}
	}
	if got, err := w.DesignedSharing(0); err != nil || math.Abs(got-1536.0/3000) > 1e-12 {
		t.Errorf("designed sharing %v, %v; want 1536 of 3000", got, err)
	}
	cold := open(t, Spec{Traffic: Traffic{File: path, Cache: "cold"}}, Options{Salt: "run"})
	if x, y := ids(cold, 0), ids(cold, 1); len(x) != 1100 || len(y) != 1200 || alike(x, y) > 3 {
		t.Errorf("cold rows of %d and %d tokens begin with %d alike", len(x), len(y), alike(x, y))
	}
}

func TestLengthsOfATraceCanBeReplaced(t *testing.T) {
	t.Parallel()
	path := must.File(t, "azure.csv", azure)
	w := open(t, Spec{Traffic: Traffic{File: path, Output: fixedAt(9)}}, Options{})
	if prompt, output := w.lengths(1); prompt != 396 || output != 9 {
		t.Errorf("%d and %d tokens, want 396 and 9", prompt, output)
	}
	broken := open(t, Spec{Traffic: Traffic{File: path, Pairs: "break", Replay: &trace.Replay{Loop: true}}}, Options{})
	seen := map[[2]int]bool{}
	for i := range 90 {
		prompt, output := broken.lengths(i)
		seen[[2]int{prompt, output}] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d pairs of three prompts and three outputs, want all 9", len(seen))
	}
}

func TestFilesRefuseWhatDoesNotFitThem(t *testing.T) {
	t.Parallel()
	csv, chat := must.File(t, "a.csv", azure), must.File(t, "s.json", shareGPT)
	for want, traffic := range map[string]Traffic{
		"has prompts of its own; give no length for them":    {File: chat, Prompt: fixedAt(5)},
		"has prompts of its own; give no prefix before them": {File: chat, Prefix: &Prefix{Groups: 1, Tokens: 5}},
		"session.agent: ": {File: chat, Session: &Session{Agent: &Agent{Calls: *fixedAt(1), Result: *fixedAt(1)}}},
		"says itself what is shared; give no prefix":   {File: csv, Prefix: &Prefix{Groups: 1, Tokens: 5}},
		"session: every row of a trace is one request": {File: csv, Session: &Session{Turns: fixedAt(2)}},
		"not recognized":         {File: must.File(t, "x", "\x01\x02")},
		"none.csv: no such file": {File: filepath.Join(t.TempDir(), "none.csv")},
		"has lengths of its own; give no preset beside it": {File: csv, Preset: "chat"},
		":1: is not JSON": {File: csv, Format: "sharegpt"},
	} {
		_, err := Spec{Traffic: traffic}.New(token.O200k(), 1, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", traffic, err, want)
		}
	}
	_, err := Spec{Classes: []Class{{Name: "rag", Workload: Part{File: "./none.csv"}}}}.New(token.O200k(), 1, Options{})
	if err == nil || !strings.HasPrefix(err.Error(), "class rag: ./none.csv: no such file") {
		t.Errorf("a class: %v", err)
	}
}

func TestBadRowsAreSkippedAndCounted(t *testing.T) {
	t.Parallel()
	path := must.File(t, "p.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": 5}\n{\"prompt\": \"b\"}\n")
	if _, err := (Spec{Traffic: Traffic{File: path}}).New(token.O200k(), 1, Options{}); err == nil || !strings.Contains(err.Error(), path+":2: prompt: expected a string") {
		t.Errorf("error %v", err)
	}
	s, err := open(t, Spec{Traffic: Traffic{File: path, SkipBadRows: true}}, Options{}).Summary(0)
	if err != nil || s.Skipped != 1 || s.Requests != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// fit writes a workload fitted to a log.
func fit(t *testing.T, log string) string {
	t.Helper()
	file := must.Get(trace.Open(must.File(t, "log", log), trace.Options{}))(t)
	defer file.Close()
	fitted := must.Get(trace.Fit(trace.FitOptions{}, file))(t)
	var out bytes.Buffer
	must.Do(t, fitted.Write(&out))
	return must.File(t, "fitted.yaml", out.String())
}

// TestAFittedWorkloadSharesLikeItsLog has a log in which half of every prompt
// is the same block.
func TestAFittedWorkloadSharesLikeItsLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, "{\"timestamp\": %d, \"input_length\": 1024, \"output_length\": 5, \"hash_ids\": [0, %d]}\n", i*100, i+1)
	}
	path := fit(t, log.String())
	w := open(t, Spec{Traffic: Traffic{File: path}}, Options{})
	if got, err := w.DesignedSharing(1000); err != nil || math.Abs(got-0.5) > 0.05 {
		t.Errorf("designed sharing %v, %v; want about 0.5", got, err)
	}
	for i := range 5 {
		if r := w.Session(i).Next(nil).Request; countMessages(r) != r.PromptTokens {
			t.Errorf("session %d: %d prompt tokens said, %d in the text", i, r.PromptTokens, countMessages(r))
		}
	}
	if n := alike(ids(w, 0), ids(w, 1)); n < 400 || n > 600 {
		t.Errorf("two prompts begin with %d tokens alike, want about 512", n)
	}
	cold := open(t, Spec{Traffic: Traffic{File: path, Cache: "cold"}}, Options{})
	if n := alike(ids(cold, 0), ids(cold, 1)); n > 3 {
		t.Errorf("two cold prompts begin with %d tokens alike", n)
	}
	talks := open(t, Spec{Traffic: Traffic{File: path, Prompt: fixedAt(40), Session: &Session{Turns: fixedAt(3), Prompt: fixedAt(7)}}}, Options{})
	if requests := talk(t, talks, 0); len(requests) != 3 || requests[0].PromptTokens != 40 || requests[2].PromptTokens != 40+5+7+5+7 {
		t.Errorf("%d turns, the last of %d tokens", len(requests), requests[len(requests)-1].PromptTokens)
	}
}

func TestAFittedWorkloadBehavesLikeItsLog(t *testing.T) {
	t.Parallel()
	log := "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	start := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for i := range 3000 {
		at := start.Add(time.Duration(i) * 100 * time.Millisecond)
		log += fmt.Sprintf("%s,%d,%d\n", at.Format("2006-01-02 15:04:05.0000000"), 100+i%7*50, 10+i%7*5)
	}
	path := fit(t, log)
	w := open(t, Spec{Traffic: Traffic{File: path}}, Options{})
	s := must.Get(w.Summary(5000))(t)
	if s.Format != Fitted || math.Abs(s.Prompt.P50-250) > 15 || math.Abs(s.Output.P50-25) > 3 || s.Prompt.Max > 410 {
		t.Errorf("%+v; want a median of 250 and 25 tokens", s)
	}
	r := w.Session(3).Next(nil).Request
	if prompt, output := w.lengths(3); countMessages(r) != prompt || r.PromptTokens != prompt || r.MaxTokens != output {
		t.Errorf("designed %d and %d tokens, the request says %d and %d", prompt, output, r.PromptTokens, r.MaxTokens)
	}
	due := 0
	for at := range w.Times(1) {
		if at >= int64(100*time.Second) {
			break
		}
		due++
	}
	if due < 800 || due > 1200 {
		t.Errorf("%d requests are due in 100 s, want about 1000", due)
	}
	data := must.Read(t, path)
	bad := must.File(t, "bad.yaml", string(data)+"nonsense: 5\n")
	if _, err := (Spec{Traffic: Traffic{File: bad}}).New(token.O200k(), 1, Options{}); err == nil || !strings.Contains(err.Error(), "bad.yaml") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestCheckContext(t *testing.T) {
	t.Parallel()
	csv := must.File(t, "a.csv", azure)
	for name, row := range map[string]struct {
		spec Spec
		most int
		want string
	}{
		"unknown":       {Spec{Traffic: Traffic{File: csv}}, 0, ""},
		"all fit":       {Spec{Traffic: Traffic{File: csv}}, 505, ""},
		"a row":         {Spec{Traffic: Traffic{File: csv}}, 504, csv + ":3: 396 prompt and 109 output tokens do not fit the model's context of 504; take the row out"},
		"a length":      {Spec{Traffic: Traffic{Prompt: fixedAt(90), Output: fixedAt(11)}}, 100, "workload session 0: 90 prompt and 11 output tokens do not fit the model's context of 100; clip the lengths"},
		"a class":       {Spec{Classes: []Class{{Name: "rag", Workload: Part{Prompt: fixedAt(90)}}}}, 100, "workload class rag, session 0: 90 prompt and 128 output"},
		"conversations": {Spec{Traffic: Traffic{Prompt: fixedAt(90), Output: fixedAt(5), Session: &Session{Turns: fixedAt(9)}}}, 100, ""},
		"a cap above it": {Spec{Traffic: Traffic{Prompt: fixedAt(40), Output: fixedAt(5), Session: &Session{Turns: fixedAt(9), MaxContext: 200}}}, 100,
			"workload session 0: 130 prompt and 5 output tokens do not fit the model's context of 100; end conversations sooner with session.max_context"},
	} {
		err := open(t, row.spec, Options{MaxContext: row.most}).CheckContext(0)
		if (err == nil) != (row.want == "") || err != nil && !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: error %v, want %q", name, err, row.want)
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	csv := must.File(t, "a.csv", azure)
	got := must.Get(open(t, Spec{Traffic: Traffic{File: csv}}, Options{}).Summary(0))(t)
	want := &Summary{Name: csv, Format: "azure", Seed: 7, Sessions: 3, Requests: 3,
		Prompt: Lengths{Mean: 287, P50: 374, P90: 391.6, P95: 393.8, P99: 395.56, Min: 91, Max: 396},
		Output: Lengths{Mean: 169.0 / 3, P50: 44, P90: 96, P95: 102.5, P99: 107.7, Min: 16, Max: 109},
		// In four seconds come 2, 0, 0 and 0: a mean of 0.5 with a variance of 1.
		Arrivals: &Arrivals{SpanS: 4, Rate: 0.5, Dispersion1s: new(2.0)},
		Prompts:  []float64{91, 374, 396}, Outputs: []float64{16, 44, 109}}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	expect.Same(t, want, got, near)
	talks := must.Get(open(t, Spec{Classes: []Class{
		{Name: "talk", Weight: 1, Workload: Part{Prompt: fixedAt(10), Output: fixedAt(5), Session: &Session{Turns: fixedAt(4)}}}},
		Tenants: []Tenant{{Name: "a"}}}, Options{}).Summary(10))(t)
	turns := &Lengths{Mean: 4, P50: 4, P90: 4, P95: 4, P99: 4, Min: 4, Max: 4}
	if diff := cmp.Diff(turns, talks.Turns, near); diff != "" || talks.Requests != 40 || talks.Sessions != 10 {
		t.Errorf("%d requests in %d sessions, turns: -want +got\n%s", talks.Requests, talks.Sessions, diff)
	}
	expect.NoDiff(t, cmp.Diff([]Share{{"talk", 40, 1}}, talks.Classes), "classes: -want +got")
	expect.NoDiff(t, cmp.Diff([]Share{{"a", 40, 1}}, talks.Tenants), "tenants: -want +got")
}

// TestAFileThatGoesBadEndsTheSessions holds that nothing is made up and the
// reason is kept.
func TestAFileThatGoesBadEndsTheSessions(t *testing.T) {
	t.Parallel()
	path := must.File(t, "p.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n")
	w := must.Get(Spec{Traffic: Traffic{File: path, Order: "file"}}.New(token.O200k(), 1, Options{}))(t)
	defer w.Close()
	must.Do(t, os.Truncate(path, 20))
	if turn := w.Session(1).Next(nil); turn != nil || w.Err() == nil || !strings.Contains(w.Err().Error(), "p.jsonl:2") {
		t.Errorf("turn %+v, error %v", turn, w.Err())
	}
	if _, err := w.Summary(2); err == nil {
		t.Error("a summary of what cannot be read")
	}
}

func BenchmarkFirstTurn(b *testing.B) {
	lines := strings.Repeat(`{"prompt": "`+strings.Repeat("some words of a question ", 100)+`", "output_tokens": 5}`+"\n", 500)
	for name, spec := range map[string]Spec{
		"mix":   {Traffic: Traffic{Preset: "mix"}},
		"lines": {Traffic: Traffic{File: must.File(b, "p.jsonl", lines)}},
		"prose": {Traffic: Traffic{File: must.File(b, "p.txt", strings.Repeat("some words of a question ", 5000)), Prompt: fixedAt(500)}},
		"trace": {Traffic: Traffic{File: must.File(b, "m.jsonl", mooncake), Replay: &trace.Replay{Loop: true}}},
	} {
		b.Run(name, func(b *testing.B) {
			w, err := spec.New(token.O200k(), 1, Options{Salt: "run"})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			b.ReportAllocs()
			tokens, i := 0, 0
			var turn *llm.Turn
			for b.Loop() {
				turn = w.Session(i).Next(nil)
				tokens += turn.Request.PromptTokens
				i++
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
		})
	}
}
