package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
	"redline/internal/show/report"
	"redline/internal/text"
)

// File is one file of a directory to be written.
type File struct {
	Name    string
	Content []byte
}

// Notes gives a result as the directory that a careful engineer keeps by hand:
// hardware.md, server-flags.md, a row-….json for each measured row, which is a
// plan that repeats it, and interpretation.md. A stage is the result in one of
// the directories that the stages name.
func Notes(r *result.Result, stage func(dir string) (*result.Result, error)) ([]File, error) {
	if r == nil {
		return nil, report.ErrNoResult
	}
	files := []File{
		{"hardware.md", hardware(r)},
		{"server-flags.md", serverFlags(r)},
	}
	names, rows := rowNames{}, make([]notesRow, len(r.Points))
	for i := range r.Points {
		rows[i] = newNotesRow(r, i, stage)
		names.reserve(rows[i].Name)
	}
	for i := range r.Points {
		row := &rows[i]
		name := names.file(row, i)
		if row.Plan != nil {
			row.Command = "redline run --plan " + name
		}
		content, err := json.MarshalIndent(row, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write point %d of result %q: %w", i, r.ID, err)
		}
		files = append(files, File{name, append(content, '\n')})
	}
	d := report.Whole(r) // but for what has a file of its own
	d.Sections = slices.DeleteFunc(d.Sections, func(s document.Section) bool { return s.Title == "Plan" || s.Title == "Set-up" })
	return append(files, File{"interpretation.md", asMarkdown(d, 2)}), nil
}

// sheet is a file of facts in the making.
type sheet struct{ document.Builder }

func newSheet(title string) *sheet {
	s := &sheet{}
	s.Title = title
	return s
}

func (s *sheet) bytes() []byte { return asMarkdown(&s.Document, 1) }

// fact writes one that is known.
func (s *sheet) fact(key, fact string) { s.Field(key, text.Line(fact)) }

func asMarkdown(d *document.Document, rank int) []byte {
	var out bytes.Buffer
	_ = document.Markdown(&out, d, rank) // a buffer takes all
	return out.Bytes()
}

func hardware(r *result.Result) []byte {
	s, accelerators := newSheet("Hardware"), ""
	if r.Hardware.Count > 0 {
		accelerators = text.Count(r.Hardware.Count)
	}
	s.fact("accelerator", r.Hardware.Accelerator)
	s.fact("accelerators", accelerators)
	s.fact("driver", cmp.Or(report.Driver(r.Hardware), report.Metadata(r, "driver")))
	s.fact("interconnect", r.Hardware.Interconnect)
	s.fact("notes", r.Hardware.Notes)
	s.fact("model", r.Model.Name)
	s.fact("revision", cmp.Or(r.Model.Revision, report.Metadata(r, "revision")))
	s.fact("precision", report.Precision(r.Model))
	s.fact("unknown", strings.Join(r.Unknown, ", "))
	shared := "not the server's machine, as far as is known"
	if r.Client.SharesHost {
		shared = "the server's own machine: the two share its cores"
	}
	s.fact("client", text.Join(" · ", r.Client.OS+" "+r.Client.Arch, text.Plural(r.Client.CPUs, "core"), shared))
	return s.bytes()
}

// serverFlags names what answered and how it was set up: by the plan, and by
// its own account.
func serverFlags(r *result.Result) []byte {
	s := newSheet("Server flags")
	s.fact("engine", strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version))
	s.fact("parallelism", r.Engine.Parallelism)
	s.fact("api", r.Engine.API)
	s.fact("url", r.Engine.URL)
	s.fact("tokenizer", cmp.Or(r.Model.Tokenizer, r.Workload.Tokenizer))
	s.fact("chat template", r.Workload.TemplateHash)
	s.fact("command", r.Command)
	rows := report.Leaves(nil, "", map[string]any{"server": r.Plan["server"], "optimizations": r.Plan["optimizations"]})
	for option, how := range r.Engine.Declared {
		rows = append(rows, []string{text.Line("declared." + option), text.Line(how)})
	}
	for key, value := range reportedSettings(r) {
		rows = append(rows, []string{text.Line("reported." + key), text.Line(value)})
	}
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
	if len(rows) == 0 {
		s.Note("Neither the plan nor the server says with which flags it runs.")
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	s.Add(&document.Table{Columns: []document.Column{document.Left("flag"), document.Left("value")}, Rows: rows})
	return s.bytes()
}

