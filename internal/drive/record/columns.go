package record

import (
	"redline/internal/llm"
	"redline/internal/text"
)

// Column is one field of a record. Log, schema and tables of requests have it from
// its row.
type Column struct {
	// Key is its name in a line of the log, and in tables of requests.
	Key    string
	Traits Traits
	// At points to the field: an *int64, *int, *bool, *string, a **int of which 0 is
	// known too, or a list of whole numbers.
	At func(*Record) any
	// Values are what a text can be; nil for any text.
	Values func() []string
}

// Traits say where a column stands and what its zero means, which is unknown but for
// these.
type Traits uint8

const (
	// Always stands in every line.
	Always Traits = 1 << iota
	// Early is known of a request on its way.
	Early
	// Stamp is a point in time on the run's line.
	Stamp
	// Export stands in tables of requests: CSV, JSON Lines, Parquet. Numbers and
	// texts can.
	Export
	// Answered is known of every ok reply, 0 too, and of no other.
	Answered
)

// Has reports whether a column has all of these traits.
func (c *Column) Has(t Traits) bool { return c.Traits&t == t }

// Value is what a table of requests shows of a record, and false where that is not
// known: an int or a string.
func (c *Column) Value(r *Record) (value any, known bool) {
	field := c.At(r)
	switch v := field.(type) {
	case *int64:
		value = int(*v)
	case *int:
		value = *v
	case *string:
		value = *v
	case **int:
		if value = 0; *v != nil {
			value = **v
		}
	}
	if c.Has(Answered) {
		return value, r.Outcome == llm.OK
	}
	return value, c.Has(Always) || !empty(field)
}

