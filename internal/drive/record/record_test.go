package record

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

const ms = int64(time.Millisecond)

// streamRecord is a request that was sent at 10 ms, with an output event every
// gap.
func streamRecord(usage llm.Usage, gap int64, texts ...string) *Record {
	r := &Record{ID: 3, Phase: Measure, Due: 9 * ms, Begin: 9 * ms, Slot: 9 * ms, Try: 1, Streamed: true}
	r.Observe(llm.Event{Kind: llm.Ready, At: 9 * ms, Addr: "127.0.0.1:8000"})
	r.Observe(llm.Event{Kind: llm.Sent, At: 10 * ms})
	r.Observe(llm.Event{Kind: llm.Head, At: 11 * ms, Status: 200})
	at := 10 * ms
	for _, text := range texts {
		at += gap
		r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte(text)})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, At: at, Usage: usage})
	r.Observe(llm.Event{Kind: llm.End, At: at + ms})
	return r
}

type chunk struct {
	At     int64
	Tokens int
}

func chunksOf(r *Record) []chunk {
	var list []chunk
	for at, tokens := range r.Chunks() {
		list = append(list, chunk{at, tokens})
	}
	return list
}

func TestSettleCountsTokens(t *testing.T) {
	for _, tt := range []struct {
		name    string
		usage   llm.Usage
		local   int
		texts   []string
		counted CountSource
		output  int
		known   bool
		tokens  []int
	}{
		{"one token an event, by usage", llm.Usage{OutputTokens: 3}, 0, []string{"a", "b", "c"}, ByUsage, 3, true, []int{1, 1, 1}},
		{"usage counts the end of sequence too", llm.Usage{OutputTokens: 4}, 0, []string{"a", "b", "c"}, ByUsage, 4, true, []int{1, 1, 1}},
		{"several tokens an event, spread by length", llm.Usage{OutputTokens: 8}, 0, []string{"aaaa", "bb", "bb"}, ByUsage, 8, false, []int{4, 2, 2}},
		{"no usage: the tokenizer's count", llm.Usage{}, 3, []string{"a", "b", "c"}, ByTokenizer, 3, true, []int{1, 1, 1}},
		{"neither: events", llm.Usage{}, 0, []string{"a", "b"}, ByEvents, 2, false, []int{1, 1}},
		{"all in one event", llm.Usage{OutputTokens: 9}, 0, []string{"whole"}, ByUsage, 9, true, []int{9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := streamRecord(tt.usage, 20*ms, tt.texts...)
			r.LocalTokens = tt.local
			r.Settle()
			if r.Counted != tt.counted || r.OutputTokens != tt.output || r.TokensKnown() != tt.known {
				t.Errorf("counted %d by %s, known %v; want %d by %s, known %v",
					r.OutputTokens, r.Counted, r.TokensKnown(), tt.output, tt.counted, tt.known)
			}
			var want []chunk
			for i, tokens := range tt.tokens {
				want = append(want, chunk{10*ms + int64(i+1)*20*ms, tokens})
			}
			expect.NoDiff(t, cmp.Diff(want, chunksOf(r)), "chunks (-want +got)")
		})
	}
}

func TestContinuousUsageTellsTokensPerEvent(t *testing.T) {
	r := &Record{Sent: 10 * ms}
	for i, total := range []int{2, 5, 6} {
		r.Observe(llm.Event{Kind: llm.Output, At: int64(20+i) * ms, Text: []byte("xx")})
		r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: total}})
	}
	r.Observe(llm.Event{Kind: llm.End, At: 30 * ms})
	r.Settle()
	want := []chunk{{20 * ms, 2}, {21 * ms, 3}, {22 * ms, 1}}
	if diff := cmp.Diff(want, chunksOf(r)); diff != "" || !r.TokensKnown() {
		t.Errorf("known %v, chunks (-want +got):\n%s", r.TokensKnown(), diff)
	}
	if r.firstTokens() != 2 {
		t.Errorf("first event carries %d tokens, want 2", r.firstTokens())
	}
}

func TestHiddenReasoningIsNotStreamed(t *testing.T) {
	r := streamRecord(llm.Usage{OutputTokens: 103, ReasoningTokens: 100}, 20*ms, "a", "b", "c")
	r.Settle()
	if r.OutputTokens != 103 || r.StreamedTokens != 3 || !r.TokensKnown() {
		t.Errorf("output %d, streamed %d, known %v; want 103, 3, true", r.OutputTokens, r.StreamedTokens, r.TokensKnown())
	}
	shown := &Record{Sent: 1}
	shown.Observe(llm.Event{Kind: llm.Output, At: ms, Part: llm.Reasoning, Text: []byte("hm")})
	shown.Observe(llm.Event{Kind: llm.Output, At: 2 * ms, Text: []byte("a")})
	shown.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: 2, ReasoningTokens: 1}})
	shown.Settle()
	if shown.StreamedTokens != 2 || shown.First != ms || shown.Answer != 2*ms {
		t.Errorf("streamed %d, first %d, answer %d; want 2, %d, %d", shown.StreamedTokens, shown.First, shown.Answer, ms, 2*ms)
	}
}

