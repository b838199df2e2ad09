package record

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
)

// What a log says of each request, by its number.
func outcomesOf(t *testing.T, log []byte) (map[int]llm.Outcome, *Reader) {
	t.Helper()
	r := must.Get(NewReader(bytes.NewReader(log)))(t)
	got := map[int]llm.Outcome{}
	for rec, err := range r.All() {
		must.Do(t, err)
		if _, twice := got[rec.ID]; twice {
			t.Fatalf("request %d comes twice", rec.ID)
		}
		got[rec.ID] = rec.Outcome
	}
	return got, r
}

// TestWhatWasBegunIsKnownAfterAKill: of three requests one ends, one hangs and
// one waits when the log stops.
func TestWhatWasBegunIsKnownAfterAKill(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := must.Get(NewWriter(&log, Header{Run: "r"}))(t)
	request := func(id int, sent int64) *Record {
		return &Record{ID: id, Phase: Measure, Class: "chat", Due: int64(id) * 10 * ms, Begin: int64(id) * 10 * ms, Sent: sent, AskedOutput: 8, Streamed: true}
	}
	hangs := request(2, 21*ms)
	must.Do(t, w.Mark(100*ms, []*Record{request(1, 11*ms), hangs.Opening(), request(3, 0)}))
	ended := request(1, 11*ms)
	ended.Outcome, ended.End = llm.OK, 90*ms
	must.Do(t, w.Write(ended))
	hangs.First = 150 * ms
	must.Do(t, w.Mark(200*ms, []*Record{hangs.Opening()}))
	r := must.Get(NewReader(&log))(t)
	var got []string
	for rec, err := range r.All() {
		must.Do(t, err)
		got = append(got, fmt.Sprintf("%d %s %s %s first %d end %d asked %d", rec.ID, rec.Class, rec.Phase, rec.Outcome, rec.First/ms, rec.End/ms, rec.AskedOutput))
	}
	want := "1 chat measure ok first 0 end 90 asked 8|2 chat measure censored first 150 end 200 asked 8|3 chat measure unsent first 0 end 200 asked 8"
	if strings.Join(got, "|") != want || r.Mark != 200*ms || r.Unended != 2 || r.Repeated != 0 {
		t.Errorf("got %q, mark %d, %d unended, %d repeated", got, r.Mark, r.Unended, r.Repeated)
	}
}

// TestLinesThatComeTwiceCountOnce doubles a log in several ways.
func TestLinesThatComeTwiceCountOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w, err := NewWriter(&log, Header{Run: "r"})
	must.Do(t, err)
	numbers := []int{0, 1, 2, 3, 5, 4, 70000, 9, 1 << 40, -3}
	for _, id := range numbers {
		must.Do(t, w.Write(&Record{ID: id, Try: 1 + id&1, Outcome: llm.OK, End: 5}))
	}
	must.Do(t, w.Mark(9, []*Record{{ID: 77, Try: 1}}))
	whole := log.String()
	header, lines, _ := strings.Cut(whole, "\n")
	for name, doubled := range map[string]string{
		"lines behind lines": header + "\n" + lines + lines,
		"log behind log":     whole + whole,
	} {
		got, r := outcomesOf(t, []byte(doubled))
		if len(got) != len(numbers)+1 || r.Repeated != len(numbers) || r.Unended != 1 {
			t.Errorf("%s: %d requests, %d repeated, %d unended; want %d, %d and 1", name, len(got), r.Repeated, r.Unended, len(numbers)+1, len(numbers))
		}
	}
	other := strings.Replace(whole, `"run":"r"`, `"run":"s"`, 1)
	r, err := NewReader(strings.NewReader(whole + other))
	must.Do(t, err)
	for _, err = range r.All() {
	}
	if err == nil || !strings.Contains(err.Error(), "another run (s)") {
		t.Errorf("a log of another run behind it: %v", err)
	}
}

// Another try of the same request is another line.
func TestTriesAreToldApart(t *testing.T) {
	t.Parallel()
	var s ids
	plain := map[[2]int]bool{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		id, try := random.IntN(300), random.IntN(4)
		if random.IntN(50) == 0 {
			id, try = random.Int(), random.IntN(1000)
		}
		if got := s.add(id, try); got == plain[[2]int{id, try}] {
			t.Fatalf("request %d, try %d: new is %t", id, try, got)
		}
		plain[[2]int{id, try}] = true
		if !s.any(id) {
			t.Fatalf("request %d is forgotten", id)
		}
	}
}

// Logs of before there were marks are read as they were.
func TestOldLogsStayReadable(t *testing.T) {
	t.Parallel()
	old := `{"schema":"redline/record/1","run":"r","origin_unix_ns":1,"origin_mono_ns":2}` + "\n" +
		`{"id":1,"session":1,"turn":0,"try":1,"due":5,"sent":6,"end":9,"outcome":"ok"}` + "\n"
	got, r := outcomesOf(t, []byte(old))
	if len(got) != 1 || got[1] != llm.OK || r.Mark != 0 {
		t.Errorf("got %v, mark %d", got, r.Mark)
	}
	if _, _, err := readAll([]byte(old + `{"id":2,"session":1,"turn":0,"try":1}` + "\n")); err == nil || !strings.Contains(err.Error(), "line 3: no outcome") {
		t.Errorf("a line without an outcome in an old log: %v", err)
	}
}

// BenchmarkBegun shows what a request that outlives a mark costs the log.
func BenchmarkBegun(b *testing.B) {
	r := &Record{ID: 123456, Session: 123456, Phase: Measure, Try: 1, Due: 123456789012, Begin: 123456799012, Sent: 123456899012,
		AskedPrompt: 512, AskedOutput: 128, Streamed: true}
	var line []byte
	for b.Loop() {
		line = r.Opening().appendJSON(line[:0])
	}
	b.ReportMetric(float64(len(line)+1), "B/request")
}
