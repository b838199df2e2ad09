package ui

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"redline/internal/answer/capacity"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/run/experiment"
	"redline/internal/run/history"
	"redline/internal/show/report"
	"redline/internal/text"
)

// plannable reports whether a run says what one instance can take.
func plannable(res *result.Result) bool {
	return res.Limit != nil && res.Limit.Rate > 0 || len(report.ObjectiveTexts(res)) > 0 && len(res.Points) > 0 && res.Comparison == nil
}

// maybePlannable reports the same by what a list has of a run.
func maybePlannable(e *history.Entry) bool {
	return e.Valid != result.Invalid && e.Kind != "comparison" && e.Kind != "tune" && (e.SLO == slo.Met || e.SLO == slo.Missed || e.SLO == slo.Undecided)
}

// plannables are the runs that a capacity can be planned by, those that looked for
// a limit first, and then the newest.
func (s *Server) plannables(ctx context.Context) ([]*run, error) {
	all, err := s.runs(ctx)
	var limits, others []*run
	for _, one := range all {
		switch {
		case one.Entry == nil || !maybePlannable(one.Entry):
		case one.Entry.Kind == "limit" || one.Entry.Kind == "bench":
			limits = append(limits, one)
		default:
			others = append(others, one)
		}
	}
	return append(limits, others...), err
}

