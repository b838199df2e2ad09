package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strconv"
)

// fields is what writes or reads a record, field by field.
type fields interface {
	number(key string, v *int64)
	count(key string, v *int, always bool)
	flag(key string, v *bool)
	text(key string, v *string)
	list(key string, varints *[]byte, n *int)
}

// each goes through the fields in the order of a line.
func (r *Record) each(f fields) {
	f.count("id", &r.ID, true)
	f.count("session", &r.Session, true)
	f.count("turn", &r.Turn, true)
	f.text("class", &r.Class)
	f.text("tenant", &r.Tenant)
	f.text("phase", (*string)(&r.Phase))
	f.count("try", &r.Try, true)
	for _, s := range r.numbers() {
		f.number(s.key, s.ns)
	}
	f.text("outcome", (*string)(&r.Outcome))
	for _, c := range r.counts() {
		f.count(c.key, c.n, false)
	}
	f.text("counted", (*string)(&r.Counted))
	f.flag("streamed", &r.Streamed)
	f.flag("natural", &r.Natural)
	r.eachThin(f)
	tokens := 0
	f.list("chunks_us", &r.chunks.gaps, &r.chunks.n)
	f.list("chunk_tokens", &r.chunks.tokens, &tokens)
	f.flag("spread", &r.chunks.spread)
	f.flag("reasoning_apart", &r.Apart)
	f.flag("repeats", &r.Repeats)
	f.flag("conn_new", &r.ConnNew)
	f.text("addr", &r.Addr)
	f.text("error", &r.Error)
}

type stamp struct {
	key string
	ns  *int64
}

func (r *Record) numbers() [14]stamp {
	return [...]stamp{{"due", &r.Due}, {"begin", &r.Begin}, {"slot", &r.Slot}, {"conn", &r.Conn},
		{"dialing", &r.Dialing}, {"dialed", &r.Dialed}, {"secured", &r.Secured}, {"sent", &r.Sent}, {"written", &r.Written},
		{"head", &r.Head}, {"first", &r.First}, {"answer", &r.Answer}, {"last", &r.Last}, {"end", &r.End}}
}

type count struct {
	key string
	n   *int
}

func (r *Record) counts() [17]count {
	return [...]count{{"status", &r.Status}, {"prompt_tokens", &r.PromptTokens},
		{"asked_prompt", &r.AskedPrompt}, {"cached_tokens", &r.CachedTokens},
		{"output_tokens", &r.OutputTokens}, {"reasoning_tokens", &r.ReasoningTokens},
		{"streamed_tokens", &r.StreamedTokens}, {"local_tokens", &r.LocalTokens},
		{"local_by_event", &r.LocalByEvent}, {"text_sum", &r.TextSum}, {"first_estimate", &r.FirstEstimate}, {"claimed_tokens", &r.Claimed},
		{"asked_output", &r.AskedOutput}, {"coalesced", &r.Coalesced}, {"reconnects", &r.Reconnects},
		{"inputs", &r.Inputs}, {"kv_bytes", &r.KVBytes}}
}

// AppendLine appends r as one line, with its newline.
func (r *Record) AppendLine(b []byte) []byte { return append(r.appendJSON(b), '\n') }

// appendJSON appends r as one line of the log, without the newline.
func (r *Record) appendJSON(b []byte) []byte {
	l := &line{append(b, '{')}
	r.each(l)
	return append(l.b, '}')
}

// line builds a flat JSON object; what is zero is left out.
type line struct{ b []byte }

func (l *line) key(k string) {
	if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(l.b, '"')
	l.b = append(l.b, k...)
	l.b = append(l.b, '"', ':')
}

func (l *line) number(k string, v *int64) {
	if *v != 0 {
		l.key(k)
		l.b = strconv.AppendInt(l.b, *v, 10)
	}
}

func (l *line) count(k string, v *int, always bool) {
	if *v != 0 || always {
		l.key(k)
		l.b = strconv.AppendInt(l.b, int64(*v), 10)
	}
}

func (l *line) flag(k string, v *bool) {
	if *v {
		l.key(k)
		l.b = append(l.b, "true"...)
	}
}

func (l *line) text(k string, v *string) {
	if *v == "" {
		return
	}
	quoted, err := json.Marshal(*v)
	if err != nil {
		return // a string always marshals
	}
	l.key(k)
	l.b = append(l.b, quoted...)
}

