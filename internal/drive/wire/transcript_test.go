package wire

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/drive/frame"
	"redline/internal/expect"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
)

// describe says what an event means, a line for each thing it says.
func describe(d *Delta) string {
	var b strings.Builder
	for _, part := range []struct {
		name string
		text []byte
	}{{"reasoning", d.Reasoning}, {"text", d.Text}, {"tool", d.Tool}, {"finish", d.Finish}} {
		if len(part.text) > 0 {
			fmt.Fprintf(&b, "%s %q\n", part.name, part.text)
		}
	}
	if u := d.Usage; d.HasUsage {
		fmt.Fprintf(&b, "usage prompt=%d cached=%d output=%d reasoning=%d\n",
			u.PromptTokens, u.CachedTokens, u.OutputTokens, u.ReasoningTokens)
	}
	if d.HasErr {
		fmt.Fprintf(&b, "error %q\n", d.Err)
	}
	if d.Items > 0 {
		fmt.Fprintf(&b, "items %d\n", d.Items)
	}
	if d.Done {
		b.WriteString("done\n")
	}
	return b.String()
}

// TestTranscripts reads streams in the manner of real servers. What they mean
// is written by hand beside them, the dialect in the first line.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	var files []string
	for _, kind := range []string{"sse", "ndjson", "json"} {
		found, err := filepath.Glob("testdata/*." + kind)
		if err != nil || len(found) == 0 {
			t.Fatalf("found %d transcripts of kind %s, %v", len(found), kind, err)
		}
		files = append(files, found...)
	}
	spoken := map[string]bool{}
	for _, file := range files {
		first, _, _ := strings.Cut(readText(t, strings.TrimSuffix(file, filepath.Ext(file))+".want"), "\n")
		spoken[strings.TrimPrefix(first, "dialect ")] = true
	}
	for _, d := range All() {
		if !spoken[d.Name] {
			t.Errorf("%s has no transcript", d.Name)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			stream := readText(t, file)
			first, want, _ := strings.Cut(readText(t, strings.TrimSuffix(file, filepath.Ext(file))+".want"), "\n")
			d, ok := ByName(strings.TrimPrefix(first, "dialect "))
			if !ok {
				t.Fatalf("no dialect in the first line %q", first)
			}
			if filepath.Ext(file) == ".json" {
				expect.Same(t, want, readWhole(t, d, stream))
				return
			}
			for name, ending := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
				if name == "CR" && d.Framing == frame.Lines {
					continue
				}
				form := strings.ReplaceAll(stream, "\n", ending)
				for _, pieces := range [][]string{{form}, bytewise(form)} {
					expect.NoDiff(t, cmp.Diff(want, readMeaning(t, d, pieces)), "%s in %d pieces (-want +got)", name, len(pieces))
				}
			}
		})
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	b := must.Read(t, file)
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

func readMeaning(t *testing.T, d *Dialect, pieces []string) string {
	t.Helper()
	s := d.Framing.NewReader()
	var delta Delta
	var meaning strings.Builder
	for _, p := range pieces {
		s.Push([]byte(p))
		for f, ok := s.Next(); ok; f, ok = s.Next() {
			if err := d.Decode(f.Name, f.Data, &delta); err != nil {
				t.Fatalf("%s: %v", f.Data, err)
			}
			meaning.WriteString(describe(&delta))
		}
	}
	return meaning.String()
}

func readWhole(t *testing.T, d *Dialect, body string) string {
	t.Helper()
	var delta Delta
	must.Do(t, d.DecodeWhole([]byte(body), &delta))
	return describe(&delta)
}
