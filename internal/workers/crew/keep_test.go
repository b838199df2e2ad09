package crew

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/must"
)

// own is a copy that stays when the next record is read.
func own(t *testing.T, r *record.Record) record.Record {
	t.Helper()
	copied := must.Get(record.ParseLine(r.AppendLine(nil)))(t)
	return *copied
}

// keptBy reads what workers kept, by the number of the request.
func keptBy(t *testing.T, dir, run string, names ...string) map[int]record.Record {
	t.Helper()
	all := map[int]record.Record{}
	for _, name := range names {
		f := must.Get(os.Open(filepath.Join(dir, run+"-"+name+".jsonl")))(t)
		defer f.Close()
		r := must.Get(record.NewReader(f))(t)
		if r.Header.Run != run || r.Header.OriginUnixNS == 0 {
			t.Errorf("%s: header %+v, want run %s and its origin", name, r.Header, run)
		}
		n := len(all)
		for rec, err := range r.All() {
			must.Do(t, err)
			if all[rec.ID] = own(t, rec); rec.Thinned() {
				t.Errorf("%s keeps request %d without its token times", name, rec.ID)
			}
		}
		if r.Unended > 0 || r.Mark == 0 || len(all) == n {
			t.Errorf("%s: %d requests without an end, last mark %d, %d records", name, r.Unended, r.Mark, len(all)-n)
		}
	}
	return all
}

// TestWorkersKeepCompleteRecords: what the conductor gets is what is left of the
// records that the workers keep.
func TestWorkersKeepCompleteRecords(t *testing.T) {
	dir := t.TempDir()
	flags := map[string][]string{"rate": {"20"}, "duration": {"10s"}, "warmup": {"2s"}, "token-times": {"20%"}, "workload": {"fixed(100,30)"}}
	res, records, said := together(t, 2, &fault{worker: -1, keep: dir}, flags)
	kept := keptBy(t, dir, res.ID, "w0", "w1")
	if len(kept) != len(records) || len(records) < 200 {
		t.Fatalf("%d records kept by the workers, %d by the conductor: %q", len(kept), len(records), said)
	}
	thin, timed := &account.Thinner{Share: 0.2}, 0
	for _, rec := range records {
		whole := kept[rec.ID]
		whole.Phase, whole.KVBytes = rec.Phase, rec.KVBytes // the conductor's part
		if got, want := string(rec.AppendLine(nil)), string(thin.Of(&whole).AppendLine(nil)); got != want {
			t.Fatalf("the conductor has %s, want %s", got, want)
		}
		if !rec.Thinned() {
			timed++
		}
	}
	if share := float64(timed) / float64(len(records)); share < 0.15 || share > 0.25 {
		t.Errorf("%d of %d requests with token times, want a fifth", timed, len(records))
	}
	if res.Points[0].Latency.ITL.N >= res.Points[0].Requests.Due*29/2 {
		t.Errorf("%d gaps of %d requests", res.Points[0].Latency.ITL.N, res.Points[0].Requests.Due)
	}
	warned := false
	for _, w := range res.Warnings {
		warned = warned || strings.Contains(w.Text, "itl and icl cover 20% of the requests")
	}
	if !warned {
		t.Errorf("nothing says so: %+v", res.Warnings)
	}
}
