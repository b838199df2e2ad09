package result

import (
	"bytes"
	"encoding/json"
	"testing"

	"redline/internal/must"
)

// FuzzOutline: whatever can be read whole can be read in outline, with the same
// parts but for those that were cut.
func FuzzOutline(f *testing.F) {
	for _, text := range []string{
		`{"schema":"redline/result/2","id":"a","points":[]}`,
		`{"schema":"redline/result/2","client":{"os":"\"}]"},"id":"a\\","points":[{"series":{"a":[1,2]},"load":{"mode":"open"}}, {"load":{"mode":"x"},"tokens":{}}]}`,
		`{"warnings":[],"schema":"redline/result/2"}`,
		` { "schema" : "redline/result/2" , "label" : "x" , "warnings" : [ ] } `,
		`{"schema":"redline/result/1","id":"old"}`,
		`{"schema":"redline/result/2","points":[{"series":}]}`,
		`{"schema":"redline/result/2",,"id":"a"}`,
		`{"schema":"redline/result/2","points":null,"verdict":{"checks":[{}],"valid":"yes"}}`,
		`{"schema":"redline/result/2"`, `[`, ``, `{"a"`, `"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		whole, err := Read(content)
		short, shortErr := Outline(content)
		if err != nil {
			return // what was cut is not judged
		}
		if shortErr != nil {
			t.Fatalf("read whole, but not in outline: %v", shortErr)
		}
		if a, b := listView(t, whole), listView(t, short); !bytes.Equal(a, b) {
			t.Errorf("in outline\n%s, want\n%s", b, a)
		}
	})
}

// listView is a result without what lists do not show.
func listView(t *testing.T, r *Result) []byte {
	t.Helper()
	document, err := json.Marshal(r)
	if err != nil {
		t.Skip(err) // no form of the fuzzer's time stands in JSON
	}
	s := scanner{in: document}
	must.Do(t, s.value(unlistedBlocks))
	return s.out
}
