// Package export is a result as other programs take it: JSON, CSV and JUnit XML,
// and a directory of notes. What it says in words it takes from reports; like
// them it computes no figure and knows neither files nor processes.
package export

import (
	"slices"

	"redline/internal/show/report"
)

// Formats lists every format, those that people read first. A new one that
// programs read is a file and a line here.
var Formats = slices.Concat(report.Formats, []report.Format{
	{Name: "json", Write: JSON},
	{Name: "csv", Write: CSV},
	{Name: "junit", Write: JUnit},
})
