package record

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math"

	"redline/internal/llm"
)

// A reply's tokens have three accounts: the server's usage, the number of
// output events, and a tokenizer run over the text that came. Only what
// streamed may enter a pace, so usage is read in the light of the other two.

// tokenCounts is what the local tokenizer makes of a reply's text.
type tokenCounts struct {
	first             int // of the first output event alone
	all               int
	answer, reasoning int
	own               bool // the tokenizer is the model's, and heard every word
	beginning         bool // it is the model's, and heard the first words
}

// KeptText is how much text of each part of a reply is enough to tell how many
// tokens the rest has.
const KeptText = 1 << 10

// Wants reports whether the text of an output event that is to be observed
// next tells something about the reply's tokens, where not all of it is kept.
func (r *Record) Wants(part llm.PartKind) bool {
	if part == llm.Reasoning {
		return r.chunks.thinkingBytes < KeptText
	}
	return r.chunks.bytes-r.chunks.thinkingBytes < KeptText
}

// Whole reports whether a text is all that the reply's events carried.
func (r *Record) Whole(text []byte) bool { return len(text) == r.chunks.bytes }

// Plain reports whether usage and the number of events agree on one token an
// event, or usage came with every event: then the text can tell nothing more.
// Of reasoning only the text tells what part of it streamed.
func (r *Record) Plain() bool {
	n, output := r.chunks.n, r.OutputTokens
	if output == 0 || n == 0 || r.ReasoningTokens > 0 {
		return false
	}
	return n == 1 || r.chunks.continuous(output) || near(output, n) && r.slim()
}

// slimEvent is more text than one token has in the mean, and slimTokens more
// than any tokenizer makes of it.
const (
	slimEvent  = 10
	slimTokens = 1.7
)

// slim reports whether the events look as if they carried one token each.
func (r *Record) slim() bool {
	if h := r.chunks.localCounts; h.first > 0 {
		return float64(h.answer+h.reasoning) < slimTokens*float64(r.chunks.n)
	}
	return r.chunks.bytes <= slimEvent*r.chunks.n
}

// CountText counts the text of the reply once the request has ended and before
// it is settled: all its output events joined, or those that Wants asked for,
// which the others are taken to be like. A server that repeats the whole text in
// every event is heard once, also by its last event alone where Repeats says that the
// text is that. By event, it also counts the text of each alone,
// which shows whether each carried one token. own says that the tokenizer is the
// model's.
func (r *Record) CountText(text []byte, count func(string) int, own, byEvent bool) {
	whole := r.Whole(text)
	var pieces []piece
	if r.Repeats && !whole {
		pieces, whole = r.growth(text), true
	} else if list, ok := r.pieces(text, whole); ok {
		if pieces, r.Repeats = list, repeats(list); r.Repeats {
			r.onlyNew(pieces)
		}
	}
	if len(pieces) == 0 {
		return
	}
	var all []byte
	var parts [2][]byte // the answer, the reasoning
	for _, p := range pieces {
		all = append(all, p.text...)
		parts[p.part] = append(parts[p.part], p.text...)
	}
	h := tokenCounts{first: count(string(pieces[0].text)), own: own && whole, beginning: own && !whole}
	if whole && len(parts[1]) == 0 {
		h.answer = count(string(all))
	} else {
		sent := r.chunks.sums()
		for i, tokens := range []*int{&h.answer, &h.reasoning} {
			if kept := len(parts[i]); kept > 0 {
				*tokens = int(math.Round(float64(count(string(parts[i]))) * float64(sent[i]) / float64(kept)))
			}
		}
	}
	if h.all = h.answer + h.reasoning; whole && h.reasoning > 0 {
		h.all = count(string(all))
	}
	r.chunks.localCounts = h
	if whole {
		sum := fnv.New32a()
		_, _ = sum.Write(all)             // never fails
		r.TextSum = int(sum.Sum32() >> 1) // an int of any machine
	}
	if whole || r.OutputTokens == 0 {
		r.LocalTokens = h.all // an estimate is no check on usage
	}
	if !byEvent || !whole {
		return
	}
	for _, p := range pieces {
		r.LocalByEvent += count(string(p.text))
	}
}

// piece is the text of one output event; its part is 1 for reasoning.
type piece struct {
	text []byte
	part int
}

