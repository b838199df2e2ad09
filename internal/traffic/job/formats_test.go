package job

import (
	"bytes"
	"compress/gzip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// wordCount counts a token a word.
func wordCount(text string) int { return len(strings.Fields(text)) }

// edge is what a test says of a request.
type edge struct {
	After          []int
	Pause          time.Duration
	From           int
	Prompt, Output int
	Agent          string
	Depth          int
}

// edges gives the graph of a job, and checks what every job has.
func edges(t *testing.T, j *Job) (list []edge) {
	t.Helper()
	for i, r := range j.Requests {
		for _, before := range append([]int{r.From}, r.After...) {
			if before >= i {
				t.Errorf("request %d comes before %d, which it needs", i, before)
			}
		}
		if n := tokensOf(j.Blocks(i)); n != r.Prompt {
			t.Errorf("request %d has blocks of %d tokens, want %d", i, n, r.Prompt)
		}
		list = append(list, edge{r.After, r.Pause, r.From, r.Prompt, r.Output, r.Agent, r.Depth})
	}
	return list
}

const ms = time.Millisecond

// files is a file of each format, with the graph that it means, by hand.
var files = []struct {
	format, name, text string
	jobs               [][]edge
	ideal              float64 // hits over prompt tokens
	note               string  // that must be among its notes
}{
	{format: "weka", name: "absolute.json", ideal: 128.0 / 490,
		// The subagent's times are from the session's start; the second request
		// starts before it ends and does not wait for it, the third does. The
		// async one is never waited for.
		text: `{"id":"s","models":["m"],"block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","model":"m","in":100,"out":5,"hash_ids":[1],"api_time":1,"think_time":0},
 {"t":2,"type":"subagent","agent_id":"a","subagent_type":"Explore","status":"completed","requests":[
   {"t":2.5,"type":"n","model":"h","in":70,"out":6,"hash_ids":[9],"api_time":4}]},
 {"t":3,"type":"subagent","agent_id":"b","status":"async_launched","requests":[
   {"t":3,"type":"s","model":"h","in":60,"out":7,"hash_ids":[],"api_time":1,"ttft":0.5}]},
 {"t":4,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,2],"api_time":1},
 {"t":10,"type":"n","model":"m","in":130,"out":5,"hash_ids":[1,3],"api_time":1}]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 100, 5, "", 0},
			{[]int{0}, 1500 * ms, -1, 70, 6, "a Explore", 1},
			{[]int{0}, 2000 * ms, -1, 60, 7, "b", 1},
			{[]int{0}, 3000 * ms, 0, 130, 5, "", 0},
			{[]int{1, 3}, 3500 * ms, 3, 130, 5, "", 0},
		}}, note: "ttft 1"},
	{format: "dag_jsonl", name: "spawn.jsonl", ideal: float64(0+0+0+11+24) / float64(1+2+1+13+26),
		text: `{"session_id":"root","turns":[{"messages":[{"role":"user","content":"plan"}],"max_tokens":10,"spawns":[{"children":["a","b"],"join_at":2}]},{"messages":[{"role":"user","content":"go on"}],"max_tokens":11,"delay":500},{"messages":[{"role":"user","content":"merge them"}],"max_tokens":12}]}
{"session_id":"a","turns":[{"messages":[{"role":"user","content":"look here"}],"max_tokens":20}]}
{"session_id":"b","turns":[{"messages":[{"role":"user","content":"there"}],"max_tokens":30}]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 1, 10, "", 0},
			{[]int{0}, 0, -1, 2, 20, "a", 1},
			{[]int{0}, 0, -1, 1, 30, "b", 1},
			{[]int{0}, 500 * ms, 0, 13, 11, "", 0},
			{[]int{1, 2, 3}, 0, 3, 26, 12, "", 0},
		}}},
	{format: "dag_jsonl", name: "fork.jsonl", ideal: float64(4+4) / float64(1+5+6),
		text: `{"session_id":"root","turns":[{"messages":[{"role":"user","content":"think"}],"max_tokens":3,"forks":["x",{"child":"y"}]}]}
{"session_id":"x","turns":[{"messages":[{"role":"user","content":"left"}],"max_tokens":1}]}
{"session_id":"y","turns":[{"messages":[{"role":"user","content":"and right"}],"max_tokens":1}]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 1, 3, "", 0},
			{[]int{0}, 0, 0, 5, 1, "x", 0},
			{[]int{0}, 0, 0, 6, 1, "y", 0},
		}}},
	{format: "dag_jsonl", name: "orchestrator.jsonl", ideal: 2.0 / 6,
		text: `{"session_id":"o","orchestrator":true,"rounds":[{"spawns":["a","b"]},{"spawns":["a"],"think_time_ms":250}]}
{"session_id":"a","turns":[{"messages":[{"role":"user","content":"one two"}],"max_tokens":4}]}
{"session_id":"b","turns":[{"messages":[{"role":"user","content":"three four"}],"max_tokens":4}]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 2, 4, "a", 1},
			{nil, 0, -1, 2, 4, "b", 1},
			{[]int{0, 1}, 250 * ms, -1, 2, 4, "a", 1},
		}}},
	{format: "multi_turn", name: "multi.jsonl", ideal: 12.0 / 16,
		text: `{"session_id":"m","turns":[{"text":"one two","output_length":10},{"text":"and two","delay":1500}]}`,
		jobs: [][]edge{{{nil, 0, -1, 2, 10, "", 0}, {[]int{0}, 1500 * ms, 0, 14, 128, "", 0}}},
		note: "replies assumed to have 128 tokens, since the file does not say: 1"},
	{format: "mooncake_sessions", name: "mooncake.jsonl", ideal: float64(512+512+0+50) / float64(600+1100+512+40+60),
		text: `{"session_id":"x","timestamp":0,"input_length":600,"output_length":9,"hash_ids":[1,2]}
{"session_id":"x","timestamp":2500,"input_length":1100,"output_length":9,"hash_ids":[1,3,4]}
{"session_id":"y","timestamp":100,"input_length":512,"output_length":9,"hash_ids":[1]}
{"session_id":"z","input_length":40,"output_length":10}
{"session_id":"z","delay":30,"input_length":10,"output_length":10}`,
		jobs: [][]edge{
			{{nil, 0, -1, 600, 9, "", 0}, {[]int{0}, 2500 * ms, 0, 1100, 9, "", 0}},
			{{nil, 0, -1, 512, 9, "", 0}},
			{{nil, 0, -1, 40, 10, "", 0}, {[]int{0}, 30 * ms, 0, 60, 10, "", 0}},
		}},
	{format: "bailian", name: "bailian.jsonl", ideal: float64(16+16) / float64(20+36+40),
		text: `{"chat_id":1,"parent_chat_id":-1,"timestamp":10.0,"input_length":20,"output_length":3,"type":"text","turn":1,"hash_ids":[5,6]}
{"chat_id":2,"parent_chat_id":1,"timestamp":12.5,"input_length":36,"output_length":4,"type":"text","turn":2,"hash_ids":[5,7,8]}
{"chat_id":3,"parent_chat_id":1,"timestamp":13.0,"input_length":40,"output_length":5,"type":"text","turn":2,"hash_ids":[5,9,10]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 20, 3, "", 0},
			{[]int{0}, 2500 * ms, 0, 36, 4, "", 0},
			{[]int{0}, 3000 * ms, 0, 40, 5, "", 0},
		}}, note: "type 3"},
	{format: "mlperf_agentic", name: "mlperf.jsonl", ideal: 6.0 / 16,
		text: `{"conversation_id":"c","turn":1,"role":"user","content":"fix the bug","system":"be good","tools":["t"]}
{"conversation_id":"c","turn":2,"role":"assistant","reasoning_content":"hm ","tool_calls":["ls"]}
{"conversation_id":"c","turn":3,"role":"tool","tool_results":["a b"],"delay_seconds":0.25}
{"conversation_id":"c","turn":4,"role":"assistant","content":"all is done"}`,
		jobs: [][]edge{{{nil, 0, -1, 6, 2, "", 0}, {[]int{0}, 250 * ms, 0, 10, 3, "", 0}}}},
	{format: "tracelab", name: "lab.jsonl", ideal: 128.0 / 450,
		// The second session lies inside the first one's call of Task.
		text: `{"session_id":"p","project":"x","model":"m","input_tokens_total":200,"prefix_tokens":150,"newly_append_tokens":50,"output_tokens":9,"round_index":1,"timing_events":[{"event_type":"tool_result","timestamp":"2026-06-01T00:00:40Z"},{"event_type":"text","timestamp":"2026-06-01T00:00:41Z"}],"tools":[]}
{"session_id":"p","project":"x","model":"m","input_tokens_total":150,"prefix_tokens":0,"newly_append_tokens":150,"output_tokens":9,"round_index":0,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T00:00:00Z"},{"event_type":"tool_call","timestamp":"2026-06-01T00:00:02Z"}],"tools":[{"tool_name":"Task","emitted_at":"2026-06-01T00:00:02Z","result_at":"2026-06-01T00:00:40Z"}]}
{"session_id":"q","project":"x","model":"m","input_tokens_total":100,"prefix_tokens":90,"newly_append_tokens":10,"output_tokens":8,"round_index":0,"timing_events":[{"event_type":"user_message","timestamp":"2026-06-01T00:00:05Z"},{"event_type":"text","timestamp":"2026-06-01T00:00:35Z"}],"tools":[]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 150, 9, "", 0},
			{[]int{0}, 3000 * ms, -1, 100, 8, "q", 1},
			{[]int{0, 1}, 5000 * ms, 0, 200, 9, "", 0},
		}}},
	{format: "dynamo", name: "dynamo.jsonl", ideal: 10.0 / 65,
		text: `{"event_type":"request_end","event_time_unix_ms":1600,"agent_context":{"session_id":"r"},"request":{"request_id":"1","model":"m","input_tokens":25,"output_tokens":3,"request_received_ms":1000,"total_time_ms":600,"replay":{"trace_block_size":10,"input_length":25,"input_sequence_hashes":[18446744073709551615,2]}}}
{"event_type":"tool_end","event_time_unix_ms":1900,"agent_context":{"session_id":"r"},"tool":{"tool_call_id":"t","duration_ms":200}}
{"event_type":"request_end","event_time_unix_ms":9900,"agent_context":{"session_id":"r"},"request":{"request_id":"2","model":"m","input_tokens":25,"output_tokens":3,"request_received_ms":9000,"total_time_ms":600,"replay":{"trace_block_size":10,"input_length":25,"input_sequence_hashes":[18446744073709551615,3]}}}
{"event_type":"request_end","event_time_unix_ms":6000,"agent_context":{"session_id":"c","parent_session_id":"r"},"request":{"request_id":"3","model":"m","input_tokens":15,"output_tokens":3,"request_received_ms":5000,"total_time_ms":1000}}`,
		jobs: [][]edge{{
			{nil, 0, -1, 25, 3, "", 0},
			{[]int{0}, 3400 * ms, -1, 15, 3, "c", 1},
			{[]int{0, 1}, 3000 * ms, 0, 25, 3, "", 0},
		}}, note: "no ends of requests, tool_end: 1"},
	{format: "satf", name: "satf.json", ideal: 8.0 / 40,
		text: `{"format":"satf","format_version":"2.0.0","time_base":"us","block_size_tokens":8,"producer":"x","sessions":[{"session_id":"s","nodes":[
{"kind":"llm_infer","id":"a","duration_us":1000000,"payload":{"input_tokens_total":20,"output_tokens":4,"kv_block_ids":[1,2],"request_parameters":{"model":"m"}}},
{"kind":"tool_call","id":"c","payload":{"tool_name":"ls","tool_call_id":"1"}},
{"kind":"tool_result","id":"t","duration_us":300000,"payload":{"tool_call_id":"1"}},
{"kind":"llm_infer","id":"b","duration_us":1000000,"payload":{"input_tokens_total":20,"output_tokens":5,"kv_block_ids":[1,3]}}],
"edges":[{"from":"a","to":"c"},{"from":"c","to":"t","delay_after_predecessor_us":100000},{"from":"t","to":"b","delay_after_predecessor_us":50000}]}]}`,
		jobs: [][]edge{{{nil, 0, -1, 20, 4, "", 0}, {[]int{0}, 450 * ms, 0, 20, 5, "", 0}}}},
	{format: "otel_sessions", name: "otel.jsonl", ideal: 8.0 / 42,
		// The second call has other messages than the first and starts behind it:
		// another agent's. The third continues the first and waits for both. The
		// server counts twice as many tokens as there are words.
		text: `{"session_id":"s","spans":[
{"span_id":"1","type":"llm_call","start_time":"2026-06-01T00:00:00Z","end_time":"2026-06-01T00:00:01Z","status":{"code":1},"attributes":{"gen_ai.operation.name":"chat","gen_ai.input.messages":[{"role":"user","content":"a b c d"}],"gen_ai.usage.input_tokens":8,"gen_ai.usage.output_tokens":7}},
{"span_id":"2","type":"llm_call","start_time":"2026-06-01T00:00:03Z","end_time":"2026-06-01T00:00:05Z","attributes":{"gen_ai.input.messages":"[{\"role\":\"user\",\"content\":\"e f g h i\"}]","gen_ai.usage.input_tokens":10,"gen_ai.usage.output_tokens":7}},
{"span_id":"3","type":"llm_call","start_time":"2026-06-01T00:00:08Z","end_time":"2026-06-01T00:00:09Z","attributes":{"gen_ai.input.messages":[{"role":"user","content":"a b c d"},{"role":"assistant","content":"j"},{"role":"user","content":"k l m n o p q"}],"gen_ai.usage.input_tokens":24,"gen_ai.usage.output_tokens":7}},
{"span_id":"4","type":"tool","start_time":"2026-06-01T00:00:08Z","end_time":"2026-06-01T00:00:09Z","attributes":{"gen_ai.operation.name":"execute_tool"}},
{"span_id":"5","start_time":"2026-06-01T00:00:08Z","end_time":"2026-06-01T00:00:09Z","status":{"code":2},"attributes":{"gen_ai.operation.name":"chat"}}]}`,
		jobs: [][]edge{{
			{nil, 0, -1, 8, 7, "", 0},
			{[]int{0}, 2000 * ms, -1, 10, 7, "stream 2", 1},
			{[]int{0, 1}, 3000 * ms, 0, 24, 7, "", 0},
		}}, note: "failed: 1"},
}

