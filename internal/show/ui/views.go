package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"redline/internal/judge/slo"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/answer/pareto"
	"redline/internal/judge/result"
	"redline/internal/run/history"
	"redline/internal/run/measure"
	"redline/internal/show/document"
	"redline/internal/show/listing"
	"redline/internal/show/report"
	"redline/internal/text"
)

// read gives the result of a run, under the name that a command has for it.
func (r *run) read() (*result.Result, error) {
	res, err := measure.Rebuild(filepath.FromSlash(r.Path))
	if err != nil {
		return nil, err
	}
	res.Path = r.Path
	return res, nil
}

// run is the page of a run: its report, or while it goes on its figures.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	one, err := s.find(r.Context(), r.PathValue("run"))
	if job := s.jobOf(r.PathValue("run")); job != nil && (err != nil || one.State != "") && s.showJob(w, r, job, one) {
		return
	}
	if err != nil {
		s.fail(w, r, http.StatusNotFound, nil, err)
		return
	}
	if one.Key != r.PathValue("run") {
		http.Redirect(w, r, "/run/"+one.Key, http.StatusFound)
		return
	}
	commands := []string{command("redline", "report", one.Path)}
	if one.State == running {
		s.show(w, r, view{Title: one.Path, Commands: commands, Refresh: 5}, "live", map[string]any{"Run": one, "News": one.news(r.Context())})
		return
	}
	res, err := one.read()
	if err != nil {
		if one.State != killed {
			err = fmt.Errorf("%s is broken: %w", one.Path, err)
		}
		s.fail(w, r, http.StatusOK, commands, err)
		return
	}
	page, err := renderFragment(report.Whole(res), 0)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, commands, err)
		return
	}
	s.show(w, r, view{Title: one.Path, Commands: commands}, "run", map[string]any{"Run": one, "Report": page, "Plannable": plannable(res)})
}

// maxChosen is how many runs a page compares.
const maxChosen = 12

// runsByKey are the runs that an address names under a key, oldest first.
func (s *Server) runsByKey(ctx context.Context, keys []string) ([]*run, error) {
	all, err := s.runs(ctx)
	if err != nil {
		return nil, err
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys))) // one may be named twice
	chosen, missing := map[*run]bool{}, 0
	for _, key := range keys {
		one := pick(all, key)
		if one == nil {
			missing++
		}
		chosen[one] = true
	}
	var list []*run
	for _, one := range slices.Backward(all) {
		if chosen[one] {
			list = append(list, one)
		}
	}
	switch {
	case missing > 0:
		return nil, fmt.Errorf("%d of the %s chosen are not in %s: choose from the list again", missing, text.Plural(len(keys), "run"), s.Root)
	case len(list) > maxChosen:
		return nil, fmt.Errorf("%d runs are chosen, a page shows %d: choose fewer", len(list), maxChosen)
	}
	return list, nil
}

// compare compares each b with a.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	a, b, err := s.sides(r.Context(), r.URL.Query())
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, nil, err)
		return
	}
	if r.URL.Query().Has("run") {
		to := url.Values{"a": {a.Key}}
		for _, one := range b {
			to.Add("b", one.Key)
		}
		http.Redirect(w, r, "/compare?"+to.Encode(), http.StatusSeeOther)
		return
	}
	var commands []string
	var pages []template.HTML
	for i, one := range b {
		commands = append(commands, command("redline", "compare", a.Path, one.Path))
		page, err := comparePage(a, one, i)
		if err != nil {
			s.fail(w, r, http.StatusOK, commands[i:], err)
			return
		}
		pages = append(pages, page)
	}
	s.show(w, r, view{Title: "comparison", Commands: commands}, "documents", pages)
}

