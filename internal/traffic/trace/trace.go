// Package trace reads what was asked of a language model before: public traces,
// access logs, spans and engines' own request logs. It takes a file and gives
// rows (when, how long a prompt, how long an output, whose), their statistics,
// and a fitted workload that behaves like them and holds none of their text or
// names. It must not know how a request is sent, nor read a clock.
//
// Opening a file scans and validates all of it, so that a bad row is found
// before anything is sent; after that only the times, and where to find the
// rest, are kept: eight bytes a row and a sparse index for logs that are in
// order of time.
package trace

import (
	"strings"
	"time"

	"redline/internal/text"
)

// maxTokens bounds every length: larger ones are a wrong column.
const maxTokens = 10_000_000

// Row is one request of a trace.
type Row struct {
	// At is the time from the trace's first request; 0 without times.
	At             time.Duration
	Prompt, Output int // tokens
	// Session names the conversation: as the log does, or, where rows are held
	// in memory, by a hash of that.
	Session string
	Tenant  string
	Class   string
	// Blocks name the prompt's prefix, one for every BlockTokens tokens: rows
	// whose first n blocks are equal share that much of their prompts.
	Blocks      []uint64
	BlockTokens int
	// Line is where in the file the row begins.
	Line int
}

// Options say how to read a file. The zero value recognises it.
type Options struct {
	// Format is one of Formats; recognised by content where empty.
	Format string
	// Columns maps a role (one of roles) to the column, or dotted JSON path,
	// that has it. Roles that are left out are found by the usual names.
	Columns map[string]string
	// SkipBadRows leaves out rows that cannot be used and counts them, where
	// otherwise the first of them is an error.
	SkipBadRows bool
	// Sort puts rows in order of time, at the price of holding them all in
	// memory; logs that are written when requests end are always sorted.
	Sort bool
	// KeepTimes leaves coarse timestamps as they are instead of spreading the
	// requests that share one.
	KeepTimes bool
	// Salt makes the block ids of logged text; a random one where 0, so that
	// they mean nothing outside this process.
	Salt uint64
	// Count counts the tokens of a prompt that a log gives as text and not as a
	// length; nil estimates them by its bytes.
	Count func(text string) int
}

// The roles that a column can have.
const (
	roleTime = iota
	rolePrompt
	roleOutput
	roleSession
	roleTenant
	roleClass
	roleText
	roleBlocks
	roleStatus
	roleOperation
	roleCount
)

// roles are the names by which Options.Columns maps columns.
var roles = []string{"time", "prompt", "output", "session", "tenant", "class", "text"}

// format is one kind of file.
type format struct {
	name string
	// csv says that a header names the columns; otherwise a line is an object.
	csv bool
	// columns are the names of each role, the best first.
	columns [roleCount][]string
	// unit is that of plain numbers as timestamps, where the format fixes it.
	unit time.Duration
	// needs must all appear in the first lines of such a file, and one of any.
	needs, any []string
	// unordered says that the rows come in the order in which requests ended.
	unordered bool
	// failed says that a row is of a request that failed.
	failed func(values *values) bool
	// blockTokens is the length of the blocks that roleBlocks names.
	blockTokens int
	// alone says that it has prompts alone, and is read only for what is
	// known of them.
	alone bool
	// partial says that a log without output lengths is read too, and one with
	// the prompts themselves in place of their lengths.
	partial bool
	// reader makes the reader of a format that is neither of rows in columns
	// nor of one object a line.
	reader func(o Options, salt uint64) lineReader
}

// generic holds the names that logs commonly give to the roles, in lower case
// and without separators.
var generic = [roleCount][]string{
	roleTime: {"timestamp", "time", "ts", "starttime", "arrivaltime", "arrivedat", "arrivaltimestamp", "timestampms",
		"timestampus", "timestampns", "timems", "tsms", "starttimeunixnano", "createdat", "created", "datetime", "date", "@timestamp"},
	rolePrompt: {"prompttokens", "inputtokens", "contexttokens", "requesttokens", "numprefilltokens", "inputlength",
		"promptlength", "promptlen", "inputlen", "numprompttokens", "tokensin", "usage.prompttokens", "usage.inputtokens",
		"response.usage.prompttokens", "response.usage.inputtokens"},
	roleOutput: {"outputtokens", "completiontokens", "generatedtokens", "responsetokens", "numdecodetokens", "outputlength",
		"outputlen", "numoutputtokens", "tokensout", "usage.completiontokens", "usage.outputtokens",
		"response.usage.completiontokens", "response.usage.outputtokens"},
	roleSession: {"session", "sessionid", "conversation", "conversationid", "chatid", "threadid"},
	roleTenant:  {"tenant", "tenantid", "user", "userid", "customer", "customerid", "enduser", "team", "org", "organization"},
	roleClass:   {"class", "requesttype", "type", "model", "workload"},
	roleText:    {"messages", "prompt", "input", "request.messages", "request.prompt"},
	roleBlocks:  {"hashids", "blockhashes", "blocks"},
}