func TestFormatsMeanTheirGraphs(t *testing.T) {
	for _, f := range files {
		t.Run(f.name, func(t *testing.T) {
			path := must.File(t, f.name, f.text)
			if got := RecognizePath(path); got != f.format {
				t.Fatalf("recognized as %q, want %s", got, f.format)
			}
			file := must.Get(Open(path, Options{Count: wordCount}))(t)
			var got [][]edge
			for _, j := range file.Jobs {
				got = append(got, edges(t, j))
			}
			expect.Same(t, f.jobs, got)
			if ideal := file.Ideal(); !(ideal-f.ideal < 1e-12 && f.ideal-ideal < 1e-12) {
				t.Errorf("ideal share %v, want %v", ideal, f.ideal)
			}
			if notes := strings.Join(file.Notes, "\n"); !strings.Contains(notes, f.note) {
				t.Errorf("notes %q lack %q", notes, f.note)
			}
		})
	}
}

func TestOneSpanALineIsGroupedByTrace(t *testing.T) {
	span := func(trace, from, to, messages string) string {
		return `{"trace_id":"` + trace + `","span_id":"x","start_time":"2026-06-01T00:00:` + from + `Z","end_time":"2026-06-01T00:00:` + to +
			`Z","attributes":{"gen_ai.input.messages":[` + messages + `],"gen_ai.usage.output_tokens":1}}` + "\n"
	}
	path := must.File(t, "flat.jsonl", span("a", "00", "01", `"x"`)+span("b", "00", "01", `"y"`)+span("a", "02", "03", `"x","z"`))
	file := must.Get(Open(path, Options{Format: "otel_sessions"}))(t)
	if len(file.Jobs) != 2 || len(file.Jobs[0].Requests) != 2 || file.Jobs[0].Requests[1].Keep != 1 {
		t.Errorf("%d jobs, want one of two requests and one of one", len(file.Jobs))
	}
}

