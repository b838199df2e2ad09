package export

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/show/report"
)

// stagedSample gives each stage of a sample a workload, seed and plan of its own.
func stagedSample(dir string) (*result.Result, error) {
	if dir == "" {
		return nil, errors.New("no directory")
	}
	return &result.Result{Workload: result.Workload{Name: "that of " + dir}, Seed: 7, Plan: map[string]any{"workload": dir}}, nil
}

func fileNames(files []File) []string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return names
}

func notes(t *testing.T, r *result.Result) map[string]string {
	t.Helper()
	files := must.Get(Notes(r, stagedSample))(t)
	contents := map[string]string{}
	for _, f := range files {
		contents[f.Name] = string(f.Content)
	}
	if len(contents) != len(files) {
		t.Errorf("two files have one name: %q", fileNames(files))
	}
	return contents
}

func TestNotesLayout(t *testing.T) {
	t.Parallel()
	files := must.Get(Notes(readSample(t, "matrix"), stagedSample))(t)
	want := []string{"hardware.md", "server-flags.md", "row-a-short-chat.json", "row-b-long-prefill.json", "row-c-long-decode.json", "interpretation.md"}
	expect.Same(t, want, fileNames(files))
	files = must.Get(Notes(readSample(t, "limit"), stagedSample))(t)
	if got := fileNames(files)[6]; got != "row-e-sustained.json" {
		t.Errorf("the sustained run is in %s", got)
	}
	if _, err := Notes(nil, stagedSample); !errors.Is(err, report.ErrNoResult) {
		t.Errorf("without a result: %v", err)
	}
}

func TestNotesRowsCanBeTraced(t *testing.T) {
	t.Parallel()
	var row notesRow
	r := readSample(t, "matrix")
	r.Stages[1].Dir = "stages/02-B-long-prefill"
	must.Do(t, json.Unmarshal([]byte(notes(t, r)["row-b-long-prefill.json"]), &row))
	got := []string{row.Run, row.Name, row.Hypothesis, row.Question, row.Expectation, row.Outcome, row.Workload.Name, row.Engine.Name, row.Command, row.MadeBy}
	want := []string{"20260114-140000-matrix", "b-long-prefill", "long prompts are bound by compute", "what does prefill cost?",
		"ttft grows with the prompt, tpot stays", "ttft p99 288 ms, tpot p99 +54%", "that of stages/02-B-long-prefill", "vllm",
		"redline run --plan row-b-long-prefill.json", r.Command}
	expect.Same(t, want, got)
	if row.Seed != 7 || row.Plan["workload"] != "stages/02-B-long-prefill" {
		t.Errorf("seed %d, plan %v; want those of the stage", row.Seed, row.Plan)
	}
	if row.Point == nil || row.Point.Requests.Due != 960 {
		t.Errorf("the row holds the point %+v", row.Point)
	}
}

func TestNotesNameWhatIsStated(t *testing.T) {
	t.Parallel()
	r := readSample(t, "met")
	r.Plan = map[string]any{"server": map[string]any{"max_num_seqs": 64.0}, "metadata": map[string]any{"driver": "570.86"}}
	r.Workload.TemplateHash = "sha256:5f1c"
	r.Engine.Declared = map[string]string{"prefix_caching": "on, not verified"}
	r.Points[0].Server = &telemetry.ServerUse{Config: map[string]string{"block_size": "16"}}
	files := notes(t, r)
	for file, lines := range map[string][]string{
		"hardware.md":       {"# Hardware", "- **accelerator** H100", "- **driver** 570.86", "- **precision** bf16"},
		"server-flags.md":   {"- **engine** vllm 0.11.0", "- **chat template** sha256:5f1c", `| server.max\_num\_seqs | 64 |`, `| declared.prefix\_caching | on, not verified |`, `| reported.block\_size | 16 |`},
		"interpretation.md": {"**MET** ttft p99 164 ms, limit 500 ms", "| met | ttft p99 from due |"},
	} {
		for _, line := range lines {
			if !strings.Contains(files[file], line) {
				t.Errorf("%s has no %q:\n%s", file, line, files[file])
			}
		}
	}
	if strings.Contains(files["hardware.md"], "revision") {
		t.Errorf("a revision that nobody stated has a row:\n%s", files["hardware.md"])
	}
	if flags := notes(t, readSample(t, "met"))["server-flags.md"]; !strings.Contains(flags, "Neither the plan nor the server says") {
		t.Errorf("flags that nobody named:\n%s", flags)
	}
}

func TestRowFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rows string // name, or name=purpose
		want string
	}{
		{"smoke=smoke|warm-up=warm-up|A short chat|D saturation|mix production shape|5 requests/s", "smoke warm-up row-a-short-chat row-d-saturation row-b-mix-production-shape row-c-5-requests-s"},
		{"D-single both long, alone|D saturation|E-cold shared prefix|E prefix, warm", "row-d-single-both-long-alone row-d-saturation row-e-cold-shared-prefix row-e-prefix-warm"},
		{"a-short-chat|a-short-chat", "row-a-short-chat row-a-short-chat-2"},
		{"Short Chat!", "row-a-short-chat"},
		{"../../etc/passwd", "row-a-etc-passwd"},
		{"", "row-a"},
		{strings.Repeat("x", 300), "row-a-" + strings.Repeat("x", 60)},
	} {
		names, got := rowNames{}, []string{}
		for _, row := range strings.Split(tt.rows, "|") {
			name, _, _ := strings.Cut(row, "=")
			names.reserve(name)
		}
		for i, row := range strings.Split(tt.rows, "|") {
			name, purpose, _ := strings.Cut(row, "=")
			got = append(got, strings.TrimSuffix(names.file(&notesRow{Name: name, Purpose: purpose}, i), ".json"))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%.60q:\ngot  %s\nwant %s", tt.rows, got, tt.want)
		}
	}
	if got := letters(25) + " " + letters(26) + " " + letters(27); got != "z aa ab" {
		t.Errorf("letters after y: %s", got)
	}
}

// Two rows of one name are two files.
func TestNotesKeepRowsOfOneName(t *testing.T) {
	t.Parallel()
	r := readSample(t, "matrix")
	r.Stages[1].Name, r.Points[1].Name = "a-short-chat", "a-short-chat"
	if files := notes(t, r); files["row-a-short-chat-2.json"] == "" {
		t.Error("the second row of that name is lost")
	}
}
