package report

import (
	"maps"
	"slices"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/text"
)

// checkWords are what replies do that are not as they were asked for.
var checkWords = map[string]string{"not_json": "no JSON", "schema": "against the schema", "unknown_tool": "of no such tool",
	"no_call": "without a call", "cut_off": "cut off at the length asked for"}

// checks says how many replies are what was asked for, and what that costs.
func (p *page) checks(name, key, with string, c *metric.Checks) {
	p.shows(key)
	var faults []string
	for _, fault := range slices.Sorted(maps.Keys(c.Faults)) {
		word := checkWords[fault]
		if word == "" {
			word = clean(fault)
		}
		faults = append(faults, count(c.Faults[fault])+hard+word)
	}
	share := ifKnown(c.OKFraction, func(v float64) string { return percent(v) + " ok of " + count(c.Checked) + hard + "checked" })
	if c.Checked == 0 {
		share = "nothing to check"
	}
	difference := ifKnown(c.TTFT, func(d metric.Difference) string {
		return "ttft " + signed(d.Share) + " " + with + " [" + signed(d.Low) + ", " + signed(d.High) + "]"
	})
	p.Field(name, joinDots(plural(c.Requests, "request")+" "+with, share, strings.Join(faults, ", "), difference))
}

// signed is a relative difference with its sign.
func signed(share float64) string { return text.SignedNumber(100*share) + "%" }
