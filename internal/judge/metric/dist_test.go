package metric

import (
	"encoding/json"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestDistIsOneFlatObject(t *testing.T) {
	t.Parallel()
	d := Dist{N: 1204, Mean: 1.0 / 3, Max: 1234567.8, P: map[string]float64{"p999": 9, "p50": 0.5, "p5": 0.1, "p9999": 10, "p99": 8.25},
		Firm: []string{"p50", "p99"}, CI: map[string][2]float64{"p99": {8, 8.5}, "p50": {0.4, 0.6}}}
	got := must.Get(json.Marshal(d))(t)
	want := `{"n":1204,"mean":0.333333,"p5":0.1,"p50":0.5,"p99":8.25,"p999":9,"p9999":10,"max":1234570,` +
		`"confident":["p50","p99"],"ci":{"p50":[0.4,0.6],"p99":[8,8.5]}}`
	expect.Same(t, want, string(got))
}

func TestDistWithoutFirmPercentiles(t *testing.T) {
	t.Parallel()
	got := must.Get(json.Marshal(&Dist{N: 1, Mean: 2, Max: 2}))(t)
	if want := `{"n":1,"mean":2,"max":2,"confident":[]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestDistRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"n":1,"median":2}`:  `"median": unknown key`,
		`{"n":1,"p":2}`:       `"p": unknown key`,
		`{"n":1,"p9x":2}`:     `"p9x": unknown key`,
		`{"n":"many"}`:        `"n"`,
		`{"n":1,"p99":"far"}`: `"p99"`,
		`[1]`:                 "cannot unmarshal array",
	} {
		var d Dist
		if err := json.Unmarshal([]byte(text), &d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", text, err, want)
		}
	}
}

func FuzzDist(f *testing.F) {
	f.Add(`{"n":3,"mean":1.5,"p50":1,"p99":2.25,"max":3,"confident":["p50"],"ci":{"p50":[0.5,1.5]}}`)
	f.Add(`{"n":0,"mean":0,"max":0,"confident":[]}`)
	f.Add(`{"p1":-1e-9,"n":1}`)
	f.Fuzz(func(t *testing.T, text string) {
		var first, second Dist
		if json.Unmarshal([]byte(text), &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("%s was read but not written: %v", text, err)
		}
		if err := json.Unmarshal(written, &second); err != nil {
			t.Fatalf("%s was written but not read: %v", written, err)
		}
		again, err := json.Marshal(second)
		if err != nil || string(again) != string(written) {
			t.Fatalf("%s became %s: %v", written, again, err)
		}
	})
}

func TestAbsentDist(t *testing.T) {
	t.Parallel()
	var d *Dist
	if v, ok := d.Get("p99"); ok || v != 0 || d.IsFirm("p99") || d.Keys() != nil {
		t.Error("a distribution that was not measured answers")
	}
}
