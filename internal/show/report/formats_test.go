package report

import (
	"bytes"
	"testing"

	"redline/internal/judge/result"
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
