package trace

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/must"
)

// open opens a file that must be good.
func open(t *testing.T, path string, o Options) *File {
	t.Helper()
	f := must.Get(Open(path, o))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// all gives every row.
func all(t *testing.T, f *File) []Row {
	t.Helper()
	var rows []Row
	for row, err := range f.rows() {
		must.Do(t, err)
		rows = append(rows, row)
	}
	return rows
}

const ms = time.Millisecond

func TestEveryFormatIsReadByItsContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, format string
		options      Options
		rows         []Row
		notes        []string
	}{
		{file: "azure.csv", format: "azure", rows: []Row{
			{Prompt: 310, Output: 42, Line: 2},
			{At: 501_234_500, Prompt: 1200, Output: 7, Line: 3},
			{At: 1_750_000_100, Prompt: 95, Output: 310, Line: 4},
		}},
		{file: "burstgpt.csv", format: "burstgpt", rows: []Row{
			{Prompt: 472, Output: 18, Session: "12", Class: "ChatGPT", Line: 2},
			{At: 40 * time.Second, Prompt: 500, Output: 230, Session: "12", Class: "ChatGPT", Line: 3},
			{At: 113 * time.Second, Prompt: 1087, Output: 233, Class: "GPT-4", Line: 5},
		}, notes: []string{"failed requests left out: 1",
			"columns that are not used, and in how many rows: Elapsed time 3, Log Type 3, Total tokens 3; --column ROLE=NAME gives one a role"}},
		{file: "mooncake.jsonl", format: "mooncake", rows: []Row{
			{Prompt: 1100, Output: 52, Blocks: []uint64{0, 1, 2}, BlockTokens: 512, Line: 1},
			{At: 3000 * ms, Prompt: 1300, Output: 26, Blocks: []uint64{0, 1, 3}, BlockTokens: 512, Line: 2},
			{At: 6001 * ms, Prompt: 300, Output: 6, Blocks: []uint64{4}, BlockTokens: 512, Line: 3},
		}},
		{file: "access.csv", format: "csv", options: Options{Format: "csv", Columns: map[string]string{"prompt": "in", "output": "out", "time": "ts_ms"}}, rows: []Row{
			{Prompt: 120, Output: 30, Tenant: "Green, Ada", Class: "small", Line: 2},
			{At: 250 * ms, Prompt: 4000, Output: 512, Tenant: "bob", Class: "large", Line: 3},
			{At: 1000 * ms, Prompt: 4100, Output: 12, Tenant: "bob", Class: "large", Line: 4},
		}, notes: []string{"columns that are not used, and in how many rows: path 3; --column ROLE=NAME gives one a role"}},
		{file: "access.jsonl", format: "jsonl", rows: []Row{
			{Prompt: 20, Output: 5, Session: "c1", Tenant: "ada", Class: "small", Line: 1},
			{At: 1500 * ms, Prompt: 32, Output: 9, Session: "c1", Tenant: "ada", Class: "small", Line: 2},
		}},
		{file: "otlp.jsonl", format: "otel", rows: []Row{
			{Prompt: 77, Output: 900, Line: 2},
			{At: 1500 * ms, Prompt: 410, Output: 35, Session: hashSession("c9").String(), Class: "small", Line: 1},
		}, notes: []string{"spans left out because they are not generations with token counts: 2",
			"fields of spans that are not used, and in how many rows: name 2, endTimeUnixNano 1, resource 1, server.address 1"}},
		{file: "spans.jsonl", format: "otel", rows: []Row{
			{Prompt: 32, Output: 16, Line: 2},
			{At: 1250 * ms, Prompt: 64, Output: 8, Tenant: "ada", Class: "small", Line: 1},
		}, notes: []string{"fields of spans that are not used, and in how many rows: name 2"}},
		{file: "litellm.jsonl", format: "litellm", rows: []Row{
			{Prompt: 100, Output: 40, Tenant: "t1", Class: "small", Line: 2},
			{At: 750 * ms, Prompt: 300, Output: 20, Session: hashSession("s1").String(), Tenant: "ada", Class: "small", Line: 1},
		}, notes: []string{"failed requests left out: 1",
			"columns that are not used, and in how many rows: call_type 2, endTime 2, id 2, model 2, total_tokens 2, metadata.user_api_key_team_id 1; --column ROLE=NAME gives one a role"}},
		{file: "vllm.log", format: "vllm", rows: []Row{
			{Prompt: 5, Output: 50, BlockTokens: 64, Line: 2},
			{At: 2 * time.Second, Prompt: 2, Output: 3, BlockTokens: 64, Line: 3},
		}, notes: []string{"1 of 2 output lengths are max_tokens, the most that could come: vLLM logs what did with --enable-log-outputs",
			"lines without a request: 3",
			"fields and parameters that are not used, and in how many rows: finish_reason 2, min_tokens 2, n 2, temperature 2, lora_request 1"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			f := open(t, filepath.Join("testdata", c.file), c.options)
			if f.Format() != c.format || f.Len() != len(c.rows) || !f.HasTimes() {
				t.Errorf("format %s with %d rows, times %v, want %s with %d and times", f.Format(), f.Len(), f.HasTimes(), c.format, len(c.rows))
			}
			expect.NoDiff(t, cmp.Diff(c.rows, all(t, f)), "rows (-want +got)")
			expect.NoDiff(t, cmp.Diff(c.notes, f.Notes(), cmpopts.EquateEmpty()), "notes (-want +got)")
			if want := c.rows[len(c.rows)-1].At; f.span() != want {
				t.Errorf("span %v, want %v", f.span(), want)
			}
		})
	}
}