// sides are the run that an address names as a and those that it names as b, or of
// the boxes of the list the oldest and the others.
func (s *Server) sides(ctx context.Context, query url.Values) (a *run, b []*run, err error) {
	list, err := s.runsByKey(ctx, query["run"])
	if err == nil && len(list) == 0 {
		if list, err = s.runsByKey(ctx, query["a"]); err == nil && len(list) == 1 {
			b, err = s.runsByKey(ctx, query["b"])
			list = append(list, b...)
		}
	}
	if err == nil && len(list) < 2 {
		err = errors.New("choose two runs or more in the list: the oldest is what the others are compared with")
	}
	if err != nil {
		return nil, nil, err
	}
	return list[0], list[1:], nil
}

// comparePage is the comparison of two stored runs as redline compare makes it.
func comparePage(a, b *run, number int) (template.HTML, error) {
	first, err := a.read()
	if err != nil {
		return "", err
	}
	second, err := b.read()
	if err != nil {
		return "", err
	}
	c, err := compare.Runs([]*result.Result{first}, []*result.Result{second}, compare.Options{Seed: 1})
	if err != nil {
		return "", fmt.Errorf("%s and %s: %w", a.Path, b.Path, err)
	}
	return renderFragment(report.Whole(c.Result(second)), number)
}

// frontier draws the points of the chosen runs.
func (s *Server) frontier(w http.ResponseWriter, r *http.Request) {
	list, err := s.runsByKey(r.Context(), r.URL.Query()["run"])
	if err == nil && len(list) == 0 {
		err = errors.New("choose runs in the list")
	}
	if err != nil {
		s.fail(w, r, http.StatusBadRequest, nil, err)
		return
	}
	words := []string{"redline", "report"}
	var series []pareto.Series
	for _, one := range list {
		words = append(words, one.Path)
		if err == nil {
			var res *result.Result
			if res, err = one.read(); err == nil {
				series = append(series, pareto.Series{Runs: []*result.Result{res}})
			}
		}
	}
	commands := []string{command(append(words, "--pareto")...)}
	nameSeries(series, list)
	var fronts []*pareto.Front
	for _, pair := range pareto.Pairs() {
		if front := pareto.Of(series, pair); len(front.Points) > 0 {
			fronts = append(fronts, front)
		}
	}
	if err == nil && len(fronts) == 0 {
		err = errors.New("no point of these runs has both figures of a frontier: interactivity and throughput per accelerator")
	}
	var page template.HTML
	if err == nil {
		page, err = renderFragment(listing.Frontiers(fronts), 0)
	}
	if err != nil {
		s.fail(w, r, http.StatusOK, commands, err)
		return
	}
	s.show(w, r, view{Title: "frontier", Commands: commands}, "documents", []template.HTML{page})
}

// nameSeries gives each run its label, or its directory where another has that
// label.
func nameSeries(series []pareto.Series, list []*run) {
	times := map[string]int{}
	for _, one := range series {
		times[one.Runs[0].Label]++
	}
	for i, one := range series {
		if label := one.Runs[0].Label; label != "" && times[label] == 1 {
			series[i].Name = label
		} else {
			series[i].Name = list[i].Dir
		}
	}
}

// maxSeries is how many series the table of drift has.
const maxSeries = 50

// driftSeries is one series on the page of drift.
type driftSeries struct {
	*result.Drift
	Newest     *run
	Word, Tone string
	Trend      *trend
}

// drift shows how the series of a label, or of a run, moved.
func (s *Server) drift(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	filter := history.Filter{Label: query.Get("label"), Model: query.Get("model"), Engine: query.Get("engine")}
	words := append([]string{"redline", "history", "drift"}, s.rootFlag()...)
	if key := query.Get("run"); key != "" {
		one, err := s.find(r.Context(), key)
		if err == nil && one.Entry == nil {
			err = fmt.Errorf("%s is %s: it belongs to no series", one.Path, one.State)
		}
		if err != nil {
			s.fail(w, r, http.StatusNotFound, nil, err)
			return
		}
		filter.Series = one.Entry.Series
		words = append(words, one.Entry.ID)
	}
	for _, f := range [][2]string{{"--label", filter.Label}, {"--model", filter.Model}, {"--engine", filter.Engine}} {
		if f[1] != "" {
			words = append(words, f[0], f[1])
		}
	}
	commands := []string{command(words...)}
	list, left, err := s.drifts(r.Context(), filter)
	data := map[string]any{"Filter": filter, "Series": list, "Left": left}
	if err == nil && len(list) == 1 {
		data["Page"], data["Runs"], err = s.series(r.Context(), list[0].Drift)
	}
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, commands, err)
		return
	}
	s.show(w, r, view{Title: "drift", Commands: commands}, "drift", data)
}

