package trace

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// long is a log of n rows, a tenth of a second apart, every seventh of them
// bad and every eleventh failed.
func long(n int) (text string, good []Row) {
	var b strings.Builder
	b.WriteString("Timestamp,Session ID,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
	for i := range n {
		row := Row{At: time.Duration(i) * 100 * ms, Prompt: i + 1, Output: i%50 + 1, Session: fmt.Sprint("s", i%20), Class: "m", Line: i + 2}
		prompt := fmt.Sprint(row.Prompt)
		switch {
		case i%7 == 3:
			prompt = "?"
		case i%11 == 5:
			row.Output = 0
		default:
			good = append(good, row)
		}
		fmt.Fprintf(&b, "%.1f,%s,m,%s,%d,9,log\n", float64(i)/10, row.Session, prompt, row.Output)
	}
	return b.String(), good
}

func TestRowsAreFoundInAnyOrderAndAtTheSameTime(t *testing.T) {
	t.Parallel()
	text, want := long(5000)
	f := open(t, must.File(t, "long.csv", text), Options{SkipBadRows: true})
	if diff := cmp.Diff(want, all(t, f)); diff != "" {
		t.Fatalf("in order (-want +got):\n%s", diff)
	}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for k := range 150 {
				i := (k*7919 + worker*1013) % len(want)
				got, err := f.Row(i)
				if diff := cmp.Diff(want[i], got); err != nil || diff != "" {
					t.Errorf("row %d: %v\n%s", i, err, diff)
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestARowThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := open(t, "testdata/azure.csv", Options{})
	for _, i := range []int{-1, 3} {
		if _, err := f.Row(i); err == nil || err.Error() != fmt.Sprintf("testdata/azure.csv: no row %d, it has 3", i) {
			t.Errorf("row %d: %v", i, err)
		}
	}
}

func TestAFileThatShrinksInUseIsSaid(t *testing.T) {
	t.Parallel()
	text, _ := long(2000)
	path := must.File(t, "long.csv", text)
	f := open(t, path, Options{SkipBadRows: true})
	must.Do(t, os.Truncate(path, int64(len(text)/2)))
	_, err := f.Row(f.Len() - 1)
	if err == nil || !strings.Contains(err.Error(), "the file changed while it was in use") {
		t.Errorf("got %v", err)
	}
}

func TestLongLinesAreReadWhole(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("lorem ipsum ", 20_000)
	path := must.File(t, "long.jsonl", fmt.Sprintf("{\"prompt\":%q,\"prompt_tokens\":60000,\"output_tokens\":5}\n{\"prompt\":%q,\"prompt_tokens\":60000,\"output_tokens\":5}\n", text, text))
	f := open(t, path, Options{Format: "jsonl"})
	rows := all(t, f)
	if len(rows) != 2 || len(rows[0].Blocks) != (len(text)+2)/blockBytes || rows[0].BlockTokens != blockTokens {
		t.Fatalf("%d rows, the first of %d blocks", len(rows), len(rows[0].Blocks))
	}
	expect.NoDiff(t, cmp.Diff(rows[0].Blocks, rows[1].Blocks), "equal texts have other blocks")
}

func TestBlocksOfTextStandForTheWholePrefix(t *testing.T) {
	t.Parallel()
	block := func(c string) string { return strings.Repeat(c, blockBytes) }
	first := textBlocks([]byte(block("a")+block("b")+"rest"), 1)
	for _, c := range []struct {
		name, text string
		salt       uint64
		shared     int
	}{
		{"the same", block("a") + block("b") + "other", 1, 2},
		{"another second block", block("a") + block("c"), 1, 1},
		{"another first block", block("c") + block("b"), 1, 0},
		{"another salt", block("a") + block("b"), 2, 0},
		{"less than a block", "a", 1, 0},
	} {
		shared := 0
		for i, id := range textBlocks([]byte(c.text), c.salt) {
			if i < len(first) && id == first[i] {
				shared++
			}
		}
		if shared != c.shared {
			t.Errorf("%s: %d blocks shared, want %d", c.name, shared, c.shared)
		}
	}
}

func TestCoarseTimestampsAreSpread(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "{\"timestamp\":%d,\"input_length\":600,\"output_length\":5,\"hash_ids\":[1,2]}\n", i/10*3000+i/10%2)
	}
	path := must.File(t, "coarse.jsonl", b.String())
	f := open(t, path, Options{})
	expect.NoDiff(t, cmp.Diff([]string{"timestamps come in steps of about 3s: requests that share one are spread over the step"}, f.Notes()), "notes (-want +got)")
	last := time.Duration(-1)
	for i, row := range all(t, f) {
		step := time.Duration(i/10*3000+i/10%2) * ms
		if row.At <= last || row.At < step || row.At >= step+3*time.Second {
			t.Fatalf("row %d at %v after %v, want it within 3s of %v", i, row.At, last, step)
		}
		last = row.At
	}
	expect.NoDiff(t, cmp.Diff(all(t, f), all(t, open(t, path, Options{}))), "opened again it is spread otherwise")
	if kept := all(t, open(t, path, Options{KeepTimes: true})); kept[9].At != 0 || kept[10].At != 3001*ms {
		t.Errorf("kept times %v and %v, want 0 and 3.001s", kept[9].At, kept[10].At)
	}
}

func TestFineTimestampsAreLeftAlone(t *testing.T) {
	t.Parallel()
	for name, times := range map[string][]int64{
		"no two alike":        {0, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9, 7e9, 8e9, 9e9, 10e9, 11e9},
		"a tenth of a second": {0, 0, 1e8, 1e8, 5e9, 5e9, 6e9, 7e9, 8e9, 9e9, 10e9, 11e9, 12e9, 13e9},
		"a burst each minute": {0, 0, 6e10, 6e10, 12e10, 12e10, 18e10, 18e10, 24e10, 24e10, 3e11, 3e11, 36e10, 42e10, 48e10, 54e10, 6e11},
		"few":                 {0, 0, 1e9, 1e9},
		"none":                nil,
	} {
		if q := quantum(times); q != 0 {
			t.Errorf("%s: taken for steps of %v", name, q)
		}
	}
}