func TestTraceLabSample(t *testing.T) {
	file := must.Get(Open("testdata/tracelab.jsonl", Options{}))(t)
	if len(file.Jobs) != 2 || len(file.Jobs[0].Requests) != 9 || len(file.Jobs[1].Requests) != 10 {
		t.Fatalf("%d jobs, want two, the earlier one of 9 and the later one of 10 requests", len(file.Jobs))
	}
	// The second round's prefix is 29,380 tokens, 459 blocks of 64; the first
	// reply ended at 05:40:31.647, the last result came at 05:40:50.938.
	if r := file.Jobs[1].Requests[1]; r.Keep != 459 || r.Pause != 19291*ms || r.Prompt != 35740 {
		t.Errorf("%d blocks kept, a pause of %v, %d tokens; want 459, 19.291 s, 35,740", r.Keep, r.Pause, r.Prompt)
	}
}

// A folder, a gzipped file and lines hold the same jobs as one file each.
func TestFoldersAndGzipHoldTheSame(t *testing.T) {
	weka := files[0].text
	one := strings.ReplaceAll(weka, "\n", " ")
	folder := t.TempDir()
	for _, name := range []string{"a.json", "b.jsonl"} {
		must.Write(t, filepath.Join(folder, name), weka)
	}
	must.Write(t, filepath.Join(folder, "README.md"), "about")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(one + "\n" + one + "\n"))
	z.Close()
	want := must.Get(Open(must.File(t, "lines.jsonl", one+"\n"+one+"\n"), Options{}))(t)
	for _, path := range []string{folder, must.File(t, "lines.jsonl.gz", packed.String())} {
		got := must.Get(Open(path, Options{}))(t)
		if len(got.Jobs) != 2 || got.Ideal() != want.Ideal() || !cmp.Equal(edges(t, got.Jobs[1]), edges(t, want.Jobs[1])) {
			t.Errorf("%s: %d jobs with an ideal share of %v, want 2 and %v", path, len(got.Jobs), got.Ideal(), want.Ideal())
		}
	}
}