// rank puts what has to be looked at first.
func (d driftSeries) rank() int {
	return slices.Index([]slo.Standing{slo.Worse, slo.Mixed, slo.Better, slo.Same, slo.Undecided, slo.NotJudged}, d.Standing)
}

// ShortName is the name of the series for a column.
func (d driftSeries) ShortName() string { return document.Shorten(d.Name, 48) }

// drifts judges the series with a run among those wanted, the newest first, and
// says how many are left out.
func (s *Server) drifts(ctx context.Context, f history.Filter) (list []driftSeries, left int, err error) {
	err = s.withIndex(ctx, func(ix *history.Index) error {
		wanted, err := ix.List(ctx, f)
		if err != nil {
			return err
		}
		newest := history.Newest(wanted)
		left = max(0, len(newest)-maxSeries)
		for _, e := range newest[:len(newest)-left] {
			d, err := ix.Drift(ctx, e)
			if err != nil {
				return err
			}
			one := driftSeries{Drift: d, Newest: s.listedRun(e)}
			one.Word, one.Tone = driftWord(d)
			var values []float64
			for _, run := range d.Values {
				if v, known := run.Values["throughput"]; known {
					values = append(values, v)
				}
			}
			one.Trend = newTrend(values)
			list = append(list, one)
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b driftSeries) int { return cmp.Compare(a.rank(), b.rank()) })
	return list, left, err
}

// driftWord is how a series stands, and the class of that.
func driftWord(d *result.Drift) (word, tone string) {
	h := listing.DriftHeadline(d)
	if d.Standing == slo.Undecided {
		h.Tone = document.Plain // most series are young
	}
	return strings.ToLower(strings.TrimSuffix(h.Word, ": ")), document.Class(h.Tone)
}

// series is the whole answer on one series, and its runs, the newest first.
func (s *Server) series(ctx context.Context, d *result.Drift) (page template.HTML, runs []*run, err error) {
	whole := listing.Drift(d)
	whole.Title = cmp.Or(whole.Title, "drift of "+document.Shorten(d.Name, 60))
	if page, err = renderFragment(whole, 0); err != nil {
		return "", nil, err
	}
	err = s.withIndex(ctx, func(ix *history.Index) error {
		entries, err := ix.List(ctx, history.Filter{Series: d.Series})
		for _, e := range slices.Backward(entries) {
			runs = append(runs, s.listedRun(e))
		}
		return err
	})
	return page, runs, err
}

// pin makes a run the baseline of its series, or no longer.
func (s *Server) pin(w http.ResponseWriter, r *http.Request) {
	one, err := s.find(r.Context(), r.PathValue("run"))
	if err == nil && one.Entry == nil {
		err = fmt.Errorf("%s is %s: only a finished run can be a baseline", one.Path, one.State)
	}
	if err != nil {
		s.fail(w, r, http.StatusNotFound, nil, err)
		return
	}
	err = s.withIndex(r.Context(), func(ix *history.Index) error {
		if filepath.Base(r.URL.Path) == "unpin" {
			return ix.Unpin(r.Context(), one.Entry)
		}
		_, err := ix.Pin(r.Context(), one.Entry, history.Pin{At: time.Now().UTC().Truncate(time.Second), Note: text.Line(text.Cut(r.FormValue("note"), 200))})
		return err
	})
	if err != nil {
		s.fail(w, r, http.StatusConflict, nil, err)
		return
	}
	http.Redirect(w, r, "/drift?run="+one.Key, http.StatusSeeOther)
}