// pieces cuts a reply's text, the whole or what Wants asked for, into that of
// its events.
func (r *Record) pieces(text []byte, whole bool) (list []piece, ok bool) {
	list = make([]piece, 0, r.chunks.n)
	var seen [2]int
	for v := range uvarints(r.chunks.lengths) {
		length, part := int(v>>1), int(v&1)
		wanted := whole || seen[part] < KeptText
		if seen[part] += length; !wanted {
			continue
		}
		if length > len(text) {
			return nil, false
		}
		list = append(list, piece{text[:length], part})
		text = text[length:]
	}
	return list, len(text) == 0
}

// minRepeats is how many events in a row must repeat the ones before them:
// honest text does so by chance once or twice.
const minRepeats = 3

// repeats reports whether every event begins with all the text of its part that
// came before it, and adds to it.
func repeats(pieces []piece) bool {
	grown := 0
	for i := 1; i < len(pieces); i++ {
		before, now := pieces[i-1], pieces[i]
		switch {
		case before.part != now.part:
		case !bytes.HasPrefix(now.text, before.text):
			return false
		case len(now.text) > len(before.text):
			grown++
		}
	}
	return Grows(grown, len(pieces))
}

// Grows reports whether so many events of a reply, each of which begins with all that
// was said before it, add enough to it not to do so by chance.
func Grows(grown, events int) bool { return grown >= minRepeats && 2*grown >= events }

// growth cuts the text of the last event, which has all that was said, into what each
// event added to it.
func (r *Record) growth(last []byte) (list []piece) {
	lengths := make([]byte, 0, len(r.chunks.lengths))
	said := 0
	for v := range uvarints(r.chunks.lengths) {
		length, part := int(v>>1), int(v&1)
		if length < said || length > len(last) {
			return nil
		}
		list = append(list, piece{last[said:length], part})
		lengths = binary.AppendUvarint(lengths, uint64(length-said)<<1|uint64(part))
		said = length
	}
	r.chunks.lengths = lengths
	return list
}

// onlyNew takes from every event what the one before it had said already.
func (r *Record) onlyNew(pieces []piece) {
	lengths := make([]byte, 0, len(r.chunks.lengths))
	said, part, kept := 0, -1, 0
	for v := range uvarints(r.chunks.lengths) {
		length, of := int(v>>1), int(v&1)
		if of != part || length < said {
			said, part = 0, of
		}
		if kept < len(pieces) && pieces[kept].part == of && len(pieces[kept].text) == length {
			pieces[kept].text = pieces[kept].text[said:]
			kept++
		}
		lengths = binary.AppendUvarint(lengths, uint64(length-said)<<1|uint64(of))
		said = length
	}
	r.chunks.lengths = lengths
}

// near reports whether two counts are the same but for the end-of-sequence
// token, which usage counts and no event carries.
func near(a, b int) bool { return a-b >= -1 && a-b <= 1 }

// fullShare is by how much the estimate of streamed reasoning may miss usage's
// count of it for all of it to have streamed; apartBy by which factor the answer
// must exceed its share of usage, by another model's tokenizer, for usage to
// leave reasoning out; ownShare by how much the model's own tokenizer may differ
// from usage before its count stands.
const (
	fullShare = 0.1
	apartBy   = 1.4
	ownShare  = 0.05
)

// byUsage gives the tokens that streamed, where usage says how many there were:
// all but the reasoning that no event carried. apart says that usage counts
// reasoning beside the output and not in it; certain, that nothing was
// estimated from text.
func (r *Record) byUsage() (streamed int, apart, certain bool) {
	output, thought, n := r.OutputTokens, r.ReasoningTokens, r.chunks.n
	thinking := r.chunks.thinking
	switch {
	case thought == 0 || n == 0:
		return output, false, true
	case thinking > 0 && !r.chunks.localCounts.own && r.slim() && near(n, output):
		return output, false, true
	case thinking > 0 && !r.chunks.localCounts.own && r.slim() && near(n, output+thought):
		return output + thought, true, true
	}
	apart = r.reasoningExcluded()
	answer := output - thought
	if apart {
		answer = output
	}
	answer = max(answer, 0)
	if thinking == 0 {
		return answer, apart, true
	}
	shown, certain := r.shownReasoning(answer)
	return answer + shown, apart, certain
}

