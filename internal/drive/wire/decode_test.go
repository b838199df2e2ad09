package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/frame"
	"redline/internal/drive/jsonio"
	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

// typicalChunk is what vLLM sends for a token.
const typicalChunk = `{"id":"chatcmpl-9f1c","object":"chat.completion.chunk","created":1700000000,"model":"llama-3.1-8b","choices":[{"index":0,"delta":{"content":" load"},"logprobs":null,"finish_reason":null}]}`

var asDeltas = cmp.Options{cmpopts.IgnoreUnexported(Delta{}), cmpopts.EquateEmpty()}

func textDelta(s string) Delta { return Delta{Text: []byte(s)} }

func choice(fields string) string { return `{"choices":[{` + fields + `}]}` }

func TestDecodeOpenAI(t *testing.T) {
	t.Parallel()
	usage := Delta{HasUsage: true, Usage: llm.Usage{PromptTokens: 9, CachedTokens: 4, OutputTokens: 7, ReasoningTokens: 2}}
	for _, c := range []struct {
		name, data string
		want       Delta
	}{
		{"typical", typicalChunk, textDelta(" load")},
		{"role only", choice(`"delta":{"role":"assistant","content":""}`), Delta{}},
		{"null content", choice(`"delta":{"content":null,"tool_calls":null,"function_call":null,"refusal":null}`), Delta{}},
		{"escapes", choice(`"delta":{"content":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dx"}`), textDelta("\"\\/\b\f\n\r\té😀\ufffdx")},
		{"refusal is text", choice(`"delta":{"refusal":"no"}`), textDelta("no")},
		{"content comes before refusal", choice(`"delta":{"refusal":"b","content":"a"}`), textDelta("ab")},
		{"completions", choice(`"text":"hi","index":0`), textDelta("hi")},
		{"two choices", `{"choices":[{"text":"a"},{"text":"b\n"}]}`, textDelta("ab\n")},
		{"reasoning_content", choice(`"delta":{"reasoning_content":"hm"}`), Delta{Reasoning: []byte("hm")}},
		{"reasoning", choice(`"delta":{"reasoning":"hm"}`), Delta{Reasoning: []byte("hm")}},
		{"reasoning under both names counts once", choice(`"delta":{"reasoning":"hm","reasoning_content":"hm"}`), Delta{Reasoning: []byte("hm")}},
		{"tool name", choice(`"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"f","arguments":""}}]}`), Delta{Tool: []byte("f")}},
		{"tool arguments", choice(`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`), Delta{Tool: []byte(`{"a"`)}},
		{"two tools", choice(`"delta":{"tool_calls":[{"function":{"arguments":"{}","name":"f"}},{"function":{"name":"g"}}]}`), Delta{Tool: []byte(`f{}g`)}},
		{"function_call", choice(`"delta":{"function_call":{"name":"f","arguments":"{}"}}`), Delta{Tool: []byte("f{}")}},
		{"text and reasoning", choice(`"delta":{"content":"a","reasoning":"b"}`), Delta{Text: []byte("a"), Reasoning: []byte("b")}},
		{"finish", choice(`"delta":{},"finish_reason":"length"`), Delta{Finish: []byte("length")}},
		{"usage", `{"choices":[],"usage":{"prompt_tokens":9,"total_tokens":16,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`, usage},
		{"usage before choices", `{"usage":{"completion_tokens":3,"prompt_tokens_details":null},"choices":null}`, Delta{HasUsage: true, Usage: llm.Usage{OutputTokens: 3}}},
		{"no usage", `{"choices":[],"usage":null}`, Delta{}},
		{"usage in odd numbers", `{"usage":{"prompt_tokens":1.2e1,"completion_tokens":-3,"prompt_tokens_details":{"cached_tokens":99999999999}}}`, Delta{HasUsage: true, Usage: llm.Usage{PromptTokens: 12}}},
		{"parts of content", choice(`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`), Delta{Text: []byte("a"), Reasoning: []byte("hm")}},
		{"the last of two keys counts", choice(`"delta":{"content":"a","content":"b"}`), textDelta("b")},
		{"an escaped key", choice(`"delta":{"c\u006fntent":"a"}`), textDelta("a")},
		{"not UTF-8", choice("\"delta\":{\"content\":\"a\xff\"}"), textDelta("a\ufffd")},
		{"unknown keys of all kinds", `{"x":[1,-2.5e+3,true,false,null,{"y":["\u12aB"]},[]],"choices":[{"z":{},"text":"a"}]}`, textDelta("a")},
		{"deep nesting", `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,"choices":[{"text":"a"}]}`, textDelta("a")},
		{"white space", " {\n\t\"choices\" : [ { \"text\" : \"a\" } ]\r\n} ", textDelta("a")},
		{"closing mark", "[DONE]", Delta{Done: true}},
		{"closing mark with space", " [DONE]\n", Delta{Done: true}},
		{"nothing", "", Delta{}},
		{"error as an object", `{"error":{"message":"out of memory","type":"x","code":500}}`, Delta{HasErr: true, Err: []byte("out of memory")}},
		{"error as a string", `{"error":"overloaded"}`, Delta{HasErr: true, Err: []byte("overloaded")}},
		{"error without a message", `{"error":{"code":7}}`, Delta{HasErr: true, Err: []byte(`{"code":7}`)}},
		{"error of vLLM", `{"object":"error","message":"bad","type":"BadRequestError","code":400}`, Delta{HasErr: true, Err: []byte("bad")}},
		{"no error", `{"error":null,"choices":[{"text":"a"}]}`, textDelta("a")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got Delta
			must.Do(t, openAIChat.Decode(nil, []byte(c.data), &got))
			expect.Same(t, c.want, got, asDeltas)
		})
	}
}