// capacities leads to the capacity of the run that is asked for, or of the one that
// says most of its limit.
func (s *Server) capacities(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	key := query.Get("run")
	if key == "" {
		list, err := s.plannables(r.Context())
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("no run in %s says what one instance can take: redline sweep --find-limit --slo 'ttft:p99<500ms' measures that", s.Root)
		}
		if err != nil {
			s.fail(w, r, http.StatusOK, nil, err)
			return
		}
		key = list[0].Key
	}
	if key != query.Get("of") {
		query.Del("objective") // it is of another run
	}
	query.Del("run")
	query.Del("of")
	to := url.URL{Path: "/capacity/" + key, RawQuery: query.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

// slider is one number of the question.
type slider struct {
	Name, Title, Unit string
	Low, High, Step   float64
	Value             float64
	Flag              string // of redline capacity; "" for a part of another flag
}

// Number is the value as it is shown and sent.
func (s slider) Number(v float64) string { return text.Plain(text.Round(v, 3)) }

// sliders are the question that a run can answer: the load, what is kept free,
// the price of an instance, and the limit of its first objective in time.
func sliders(res *result.Result) []slider {
	rate := 10.0
	if res.Limit != nil && res.Limit.Rate > 0 {
		rate = res.Limit.Rate
	} else if p := res.Points; len(p) > 0 && p[0].Load.Rate != nil {
		rate = *p[0].Load.Rate
	}
	load := slider{Name: "rate", Title: "peak load", Unit: "requests/s", Low: text.Round(rate/10, 2), High: text.Round(rate*50, 2), Step: text.Round(rate/10, 2), Value: text.Round(rate*5, 2), Flag: "--rate"}
	if l := res.Limit; l != nil && l.Unit == result.Agents {
		load.Unit, load.Flag, load.Low, load.Step = l.Unit, "--agents", 1, 1
	}
	list := []slider{
		load,
		{Name: "headroom", Title: "headroom", Unit: "of the load", Low: 0, High: 1, Step: 0.05, Value: capacity.DefaultHeadroom, Flag: "--headroom"},
		{Name: "price", Title: "price of an instance (0: the one in its plan)", Unit: "per hour", Low: 0, High: 100, Step: 0.25, Flag: "--price-per-hour"},
	}
	if o, ok := timeObjective(res); ok {
		ms := o.Limit / 1e6
		list = append(list, slider{Name: "objective", Title: strings.TrimSuffix(o.Metric+":"+o.Stat, ":"), Unit: "ms", Low: text.Round(ms/4, 2), High: text.Round(ms*4, 2), Step: text.Round(ms/20, 2), Value: text.Round(ms, 4)})
	}
	return list
}

// timeObjective is the first objective of a run that bounds a time.
func timeObjective(res *result.Result) (slo.Objective, bool) {
	for _, written := range report.ObjectiveTexts(res) {
		if o, err := slo.Parse(written); err == nil && !o.Above && o.P > 0 && strings.HasSuffix(o.Text, "s") && o.Scope == (slo.Scope{}) {
			return o, true
		}
	}
	return slo.Objective{}, false
}

// question is what the sliders ask of a run.
type question struct {
	Sliders  []slider
	Twin     bool // test the plan on an engine that is fitted to the run
	rate     float64
	headroom float64
	options  experiment.CapacityOptions
	words    []string // of the command that asks the same
}

// question reads the sliders of a form.
func (one *run) question(res *result.Result, form url.Values) (q question, err error) {
	q = question{Sliders: sliders(res), Twin: form.Has("twin"), words: []string{"redline", "capacity", one.Path}}
	asked := map[string]float64{}
	for i := range q.Sliders {
		f := &q.Sliders[i]
		if v, err := strconv.ParseFloat(form.Get(f.Name), 64); err == nil && v >= 0 && v < 1e9 {
			f.Value = v
			f.Low, f.High = min(f.Low, v), max(f.High, v)
		}
		asked[f.Name] = f.Value
		if f.Flag != "" && (f.Name != "price" || f.Value > 0) {
			q.words = append(q.words, f.Flag, f.Number(f.Value))
		}
	}
	q.rate, q.headroom, q.options.Prices.PerHour = asked["rate"], asked["headroom"], asked["price"]
	if own, ok := timeObjective(res); ok && text.Round(own.Limit/1e6, 4) != asked["objective"] {
		written := report.ObjectiveTexts(res)
		for i := range written {
			if written[i] == own.Text {
				written[i] = fmt.Sprintf("%s:%s<%sms", own.Metric, own.Stat, text.Plain(asked["objective"]))
			}
			q.words = append(q.words, "--slo", written[i])
		}
		q.options.Objectives, err = slo.ParseAll(written)
	}
	if q.Twin {
		q.words = append(q.words, "--simulate")
	}
	return q, err
}

// capacity answers how many instances a load needs, by the figures of a form.
func (s *Server) capacity(w http.ResponseWriter, r *http.Request) {
	one, err := s.find(r.Context(), r.PathValue("run"))
	var res *result.Result
	if err == nil {
		res, err = one.read()
	}
	if err != nil {
		s.fail(w, r, http.StatusNotFound, nil, err)
		return
	}
	q, err := one.question(res, r.URL.Query())
	commands := []string{command(q.words...)}
	var page template.HTML
	if err == nil {
		page, err = s.planCapacity(r, one, res, q)
	}
	if u := (*unreadyError)(nil); errors.As(err, &u) {
		s.fail(w, r, http.StatusAccepted, commands, err)
		return
	}
	said := ""
	if err != nil {
		said = text.Clean(err.Error())
	}
	others, err := s.plannables(r.Context())
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, commands, err)
		return
	}
	if !slices.ContainsFunc(others, func(other *run) bool { return other.Key == one.Key }) {
		others = append(others, one)
	}
	s.show(w, r, view{Title: "capacity", Commands: commands}, "capacity", map[string]any{"Run": one, "Runs": others, "Question": q, "Page": page, "Said": said})
}

// planCapacity is the answer of redline capacity.
func (s *Server) planCapacity(r *http.Request, one *run, res *result.Result, q question) (template.HTML, error) {
	list, err := experiment.Configurations([]string{filepath.FromSlash(one.Path)}, q.options)
	if err != nil {
		return "", err
	}
	o := capacity.Options{Headroom: q.headroom}
	if q.Twin {
		engine, err := s.fitTwin(one, res)
		if err != nil {
			return "", err
		}
		o.Rehearse = rehearsal(engine)
	}
	demand := capacity.Demand{Rate: q.rate}
	if l := res.Limit; l != nil && l.Unit == result.Agents {
		demand = capacity.Demand{Agents: int(q.rate)}
	}
	plan, err := capacity.Plan(r.Context(), demand, list, o)
	if err != nil {
		return "", err
	}
	return renderFragment(report.Capacity(plan), 0)
}
