package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"redline/internal/answer/compare"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Filter says which runs are wanted. Its zero value wants all.
type Filter struct {
	// Model, Engine and Label are compared without regard to case; the
	// first two match where they are a part of the name.
	Model, Engine, Label string
	// Verdict is one of Verdicts.
	Verdict string
	// Since and Until bound the start.
	Since, Until time.Time
	// Series wants runs of one plan.
	Series string
	// Pinned wants only pinned runs.
	Pinned bool
}

// Wants reports whether a run is among those wanted.
func (f Filter) Wants(e *Entry) bool {
	has := func(name, part string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(part)) }
	return has(e.Model, f.Model) && has(e.Engine, f.Engine) &&
		(f.Label == "" || strings.EqualFold(e.Label, f.Label)) &&
		(f.Verdict == "" || e.Verdict() == f.Verdict) &&
		(f.Since.IsZero() || !e.Started.Before(f.Since)) && (f.Until.IsZero() || e.Started.Before(f.Until)) &&
		(f.Series == "" || e.Series == f.Series) && (!f.Pinned || e.Pin != nil)
}

// List gives the runs that are wanted, oldest first.
func (ix *Index) List(ctx context.Context, f Filter) ([]*Entry, error) {
	rows, err := ix.db.QueryContext(ctx, "SELECT entry FROM runs WHERE ?1 = '' OR series = ?1 ORDER BY started, path", f.Series)
	if err != nil {
		return nil, ix.explainError(err)
	}
	defer rows.Close()
	var entries []*Entry
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, ix.explainError(err)
		}
		e := &Entry{}
		if err := json.Unmarshal([]byte(text), e); err != nil {
			return nil, &indexError{Path: ix.file(), Err: err}
		}
		if f.Wants(e) {
			entries = append(entries, e)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, ix.explainError(err)
	}
	return entries, nil
}

// Find gives the run of an id, of the beginning of one, or of a path; else the
// newest with a label.
func (ix *Index) Find(ctx context.Context, word string) (*Entry, error) {
	all, err := ix.List(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	var found []*Entry
	path := strings.TrimSuffix(strings.ReplaceAll(word, `\`, "/"), "/")
	for _, e := range all {
		if e.ID == word || e.Path == path || strings.HasSuffix(path, "/"+e.Path) {
			return e, nil
		}
		if word != "" && strings.HasPrefix(e.ID, word) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		for _, e := range slices.Backward(all) { // the oldest comes first
			if word != "" && strings.EqualFold(e.Label, word) {
				return e, nil
			}
		}
		return nil, fmt.Errorf("there is no run %q in %s: redline history lists them, redline history rebuild finds what is missing", word, ix.root)
	}
	return nil, fmt.Errorf("%q is the beginning of %d runs, such as %s and %s: give more of it", word, len(found), found[0].ID, found[1].ID)
}

// Drift judges the series that a run belongs to.
func (ix *Index) Drift(ctx context.Context, e *Entry) (*result.Drift, error) {
	samples, left, err := ix.series(ctx, e.Series)
	if err != nil {
		return nil, err
	}
	d := compare.Drift(samples)
	d.Series, d.Name, d.Left = e.Series, e.Name(), left
	if !e.Drifts() {
		d.Standing, d.Needs, d.Verdict = slo.NotJudged, 0, "a "+e.Kind+" has no single load"
	}
	return d, nil
}

// series gives the runs of one plan as drift sees them, oldest first, and how
// many are left out because they were not sound.
func (ix *Index) series(ctx context.Context, series string) (sound []compare.Sample, left int, err error) {
	entries, err := ix.List(ctx, Filter{Series: series})
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if !e.Sound() {
			left++
			continue
		}
		sound = append(sound, compare.Sample{ID: e.ID, At: e.Started, Values: e.Values, Ends: e.Ends, Requests: e.Requests, Settings: e.Settings, Pinned: e.Pin != nil})
	}
	return sound, left, nil
}

// Newest gives the newest run of each series, newest first. Names that several
// series share are followed by what these differ in.
func Newest(entries []*Entry) []*Entry {
	var newest []*Entry
	for _, e := range slices.Backward(entries) {
		if !slices.ContainsFunc(newest, func(n *Entry) bool { return n.Series == e.Series }) {
			newest = append(newest, e)
		}
	}
	alike := map[string][]*Entry{}
	for _, e := range newest {
		alike[e.Name()] = append(alike[e.Name()], e)
	}
	for _, list := range alike {
		nameApart(list)
	}
	return newest
}

// nameApart adds to the names of series that are called the same what they differ
// in: what was done, and settings that are not the same in all of them.
func nameApart(list []*Entry) {
	const shown = 3
	names := map[string]bool{}
	for _, e := range list {
		for name, value := range e.Asked {
			if value != list[0].Asked[name] {
				names[name] = true
			}
		}
		for name := range list[0].Asked {
			if _, has := e.Asked[name]; !has {
				names[name] = true
			}
		}
	}
	for _, e := range list {
		var parts []string
		if slices.ContainsFunc(list, func(other *Entry) bool { return other.Kind != e.Kind }) {
			parts = append(parts, e.Kind)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if value, has := e.Asked[name]; has && len(parts) < shown {
				parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+value)
			}
		}
		e.Apart = strings.Join(parts, ", ")
	}
}
