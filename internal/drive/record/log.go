package record

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"redline/internal/llm"
)

// Header is the first line of a record log.
type Header struct {
	Schema       string `json:"schema"`
	Run          string `json:"run"`
	OriginUnixNS int64  `json:"origin_unix_ns"`
	OriginMonoNS int64  `json:"origin_mono_ns"`
}

// bufferSize is how many bytes of lines a Writer gathers before it writes them.
const bufferSize = 1 << 16

// mostUnwritten bounds the lines that a Writer holds for a disk that takes
// none: minutes of a hard run.
const mostUnwritten = 256 << 20

// Writer appends records to a log. It buffers: what must survive a kill has to
// be flushed. What could not be written is held, and tried again with the next
// flush, so that the log is whole again once a full disk has room. It is safe
// for concurrent use.
type Writer struct {
	mu      sync.Mutex
	w       io.Writer
	pending []byte // lines, or the rest of one, that are not written yet
	err     error
}

// NewWriter begins a log on w.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Schema = Schema
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	lw := &Writer{w: w, pending: append(line, '\n')}
	return lw, lw.Flush()
}

// Write appends one record. After an error every call gives that error; the
// record is held all the same.
func (w *Writer) Write(r *Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > mostUnwritten {
		return w.err
	}
	w.pending = append(r.appendJSON(w.pending), '\n')
	if w.err == nil && len(w.pending) >= bufferSize {
		w.write()
	}
	return w.err
}

// Mark says that all that was begun before at, and has neither ended nor a line
// of its own yet, has been written. It appends lines for requests on their way
// and then the time.
func (w *Writer) Mark(at int64, begun []*Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > mostUnwritten {
		return w.err
	}
	for _, r := range begun {
		w.pending = append(r.appendJSON(w.pending), '\n')
	}
	w.pending = append(w.pending, `{"mark":`...)
	w.pending = append(strconv.AppendInt(w.pending, at, 10), "}\n"...)
	if w.err == nil {
		w.write()
	}
	return w.err
}

// Flush hands everything held to the underlying writer.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write()
	return w.err
}

// write keeps the first error: a log that was late is not what a reader of it
// meanwhile has seen.
func (w *Writer) write() {
	if len(w.pending) == 0 {
		return
	}
	n, err := w.w.Write(w.pending)
	if n > 0 {
		w.pending = append(w.pending[:0], w.pending[n:]...)
	}
	if w.err == nil {
		w.err = err
	}
}

// Unwritten gives what the underlying writer has not taken: appended to what
// it has, it makes the log whole.
func (w *Writer) Unwritten() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending
}

// varintArray reads a JSON array of non-negative integers into varints.
type varintArray struct {
	b []byte
	n int
}

func (a *varintArray) UnmarshalJSON(data []byte) error {
	a.b, a.n = a.b[:0], 0
	var v uint64
	digits := 0
	for _, c := range data {
		switch {
		case c >= '0' && c <= '9':
			if digits++; digits > 18 {
				return errors.New("number too large")
			}
			v = v*10 + uint64(c-'0')
		case c == ',' || c == ']':
			if digits > 0 {
				a.b = binary.AppendUvarint(a.b, v)
				a.n++
			}
			v, digits = 0, 0
		case c == '[' || c == ' ':
		default:
			return fmt.Errorf("want an array of whole numbers, got %.20q", data)
		}
	}
	return nil
}