func TestBadFilesAreRefusedByLine(t *testing.T) {
	for _, bad := range []struct{ name, text, want string }{
		{"t.json", `{"block_size":64,"requests":[{"t":-1,"type":"n","in":1,"hash_ids":[]}]}`, `:1: requests[0]: t is -1`},
		{"api.json", "\n" + `{"block_size":64,"requests":[{"t":1,"type":"n","in":1,"hash_ids":[],"api_time":-2}]}`, `:2: requests[0]: has a service time of -2s`},
		{"kind.json", `{"block_size":64,"requests":[{"t":1,"type":"x","in":1,"hash_ids":[]}]}`, `type is "x", expected n, s or subagent`},
		{"blocks.json", `{"block_size":64,"requests":[{"t":1,"type":"n","in":70,"hash_ids":[1,2]}]}`, `has 2 block ids, more than`},
		{"size.json", `{"block_size":0,"requests":[{"t":1,"type":"n","in":70,"hash_ids":[1,2]}]}`, `blocks of 0 tokens`},
		{"none.json", `{"block_size":64,"hash_ids":0,"requests":[]}`, `:1: has no request`},
		{"cycle.jsonl", `{"session_id":"r","turns":[{"messages":[],"spawns":["a"]}]}
{"session_id":"a","turns":[{"messages":[],"spawns":["b"]}]}
{"session_id":"b","turns":[{"messages":[],"spawns":["a"]}]}`, `cycle.jsonl:2: session "a" is started by itself`},
		{"closed.jsonl", `{"session_id":"a","turns":[{"messages":[],"spawns":["b"]}]}
{"session_id":"b","turns":[{"messages":[],"spawns":["a"]}]}`, `closed.jsonl:1: session "a" is started by itself`},
		{"missing.jsonl", `{"session_id":"r","turns":[{"messages":[]}]}
{"session_id":"s","turns":[{"messages":[],"spawns":["nobody"]}]}`, `missing.jsonl:2: names the session "nobody", which is not in the file`},
		{"key.jsonl", `{"session_id":"r","turns":[{"messages":[],"dealy":3}]}`, `:1: turns[0]: unknown key "dealy"`},
		{"delay.jsonl", `{"session_id":"r","turns":[{"messages":[],"delay":-3}]}`, `:1: session r turns[0]: has a pause of -3ms`},
		{"join.jsonl", `{"session_id":"r","turns":[{"messages":[],"spawns":[{"children":["r2"],"join_at":0}]}]}`, `join_at is 0`},
		{"twice.jsonl", `{"session_id":"r","turns":[{"messages":[]}]}
{"session_id":"r","turns":[{"messages":[]}]}`, `:2: has the session_id "r" of line 1`},
		{"parent.jsonl", `{"chat_id":1,"parent_chat_id":7,"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[]}`, `:1: follows the chat 7, which is not in the file`},
		{"chain.jsonl", `{"chat_id":1,"parent_chat_id":2,"timestamp":1,"input_length":1,"output_length":1}
{"chat_id":2,"parent_chat_id":1,"timestamp":1,"input_length":1,"output_length":1}`, `follows itself`},
		{"turn.jsonl", `{"conversation_id":"c","turn":1,"role":"user","content":"x"}
{"conversation_id":"c","turn":3,"role":"user","content":"x"}`, `:2: is turn 3 of "c", expected 2`},
		{"edge.json", `{"format":"satf","sessions":[{"nodes":[{"kind":"llm_infer","id":"a","payload":{}}],"edges":[{"from":"a","to":"b"}]}]}`, `edges[0]: "a" to "b": expected two ids of nodes`},
		{"loop.json", `{"format":"satf","sessions":[{"nodes":[{"kind":"llm_infer","id":"a","payload":{}}],"edges":[{"from":"a","to":"a"}]}]}`, `node "a" waits for itself`},
		{"late.json", `{"format":"satf","sessions":[{"nodes":[{"kind":"llm_infer","id":"a","payload":{}}],"edges":[{"from":"a","to":"a","delay_after_predecessor_us":-1}]}]}`, `edges[0]: delay_after_predecessor_us is -1`},
		{"orphan.jsonl", `{"event_type":"request_end","agent_context":{"session_id":"c","parent_session_id":"r"},"request":{"input_tokens":15}}`, `:1: the parent session "r" is not in the file`},
		{"back.jsonl", `{"session_id":"x","timestamp":5,"input_length":6,"output_length":9}
{"session_id":"x","timestamp":4,"input_length":6,"output_length":9}`, `:2: goes back in time by 1ms`},
		{"mixed.jsonl", `{"session_id":"x","input_length":6,"output_length":9,"hash_ids":[1]}
{"session_id":"x","input_length":6,"output_length":9}`, `:2: expected hash_ids in all rows of a session, or in none`},
		{"json.json", `{"block_size":64,"requests":[],"hash_ids":` + "\n" + `oops}`, `json.json:2: is not JSON`},
		{"other.json", `{"hello":"world"}`, `holds no jobs of agents`},
		{"tokens.json", `{"block_size":64,"requests":[{"t":1,"type":"n","in":-70,"hash_ids":[1]}]}`, `has -70 prompt tokens`},
		{"cut.json", `{"block_size":64,"hash_ids":0,"requests":[{"t":1,`, `:1: ends in the middle of a value: the file is cut off`},
		{"span.jsonl", `{"session_id":"s","spans":[{"attributes":{"gen_ai.usage.input_tokens":-5}}]}`, `:1: spans[0]: has -5 prompt tokens`},
		{"many.jsonl", `{"event_type":"request_end","agent_context":{"session_id":"c"},"request":{"input_tokens":99999999}}`, `:1: request: has 99,999,999 prompt tokens`},
		{"size.jsonl", `{"format":"satf","block_size_tokens":-1,"sessions":[{"nodes":[]}]}`, `:1: block_size_tokens is -1`},
		{"early.jsonl", `{"session_id":"x","timestamp":-5,"input_length":6,"output_length":9}`, `:1: timestamp is -5`},
		{"year.json", `{"block_size":64,"requests":[{"t":1e12,"type":"n","in":70,"hash_ids":[1]}]}`, `requests[0]: has a start of more than a year`},
	} {
		path := must.File(t, bad.name, bad.text)
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), bad.want) || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant a line with %q", bad.name, err, bad.want)
		}
	}
}

