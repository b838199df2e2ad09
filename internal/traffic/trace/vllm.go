package trace

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// vllm reads the text log of a vLLM server. What a line carries depends on the
// version and its settings:
//
//	Received request ID: prompt: …, params: SamplingParams(… max_tokens=100 …), prompt_token_ids: [1, 2], …
//	Received request ID: params: SamplingParams(…), …          since about 0.11: no prompt
//	Request ID details: prompt: …, prompt_token_ids: [1, 2], … the prompt's part, at level DEBUG
//	Generated response ID (streaming delta): output: …, output_token_ids: [5], …
//
// The prompt's length is the number of its token ids, the output's that of the
// ids generated; where those are not logged, max_tokens stands for them, and a
// note says so. Lines of throughput and access lines carry neither.
type vllm struct {
	salt    uint64
	pending map[string]*vllmRequest
	order   int
	year    int
	last    int64
	// bounded counts requests whose output length is only max_tokens, others
	// the lines without a request.
	bounded, total, others int
	unread                 unreadFields
}

type vllmRequest struct {
	entry
	order     int
	maxTokens int
	output    int
	received  bool
	prompted  bool
	generated bool
}

func newVLLM(_ Options, salt uint64) lineReader {
	// The log has no year; one with a 29 February takes any date.
	return &vllm{salt: salt, pending: map[string]*vllmRequest{}, year: 2000}
}

func (v *vllm) read(line []byte, number int, _ func(entry) error) error {
	kinds := []struct {
		word string
		take func(r *vllmRequest, head, body string)
	}{
		{"Received request ", v.takeReceived},
		{"Generated response ", v.takeGenerated},
		{"Request ", v.takeDetails},
	}
	// The first of the words tells the kind: the text behind it may hold all.
	kind, first := -1, len(line)
	for i, k := range kinds {
		if place := bytes.Index(line[:first], []byte(k.word)); place >= 0 {
			kind, first = i, place
		}
	}
	if kind < 0 {
		v.others++
		return nil
	}
	name, body, ok := strings.Cut(string(line[first+len(kinds[kind].word):]), ": ")
	name, mode, _ := strings.Cut(name, " ")
	if !ok || name == "" || (kind == 2 && mode != "details") {
		v.others++
		return nil
	}
	kinds[kind].take(v.request(name, number), string(line[:first]), mode+": "+body)
	v.noteOthers(body)
	return nil
}

// member is a parameter or a field behind the ids of a line.
var member = regexp.MustCompile(`(?:^|[ (])([a-z_]{1,40})(=|: )([^,()]*)`)

// noteOthers counts what nobody reads: parameters, and fields behind the ids.
func (v *vllm) noteOthers(body string) {
	if _, params, ok := cutLast(body, "params: SamplingParams("); ok {
		params, _, _ = strings.Cut(params, ")")
		v.noteMembers(params, "=")
	}
	if _, ids, ok := cutLast(body, "_token_ids: "); ok {
		_, behind, _ := strings.Cut(strings.TrimLeft(ids, "[(0123456789, "), ", ")
		v.noteMembers(behind, ": ")
	} else if _, behind, ok := cutLast(body, "), "); ok {
		v.noteMembers(behind, ": ")
	}
	v.unread.next(true)
}

func (v *vllm) noteMembers(text, sign string) {
	for _, m := range member.FindAllStringSubmatch(text, -1) {
		if value := strings.TrimRight(m[3], ". "); m[2] == sign && m[1] != "max_tokens" && value != "None" && value != "[]" {
			v.unread.see([]byte(m[1]), []byte(value), nil)
		}
	}
}

// request finds a request by its name. A completion's prompts are logged as
// the request's name and a number.
func (v *vllm) request(name string, line int) *vllmRequest {
	if r, ok := v.pending[name]; ok {
		return r
	}
	if r, ok := v.pending[name+"-0"]; ok {
		return r
	}
	r := &vllmRequest{order: v.order}
	r.row.Line = line
	v.order++
	v.pending[name] = r
	return r
}

func (v *vllm) takeReceived(r *vllmRequest, head, body string) {
	r.received = true
	r.stamp, r.timed = v.stamp(head)
	if _, params, ok := cutLast(body, "params: "); ok {
		if _, most, ok := strings.Cut(params, "max_tokens="); ok {
			r.maxTokens, _ = strconv.Atoi(most[:len(most)-len(strings.TrimLeft(most, "0123456789"))])
		}
	}
	v.takeDetails(r, head, body)
}

func (v *vllm) takeDetails(r *vllmRequest, _, body string) {
	ids := idsAfter(body, "prompt_token_ids: ")
	if ids == "" {
		return
	}
	r.prompted = true
	r.row.Prompt = strings.Count(ids, ",") + 1
	r.row.Blocks, r.row.BlockTokens = idBlocks(ids, v.salt), blockTokens
}