// row is a record as encoding/json reads it.
type row struct {
	Schema          string      `json:"schema"`
	Run             string      `json:"run"`
	Mark            int64       `json:"mark"`
	ID              int         `json:"id"`
	Session         int         `json:"session"`
	Turn            int         `json:"turn"`
	Inputs          int         `json:"inputs"`
	Natural         bool        `json:"natural"`
	Class           string      `json:"class"`
	Tenant          string      `json:"tenant"`
	Phase           Phase       `json:"phase"`
	Try             int         `json:"try"`
	Due             int64       `json:"due"`
	Begin           int64       `json:"begin"`
	Slot            int64       `json:"slot"`
	Conn            int64       `json:"conn"`
	Dialing         int64       `json:"dialing"`
	Dialed          int64       `json:"dialed"`
	Secured         int64       `json:"secured"`
	Sent            int64       `json:"sent"`
	Written         int64       `json:"written"`
	Head            int64       `json:"head"`
	First           int64       `json:"first"`
	Answer          int64       `json:"answer"`
	Last            int64       `json:"last"`
	End             int64       `json:"end"`
	Outcome         llm.Outcome `json:"outcome"`
	Status          int         `json:"status"`
	PromptTokens    int         `json:"prompt_tokens"`
	AskedPrompt     int         `json:"asked_prompt"`
	CachedTokens    int         `json:"cached_tokens"`
	OutputTokens    int         `json:"output_tokens"`
	AskedOutput     int         `json:"asked_output"`
	ReasoningTokens int         `json:"reasoning_tokens"`
	StreamedTokens  int         `json:"streamed_tokens"`
	LocalTokens     int         `json:"local_tokens"`
	LocalByEvent    int         `json:"local_by_event"`
	TextSum         int         `json:"text_sum"`
	FirstEstimate   int         `json:"first_estimate"`
	Claimed         int         `json:"claimed_tokens"`
	KVBytes         int         `json:"kv_bytes"`
	Apart           bool        `json:"reasoning_apart"`
	Repeats         bool        `json:"repeats"`
	Counted         Counted     `json:"counted"`
	Streamed        bool        `json:"streamed"`
	Coalesced       int         `json:"coalesced"`
	ConnNew         bool        `json:"conn_new"`
	Reconnects      int         `json:"reconnects"`
	Addr            string      `json:"addr"`
	Error           string      `json:"error"`
	ChunksUS        varintArray `json:"chunks_us"`
	ChunkTokens     varintArray `json:"chunk_tokens"`
	Spread          bool        `json:"spread"`
	Thinned         bool        `json:"thinned"`
	Events          int         `json:"events"`
	EventTokens     int         `json:"event_tokens"`
	FirstTokens     int         `json:"first_tokens"`
	StallNS         int64       `json:"stall_ns"`
	ICLTail         int64       `json:"icl_p99_ns"`
	ITLTail         int64       `json:"itl_p99_ns"`
	MergedFirst     bool        `json:"merged_first"`
	MergedAnswer    bool        `json:"merged_answer"`
	MergedStall     bool        `json:"merged_stall"`
}

func (w *row) into(r *Record) error {
	if len(w.ChunkTokens.b) > 0 && w.ChunkTokens.n != w.ChunksUS.n {
		return fmt.Errorf("%d chunk_tokens for %d chunks_us", w.ChunkTokens.n, w.ChunksUS.n)
	}
	*r = Record{ID: w.ID, Session: w.Session, Turn: w.Turn, Inputs: w.Inputs, Natural: w.Natural, Class: w.Class, Tenant: w.Tenant,
		Phase: w.Phase, Try: w.Try, Due: w.Due, Begin: w.Begin, Slot: w.Slot, Conn: w.Conn,
		Dialing: w.Dialing, Dialed: w.Dialed, Secured: w.Secured, Sent: w.Sent, Written: w.Written, Head: w.Head,
		First: w.First, Answer: w.Answer, Last: w.Last, End: w.End, Outcome: w.Outcome,
		Status: w.Status, PromptTokens: w.PromptTokens, AskedPrompt: w.AskedPrompt,
		CachedTokens: w.CachedTokens, OutputTokens: w.OutputTokens, AskedOutput: w.AskedOutput,
		ReasoningTokens: w.ReasoningTokens, StreamedTokens: w.StreamedTokens,
		LocalTokens: w.LocalTokens, LocalByEvent: w.LocalByEvent, TextSum: w.TextSum, FirstEstimate: w.FirstEstimate, Claimed: w.Claimed, KVBytes: w.KVBytes, Apart: w.Apart, Repeats: w.Repeats, Counted: w.Counted, Streamed: w.Streamed,
		Coalesced: w.Coalesced, ConnNew: w.ConnNew, Reconnects: w.Reconnects, Addr: w.Addr,
		Error:  w.Error,
		chunks: chunks{n: w.ChunksUS.n, gaps: w.ChunksUS.b, tokens: w.ChunkTokens.b, spread: w.Spread},
		thin: thin{is: w.Thinned, events: w.Events, tokens: w.EventTokens, first: w.FirstTokens, Essence: Essence{w.StallNS,
			w.ICLTail, w.ITLTail, w.MergedFirst, w.MergedAnswer, w.MergedStall}}}
	if !r.whole() {
		return errors.New("it has chunks_us and is thinned, or neither")
	}
	return nil
}