// reportedSettings are the settings that the server reports, in its pages or in its
// metrics.
func reportedSettings(r *result.Result) map[string]string {
	all := maps.Clone(r.Engine.Flags)
	for i := range r.Points {
		if s := r.Points[i].Server; s != nil && len(all) == 0 {
			all = s.Config
		}
	}
	return all
}

// notesRow is a measured row with everything that it can be traced to, and the
// command that repeats it alone.
type notesRow struct {
	Schema      string          `json:"schema"`
	Run         string          `json:"run"`
	Name        string          `json:"name"`
	Purpose     string          `json:"purpose,omitempty"`
	Command     string          `json:"command"`
	MadeBy      string          `json:"made_by"`
	Version     string          `json:"version"`
	Seed        uint64          `json:"seed"`
	Hardware    result.Hardware `json:"hardware"`
	Model       result.Model    `json:"model"`
	Engine      result.Engine   `json:"engine"`
	Workload    result.Workload `json:"workload"`
	Hypothesis  string          `json:"hypothesis,omitempty"`
	Question    string          `json:"question,omitempty"`
	Expectation string          `json:"expectation,omitempty"`
	Outcome     string          `json:"outcome,omitempty"`
	Plan        map[string]any  `json:"plan,omitempty"`
	Point       *result.Point   `json:"point"`
}

func newNotesRow(r *result.Result, i int, stage func(dir string) (*result.Result, error)) notesRow {
	row := notesRow{Schema: rowSchema, Run: r.ID, Name: r.Points[i].Name, Command: r.Command, MadeBy: r.Command, Version: r.Version, Seed: r.Seed, Hardware: r.Hardware,
		Model: r.Model, Engine: r.Engine, Workload: r.Workload, Point: &r.Points[i]}
	if len(r.Stages) == 0 && len(r.Points) == 1 {
		row.Plan = r.Plan
	}
	for _, s := range r.Stages {
		if s.Point != nil && *s.Point == i {
			// A second attempt is the row itself.
			row.Name, row.Purpose = cmp.Or(row.Name, s.Name), s.Purpose
			if own, err := stage(s.Dir); err == nil {
				row.Plan, row.Workload, row.Seed = own.Plan, own.Workload, own.Seed
			}
			row.Hypothesis, row.Question, row.Expectation, row.Outcome = s.Hypothesis, s.Question, s.Expectation, s.Outcome
		}
	}
	if row.Name == "" {
		row.Name = document.PlainSpaces(pointName(r, i))
	}
	return row
}

// pointName names a point that no stage names, by its load.
func pointName(r *result.Result, i int) string {
	if i == report.SustainedPoint(r) {
		return "sustained"
	}
	if r.Workload.Name != "" && len(r.Points) == 1 {
		return r.Workload.Name
	}
	return report.LoadAsked(&r.Points[i])
}

// rowSchema marks a row's file, which --plan takes.
const rowSchema = "redline/row/1"

// rowNames are the names of files that are taken, and letters of rows.
type rowNames map[string]bool

// reserve keeps the letter of a row that has one.
func (n rowNames) reserve(name string) {
	if letter, _, ok := strings.Cut(slug(name), "-"); ok && len(letter) == 1 {
		n[letter] = true
	}
}

// file is row-a-short-chat.json: the row's own letter, or the next that no row
// has. What only prepares the way is no row, and is named for what it is.
func (n rowNames) file(row *notesRow, i int) string {
	short := slug(row.Name)
	name := "row-" + short
	letter, _, _ := strings.Cut(short, "-")
	switch {
	case row.Purpose == result.PurposeSmoke || row.Purpose == result.PurposeWarmUp || row.Purpose == result.PurposeRamp:
		name = short
	case len(letter) != 1 || letter == short || letter < "a":
		at := 0
		for n[letters(at)] {
			at++
		}
		n[letters(at)] = true
		name = "row-" + strings.TrimSuffix(letters(at)+"-"+short, "-")
	}
	if n[name] {
		name += "-" + text.Count(i+1)
	}
	n[name] = true
	return name + ".json"
}

// slug is a name that every file system takes.
func slug(name string) string {
	var slug strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			slug.WriteRune(c)
		case slug.Len() > 0 && !strings.HasSuffix(slug.String(), "-"):
			slug.WriteByte('-')
		}
	}
	short, _ := document.Cut(strings.Trim(slug.String(), "-"), 60)
	return short
}

// letters counts a, b, …, z, aa, ab, ….
func letters(i int) string {
	text := ""
	for ; i >= 0; i = i/26 - 1 {
		text = string(rune('a'+i%26)) + text
	}
	return text
}
