package frame

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

// event is a Frame that outlives its reader.
type event struct{ Name, Data string }

// take copies the events that are complete.
func take(s *Reader) []event {
	var out []event
	for f, ok := s.Next(); ok; f, ok = s.Next() {
		out = append(out, event{string(f.Name), string(f.Data)})
	}
	return out
}

// readIn pushes the stream in pieces and overwrites each once it was read, as
// a client that reuses its buffer does.
func readIn(s *Reader, pieces ...string) []event {
	var out []event
	for _, p := range pieces {
		b := []byte(p)
		s.Push(b)
		out = append(out, take(s)...)
		for i := range b {
			b[i] = '#'
		}
	}
	return out
}

func bytewise(stream string) []string {
	var out []string
	for i := range len(stream) {
		out = append(out, stream[i:i+1])
	}
	return out
}

func TestSSE(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []event
	}{
		{"one event", "data: a\n\n", []event{{"", "a"}}},
		{"no space after the colon", "data:a\n\n", []event{{"", "a"}}},
		{"only one space goes", "data:  a\n\n", []event{{"", " a"}}},
		{"two events", "data: a\n\ndata: b\n\n", []event{{"", "a"}, {"", "b"}}},
		{"carriage returns", "data: a\r\rdata: b\r\r", []event{{"", "a"}, {"", "b"}}},
		{"both", "data: a\r\n\r\ndata: b\r\n\r\n", []event{{"", "a"}, {"", "b"}}},
		{"mixed endings", "data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", []event{{"", "a"}, {"", "b"}, {"", "c"}}},
		{"lines are joined", "data: a\ndata:\ndata: c\n\n", []event{{"", "a\n\nc"}}},
		{"an empty data line is an event", "data\n\ndata:\n\n", []event{{"", ""}, {"", ""}}},
		{"a name", "event: ping\ndata: {}\n\n", []event{{"ping", "{}"}}},
		{"the last name counts", "event: a\nevent: b\ndata: x\n\n", []event{{"b", "x"}}},
		{"a name after the data", "data: x\nevent: late\n\n", []event{{"late", "x"}}},
		{"a name without data is no event and does not stay", "event: a\n\ndata: x\n\n", []event{{"", "x"}}},
		{"comments", ": hello\n\n:\ndata: a\n: there\n\n", []event{{"", "a"}}},
		{"id and retry mean nothing", "id: 7\nretry: 100\ndata: a\n\n", []event{{"", "a"}}},
		{"unknown fields", "error: x\nData: no\n data: no\ndata: a\n\n", []event{{"", "a"}}},
		{"colons in the value", "data: {\"a\":1}\n\n", []event{{"", `{"a":1}`}}},
		{"byte-order mark", "\ufeffdata: a\n\n", []event{{"", "a"}}},
		{"only the first mark goes", "\ufeff\ufeffdata: a\n\ndata: b\n\n", []event{{"", "b"}}},
		{"blank lines", "\n\n\r\n\rdata: a\n\n\n\n", []event{{"", "a"}}},
		{"an unfinished event is none", "data: a\n\ndata: b\n", []event{{"", "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			expect.NoDiff(t, cmp.Diff(c.want, readIn(new(Reader), c.stream)), "in one piece (-want +got)")
			expect.NoDiff(t, cmp.Diff(c.want, readIn(new(Reader), bytewise(c.stream)...)), "byte by byte (-want +got)")
			for i := range len(c.stream) {
				expect.NoDiff(t, cmp.Diff(c.want, readIn(new(Reader), c.stream[:i], c.stream[i:])), "cut at %d (-want +got)", i)
			}
		})
	}
}

func TestSSETellsWhichReadEndedAnEvent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		reads []string
		want  [][]event
	}{
		{"line feeds", []string{"data: a", "\n", "\n"}, [][]event{nil, nil, {{"", "a"}}}},
		{"a carriage return ends the line at once", []string{"data: a\r\n\r", "\ndata: b\r\n\r\n"},
			[][]event{{{"", "a"}}, {{"", "b"}}}},
		{"the first byte of the second line feed", []string{"data: a\r", "\r", "\r"}, [][]event{nil, {{"", "a"}}, nil}},
		{"an end and a beginning", []string{"data: a\n\nda", "ta: b\n\n"}, [][]event{{{"", "a"}}, {{"", "b"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s Reader
			for i, read := range c.reads {
				expect.NoDiff(t, cmp.Diff(c.want[i], readIn(&s, read)), "read %d (-want +got)", i)
			}
		})
	}
}

func TestSSEPushBeforeAllWasTaken(t *testing.T) {
	t.Parallel()
	var s Reader
	first := []byte("data: a\n\nevent: e\ndata: b\n")
	s.Push(first)
	f, _ := s.Next()
	if string(f.Data) != "a" {
		t.Fatalf("first event: got %q, want a", f.Data)
	}
	s.Push([]byte("data: c\n\n"))
	copy(first, bytes.Repeat([]byte("#"), len(first)))
	expect.Same(t, []event{{"e", "b\nc"}}, take(&s))
}

func TestSSEPending(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]bool{
		"":                          false,
		"data: a\n\n":               false,
		"data: a\r\n\r":             false,
		": comment\n\n":             false,
		"d":                         true,
		"data: a":                   true,
		"data:\n":                   true,
		"event: x\n":                true,
		"data: a\n\ndata: b\n":      true,
		"data: a\n\n: half a comme": true,
	} {
		var s Reader
		readIn(&s, stream)
		if s.Pending() != want {
			t.Errorf("Pending after %q: got %v, want %v", stream, !want, want)
		}
		s.Reset()
		if s.Pending() {
			t.Errorf("Pending after %q and Reset", stream)
		}
	}
}