// reasoningExcluded reports whether usage leaves reasoning out of the output tokens,
// as some vendors do: events are never more than the tokens that they carry.
func (r *Record) reasoningExcluded() bool {
	output, thought := r.OutputTokens, r.ReasoningTokens
	within, events := output-thought, r.chunks.n-r.chunks.thinking
	answer, shown := float64(r.chunks.localCounts.answer), float64(r.chunks.localCounts.reasoning)
	closer := answer*answer > float64(within)*float64(output) // to output than to within
	switch {
	case within < 1:
		return events > 0 && events > within+1 || thought > output
	case r.chunks.localCounts.own && answer > 0:
		return closer
	case r.slim() && near(events, within):
		return false
	case r.slim() && near(events, output):
		return true
	case float64(events) > 1.1*float64(within)+1:
		return true
	}
	if answer == 0 {
		return false
	}
	if shown > 0 {
		// All reasoning streamed: the two texts are to each other as the two
		// counts, whatever the tokenizer.
		fits := func(of int) bool { return math.Abs(shown/answer*float64(of)/float64(thought)-1) < fullShare }
		inside, beside := fits(within), fits(output)
		if inside != beside && (inside || closer) {
			return beside
		}
	}
	return answer > apartBy*float64(within) && answer*apartBy > float64(output)
}

// shownReasoning is how many tokens of reasoning the events carried, by the
// measure of what the answer's tokens take: in the local tokenizer's tokens, or
// in bytes where it did not run.
func (r *Record) shownReasoning(answer int) (shown int, certain bool) {
	thought, events := r.ReasoningTokens, r.chunks.thinking
	if !r.chunks.localCounts.own && r.slim() && near(events, thought) {
		return thought, true
	}
	perToken, reasoning := 1.0, float64(r.chunks.localCounts.reasoning)
	switch {
	case r.chunks.localCounts.own:
	case r.chunks.localCounts.answer > 0 && answer > 0:
		perToken = float64(r.chunks.localCounts.answer) / float64(answer)
	case r.chunks.localCounts.reasoning > 0:
	case r.chunks.bytes > r.chunks.thinkingBytes && answer > 0:
		perToken = float64(r.chunks.bytes-r.chunks.thinkingBytes) / float64(answer)
		reasoning = float64(r.chunks.thinkingBytes)
	default:
		reasoning = float64(events)
	}
	estimate := max(reasoning/perToken, float64(min(events, thought)))
	switch {
	case math.Abs(estimate-float64(thought)) <= max(1, fullShare*float64(thought)):
		return thought, false
	case near(r.chunks.n-events, answer) && math.Abs(estimate-float64(events)) <= max(1, 0.1*float64(events)):
		return events, false // one token an event, as in the answer
	}
	return int(math.Round(estimate)), false
}

// Settle decides the token counts once the request has ended: the server's
// usage, else the local count, else the number of events; and gives each event
// its tokens.
func (r *Record) Settle() {
	switch {
	case r.OutputTokens > 0:
		r.Counted = ByUsage
		r.StreamedTokens, r.Apart, _ = r.byUsage()
		if r.Apart {
			r.OutputTokens += r.ReasoningTokens
		}
		r.correct()
	case r.LocalTokens > 0:
		r.OutputTokens, r.StreamedTokens, r.Counted = r.LocalTokens, r.LocalTokens, ByTokenizer
	case r.chunks.n > 0:
		r.OutputTokens, r.StreamedTokens, r.Counted = r.chunks.n, r.chunks.n, ByEvents
	}
	r.chunks.settle(r.StreamedTokens)
	if h := r.chunks.localCounts; r.chunks.spread && h.first > 0 && h.all > 0 {
		share := float64(h.first) / float64(h.all)
		if h.beginning {
			share = float64(h.first) / float64(r.StreamedTokens)
		}
		r.FirstEstimate = min(max(1, int(math.Round(share*float64(r.StreamedTokens)))), max(1, r.StreamedTokens))
	}
}

// correct lets the model's own tokenizer stand where usage is far from what
// streamed, unless the number of events bears usage out.
func (r *Record) correct() {
	claimed, local := r.StreamedTokens, r.LocalTokens
	if !r.chunks.localCounts.own || r.chunks.n < 2 || r.slim() && near(claimed, r.chunks.n) ||
		math.Abs(float64(claimed-local)) <= ownShare*float64(local) {
		return
	}
	r.Claimed, r.StreamedTokens = claimed, local
}

// firstTokens is the number of tokens in the first output event, by what the
// server says of each event or as the tokenizer estimates it; 0 if unknown.
func (r *Record) firstTokens() int {
	if !r.TokensKnown() {
		return r.FirstEstimate
	}
	if r.thin.is {
		return r.thin.first
	}
	for _, tokens := range r.Chunks() {
		return max(1, tokens)
	}
	return 0
}

// TokensAfterFirst is the number of tokens that came after the first output event, 0 where
// that is not known: the pace of a reply is theirs.
func (r *Record) TokensAfterFirst() int {
	first := r.firstTokens()
	if first == 0 {
		return 0
	}
	return max(0, r.StreamedTokens-first)
}
