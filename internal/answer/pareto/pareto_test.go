package pareto

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"redline/internal/expect"
	"redline/internal/judge/figure"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// dominates is the definition, word for word.
func dominates(a, b Place) bool {
	return a.X >= b.X && a.Y >= b.Y && (a.X > b.X || a.Y > b.Y)
}

func TestFrontierIsWhatNothingDominates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// Few values, so that ties and copies are common.
		places := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Place {
			return Place{float64(rapid.IntRange(-4, 4).Draw(t, "x")), float64(rapid.IntRange(-4, 4).Draw(t, "y"))}
		}), 0, 30).Draw(t, "places")
		by := frontier(places)
		for i, p := range places {
			most := math.Inf(-1)
			for _, other := range places {
				if dominates(other, p) {
					most = max(most, other.Y)
				}
			}
			switch {
			case by[i] < 0 && !math.IsInf(most, -1):
				t.Fatalf("%v is said to be on the frontier of %v", p, places)
			case by[i] >= 0 && !dominates(places[by[i]], p):
				t.Fatalf("%v does not dominate %v", places[by[i]], p)
			case by[i] >= 0 && by[by[i]] >= 0:
				t.Fatalf("%v is beaten by %v, which is not on the frontier itself", p, places[by[i]])
			case by[i] >= 0 && places[by[i]].Y != most:
				t.Fatalf("%v is beaten by %v, but another gives %g", p, places[by[i]], most)
			}
		}
	})
}

func TestFrontierOfAFew(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		places []Place
		want   []int
	}{
		{"nothing", nil, []int{}},
		{"one", []Place{{1, 1}}, []int{-1}},
		{"two copies are both on it", []Place{{1, 1}, {1, 1}}, []int{-1, -1}},
		{"as much of one and less of the other", []Place{{1, 1}, {1, 2}}, []int{1, -1}},
		{"each the best in one", []Place{{1, 9}, {9, 1}, {3, 3}}, []int{-1, -1, -1}},
		{"inside", []Place{{1, 9}, {9, 1}, {0.5, 0.5}}, []int{-1, -1, 0}},
		{"what is no number beats nothing", []Place{{nan, 9}, {1, 1}, {9, nan}}, []int{-1, -1, -1}},
	} {
		expect.NoDiff(t, cmp.Diff(tt.want, frontier(tt.places)), "%s (-want +got)", tt.name)
	}
}

// swept is a sweep on so many accelerators: each level as rate, tokens/s per
// user and tokens/s in all.
func swept(id string, accelerators int, levels ...[3]float64) *result.Result {
	r := &result.Result{ID: id, Hardware: result.Hardware{Count: accelerators}, Workload: result.Workload{Name: "chat"},
		Verdict: result.Verdict{Valid: "yes"}, Curve: &result.Curve{By: "rate"}}
	for i, l := range levels {
		r.Points = append(r.Points, result.Point{Load: result.Load{Mode: "open", Rate: new(l[0])}, Summary: metric.Summary{
			Interactivity: &metric.Dist{P: map[string]float64{"p50": l[1], "p99": l[1] / 2}},
			Throughput:    metric.Throughput{Output: l[2]},
			Objectives:    []slo.Verdict{{Standing: slo.Met}},
		}})
		r.Curve.Points = append(r.Curve.Points, i)
	}
	return r
}

// Eight accelerators that give six times the tokens of one are worse per
// accelerator, but quicker.
func TestPerAccelerator(t *testing.T) {
	t.Parallel()
	one, eight := swept("one", 1, [3]float64{2, 80, 400}, [3]float64{8, 50, 1500}), swept("eight", 8, [3]float64{16, 120, 2400}, [3]float64{48, 45, 9000})
	f := Of([]Series{{"one", []*result.Result{one}}, {"eight", []*result.Result{eight}}}, Pairs()[0])
	want := []Point{
		{Series: 0, Run: "one", Load: one.Points[0].Load, X: 80, Y: 400, Objectives: "met", Standing: OnFrontier},
		{Series: 0, Run: "one", Load: one.Points[1].Load, X: 50, Y: 1500, Objectives: "met", Standing: OnFrontier},
		{Series: 1, Run: "eight", Load: eight.Points[0].Load, X: 120, Y: 300, Objectives: "met", Standing: OnFrontier},
		{Series: 1, Run: "eight", Load: eight.Points[1].Load, X: 45, Y: 1125, Objectives: "met", Standing: Dominated, By: new(1)},
	}
	expect.NoDiff(t, cmp.Diff(want, f.Points), "points (-want +got)")
	expect.NoDiff(t, cmp.Diff([]Stretch{{Series: 0, From: 50, To: 80, Points: 2}, {Series: 1, From: 120, To: 120, Points: 1}}, f.Held), "held (-want +got)")
	if len(f.Notes) > 0 {
		t.Errorf("notes of runs that are alike: %q", f.Notes)
	}
}