// A file that holds rows of two formats is refused at a row of one of them, whichever
// of the two the file is taken for; an orchestrator's row says only by its keys that
// it is none of the others.
func TestFilesOfTwoFormatsAreRefused(t *testing.T) {
	for _, one := range files {
		for _, other := range files {
			if one.format == other.format {
				continue
			}
			path := must.File(t, "both.jsonl", one.text+"\n"+other.text)
			if _, err := Open(path, Options{}); err == nil || !strings.HasPrefix(err.Error(), path+":") ||
				!strings.Contains(err.Error(), "expected one format in a file") && !strings.Contains(one.text+other.text, `"orchestrator"`) {
				t.Errorf("%s and %s: %v", one.format, other.format, err)
			}
		}
	}
}

func TestFoldersOfTwoFormatsAreRefused(t *testing.T) {
	folder := t.TempDir()
	for i, name := range []string{"a.json", "b.jsonl"} {
		must.Write(t, filepath.Join(folder, name), files[i].text)
	}
	if _, err := Open(folder, Options{}); err == nil || !strings.Contains(err.Error(), "b.jsonl: is of the format dag_jsonl, the files before it are weka") {
		t.Errorf("%v", err)
	}
}

func TestTimelineFitsItsWidth(t *testing.T) {
	file := must.Get(Open("testdata/weka.tgz", Options{}))(t)
	for _, j := range file.Jobs {
		lines := file.Timeline(j, 78)
		for _, line := range lines {
			if n := len([]rune(line)); n > 78 {
				t.Errorf("%s: a line of %d columns: %s", j.Name, n, line)
			}
		}
		if len(lines) < len(j.agents())+1 || !strings.ContainsAny(lines[0], string(shades)) {
			t.Errorf("%s: %d lines for %d agents", j.Name, len(lines), len(j.agents()))
		}
	}
	if j, err := file.Example("trace_0277"); err != nil || len(j.agents()) != 5 {
		t.Errorf("trace_0277: %v, want an agent and its four subagents", err)
	}
	if _, err := file.Example("trace_0278"); err == nil || !strings.Contains(err.Error(), `has no job "trace_0278"`) {
		t.Errorf("%v", err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, file := range files {
		f.Add([]byte(file.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := must.File(t, "x.jsonl", string(data))
		for _, format := range append(Formats(), "") {
			file, err := Open(path, Options{Format: format})
			if err != nil {
				continue
			}
			if share := file.Summarize(100).Ideal; share < 0 || share > 1 {
				t.Errorf("%s: ideal share %v", format, share)
			}
			for _, j := range file.Jobs {
				for i, r := range j.Requests {
					if r.From >= i || r.Pause < 0 || tokensOf(j.Blocks(i)) != r.Prompt {
						t.Errorf("%s: request %d: %+v", format, i, r)
					}
				}
				file.Timeline(j, 78)
			}
		}
	})
}