func (v *vllm) takeGenerated(r *vllmRequest, _, body string) {
	ids := idsAfter(body, "output_token_ids: ")
	if ids == "" {
		return
	}
	n := strings.Count(ids, ",") + 1
	if strings.HasPrefix(body, "(streaming delta)") {
		r.output += n
	} else {
		r.output = n
	}
	r.generated = true
}

// idsAfter gives what the list behind the last mark holds, "" for none: the
// text of a prompt, which comes before, may hold the same mark.
func idsAfter(body, mark string) string {
	_, rest, ok := cutLast(body, mark)
	end := "]"
	switch {
	case ok && strings.HasPrefix(rest, "("):
		end = ")"
	case !ok || !strings.HasPrefix(rest, "["):
		return ""
	}
	list, _, ok := strings.Cut(rest[1:], end)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSpace(list), ",")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// idBlocks names the blocks of a list of token ids.
func idBlocks(ids string, salt uint64) []uint64 {
	h := newBlockHash(salt)
	var blocks []uint64
	n := 0
	for id := range strings.SplitSeq(ids, ",") {
		block := h.addTo([]byte(strings.TrimSpace(id) + ","))
		if n++; n%blockTokens == 0 {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// stamp reads the time in front of a message: 11-16 18:15:46, which has no
// year, or a whole date.
func (v *vllm) stamp(head string) (int64, bool) {
	for i := 0; i+14 <= len(head); i++ {
		if head[i] < '0' || head[i] > '9' || (i > 0 && head[i-1] >= '0' && head[i-1] <= '9') {
			continue
		}
		if end := i + 19; end <= len(head) && head[i+4:i+5] == "-" {
			if fraction, _ := splitFraction(head[end:]); fraction != "" {
				end += 1 + len(fraction)
			}
			if stamp, ok := parseDate(head[i:end]); ok {
				return stamp, true
			}
		}
		if stamp, ok := v.inYear(head[i : i+14]); ok {
			return stamp, true
		}
	}
	return 0, false
}

// inYear places a date without its year; one that lies half a year before its
// predecessor is of the next.
func (v *vllm) inYear(text string) (int64, bool) {
	stamp, ok := parseDate(fmt.Sprintf("%04d-%s", v.year, text))
	if !ok {
		return 0, false
	}
	const halfYear = int64(182 * 24 * time.Hour)
	if stamp < v.last-halfYear && v.year < 2100 {
		v.year++
		stamp, ok = parseDate(fmt.Sprintf("%04d-%s", v.year, text))
	}
	v.last = stamp
	return stamp, ok
}

// end gives the requests in the order in which they came.
func (v *vllm) end(emit func(entry) error) error {
	requests := slices.SortedFunc(maps.Values(v.pending), func(a, b *vllmRequest) int { return a.order - b.order })
	v.pending = nil
	var bad []error
	prompted := false
	for _, r := range requests {
		if !r.received {
			continue
		}
		v.total++
		prompted = prompted || r.prompted
		if err := v.complete(r); err != nil {
			bad = append(bad, &rowError{line: r.row.Line, err: err})
			continue
		}
		if err := emit(r.entry); err != nil {
			bad = append(bad, err)
		}
	}
	if v.total > 0 && !prompted {
		return fatal{errors.New("no request has its prompt_token_ids in the log; run vLLM with --enable-log-requests " +
			"and VLLM_LOGGING_LEVEL=DEBUG, or fit from its OpenTelemetry spans")}
	}
	return joinRows(bad)
}

// complete fills in the output length.
func (v *vllm) complete(r *vllmRequest) error {
	switch {
	case !r.prompted:
		return errors.New("the request's prompt_token_ids are not in the log")
	case r.generated:
		r.row.Output = r.output
	case r.maxTokens > 0:
		r.row.Output = r.maxTokens
		v.bounded++
	default:
		return errors.New("neither the request's output_token_ids nor its max_tokens are in the log")
	}
	if r.row.Prompt > maxTokens || r.row.Output > maxTokens {
		return fmt.Errorf("the request has more than %s tokens", text.Count(maxTokens))
	}
	return nil
}

func (v *vllm) notes() (list []string) {
	if v.bounded > 0 {
		list = append(list, fmt.Sprintf("%s of %s output lengths are max_tokens, the most that could come: vLLM logs what did with --enable-log-outputs",
			text.Count(v.bounded), text.Count(v.total)))
	}
	if v.others > 0 {
		list = append(list, fmt.Sprintf("lines without a request: %s", text.Count(v.others)))
	}
	return list
}

func (v *vllm) columnsUsed() []string { return nil }

func (v *vllm) idle() string { return v.unread.note("fields and parameters") }

// rowErrors are several bad rows found at once.
type rowErrors []error

func (e rowErrors) Error() string { return e[0].Error() }

func joinRows(bad []error) error {
	if len(bad) == 0 {
		return nil
	}
	return rowErrors(bad)
}