// Columns are all of them, in the order of a line.
var Columns = []Column{
	{Key: "id", Traits: Always | Early | Export, At: func(r *Record) any { return &r.ID }},
	{Key: "session", Traits: Always | Early | Export, At: func(r *Record) any { return &r.Session }},
	{Key: "turn", Traits: Always | Early | Export, At: func(r *Record) any { return &r.Turn }},
	{Key: "class", Traits: Early | Export, At: func(r *Record) any { return &r.Class }},
	{Key: "tenant", Traits: Early, At: func(r *Record) any { return &r.Tenant }},
	{Key: "phase", Traits: Early, At: func(r *Record) any { return (*string)(&r.Phase) }, Values: func() []string { return []string{string(Warmup), string(Measure), string(Cooldown)} }},
	{Key: "try", Traits: Always | Early, At: func(r *Record) any { return &r.Try }},
	{Key: "due", Traits: Stamp | Early, At: func(r *Record) any { return &r.Due }},
	{Key: "begin", Traits: Stamp | Early, At: func(r *Record) any { return &r.Begin }},
	{Key: "slot", Traits: Stamp | Early, At: func(r *Record) any { return &r.Slot }},
	{Key: "conn", Traits: Stamp, At: func(r *Record) any { return &r.Conn }},
	{Key: "dialing", Traits: Stamp, At: func(r *Record) any { return &r.Dialing }},
	{Key: "dialed", Traits: Stamp, At: func(r *Record) any { return &r.Dialed }},
	{Key: "secured", Traits: Stamp, At: func(r *Record) any { return &r.Secured }},
	{Key: "sent", Traits: Stamp | Early, At: func(r *Record) any { return &r.Sent }},
	{Key: "written", Traits: Stamp, At: func(r *Record) any { return &r.Written }},
	{Key: "head", Traits: Stamp, At: func(r *Record) any { return &r.Head }},
	{Key: "first", Traits: Stamp | Early, At: func(r *Record) any { return &r.First }},
	{Key: "answer", Traits: Stamp, At: func(r *Record) any { return &r.Answer }},
	{Key: "last", Traits: Stamp, At: func(r *Record) any { return &r.Last }},
	{Key: "end", Traits: Stamp, At: func(r *Record) any { return &r.End }},
	{Key: "round_trip_ns", At: func(r *Record) any { return &r.Trip }},
	{Key: "gateway_ns", Traits: Export, At: func(r *Record) any { return &r.ServerTiming.Gateway }},
	{Key: "front_end_ns", Traits: Export, At: func(r *Record) any { return &r.ServerTiming.FrontEnd }},
	{Key: "queue_ns", Traits: Export, At: func(r *Record) any { return &r.ServerTiming.Queue }},
	{Key: "prefill_ns", Traits: Export, At: func(r *Record) any { return &r.ServerTiming.Prefill }},
	{Key: "transfer_ns", Traits: Export, At: func(r *Record) any { return &r.ServerTiming.Transfer }},
	{Key: "first_write_ns", Traits: Export, At: func(r *Record) any { return &r.ServerTiming.Write }},
	{Key: "outcome", Traits: Export, At: func(r *Record) any { return (*string)(&r.Outcome) }, Values: outcomes},
	{Key: "status", Traits: Export, At: func(r *Record) any { return &r.Status }},
	{Key: "prompt_tokens", At: func(r *Record) any { return &r.PromptTokens }},
	{Key: "asked_prompt", Traits: Early, At: func(r *Record) any { return &r.AskedPrompt }},
	{Key: "cached_tokens", Traits: Export | Answered, At: func(r *Record) any { return &r.CachedTokens }},
	{Key: "cached_host_tokens", Traits: Export, At: func(r *Record) any { return &r.HostTokens }},
	{Key: "cached_storage_tokens", Traits: Export, At: func(r *Record) any { return &r.StorageTokens }},
	{Key: "drafted_tokens", Traits: Export, At: func(r *Record) any { return &r.Drafted }},
	{Key: "drafts_accepted", Traits: Export, At: func(r *Record) any { return &r.Accepted }},
	{Key: "output_tokens", Traits: Export | Answered, At: func(r *Record) any { return &r.OutputTokens }},
	{Key: "reasoning_tokens", Traits: Export | Answered, At: func(r *Record) any { return &r.ReasoningTokens }},
	{Key: "streamed_tokens", At: func(r *Record) any { return &r.StreamedTokens }},
	{Key: "local_tokens", At: func(r *Record) any { return &r.LocalTokens }},
	{Key: "local_by_event", At: func(r *Record) any { return &r.LocalByEvent }},
	{Key: "text_sum", At: func(r *Record) any { return &r.TextSum }},
	{Key: "first_estimate", At: func(r *Record) any { return &r.FirstEstimate }},
	{Key: "claimed_tokens", At: func(r *Record) any { return &r.Claimed }},
	{Key: "asked_output", Traits: Early, At: func(r *Record) any { return &r.AskedOutput }},
	{Key: "coalesced", At: func(r *Record) any { return &r.Coalesced }},
	{Key: "reconnects", At: func(r *Record) any { return &r.Reconnects }},
	{Key: "inputs", Traits: Early, At: func(r *Record) any { return &r.Inputs }},
	{Key: "kv_bytes", Traits: Export, At: func(r *Record) any { return &r.KVBytes }},
	{Key: "counted", At: func(r *Record) any { return (*string)(&r.Counted) }, Values: func() []string { return []string{string(ByUsage), string(ByTokenizer), string(ByEvents)} }},
	{Key: "streamed", Traits: Early, At: func(r *Record) any { return &r.Streamed }},
	{Key: "natural", Traits: Early, At: func(r *Record) any { return &r.Natural }},
	{Key: "thinned", At: func(r *Record) any { return &r.thin.is }},
	{Key: "events", At: func(r *Record) any { return &r.thin.events }},
	{Key: "event_tokens", At: func(r *Record) any { return &r.thin.tokens }},
	{Key: "first_tokens", At: func(r *Record) any { return &r.thin.first }},
	{Key: "stall_ns", At: func(r *Record) any { return &r.thin.Stall }},
	{Key: "icl_p99_ns", At: func(r *Record) any { return &r.thin.ICLTail }},
	{Key: "itl_p99_ns", At: func(r *Record) any { return &r.thin.ITLTail }},
	{Key: "merged_first", At: func(r *Record) any { return &r.thin.MergedFirst }},
	{Key: "merged_answer", At: func(r *Record) any { return &r.thin.MergedAnswer }},
	{Key: "merged_stall", At: func(r *Record) any { return &r.thin.MergedStall }},
	{Key: "chunks_us", At: func(r *Record) any { return &r.chunks.gaps }},
	{Key: "chunk_tokens", At: func(r *Record) any { return &r.chunks.tokens }},
	{Key: "spread", At: func(r *Record) any { return &r.chunks.spread }},
	{Key: "reasoning_apart", At: func(r *Record) any { return &r.Apart }},
	{Key: "repeats", At: func(r *Record) any { return &r.Repeats }},
	{Key: "conn_new", At: func(r *Record) any { return &r.ConnNew }},
	{Key: "addr", At: func(r *Record) any { return &r.Addr }},
	{Key: "replica", Traits: Export, At: func(r *Record) any { return &r.Served.Replica }},
	{Key: "prefiller", Traits: Export, At: func(r *Record) any { return &r.Served.Prefiller }},
	{Key: "error", At: func(r *Record) any { return &r.Error }},
	{Key: "reason", Traits: Export, At: func(r *Record) any { return &r.Reason }},
	{Key: "retry_after_ns", Traits: Export, At: func(r *Record) any { return &r.RetryAfter }},
	{Key: "refused_before", Traits: Export, At: func(r *Record) any { return &r.Refused }},
	{Key: "turns", Traits: Early | Export, At: func(r *Record) any { return &r.Turns }},
	{Key: "depth", Traits: Early | Export, At: func(r *Record) any { return &r.Depth }},
	{Key: "images", Traits: Early | Export, At: func(r *Record) any { return &r.Images }},
	{Key: "image_bytes", Traits: Early | Export, At: func(r *Record) any { return &r.ImageBytes }},
	{Key: "image_pixels", Traits: Early | Export, At: func(r *Record) any { return &r.ImagePixels }},
	{Key: "vision_tokens", Traits: Export, At: func(r *Record) any { return &r.VisionTokens }},
	{Key: "ideal_cached_tokens", Traits: Early | Export, At: func(r *Record) any { return &r.IdealCached }},
	{Key: "prefix", Traits: Early | Export, At: func(r *Record) any { return &r.Prefix }},
	{Key: "prefix_tokens", Traits: Early | Export, At: func(r *Record) any { return &r.PrefixTokens }},
	{Key: "adapter", Traits: Early | Export, At: func(r *Record) any { return &r.Adapter }},
	{Key: "priority", Traits: Early | Export, At: func(r *Record) any { return &r.Priority }},
	{Key: "tools", Traits: Early | Export, At: func(r *Record) any { return &r.Tools }},
	{Key: "schema", Traits: Early | Export, At: func(r *Record) any { return &r.Schema }},
	{Key: "calls", Traits: Export, At: func(r *Record) any { return &r.Calls }},
	{Key: "called", Traits: Export, At: func(r *Record) any { return (*string)(&r.Called) }, Values: checks},
	{Key: "garbage", Traits: Export, At: func(r *Record) any { return (*string)(&r.Garbage) }, Values: func() []string {
		return text.Each(llm.GarbageKinds, func(g llm.Garbage) string { return string(g) })
	}},
	{Key: "formed", Traits: Export, At: func(r *Record) any { return (*string)(&r.Formed) }, Values: checks},
}