func TestUnknownAcceleratorsMakeItPerInstance(t *testing.T) {
	t.Parallel()
	known, unknown := swept("known", 4, [3]float64{2, 80, 400}), swept("unknown", 0, [3]float64{2, 70, 300})
	f := Of([]Series{{"known", []*result.Result{known}}, {"unknown", []*result.Result{unknown}}}, Pairs()[0])
	if f.Points[0].Y != 400 || f.Points[1].Y != 300 || !strings.Contains(f.Y.Title, "instance") {
		t.Errorf("%+v by %q, want 400 and 300 per instance", f.Points, f.Y.Title)
	}
	if len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "accelerators unknown ran on") {
		t.Errorf("notes %q do not say whose accelerators are not known", f.Notes)
	}
	unknown.Hardware.Count = 2
	f = Of([]Series{{"known", []*result.Result{known}}, {"told", []*result.Result{unknown}}}, Pairs()[0])
	if f.Points[0].Y != 100 || f.Points[1].Y != 150 || len(f.Notes) > 0 {
		t.Errorf("%+v, %q; want 100 and 150 per accelerator", f.Points, f.Notes)
	}
}

// What may not be held against others is kept, and beats nothing.
func TestLeftOutPointsBeatNothing(t *testing.T) {
	t.Parallel()
	sound, invalid, flooded := swept("sound", 1, [3]float64{2, 50, 500}), swept("invalid", 1, [3]float64{2, 99, 999}), swept("flooded", 1, [3]float64{9, 60, 900})
	invalid.Verdict.Valid = "no"
	flooded.Points[0].Window.Overload = new(true)
	sound.Points[0].Requests = metric.Requests{Due: 100, OK: 90, Censored: 10}
	unfinished := swept("unfinished", 1, [3]float64{10, 70, 950})
	unfinished.Points[0].Requests = metric.Requests{Due: 100, OK: 89, Censored: 6, Unsent: 5}
	f := Of([]Series{{"a", []*result.Result{sound, invalid, flooded, unfinished}}}, Pairs()[0])
	var standings []string
	for _, p := range f.Points {
		standings = append(standings, p.Run+": "+p.Standing)
	}
	expect.Same(t, []string{"invalid: left out", "sound: frontier", "flooded: left out", "unfinished: left out"}, standings)
}

// A level that its sweep left out is left out here; and where nothing else is
// there, all points are shown, and said to be no claim.
func TestAFrontierIsNeverEmpty(t *testing.T) {
	t.Parallel()
	r := swept("r", 1, [3]float64{2, 80, 400}, [3]float64{8, 50, 1500}, [3]float64{9, 40, 1200})
	r.Points[1].Invalid = "lag: p99 9 ms"
	standings := func() (list []string, notes string) {
		f := Of([]Series{{"r", []*result.Result{r}}}, Pairs()[0])
		for _, p := range f.Points {
			list = append(list, p.Standing+p.Why)
		}
		return list, strings.Join(f.Notes, "; ")
	}
	got, notes := standings()
	if diff := cmp.Diff([]string{OnFrontier, LeftOut + "not valid: lag: p99 9 ms", OnFrontier}, got); diff != "" || notes != "" {
		t.Errorf("notes %q (-want +got):\n%s", notes, diff)
	}
	for i := range r.Points {
		r.Points[i].Invalid = "lag: p99 9 ms"
	}
	got, notes = standings()
	const why = "not valid: lag: p99 9 ms"
	if diff := cmp.Diff([]string{OnFrontier + why, OnFrontier + why, Dominated + why}, got); diff != "" || !strings.Contains(notes, "no claim") {
		t.Errorf("notes %q (-want +got):\n%s", notes, diff)
	}
}