func TestRoundingNeverAccumulates(t *testing.T) {
	r := &Record{Sent: 400}
	const gap = 1_000_499 // rounds down every time
	at := r.Sent
	for range 100_000 {
		at += gap
		r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("x")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: 100_000}})
	r.Settle()
	var last int64
	for got := range r.Chunks() {
		last = got
	}
	if off := last - at; off < -500 || off > 500 {
		t.Errorf("after 100,000 events the last lies %d ns off", off)
	}
}

// samples are records with every kind of content.
func samples() []*Record {
	full := streamRecord(llm.Usage{PromptTokens: 64, CachedTokens: 16, OutputTokens: 8, ReasoningTokens: 2}, 20*ms, "aaaa", "bb", "bb")
	full.Session, full.Turn, full.Class, full.Tenant = 7, 2, `cla"ss`, "tenant"
	full.Written, full.Dialed, full.Secured, full.ConnNew = 10*ms+5, 8*ms, 9*ms-1, true
	full.AskedPrompt, full.AskedOutput, full.Coalesced, full.Reconnects = 60, 100, 1, 1
	full.Settle()
	failed := &Record{ID: 4, Phase: Cooldown, Due: 5, Begin: 6, Slot: 7, Try: 1}
	failed.Fail(&llm.Fault{Outcome: llm.Rejected, At: 9, Status: 429, Message: "slow\ndown"})
	unsent := &Record{ID: 5, Phase: Warmup, Due: 5, Outcome: llm.Unsent, End: 9}
	return []*Record{full, failed, unsent}
}

func write(t *testing.T, records []*Record) []byte {
	t.Helper()
	var log bytes.Buffer
	w := must.Get(NewWriter(&log, Header{Run: "r1", OriginUnixNS: 17, OriginMonoNS: 5}))(t)
	for _, r := range records {
		must.Do(t, w.Write(r))
	}
	must.Do(t, w.Flush())
	return log.Bytes()
}

// whole is a record with its chunks laid open, for comparison.
type whole struct {
	Record Record
	Chunks []chunk
	Known  bool
}

func wholes(records []*Record) []whole {
	var list []whole
	for _, r := range records {
		w := whole{*r, chunksOf(r), r.TokensKnown()}
		w.Record.chunks = chunks{}
		list = append(list, w)
	}
	return list
}

func readAll(log []byte) (read []whole, cut bool, err error) {
	r, err := NewReader(bytes.NewReader(log))
	if err != nil {
		return nil, false, err
	}
	for rec, err := range r.All() {
		if err != nil {
			return read, false, err
		}
		read = append(read, wholes([]*Record{rec})...)
	}
	return read, r.Cut, nil
}

var comparers = cmp.AllowUnexported(Record{}, chunks{}, tokenCounts{}, thin{})

func TestLogRoundTrip(t *testing.T) {
	records := samples()
	log := write(t, records)
	read, cut, err := readAll(log)
	if err != nil || cut {
		t.Fatalf("err %v, cut %v", err, cut)
	}
	expect.NoDiff(t, cmp.Diff(wholes(records), read, comparers), "read back (-want +got)")
	for i, line := range strings.Split(strings.TrimSpace(string(log)), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d is not JSON: %s", i+1, line)
		}
	}
}

// A kill can cut the log at any byte: everything before the cut line is read.
func TestReaderSurvivesACutAtAnyByte(t *testing.T) {
	records := samples()
	log := write(t, records)
	head := bytes.IndexByte(log, '\n') + 1
	for n := head; n <= len(log); n++ {
		read, cut, err := readAll(log[:n])
		lines := bytes.Count(log[head:n], []byte{'\n'})
		if err != nil || len(read) != lines || cut != (log[n-1] != '\n') {
			t.Fatalf("cut at byte %d: %d records, cut %v, err %v; want %d records", n, len(read), cut, err, lines)
		}
	}
}

