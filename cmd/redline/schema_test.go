package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"redline/internal/must"
	"redline/internal/plan/schema"
)

func compileSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text := must.Get(schema.Get(name))(t)
	document := must.Get(jsonschema.UnmarshalJSON(bytes.NewReader(text)))(t)
	c := jsonschema.NewCompiler()
	must.Do(t, c.AddResource(name, document))
	s := must.Get(c.Compile(name))(t)
	return s
}

// Every file that a run leaves behind is what its schema says.
func TestRunDirectoryFollowsItsSchemas(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "run")
	code, _, stderr := redline(t, nil, "run", "--rate", "20", "--duration", "2s", "--warmup", "500ms",
		"--workload", "fixed(64,20)", "--quiet", "--slo", "ttft:p99<1s", "--out", out)
	if code == exitError || code == exitUsage {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	read := func(name string) []byte {
		content := must.Read(t, filepath.Join(out, name))
		return content
	}
	check := func(s *jsonschema.Schema, where string, text []byte) {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err == nil {
			err = s.Validate(document)
		}
		if err != nil {
			t.Errorf("%s: %v\n%.300s", where, err, text)
		}
	}
	check(compileSchema(t, "result"), "result.json", read("result.json"))
	for name, s := range map[string]*jsonschema.Schema{"records.jsonl": compileSchema(t, "record"), "telemetry.jsonl": compileSchema(t, "telemetry")} {
		lines := bytes.Split(bytes.TrimSpace(read(name)), []byte{'\n'})
		if len(lines) < 4 {
			t.Errorf("%s has only %d lines", name, len(lines))
		}
		for _, line := range lines {
			check(s, name, line)
		}
	}
	var plan any
	must.Do(t, yaml.Unmarshal(read("plan.yaml"), &plan))
	text := must.Get(json.Marshal(plan))(t)
	check(compileSchema(t, "plan"), "plan.yaml", text)
}