func TestSSEResetBeginsAnotherStream(t *testing.T) {
	t.Parallel()
	var s Reader
	readIn(&s, "event: old\ndata: old\r")
	s.Reset()
	if got := readIn(&s, "\n\ufeffdata: x\n\n"); got != nil {
		t.Errorf("got %q: the new stream's first line feed was taken for the old one's last", got)
	}
	s.Reset()
	expect.Same(t, []event{{"", "new"}}, readIn(&s, "\ufeffdata: new\n\n"))
}

func TestSSELongEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	stream := "data: " + long + "\ndata: " + long + "\n\n"
	var pieces []string
	for rest := stream; rest != ""; {
		n := min(len(rest), 16<<10)
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	if diff := cmp.Diff([]event{{"", long + "\n" + long}}, readIn(new(Reader), pieces...)); diff != "" {
		t.Error("an event of two megabytes was not read as it is")
	}
}

func TestSSERefusesAnEventWithoutEnd(t *testing.T) {
	t.Parallel()
	piece := bytes.Repeat([]byte("x"), maxEvent/2+1)
	for name, ending := range map[string]string{"one line": "", "many lines": "\ndata: "} {
		var s Reader
		s.Push([]byte("data: "))
		for range 2 {
			take(&s)
			s.Push(piece)
			take(&s)
			s.Push([]byte(ending))
		}
		if got := take(&s); got != nil || !errors.Is(s.Err(), errEventTooLong) {
			t.Errorf("%s: got %d events and error %v, want ErrEventTooLong", name, len(got), s.Err())
		}
		if readIn(&s, "\n\ndata: a\n\n") != nil {
			t.Errorf("%s: events after an error", name)
		}
		s.Reset()
		if s.Err() != nil || readIn(&s, "data: a\n\n") == nil {
			t.Errorf("%s: Reset does not clear the error", name)
		}
	}
}

// specEvents reads a whole stream by the letter of the standard.
func specEvents(stream string) []event {
	var out []event
	var name, data string
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != "" {
				out = append(out, event{name, strings.TrimSuffix(data, "\n")})
			}
			name, data = "", ""
		case field == "data":
			data += value + "\n"
		case field == "event":
			name = value
		}
	}
	return out
}

func FuzzSSE(f *testing.F) {
	f.Add("\ufeffevent: a\r\ndata: b\r\ndata:c\r\r\n: x\n\ndata: \n\n", uint16(3), uint16(9))
	f.Add("data: {\"a\":1}\n\ndata: [DONE]\n\n", uint16(1), uint16(1))
	f.Add("data\r\rdata\n\rid:1\n\n\n", uint16(5), uint16(6))
	f.Fuzz(func(t *testing.T, stream string, a, b uint16) {
		want := specEvents(stream)
		n := len(stream) + 1
		i, j := int(a)%n, int(b)%n
		i, j = min(i, j), max(i, j)
		for _, pieces := range [][]string{{stream}, bytewise(stream), {stream[:i], stream[i:j], stream[j:]}} {
			expect.NoDiff(t, cmp.Diff(want, readIn(new(Reader), pieces...)), "in %d pieces %q (-want +got)", len(pieces), pieces)
		}
	})
}

// typicalChunk is what vLLM sends for a token.
const typicalChunk = `{"id":"chatcmpl-9f1c","object":"chat.completion.chunk","created":1700000000,"model":"llama-3.1-8b","choices":[{"index":0,"delta":{"content":" load"},"logprobs":null,"finish_reason":null}]}`

func BenchmarkSSE(b *testing.B) {
	chunk := "data: " + typicalChunk + "\n\n"
	for _, c := range []struct {
		name   string
		pieces []string
	}{
		{"whole", []string{chunk}},
		{"halves", []string{chunk[:70], chunk[70:]}},
		{"sixteen", []string{strings.Repeat(chunk, 16)}},
		{"crlf", []string{"data: " + typicalChunk + "\r\n\r\n"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var s Reader
			pieces := make([][]byte, len(c.pieces))
			for i, p := range c.pieces {
				pieces[i] = []byte(p)
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range pieces {
					s.Push(p)
					for _, ok := s.Next(); ok; _, ok = s.Next() {
					}
				}
			}
		})
	}
}