func TestLessMayBeBetter(t *testing.T) {
	t.Parallel()
	r := swept("r", 1, [3]float64{2, 80, 400}, [3]float64{8, 50, 1500}, [3]float64{9, 40, 1500})
	for i, cost := range []float64{5, 1, 2} {
		r.Points[i].Cost = &result.Cost{Per1mOutput: cost}
	}
	f := Of([]Series{{"r", []*result.Result{r}}}, Pairs()[1])
	got := []string{f.Points[0].Standing, f.Points[1].Standing, f.Points[2].Standing}
	if diff := cmp.Diff([]string{OnFrontier, OnFrontier, Dominated}, got); diff != "" || *f.Points[2].By != 1 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPointsWithoutBothFiguresAreNamed(t *testing.T) {
	t.Parallel()
	f := Of([]Series{{"free", []*result.Result{swept("r", 1, [3]float64{2, 80, 400})}}}, Pairs()[1])
	want := &Front{Series: []string{"free"}, Points: []Point{}, Held: []Stretch{}, Notes: []string{"free has no point with both interactivity:p50 and cost"}}
	expect.Same(t, want, f, cmpopts.IgnoreFields(Front{}, "X", "Y"))
}

func TestUnlikeWorkIsNoted(t *testing.T) {
	t.Parallel()
	a, b := swept("a", 1, [3]float64{2, 80, 400}), swept("b", 1, [3]float64{2, 80, 400})
	b.Workload.Name = "summarization"
	f := Of([]Series{{"a", []*result.Result{a}}, {"b", []*result.Result{b}}}, Pairs()[0])
	if len(f.Notes) != 1 || !strings.Contains(f.Notes[0], "chat, summarization") {
		t.Errorf("notes %q", f.Notes)
	}
}

// Only loads of one kind of work are weighed: of a protocol the curve and its
// sustained run, of repeats all of them together.
func TestWhichPointsAreWeighed(t *testing.T) {
	t.Parallel()
	three := make([]result.Point, 3)
	for _, tt := range []struct {
		name string
		run  result.Result
		want []int
	}{
		{"plain", result.Result{Points: three}, []int{0, 1, 2}},
		{"curve", result.Result{Points: three, Curve: &result.Curve{Points: []int{0, 1, 7}}, Sustained: new(2)}, []int{0, 1, 2}},
		{"repeats", result.Result{Points: three, Repeats: &result.Repeats{Point: new(2)}}, []int{2}},
	} {
		expect.NoDiff(t, cmp.Diff(tt.want, alike(&tt.run)), "%s (-want +got)", tt.name)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	p := &swept("r", 1, [3]float64{2, 80, 400}).Points[0]
	for name, want := range map[string]float64{"interactivity": 80, "interactivity:p50": 80, "interactivity:p99": 40, "throughput": 400} {
		f, err := Find(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, ok := f.read(&result.Result{}, p); !ok || got != want {
			t.Errorf("%s is %g, %v; want %g", name, got, ok, want)
		}
	}
	for name, says := range map[string]string{"": "expected one of", "interactivty": "interactivity", "ttft:p": "such as p50", "ttft:worst": "such as p50", "ttft:": "such as p50", "lag:p99": "the client's own time", "cost:max:2": "write cost or cost:request"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q in it", name, err, says)
		}
	}
	for _, name := range figure.Names(figure.Plot) {
		if f, err := Find(name); err != nil || f.of.Figure == nil || f.Title == "" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// Quicker and worse does not beat slower and better.
func TestQualityIsWeighed(t *testing.T) {
	t.Parallel()
	asked := func(id string, output, score float64) *result.Result {
		r := swept(id, 1, [3]float64{2, 80, output})
		r.Points[0].Quality = &result.Quality{Set: id, Phases: []result.QualityPhase{{Phase: result.Alone, Score: new(1.0)}, {Phase: result.UnderLoad, Score: new(score)}}}
		return r
	}
	f := Of([]Series{{"fp8", []*result.Result{asked("a", 900, 0.81)}}, {"bf16", []*result.Result{asked("a", 500, 0.86)}}, {"int4", []*result.Result{asked("b", 880, 0.6)}}}, Pairs()[2])
	got := map[string]string{}
	for _, p := range f.Points {
		got[f.Series[p.Series]] = p.Standing
	}
	expect.Same(t, map[string]string{"fp8": OnFrontier, "bf16": OnFrontier, "int4": Dominated}, got)
	if len(f.Notes) != 4 || !strings.Contains(f.Notes[0], "golden sets") {
		t.Errorf("notes %q do not say that the questions were not the same", f.Notes)
	}
}

// A few questions that were asked beside a short load do not stand for the set:
// 92% of 25 is no 100% because the 6 that came under load were right.
func TestQualityIsThatOfTheWholeSet(t *testing.T) {
	t.Parallel()
	r := swept("a", 1, [3]float64{2, 80, 900})
	r.Points[0].Quality = &result.Quality{Set: "q", Items: 25, Phases: []result.QualityPhase{
		{Phase: result.Alone, Covered: 25, Score: new(0.92)}, {Phase: result.UnderLoad, Covered: 6, Score: new(1.0)}, {Phase: result.After, Covered: 25, Score: new(0.88)}}}
	for name, want := range map[string]float64{"quality": 0.92, "quality:alone": 0.92, "quality:under_load": 1, "quality:after": 0.88} {
		y := must.Get(Find(name))(t)
		f := Of([]Series{{"a", []*result.Result{r}}}, Pair{Pairs()[2].X, y})
		if len(f.Points) != 1 || f.Points[0].Y != want {
			t.Errorf("%s is of %+v, want %v", name, f.Points, want)
		}
		said := strings.Join(f.Notes, "; ")
		if whole := strings.Contains(said, "quality of a is of 25 of the 25 questions of q, asked alone"); whole != (name == "quality") {
			t.Errorf("%s: notes %q", name, said)
		}
	}
	all := r.Points[0].Quality.Phases
	all[1].Covered, all[1].Score = 25, new(0.8)
	if v, _ := r.Points[0].Quality.ScoreOf(""); v != 0.8 {
		t.Errorf("%v, want the score under load, where the whole set was asked", v)
	}
}