// formats is every format there is, the particular before the generic: the
// first that recognises a file reads it.
var formats = []format{
	{
		name: "azure", csv: true, needs: []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
		columns: [roleCount][]string{roleTime: {"timestamp"}, rolePrompt: {"contexttokens"}, roleOutput: {"generatedtokens"}},
	},
	{
		name: "burstgpt", csv: true, needs: []string{"Timestamp", "Request tokens", "Response tokens"}, unit: time.Second,
		columns: [roleCount][]string{roleTime: {"timestamp"}, rolePrompt: {"requesttokens"}, roleOutput: {"responsetokens"},
			roleSession: {"sessionid"}, roleClass: {"model"}},
		failed: func(v *values) bool { return string(v[roleOutput].text) == "0" },
	},
	{
		name: "mooncake", needs: []string{`"input_length"`, `"output_length"`, `"hash_ids"`}, unit: time.Millisecond,
		columns: [roleCount][]string{roleTime: {"timestamp"}, rolePrompt: {"inputlength"}, roleOutput: {"outputlength"},
			roleBlocks: {"hashids"}},
		blockTokens: 512,
	},
	{
		name: "vllm", any: []string{"Received request ", "Generated response "},
		unordered: true, reader: newVLLM,
	},
	{
		name: "otel", any: []string{`"resourceSpans"`, `"gen_ai.usage.`, `"gen_ai.request.`},
		unordered: true, reader: newSpans,
	},
	{
		name: "litellm", needs: []string{"completion_tokens"}, unordered: true,
		any:     []string{`"standard_logging_object"`, `"call_type"`, `"model_group"`, `"response_cost"`, `"user_api_key"`},
		columns: litellmColumns,
		failed:  func(v *values) bool { return string(v[roleStatus].text) == "failure" },
	},
	{name: "csv", csv: true, columns: generic, blockTokens: 512, partial: true},
	{name: "jsonl", columns: generic, blockTokens: 512, partial: true},
	{name: "access", alone: true, reader: newAccess},
	{name: "lengths", alone: true, reader: newLengths},
	{name: "prompts", alone: true, reader: newTexts},
}

// litellmColumns are those of LiteLLM's StandardLoggingPayload, alone or inside
// a callback's record, and of its spend log.
var litellmColumns = [roleCount][]string{
	roleTime:    withCallbackNames("starttime"),
	rolePrompt:  withCallbackNames("prompttokens"),
	roleOutput:  withCallbackNames("completiontokens"),
	roleSession: withCallbackNames("sessionid", "metadata.sessionid", "traceid"),
	roleTenant: withCallbackNames("enduser", "metadata.userapikeyteamalias", "metadata.userapikeyteamid", "teamid", "team",
		"metadata.userapikeyuserid", "user"),
	roleClass:  withCallbackNames("modelgroup", "model"),
	roleText:   withCallbackNames("messages"),
	roleStatus: withCallbackNames("status"),
}

// withCallbackNames gives names as they stand, and as they stand inside LiteLLM's
// callback record.
func withCallbackNames(names ...string) []string {
	var all []string
	for _, name := range names {
		all = append(all, name, "standardloggingobject."+name)
	}
	return all
}

// Formats are the names for Options.Format.
func Formats() []string {
	return text.Each(formats, func(f format) string { return f.name })
}

// plainName is a column's name without what people write differently: case,
// separators, and a unit in brackets.
func plainName(name string) string {
	if open := strings.IndexAny(name, "(["); open > 0 {
		name = name[:open]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-' || r == ' ':
			return -1
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