const header = "TIMESTAMP,ContextTokens,GeneratedTokens\n"

func TestBadInputIsOneLineWithItsRowAndCure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		options    Options
		want       string // what the message has behind the directory
	}{
		{"empty", "", Options{}, "empty: is empty, expected a trace or a log of requests"},
		{"blank", " \n\n", Options{}, "blank: is empty, expected a trace or a log of requests"},
		{"header only", header, Options{}, "header only: has no requests, expected at least one"},
		{"prose", "Dear all,\nplease find\n", Options{}, "prose:1: is of no known format (azure, burstgpt, mooncake, vllm, otel, litellm, csv, jsonl, access, lengths, prompts), or its columns have other names; name the format with --workload-format and the columns with --column"},
		{"unsorted", header + "2024-02-01 09:00:02,1,2\n2024-02-01 09:00:01,1,2\n", Options{}, "unsorted:3: goes back in time by 1s; sort the file by its timestamps, or read it with --sort (--skip-bad-rows leaves such rows out)"},
		{"missing time", header + "2024-02-01 09:00:02,1,2\n,1,2\n", Options{}, "missing time:3: has no timestamp in TIMESTAMP, expected one in every row or in none (--skip-bad-rows leaves such rows out)"},
		{"odd time", header + "yesterday,1,2\n", Options{}, `odd time:2: TIMESTAMP is "yesterday", expected a time such as 2023-11-16T18:15:46.68Z or seconds since 1970 (--skip-bad-rows leaves such rows out)`},
		{"negative", header + "2024-02-01 09:00:02,1,-2\n", Options{}, "negative:2: GeneratedTokens is -2; must be 0 to 10,000,000 tokens (--skip-bad-rows leaves such rows out)"},
		{"huge", header + "2024-02-01 09:00:02,99999999999,2\n", Options{}, "huge:2: ContextTokens is 99,999,999,999; must be 0 to 10,000,000 tokens (--skip-bad-rows leaves such rows out)"},
		{"fraction", header + "2024-02-01 09:00:02,1.5,2\n", Options{}, `fraction:2: ContextTokens is "1.5", expected a whole number of tokens (--skip-bad-rows leaves such rows out)`},
		{"short row", header + "2024-02-01 09:00:02,1\n", Options{}, "short row:2: has 2 columns, expected the 3 of the header (--skip-bad-rows leaves such rows out)"},
		{"open quote", header + "\"2024-02-01 09:00:02,1,2\n", Options{}, "open quote:2: a quote is not closed on its line; leave out columns whose text has line breaks (--skip-bad-rows leaves such rows out)"},
		{"no prompt", "time,output_tokens\n1,2\n", Options{Format: "csv"}, "no prompt:1: no column with the prompt tokens among time, output_tokens; name it with --column prompt=NAME"},
		{"no lengths", "time,user\n1,a\n", Options{}, "no lengths:1: has no lengths: expected a column of prompt tokens, or of prompts; name it with --column prompt=NAME or --column text=NAME"},
		{"no request length", "1.2.3.4 - - [01/Nov/2026:10:00:00 +0000] \"POST /v1 HTTP/1.1\" 200 17\n", Options{}, "no request length:1: has no length of the request: log it too, as in nginx with request_length=$request_length"},
		{"no such column", "time,in,out\n1,2,3\n", Options{Format: "csv", Columns: map[string]string{"prompt": "inn"}}, `no such column:1: no column "inn", expected one of: time, in, out`},
		{"no such role", "time,in,out\n1,2,3\n", Options{Format: "csv", Columns: map[string]string{"promt": "in"}}, `no such role: no column can have the role "promt": did you mean prompt? known: time, prompt, output, session, tenant, class, text`},
		{"no such format", header, Options{Format: "asure"}, `no such format: unknown format "asure": did you mean azure? known: azure, burstgpt, mooncake, vllm, otel, litellm, csv, jsonl, access, lengths, prompts`},
		{"broken json", "{\"prompt_tokens\":1,\"output_tokens\":2}\n{\"prompt_tokens\":\n", Options{}, "broken json:2: is not a JSON object; expected one on every line (--skip-bad-rows leaves such rows out)"},
		{"sometimes timed", "{\"ts\":1,\"prompt_tokens\":1,\"output_tokens\":2}\n{\"prompt_tokens\":1,\"output_tokens\":2}\n", Options{}, "sometimes timed:2: has no timestamp, the rows before it have one; expected one in every row or in none (--skip-bad-rows leaves such rows out)"},
		{"late times", "{\"prompt_tokens\":1,\"output_tokens\":2}\n{\"ts\":1,\"prompt_tokens\":1,\"output_tokens\":2}\n", Options{}, "late times:2: has a timestamp, the rows before it have none; expected one in every row or in none (--skip-bad-rows leaves such rows out)"},
		{"no length", "{\"prompt_tokens\":1,\"output_tokens\":2}\n{\"prompt_tokens\":1}\n", Options{}, "no length:2: has no output tokens, expected a whole number (--skip-bad-rows leaves such rows out)"},
		{"block text", `{"timestamp":1,"input_length":1,"output_length":2,"hash_ids":"no"}`, Options{}, `block text:1: hash_ids: is "\"no\"", expected a list of block ids (--skip-bad-rows leaves such rows out)`},
		{"all bad", header + "x,1,2\n", Options{SkipBadRows: true}, `all bad:2: TIMESTAMP is "x", expected a time such as 2023-11-16T18:15:46.68Z or seconds since 1970; all rows are bad (1)`},
		{"vllm info", "INFO 02-13 11:33:33 [logger.py:49] Received request c1: params: SamplingParams(n=1, max_tokens=100), lora_request: None.\n", Options{}, "vllm info:1: no request has its prompt_token_ids in the log; run vLLM with --enable-log-requests and VLLM_LOGGING_LEVEL=DEBUG, or fit from its OpenTelemetry spans"},
		{"fitted", "schema: redline/workload/1\n", Options{}, "fitted: is a fitted workload, not a log: give the log that it was fitted to"},
		{"only failed", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n1,a,5,0,5,b\n", Options{}, "only failed: has no request that succeeded (1 failed)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := must.File(t, c.name, c.text)
			_, err := Open(path, c.options)
			if err == nil {
				t.Fatal("no error")
			}
			expect.NoDiff(t, cmp.Diff(filepath.Dir(path)+"/"+c.want, err.Error()), "error (-want +got)")
		})
	}
}

func TestWhatIsNoFileIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir:                            dir + ": is not a plain file; save the log to one first",
		filepath.Join(dir, "no.jsonl"): filepath.Join(dir, "no.jsonl") + ": no such file",
	} {
		if _, err := Open(path, Options{}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestBadRowsAreSkippedAndCountedWhenAsked(t *testing.T) {
	t.Parallel()
	path := must.File(t, "log.csv", header+
		"2024-02-01 09:00:00,1,2\n"+
		"2024-02-01 09:00:01,-5,2\n"+
		"2024-02-01 09:00:03,3,4\n"+
		"2024-02-01 09:00:02,5,6\n"+ // back in time
		"2024-02-01 09:00:03,7,8\n")
	f := open(t, path, Options{SkipBadRows: true})
	want := []Row{{Prompt: 1, Output: 2, Line: 2}, {At: 3 * time.Second, Prompt: 3, Output: 4, Line: 4},
		{At: 3 * time.Second, Prompt: 7, Output: 8, Line: 6}}
	expect.NoDiff(t, cmp.Diff(want, all(t, f)), "rows (-want +got)")
	if f.SkippedRows() != 2 {
		t.Errorf("%d skipped, want 2", f.SkippedRows())
	}
	if notes := strings.Join(f.Notes(), ";"); !strings.HasPrefix(notes, "bad rows left out: 2, the first: "+path+":3: ContextTokens is -5") {
		t.Errorf("notes %q", notes)
	}
}

func TestRowsAreSortedWhenAsked(t *testing.T) {
	t.Parallel()
	path := must.File(t, "log.csv", header+"2024-02-01 09:00:03,3,4\n2024-02-01 09:00:02,1,2\n")
	want := []Row{{Prompt: 1, Output: 2, Line: 3}, {At: time.Second, Prompt: 3, Output: 4, Line: 2}}
	expect.NoDiff(t, cmp.Diff(want, all(t, open(t, path, Options{Sort: true}))), "rows (-want +got)")
	inOrder := all(t, open(t, "testdata/mooncake.jsonl", Options{}))
	expect.NoDiff(t, cmp.Diff(inOrder, all(t, open(t, "testdata/mooncake.jsonl", Options{Sort: true}))), "rows in order, sorted again (-want +got)")
}

func TestALogWithoutTimesGivesLengths(t *testing.T) {
	t.Parallel()
	path := must.File(t, "lengths.csv", "\ufeffinput_tokens,output_tokens\r\n10,20\r\n\r\n30,40\r\n")
	f := open(t, path, Options{})
	want := []Row{{Prompt: 10, Output: 20, Line: 2}, {Prompt: 30, Output: 40, Line: 4}}
	expect.NoDiff(t, cmp.Diff(want, all(t, f)), "rows (-want +got)")
	if f.HasTimes() || f.span() != 0 {
		t.Errorf("times %v over %v, want none", f.HasTimes(), f.span())
	}
	expect.NoDiff(t, cmp.Diff([]string{"has no timestamps: requests have its lengths, and come at --rate or --concurrency"}, f.Notes()), "notes (-want +got)")
}

func TestNotesGroupThousands(t *testing.T) {
	t.Parallel()
	want := []string{"1,234 of 5,678 output lengths are max_tokens, the most that could come: vLLM logs what did with --enable-log-outputs",
		"lines without a request: 9,012"}
	expect.Same(t, want, (&vllm{bounded: 1234, total: 5678, others: 9012}).notes())
}

// A column that only later rows have is named too, and of several names of one role
// the one that is used.
func TestColumnsInUseAreNamed(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want []string
	}{
		"azure.csv":    {header + "2024-02-01 09:00:02,1,2\n", []string{"time=TIMESTAMP", "prompt=ContextTokens", "output=GeneratedTokens"}},
		"late.jsonl":   {`{"prompt_tokens":1,"completion_tokens":2}` + "\n" + `{"prompt_tokens":1,"completion_tokens":2,"session_id":"a"}` + "\n", []string{"prompt=prompt_tokens", "output=completion_tokens", "session=session_id"}},
		"nested.jsonl": {`{"usage":{"Prompt_Tokens":1,"completion_tokens":2},"created_ms":5}` + "\n", []string{"prompt=usage.Prompt_Tokens", "output=usage.completion_tokens"}},
		"lengths":      {"100\n200\n", nil},
	} {
		expect.NoDiff(t, cmp.Diff(row.want, open(t, must.File(t, name, row.text), Options{}).ColumnsUsed()), "%s (-want +got)", name)
	}
}