func TestDecodeAnthropic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, event, data string
		want              Delta
	}{
		{"text", "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n"}}`, textDelta("a\n")},
		{"thinking", "", `{"delta":{"thinking":"hm","type":"thinking_delta"},"type":"content_block_delta"}`, Delta{Reasoning: []byte("hm")}},
		{"signature", "", `{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"c2ln"}}`, Delta{}},
		{"tool input", "", `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`, Delta{Tool: []byte(`{"a":`)}},
		{"tool start", "", `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`, Delta{Tool: []byte("f")}},
		{"text start", "", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, Delta{}},
		{"redacted thinking", "", `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"Zm9v"}}`, Delta{Reasoning: []byte("Zm9v")}},
		{"block stop", "", `{"type":"content_block_stop","index":0}`, Delta{}},
		{"ping", "ping", `{"type": "ping"}`, Delta{}},
		{"message start", "message_start", `{"type":"message_start","message":{"id":"m","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}}}`,
			Delta{HasUsage: true, Usage: llm.Usage{PromptTokens: 10, CachedTokens: 2, OutputTokens: 1}}},
		{"message delta", "message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15,"output_tokens_details":{"thinking_tokens":4}}}`,
			Delta{HasUsage: true, Usage: llm.Usage{OutputTokens: 15, ReasoningTokens: 4}, Finish: []byte("stop")}},
		{"length", "", `{"delta":{"stop_reason":"max_tokens"}}`, Delta{Finish: []byte("length")}},
		{"tools", "", `{"delta":{"stop_reason":"tool_use"}}`, Delta{Finish: []byte("tool_calls")}},
		{"its own word", "", `{"delta":{"stop_reason":"pause_turn"}}`, Delta{Finish: []byte("pause_turn")}},
		{"stop", "message_stop", `{"type":"message_stop"}`, Delta{Done: true}},
		{"error", "error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Delta{HasErr: true, Err: []byte("Overloaded")}},
		{"error without its name", "", `{"type":"error","error":{"message":"Overloaded"}}`, Delta{HasErr: true, Err: []byte("Overloaded")}},
		{"error that is no JSON", "error", `upstream died`, Delta{HasErr: true, Err: []byte("upstream died")}},
		{"error without a message", "error", `{"reason":"x"}`, Delta{HasErr: true, Err: []byte(`{"reason":"x"}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got Delta
			must.Do(t, anthropicMessages.Decode([]byte(c.event), []byte(c.data), &got))
			expect.Same(t, c.want, got, asDeltas)
		})
	}
}

func TestDecodeRefusesWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	for _, d := range Dialects {
		for _, data := range []string{
			"<html>", `{"choices":[`, `{"choices":[]} x`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"a":tru}`,
			`{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", `{"a" 1}`, `{"a":1,}`, `[1,]`, `[]`, `"text"`, `null`, `7`,
		} {
			var delta Delta
			if err := d.Decode(nil, []byte(data), &delta); err == nil {
				t.Errorf("%s: %s was read as %+v, want an error", d.Name, data, delta)
			}
			if err := d.DecodeWhole([]byte(data), &delta); err == nil {
				t.Errorf("%s: %s was read as a whole reply, want an error", d.Name, data)
			}
		}
	}
}

func TestDecodeForgetsTheEventBefore(t *testing.T) {
	t.Parallel()
	var d Delta
	for _, data := range []string{
		choice(`"delta":{"content":"\n","reasoning":"b\n"},"finish_reason":"stop"`), `{"usage":{"prompt_tokens":1}}`, `{"error":"x"}`, "[DONE]", "{",
	} {
		err := openAIChat.Decode(nil, []byte(data), &d)
		if (err != nil) != (data == "{") {
			t.Fatal(err)
		}
	}
	must.Do(t, openAIChat.Decode(nil, []byte(choice(`"text":"\t"`)), &d))
	expect.Same(t, textDelta("\t"), d, asDeltas)
}

func TestDecodeError(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"message":"no such model","type":"NotFoundError"}}`:     "no such model",
		`{"error":"Input validation error","error_type":"validation"}`:     "Input validation error",
		`{"object":"error","message":"too long","code":400}`:               "too long",
		`{"type":"error","error":{"type":"x","message":"max_tokens: no"}}`: "max_tokens: no",
		`{"detail":"Not Found"}`:                        "Not Found",
		`{"detail":[{"loc":["body"],"msg":"missing"}]}`: `[{"loc":["body"],"msg":"missing"}]`,
		`{"message":"Unauthorized"}`:                    "Unauthorized",
		`{}`:                                            "",
		`<html>Bad Gateway</html>`:                      "",
		``:                                              "",
	} {
		for _, d := range Dialects {
			if got := d.DecodeError([]byte(body)); got != want {
				t.Errorf("%s: %s: got %q, want %q", d.Name, body, got, want)
			}
		}
	}
}

// FuzzDialects holds the scanner to what encoding/json makes of an event.
func FuzzDialects(f *testing.F) {
	for i := range len(Dialects) + 1 {
		for _, data := range []string{
			typicalChunk,
			choice(`"delta":{"content":"\ud83d\ude00\\","reasoning":null,"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}}]},"text":"x","finish_reason":"stop"`),
			`{"usage":{"prompt_tokens":9,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}},"error":null}`,
			`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1,"output_tokens_details":{"thinking_tokens":1}}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a","thinking":"b","partial_json":"c","name":"d","data":"e","stop_reason":"end_turn"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":15}}`,
			`{"type":"error","error":{"message":"x"}}`, "[DONE]", `{"a":[-0.5e-7,true,[{}]]}`,
			`{"type":"response.output_text.delta","delta":"a\n","item_id":"x"}`,
			`{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call"}],"usage":{"input_tokens":3,"output_tokens":2}}}`,
			`{"index":1,"token":{"id":1,"text":" a","special":true},"generated_text":"a","details":{"finish_reason":"length","generated_tokens":2,"input_length":3}}`,
			`{"model":"m","message":{"role":"assistant","content":"a","thinking":"b"},"response":"c","thinking":"d","done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}`,
			`{"text":"ab","meta_info":{"finish_reason":null,"prompt_tokens":3,"completion_tokens":2,"cached_tokens":1}}`,
			`{"index":0,"content":"a","stop":true,"stop_type":"limit","tokens_predicted":2,"tokens_evaluated":3,"timings":{"cache_n":1}}`,
			`{"data":[{"embedding":[1,2]},{"embedding":"AA"}],"usage":{"prompt_tokens":3,"total_tokens":3}}`,
		} {
			f.Add(byte(i), "", []byte(data))
		}
	}
	f.Add(byte(2), "error", []byte("x"))
	f.Fuzz(func(t *testing.T, pick byte, name string, data []byte) {
		i := int(pick) % (len(Dialects) + 1)
		var got, want Delta
		if i == len(Dialects) {
			compareVectors(t, data)
			return
		}
		gotErr := Dialects[i].Decode([]byte(name), data, &got)
		trimmed := want.begin(data)
		if trimmed == nil {
			if gotErr != nil {
				t.Errorf("%q: %v", data, gotErr)
			}
			return
		}
		wantErr := Dialects[i].decodeTree([]byte(name), trimmed, &want)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%s: got error %v, want %v", data, gotErr, wantErr)
		}
		if diff := cmp.Diff(want, got, asDeltas); gotErr == nil && diff != "" {
			t.Errorf("%s: (-want +got):\n%s", data, diff)
		}
	})
}

// compareVectors holds the scanner of vectors to what encoding/json makes of
// them.
func compareVectors(t *testing.T, data []byte) {
	t.Helper()
	var got, want Delta
	gotErr := embeddings.DecodeWhole(data, &got)
	slow := embeddings
	slow.wholeScan = nil
	wantErr := slow.DecodeWhole(data, &want)
	if (gotErr == nil) != (wantErr == nil) {
		t.Fatalf("%s: got error %v, want %v", data, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, asDeltas); gotErr == nil && diff != "" {
		t.Errorf("%s: (-want +got):\n%s", data, diff)
	}
}

func TestScannerReadsWhatServersSend(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		typicalChunk,
		choice(`"delta":{"role":"assistant","content":"","tool_calls":[{"index":0,"function":{"arguments":"\n"}}]},"token_ids":[1,2]`),
		`{"choices":[],"usage":{"prompt_tokens":9,"total_tokens":16,"completion_tokens":7,"prompt_tokens_details":null}}`,
	} {
		s := jsonio.NewScanner([]byte(data))
		if scanOpenAI(&s, new(Delta)); !s.AtEnd() {
			t.Errorf("the scanner finds %s odd", data)
		}
	}
	for _, data := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`,
		`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":5,"cache_creation":{"x":1},"service_tier":"standard"}}}`,
	} {
		s := jsonio.NewScanner([]byte(data))
		if scanAnthropic(&s, new(Delta)); !s.AtEnd() {
			t.Errorf("the scanner finds %s odd", data)
		}
	}
}

// TestTokenPathDoesNotAllocate can not be parallel: the count is the process's.
func TestTokenPathDoesNotAllocate(t *testing.T) {
	escaped := strings.Replace(typicalChunk, " load", `\n\"load\"\u00e9`, 1)
	stream := []byte("data: " + typicalChunk + "\n\ndata: " + escaped + "\r\n\r\n")
	var s frame.Reader
	var d Delta
	outputs := 0
	read := func(b []byte) {
		s.Push(b)
		for f, ok := s.Next(); ok; f, ok = s.Next() {
			if openAIChat.Decode(f.Name, f.Data, &d) == nil && d.HasOutput() {
				outputs++
			}
		}
	}
	perRun := testing.AllocsPerRun(100, func() {
		read(stream)
		read(stream[:100])
		read(stream[100:])
	})
	if perRun != 0 || outputs != 4*101 {
		t.Errorf("got %v allocations a run and %d outputs, want none and %d", perRun, outputs, 4*101)
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct {
		name, dialect, data string
	}{
		{"chat", "openai-chat", typicalChunk},
		{"chat escaped", "openai-chat", strings.Replace(typicalChunk, " load", `\n\"load\"\u00e9`, 1)},
		{"chat continuous usage", "openai-chat", strings.TrimSuffix(typicalChunk, "}") + `,"usage":{"prompt_tokens":900,"total_tokens":907,"completion_tokens":7}}`},
		{"completions", "openai-completions", `{"id":"cmpl-9f1c","object":"text_completion","created":1700000000,"model":"llama-3.1-8b","choices":[{"index":0,"text":" load","logprobs":null,"finish_reason":null}]}`},
		{"anthropic", "anthropic-messages", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" load"}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			dialect, _ := ByName(c.dialect)
			data := []byte(c.data)
			var d Delta
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := dialect.Decode(nil, data, &d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRunningText: what is new in texts that repeat those before them.
func TestRunningText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		told, want []string
	}{
		{"growing", []string{"a", "ab", "abc"}, []string{"a", "b", "c"}},
		{"nothing new", []string{"a", "a", "ab"}, []string{"a", "", "b"}},
		{"nothing yet", []string{"", "", "a"}, []string{"", "", "a"}},
		{"a stop sequence taken back", []string{"a", "a END", "a"}, []string{"a", " END", ""}},
		{"pieces after all", []string{"a", "b", "b", "ba"}, []string{"a", "b", "b", "ba"}},
	} {
		var d Delta
		for i, running := range c.told {
			d.reset()
			if d.joinRest([]byte(running)); string(d.Text) != c.want[i] {
				t.Errorf("%s: text %d: got %q, want %q", c.name, i, d.Text, c.want[i])
			}
		}
	}
}
