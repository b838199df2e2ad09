package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"redline/internal/llm"
)

// The schema stands where each API looks for it, whole, and nowhere in an API
// that has no word for it, nor after a server has refused it.
func TestSchemaGoesAlong(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["a"]}`
	quoted, _ := json.Marshal(schema)
	places := map[string]string{
		"openai-chat":         `"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":` + schema + `}}`,
		"openai-responses":    `"text":{"format":{"type":"json_schema","name":"answer","strict":true,"schema":` + schema + `}}`,
		"tgi-generate":        `"grammar":{"type":"json","value":` + schema + `}`,
		"ollama-chat":         `"format":` + schema,
		"ollama-generate":     `"format":` + schema,
		"sglang-generate":     `"json_schema":` + string(quoted),
		"llamacpp-completion": `"json_schema":` + schema,
	}
	forEachDialect(t, func(t *testing.T, d *Dialect) {
		r := everyKnob()
		r.Format = &llm.Format{Schema: llm.JSON(schema), Strict: true, Optional: true}
		body := string(d.Encode(nil, r, Quirks{}))
		want, has := places[d.Name]
		if d.Schemas != has || has && !strings.Contains(body, want) || !has && strings.Contains(body, "required") {
			t.Errorf("says that it takes a schema: %t; %s", d.Schemas, body)
		}
		if !json.Valid([]byte(body)) {
			t.Errorf("not JSON: %s", body)
		}
		if _, _, err := d.ParseRequest([]byte(body)); err != nil {
			t.Error(err)
		}
		r.Format.Optional = false
		if said := string(d.Encode(nil, r, Quirks{NoSchema: true})); has != strings.Contains(said, "required") {
			t.Errorf("a schema that has to be there, after a refusal: %s", said)
		}
		r.Format.Optional = true
		if refused := string(d.Encode(nil, r, Quirks{NoSchema: true})); strings.Contains(refused, "required") {
			t.Errorf("after a refusal: %s", refused)
		}
	})
}

func TestSchemaIsRead(t *testing.T) {
	t.Parallel()
	for _, field := range []string{`"guided_json":{"type":"object"}`, `"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object"}}}`} {
		r, _, err := openAIChat.ParseRequest([]byte(`{"messages":[{"role":"user","content":"u"}],` + field + `}`))
		if err != nil || string(r.Format.Schema) != `{"type":"object"}` {
			t.Errorf("%s: %+v, %v", field, r.Format, err)
		}
	}
	r, _, err := openAIChat.ParseRequest([]byte(`{"messages":[{"role":"user","content":"u"}],"response_format":{"type":"text"}}`))
	if err != nil || r.Format != nil {
		t.Errorf("plain text: %+v, %v", r.Format, err)
	}
	d, _ := ByName("openai-chat")
	if q, again := d.Adapt([]byte(`{"error":"response_format is not supported"}`), Quirks{}); !again || q != (Quirks{NoSchema: true}) {
		t.Errorf("a refusal taught %+v, %t", q, again)
	}
	if _, again := d.Adapt([]byte(`{"error":"response_format is not supported"}`), Quirks{NoSchema: true}); again {
		t.Error("asked a third time")
	}
}