func (l *line) list(k string, v *[]byte, _ *int) {
	if len(*v) == 0 {
		return
	}
	l.key(k)
	sep := byte('[')
	for n := range uvarints(*v) {
		l.b = append(l.b, sep)
		l.b = strconv.AppendUint(l.b, n, 10)
		sep = ','
	}
	l.b = append(l.b, ']')
}

// ParseLine reads what AppendLine wrote.
func ParseLine(line []byte) (*Record, error) {
	r := &Record{}
	if r.scan(bytes.TrimSuffix(line, []byte{'\n'})) {
		return r, nil
	}
	var w row
	if err := json.Unmarshal(line, &w); err != nil {
		return nil, err
	}
	return r, w.into(r)
}

// scan reads a line as appendJSON writes it, in r's own memory. It reports whether
// it was such a line; where not, r holds nothing of use.
func (r *Record) scan(text []byte) bool {
	own := r.chunks.emptied()
	class, tenant, addr := r.Class, r.Tenant, r.Addr
	*r = Record{chunks: own, Class: class, Tenant: tenant, Addr: addr}
	p := &scanner{rest: text}
	r.each(p)
	listed := len(r.chunks.tokens) == 0 || countVarints(r.chunks.tokens) == r.chunks.n
	return !p.strange && listed && r.whole() && len(p.rest) == 1 && p.rest[0] == '}' && bytes.HasPrefix(text, []byte(`{"id":`))
}

func countVarints(b []byte) (n int) {
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

// scanner reads the fields of a line that has them in their order. Anything else
// leaves a rest.
type scanner struct {
	rest    []byte // from the comma or brace before the next key
	strange bool
}

func (s *scanner) key(k string) bool {
	n := len(k) + 4
	if len(s.rest) < n || string(s.rest[2:n-2]) != k || s.rest[1] != '"' || s.rest[n-2] != '"' || s.rest[n-1] != ':' {
		return false
	}
	s.strange = s.strange || s.rest[0] != ',' && k != "id"
	s.rest = s.rest[n:]
	return true
}

// integer reads a whole number.
func (s *scanner) integer() (v int64) {
	i, negative := 0, len(s.rest) > 0 && s.rest[0] == '-'
	if negative {
		i++
	}
	from := i
	for ; i < len(s.rest) && s.rest[i]-'0' < 10; i++ {
		v = v*10 + int64(s.rest[i]-'0')
	}
	s.strange = s.strange || i == from || i-from > 18 || i-from > 1 && s.rest[from] == '0'
	s.rest = s.rest[i:]
	if negative {
		return -v
	}
	return v
}

func (s *scanner) number(k string, v *int64) {
	if s.key(k) {
		*v = s.integer()
	}
}

func (s *scanner) count(k string, v *int, _ bool) {
	if s.key(k) {
		*v = int(s.integer())
	}
}

func (s *scanner) flag(k string, v *bool) {
	if s.key(k) {
		*v = bytes.HasPrefix(s.rest, []byte("true"))
		s.strange = s.strange || !*v
		s.rest = s.rest[min(4, len(s.rest)):]
	}
}

// text reads a string; one that was there before and is the same takes no memory.
func (s *scanner) text(k string, v *string) {
	if !s.key(k) {
		*v = ""
		return
	}
	end := -1
	if len(s.rest) > 0 && s.rest[0] == '"' {
		end = bytes.IndexByte(s.rest[1:], '"')
	}
	if end < 0 || bytes.IndexByte(s.rest[1:1+end], '\\') >= 0 {
		s.strange = true
		return
	}
	if raw := s.rest[1 : 1+end]; string(raw) != *v {
		*v = string(raw)
	}
	s.rest = s.rest[end+2:]
}

func (s *scanner) list(k string, varints *[]byte, n *int) {
	if !s.key(k) {
		return
	}
	b, count := *varints, 0
	for sep := byte('['); len(s.rest) > 0 && s.rest[0] == sep; sep = ',' {
		s.rest = s.rest[1:]
		v := s.integer()
		s.strange = s.strange || v < 0
		b = binary.AppendUvarint(b, uint64(v))
		count++
	}
	s.strange = s.strange || len(s.rest) == 0 || s.rest[0] != ']'
	*varints, *n = b, count
	s.rest = s.rest[min(1, len(s.rest)):]
}