func checks() []string { return text.Each(llm.Checks, func(c llm.Check) string { return string(c) }) }

func outcomes() (values []string) {
	for _, row := range llm.Outcomes {
		values = append(values, string(row.Outcome))
	}
	return values
}

// Opening is a copy of what is known of a request on its way, without its
// events: what its log keeps in case its end is never written.
func (r *Record) Opening() *Record {
	opening := &Record{}
	for i := range Columns {
		c := &Columns[i]
		if !c.Has(Early) {
			continue
		}
		switch to := c.At(opening).(type) {
		case *int64:
			*to = *c.At(r).(*int64)
		case *int:
			*to = *c.At(r).(*int)
		case *bool:
			*to = *c.At(r).(*bool)
		case *string:
			*to = *c.At(r).(*string)
		case **int:
			*to = *c.At(r).(**int)
		}
	}
	return opening
}

// Shift moves every stamp that is known by ns, to lay records of several runs
// on one line of time. One that would come to lie on the origin itself, which
// means unknown, is laid a nanosecond behind it.
func (r *Record) Shift(ns int64) {
	for i := range Columns {
		if !Columns[i].Has(Stamp) {
			continue
		}
		if at := Columns[i].At(r).(*int64); *at != 0 {
			if *at += ns; *at == 0 {
				*at = 1
			}
		}
	}
}
