package report

import (
	"bytes"
	"encoding/json"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
)

// extensions are the golden files of the formats that have some of their own:
// the terminal's are compared elsewhere.
var extensions = map[string]string{"markdown": "md", "html": "html"}

// TestFormatsGolden keeps one picture of every format for each kind of answer.
func TestFormatsGolden(t *testing.T) {
	t.Parallel()
	kinds := []sample{
		{"met", metSample()}, {"invalid", invalidSample()}, {"limit", limitSample()},
		{"comparison", comparisonSample()}, {"matrix", matrixSample()}, {"toggles", togglesSample()},
	}
	for _, format := range Formats {
		extension, kept := extensions[format.Name]
		if !kept {
			continue
		}
		for _, s := range kinds {
			golden(t, s.name+"."+extension, written(t, format, s.result))
		}
	}
}

func written(t *testing.T, format Format, r *result.Result) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := format.Write(&out, r); err != nil {
		t.Fatalf("%s: %v", format.Name, err)
	}
	return out.Bytes()
}

// TestSamplesForExports: other packages show the same situations, which they
// read from a file.
func TestSamplesForExports(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	for _, s := range append(samples(), sample{"hostile", hostileSample()}) {
		line := must.Get(json.Marshal(map[string]any{"name": s.name, "result": s.result}))(t)
		lines.Write(append(line, '\n'))
	}
	golden(t, "samples.jsonl", lines.Bytes())
}