func TestReaderRefusesWhatIsNoLog(t *testing.T) {
	good := string(write(t, samples()))
	for _, tt := range []struct{ name, log, want string }{
		{"empty", "", "line 1: the log is empty"},
		{"not JSON", "hello\n", "line 1: not a record log"},
		{"another schema", `{"schema":"other/1"}` + "\n", `line 1: schema is "other/1"`},
		{"garbage between", strings.Replace(good, `{"id":4`, `{"id":"x"`, 1), "line 3: "},
		{"tokens do not match events", good + `{"id":9,"outcome":"ok","chunks_us":[1,2],"chunk_tokens":[1]}` + "\n", "line 5: 1 chunk_tokens for 2 chunks_us"},
		{"negative gap", good + `{"id":9,"outcome":"ok","chunks_us":[-1]}` + "\n", "line 5: chunks_us: expected an array of whole numbers"},
	} {
		_, _, err := readAll([]byte(tt.log))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestWriterKeepsItsFirstError(t *testing.T) {
	w := must.Get(NewWriter(&failing{left: 200}, Header{}))(t)
	first := w.Write(samples()[0])
	if err := w.Flush(); err == nil {
		t.Fatal("a full disk went unnoticed")
	}
	if err := w.Write(samples()[0]); err == nil || first != nil {
		t.Errorf("after a failed flush: first write %v, later write %v; want nil, an error", first, err)
	}
}

// failing is a disk that fills up.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"schema":"redline/record/1"}` + "\n" + `{"id":1,"outcome":"ok","sent":5,"chunks_us":[1,2]}` + "\n"))
	f.Add([]byte(`{"schema":"redline/record/1"}` + "\n" + `{"id":1,"outcome":"ok","chunks_us":[1],"chunk_tokens":[3],"spread":true}` + "\n{"))
	f.Add([]byte(`{"schema":"redline/record/2"}` + "\n" + `{"id":1,"outcome":"ok","first":5,"last":9,"thinned":true,"events":3,"event_tokens":40,"stall_ns":1}` + "\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		r, err := NewReader(bytes.NewReader(log))
		if err != nil {
			return
		}
		for rec, err := range r.All() {
			if err != nil {
				return
			}
			// Whatever was read can be written and reads the same again.
			var again bytes.Buffer
			w, _ := NewWriter(&again, r.Header)
			must.Do(t, w.Write(rec))
			_ = w.Flush()
			want := wholes([]*Record{rec})
			got, _, err := readAll(again.Bytes())
			if err != nil {
				t.Fatalf("wrote what cannot be read: %v\n%s", err, again.Bytes())
			}
			if diff := cmp.Diff(want, got, comparers); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
}

// BenchmarkObserve shows the cost of a streamed token: no allocation, and
// about four bytes while it streams.
func BenchmarkObserve(b *testing.B) {
	const tokens = 1000
	text := []byte(" token")
	var held, onDisk int
	b.ReportAllocs()
	for b.Loop() {
		r := &Record{Sent: ms}
		r.Expect(tokens)
		at := r.Sent
		for i := range int64(tokens) {
			at += 20*ms + i*977
			r.Observe(llm.Event{Kind: llm.Output, At: at, Text: text})
		}
		held = len(r.chunks.gaps) + len(r.chunks.lengths) + len(r.chunks.tokens)
		r.OutputTokens = tokens
		r.Settle()
		onDisk = len(r.appendJSON(nil))
	}
	b.ReportMetric(float64(held)/tokens, "B-held/token")
	b.ReportMetric(float64(onDisk)/tokens, "B-log/token")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
}

// A disk that is full for a while gets the log whole in the end; until then
// what it has and what it would not take make the log together.
func TestWriterHoldsWhatTheDiskDoesNotTake(t *testing.T) {
	disk := &small{room: 300}
	w := must.Get(NewWriter(disk, Header{Run: "a1b2"}))(t)
	for _, r := range samples() {
		w.Write(r)
		if w.Flush() == nil && disk.b.Len() == disk.room {
			t.Fatal("a full disk went unnoticed")
		}
	}
	want := write(t, samples())
	if got := disk.b.String() + string(w.Unwritten()); !sameRecords(t, []byte(got), want) {
		t.Errorf("disk and memory together hold\n%s\nwant\n%s", got, want)
	}
	disk.room = 1 << 20
	if w.Flush() == nil {
		t.Error("the error is forgotten")
	}
	if !sameRecords(t, disk.b.Bytes(), want) || len(w.Unwritten()) != 0 {
		t.Errorf("with room again the disk holds\n%s\nwant\n%s", disk.b.String(), want)
	}
}

func sameRecords(t *testing.T, got, want []byte) bool {
	t.Helper()
	a, cut, err := readAll(got)
	b, _, wantErr := readAll(want)
	if err != nil || wantErr != nil {
		t.Fatal(err, wantErr)
	}
	return !cut && cmp.Equal(a, b, comparers)
}

// small is a disk that takes what it has room for, as a file system does.
type small struct {
	b    bytes.Buffer
	room int
}

func (s *small) Write(p []byte) (int, error) {
	n := min(len(p), s.room-s.b.Len())
	s.b.Write(p[:n])
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// A line is read the quick way exactly where the slow way gives the same.
func TestScanIsWhatJSONSays(t *testing.T) {
	t.Parallel()
	written := string(chatty(40).AppendLine(nil))
	for _, text := range []string{
		written,
		strings.Replace(written, `"turn":0`, `"turn":-3`, 1),
		strings.Replace(written, `"turn":0`, `"turn": 0`, 1),
		strings.Replace(written, `"turn":0`, `"turn":null`, 1),
		strings.Replace(written, `"turn":0`, `"turn":0,"later":{"a":[1]}`, 1),
		strings.Replace(written, `"chunks_us":[`, `"chunks_us":[7,`, 1),
		`{"try":2,"id":4,"outcome":"ok"}`,
		`{"id":4,"session":1,"turn":0,"class":"a\"b\u003c","try":1,"outcome":"ok"}`,
		`{"id":4,"session":1,"turn":0,"try":1,"outcome":"ok","chunks_us":[1,2],"chunk_tokens":[1,2]}`,
		`{"id":4,"session":1,"turn":0,"try":1,"streamed":false}`,
	} {
		var slow, quick Record
		if err := slow.decode([]byte(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := ParseLine([]byte(text))
		if err != nil || !bytes.Equal(got.appendJSON(nil), slow.appendJSON(nil)) {
			t.Errorf("%s: read as\n%s, want\n%s (%v)", text, got.appendJSON(nil), slow.appendJSON(nil), err)
		}
		quick = *chatty(3) // of a line before
		if quick.scan(bytes.TrimSpace([]byte(text))) && !bytes.Equal(quick.appendJSON(nil), slow.appendJSON(nil)) {
			t.Errorf("%s: read into used memory as\n%s, want\n%s", text, quick.appendJSON(nil), slow.appendJSON(nil))
		}
	}
	if !new(Record).scan(bytes.TrimSpace([]byte(written))) {
		t.Errorf("%s: not read the quick way", written)
	}
	for _, text := range []string{`{"id":1.5}`, `{"id":1`, `{"id":1,"session":2,"turn":0,"try":1,"chunks_us":[1,2}`, `{"id":1,"session":0,"turn":0,"try":1,"chunks_us":[1],"chunk_tokens":[1,2]}`, `{"id":99999999999999999999}`, ``,
		`{"id":1X"session":2,"turn":0,"try":1}`, `{"id":007,"session":2,"turn":0,"try":1}`, `{"id":1,"session":2,"turn":0,"try":1,"streamed":nope}`,
		`{"id":1,"session":0,"turn":0,"try":1,"events":3}`, `{"id":1,"session":0,"turn":0,"try":1,"thinned":true,"events":3,"chunks_us":[1]}`} {
		if _, err := ParseLine([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// BenchmarkParseLine shows what a record costs that comes from a log or a worker.
func BenchmarkParseLine(b *testing.B) {
	text := chatty(100).AppendLine(nil)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ParseLine(text); err != nil {
			b.Fatal(err)
		}
	}
}

// chatty is a record of a reply with n output events.
func chatty(n int) *Record {
	r := &Record{ID: 17, Session: 17, Class: "chat", Phase: Measure, Try: 1, Due: 5, Begin: 6e9, Slot: 6e9, AskedOutput: n, Streamed: true}
	r.Observe(llm.Event{Kind: llm.Sent, At: 6e9 + 1})
	r.Observe(llm.Event{Kind: llm.Head, At: 6e9 + 2, Status: 200})
	for i := range n {
		r.Observe(llm.Event{Kind: llm.Output, At: 7e9 + int64(i)*20_011_000, Text: []byte(" word")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: 16, OutputTokens: n}})
	r.Observe(llm.Event{Kind: llm.End, At: 7e9 + int64(n)*20_011_000})
	r.Settle()
	return r
}

// A log without an end of line is given up before it fills the memory.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	endless := io.MultiReader(strings.NewReader(`{"schema":"redline/record/2"}`+"\n"), zeros{})
	r := must.Get(NewReader(endless))(t)
	var said []error
	for _, err := range r.All() {
		said = append(said, err)
	}
	if len(said) != 1 || said[0] == nil || !strings.Contains(said[0].Error(), "line 2: longer than 64 MiB") {
		t.Errorf("read as %v", said)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
