package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/show/report"
	"redline/internal/text"
)

var update = flag.Bool("update", false, "rewrite the golden files and the list of columns")

// sample is a situation that every format must show, as reports have them.
type sample struct {
	Name   string         `json:"name"`
	Result *result.Result `json:"result"`
}

// samples are those whose name begins like this.
func samples(t *testing.T, begin string) []sample {
	t.Helper()
	data := must.Read(t, "../report/testdata/samples.jsonl")
	var list []sample
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(line, []byte(`{"name":"`+begin)) {
			continue
		}
		var s sample
		must.Do(t, json.Unmarshal(line, &s))
		list = append(list, s)
	}
	return list
}

func readSample(t *testing.T, name string) *result.Result {
	t.Helper()
	list := samples(t, name+`"`)
	if len(list) != 1 {
		t.Fatalf("there are %d samples %q", len(list), name)
	}
	return list[0].Result
}

func writeResult(t *testing.T, write func(io.Writer, *result.Result) error, r *result.Result) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, write(&out, r))
	return out.Bytes()
}

// TestFormats holds every format to the same contract, for every sample and
// for results that no run should ever make.
func TestFormats(t *testing.T) {
	t.Parallel()
	all := append(samples(t, ""), sample{"empty", &result.Result{}}, sample{"empty point", &result.Result{Points: []result.Point{{}}}})
	for _, format := range Formats {
		for _, s := range all {
			page := string(writeResult(t, format.Write, s.Result))
			if len(page) < 20 || !strings.HasSuffix(page, "\n") || !utf8.ValidString(page) {
				t.Errorf("%s of %s: %q; want a document in UTF-8 that ends with a newline", format.Name, s.Name, page)
			}
			for i, r := range page {
				if text.Clean(string(r)) != string(r) {
					t.Errorf("%s of %s holds %U: %q", format.Name, s.Name, r, page[max(0, i-90):min(len(page), i+40)])
					break
				}
			}
			if format.Name == "junit" && strings.Contains(strings.ToLower(page), "undecided") {
				t.Errorf("%s: people read undecided", s.Name)
			}
		}
		var out bytes.Buffer
		if err := format.Write(&out, nil); !errors.Is(err, report.ErrNoResult) || out.Len() > 0 {
			t.Errorf("%s without a result: wrote %q, error %v; want nothing and %v", format.Name, out.String(), err, report.ErrNoResult)
		}
		if err := format.Write(fullDisk{}, readSample(t, "met")); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: error %v; want %v", format.Name, err, errFull)
		}
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestFormatsGolden keeps one picture of every format for each kind of answer.
func TestFormatsGolden(t *testing.T) {
	t.Parallel()
	for extension, write := range map[string]func(io.Writer, *result.Result) error{"csv": CSV, "xml": JUnit} {
		for _, name := range []string{"met", "invalid", "limit", "comparison", "matrix", "toggles"} {
			path, got := filepath.Join("testdata", name+"."+extension), writeResult(t, write, readSample(t, name))
			if *update {
				must.Write(t, path, got)
				continue
			}
			want := must.Read(t, path)
			expect.NoDiff(t, cmp.Diff(string(want), string(got)), "%s differs (-want +got); look at it and run with -update if it is better", path)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t, "") {
		var first, second bytes.Buffer
		must.Do(t, JSON(&first, s.Result))
		must.Do(t, JSON(&second, s.Result))
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: two writings differ", s.Name)
		}
		var back result.Result
		if err := json.Unmarshal(first.Bytes(), &back); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if back.ID != s.Result.ID || len(back.Points) != len(s.Result.Points) {
			t.Errorf("%s: read back id %q and %d points", s.Name, back.ID, len(back.Points))
		}
	}
}

func TestJSONKeepsSignsAndOrder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must.Do(t, JSON(&out, readSample(t, "met")))
	text, at := out.String(), 0
	for _, want := range []string{`"schema": "redline/result/2"`, `"id":`, `"engine":`, `"verdict":`, `"points":`, `"load":`, `"window":`, `"objective": "ttft:p99<500ms"`} {
		next := strings.Index(text[at:], want)
		if next < 0 {
			t.Fatalf("no %s after byte %d of\n%s", want, at, text)
		}
		at += next
	}
}

func TestJSONNamesTheResultItCannotWrite(t *testing.T) {
	t.Parallel()
	r := readSample(t, "met")
	r.Client.CPUShare = math.NaN()
	var out bytes.Buffer
	err := JSON(&out, r)
	if err == nil || !strings.Contains(err.Error(), r.ID) || out.Len() > 0 {
		t.Errorf("error %v, wrote %d bytes; want an error that names %s, and nothing written", err, out.Len(), r.ID)
	}
}
