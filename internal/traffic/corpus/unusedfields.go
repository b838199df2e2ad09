package corpus

import (
	"encoding/json"
	"fmt"
	"slices"

	"redline/internal/llm"
	"redline/internal/text"
)

// The fields that are read, by where they stand. Those of askedKeys are what a
// row asks of the server; names of a row itself ask for nothing.
var (
	askedKeys = []string{"output_tokens", "max_tokens", "max_completion_tokens", "temperature", "top_p", "seed", "stop",
		"tools", "tool_choice", "parallel_tool_calls", "response_format", "priority", "deadline"}
	lineKeys      = append([]string{"id", "custom_id", "question_id", "prompt", "messages", "turns", "tenant", "session", "class", "category", "headers", "body", "adapter", "image", "images", "image_files"}, askedKeys...)
	batchKeys     = []string{"custom_id", "method", "url", "body"}
	bodyKeys      = append([]string{"messages"}, askedKeys...)
	messageKeys   = []string{"role", "content", "tool_calls", "tool_call_id", "name"}
	callsKeys     = []string{"id", "question", "function", "ground_truth"}
	shareGPTKeys  = []string{"id", "conversations"}
	utteranceKeys = []string{"from", "value"}
)

// unusedFields counts rows by the fields of them that nothing reads.
type unusedFields map[string]int

// note keeps what a good row needs, and which of its fields nobody reads.
func (f *File) note(row int, line []byte, c Conversation) {
	for _, t := range c.Turns {
		r := llm.Request{Messages: t.Messages, Tools: t.Tools, Format: t.Format}
		t.Apply(&r)
		for _, need := range r.Needs() {
			if _, known := f.needs[need]; !known {
				f.needs[need] = row
			}
		}
		f.sample(Sample{row, c.Tenant, t}, r)
	}
	found := map[string]bool{}
	switch f.format {
	case ShareGPT:
		object := others(found, line, "", shareGPTKeys)
		each(object["conversations"], func(said []byte) { others(found, said, "conversations.", utteranceKeys) })
	case Batch:
		body := others(found, others(found, line, "", batchKeys)["body"], "", bodyKeys)
		each(body["messages"], func(m []byte) { others(found, m, "messages.", messageKeys) })
	case Calls:
		others(found, line, "", callsKeys)
	default:
		object := others(found, line, "", lineKeys)
		each(object["messages"], func(m []byte) { others(found, m, "messages.", messageKeys) })
	}
	f.unused.add(found)
}

// maxSamples is how many rows are kept to be tried before a load, and maxValues how
// many that differ in one thing.
const (
	maxSamples = 32
	maxValues  = 8
)

// sample keeps what a row carries beside its text where no row before it carries
// the same: a server may take one priority and refuse another.
func (f *File) sample(s Sample, r llm.Request) {
	fresh := false
	carried := func(what string, value any) {
		text := fmt.Sprint(value)
		if values := f.sampled[what]; !values[text] && len(values) < maxValues {
			if values == nil {
				f.sampled[what] = map[string]bool{}
			}
			f.sampled[what][text], fresh = true, true
		}
	}
	parts := false
	for _, need := range r.Needs() {
		switch need {
		case llm.NeedPriority:
			carried("priority", *r.Priority)
		case llm.NeedAdapter:
			carried("adapter", r.Adapter)
		case llm.NeedTools:
			carried("tools", text.Each(r.Tools.Tools, func(t llm.Tool) string { return t.Name }))
		case llm.NeedFormat:
			carried("format", string(r.Format.Schema))
		default:
			carried(string(need), "")
			parts = parts || need != llm.NeedToolChoice && need != llm.NeedParallel
		}
	}
	for _, h := range r.Headers {
		carried("header "+h[0], h[1])
	}
	for name, value := range r.Body {
		carried("body "+name, value)
	}
	if fresh && len(f.samples) < maxSamples {
		if !parts {
			s.Messages = nil
		}
		f.samples = append(f.samples, s)
	}
}

// others adds the fields of a JSON object that are not known, and gives all of
// them.
func others(found map[string]bool, data []byte, before string, known []string) map[string]json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil {
		return nil // a line of plain text
	}
	for name, value := range object {
		if !slices.Contains(known, name) && string(value) != "null" {
			found[before+name] = true
		}
	}
	return object
}

func each(list json.RawMessage, do func([]byte)) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) == nil {
		for _, item := range items {
			do(item)
		}
	}
}

func (u unusedFields) add(found map[string]bool) {
	for name := range found {
		// A file whose keys are data must not fill the memory.
		if _, known := u[name]; known || len(u) < 1000 {
			u[name]++
		}
	}
}

// notes is one sentence, the fields of most rows first.
func (u unusedFields) notes(file string) []string {
	if len(u) == 0 {
		return nil
	}
	return []string{file + ": fields that are not used, and in how many rows: " + text.Tally(u)}
}
