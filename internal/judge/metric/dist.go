package metric

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"redline/internal/text"
)

// Dist is one distribution: n, mean, percentiles and max, with the percentiles
// that are firm and their intervals. It is written as one flat object with
// keys such as "p50" and "p999" (p + digits without the dot).
type Dist struct {
	N    int
	Mean float64
	Max  float64
	// P maps keys such as "p99" to values.
	P map[string]float64
	// Firm lists the keys whose values can be relied on.
	Firm []string
	// CI maps keys to 95 % intervals from whole batches in time.
	CI map[string][2]float64
	// Low and High are the ends of a figure by what the machine that measured it
	// may have done: by "mean", "p99" … and "max". A key that is not there says
	// that the end is what was measured.
	Low, High map[string]float64
}

// Ends gives the lowest and the highest that a statistic can have been without
// what the machine did; both are what was measured where it did nothing.
func (d *Dist) Ends(key string) (lowest, highest float64, ok bool) {
	v, ok := d.Statistic(key)
	if !ok {
		return 0, 0, false
	}
	lowest, highest = v, v
	if end, ok := d.Low[key]; ok {
		lowest = end
	}
	if end, ok := d.High[key]; ok {
		highest = end
	}
	return lowest, highest, true
}

// Get gives the percentile of that key, and whether it is there.
func (d *Dist) Get(key string) (float64, bool) {
	if d == nil {
		return 0, false
	}
	v, ok := d.P[key]
	return v, ok
}

// Statistic gives a percentile by its key, the mean or the maximum.
func (d *Dist) Statistic(key string) (float64, bool) {
	switch {
	case d == nil:
		return 0, false
	case key == "mean":
		return d.Mean, d.N > 0
	case key == "max":
		return d.Max, d.N > 0 && d.HasMax()
	}
	return d.Get(key)
}

// HasMax reports whether the maximum is known: other benchmarks may not say it.
func (d *Dist) HasMax() bool { return d.Max != 0 || d.Mean == 0 }

// IsFirm reports whether the percentile of that key can be relied on.
func (d *Dist) IsFirm(key string) bool { return d != nil && slices.Contains(d.Firm, key) }

// Keys lists the percentiles' keys, ascending.
func (d *Dist) Keys() []string {
	if d == nil {
		return nil
	}
	keys := make([]string, 0, len(d.P))
	for k := range d.P {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// compareKeys orders keys by the percentile they stand for: as the digits
// after a decimal point, p5 (5 %) apart from p50 by their length.
func compareKeys(a, b string) int {
	return strings.Compare(fraction(a), fraction(b))
}

// fraction writes a key's percentile as the digits of a fraction: one digit is
// a percentile below ten.
func fraction(key string) string {
	digits := strings.TrimPrefix(key, "p")
	if len(digits) == 1 {
		return "0" + digits
	}
	return digits
}

// MarshalJSON writes the flat object, percentiles ascending.
func (d Dist) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"n":%d,"mean":%s`, d.N, number(d.Mean))
	for _, k := range d.Keys() {
		fmt.Fprintf(&b, `,%q:%s`, k, number(d.P[k]))
	}
	firm, err := json.Marshal(append([]string{}, d.Firm...))
	if err != nil {
		return nil, fmt.Errorf("confident: %w", err)
	}
	if d.HasMax() {
		fmt.Fprintf(&b, `,"max":%s`, number(d.Max))
	}
	fmt.Fprintf(&b, `,"confident":%s`, firm)
	if len(d.CI) > 0 {
		intervals := make(map[string][2]json.RawMessage, len(d.CI))
		for k, ci := range d.CI {
			intervals[k] = [2]json.RawMessage{[]byte(number(ci[0])), []byte(number(ci[1]))}
		}
		ci, err := json.Marshal(intervals)
		if err != nil {
			return nil, fmt.Errorf("intervals: %w", err)
		}
		b.WriteString(`,"ci":`)
		b.Write(ci)
	}
	for _, end := range []struct {
		name   string
		values map[string]float64
	}{{"low", d.Low}, {"high", d.High}} {
		if len(end.values) == 0 {
			continue
		}
		values := make(map[string]json.RawMessage, len(end.values))
		for k, v := range end.values {
			values[k] = []byte(number(v))
		}
		text, err := json.Marshal(values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", end.name, err)
		}
		fmt.Fprintf(&b, `,%q:%s`, end.name, text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes and refuses any other key.
func (d *Dist) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	read := Dist{P: map[string]float64{}}
	for key, raw := range fields {
		var err error
		switch key {
		case "n":
			err = json.Unmarshal(raw, &read.N)
		case "mean":
			err = json.Unmarshal(raw, &read.Mean)
		case "max":
			err = json.Unmarshal(raw, &read.Max)
		case "confident":
			err = json.Unmarshal(raw, &read.Firm)
		case "ci":
			err = json.Unmarshal(raw, &read.CI)
		case "low":
			err = json.Unmarshal(raw, &read.Low)
		case "high":
			err = json.Unmarshal(raw, &read.High)
		default:
			err = read.percentile(key, raw)
		}
		if err != nil {
			return fmt.Errorf("distribution: %q: %w", key, err)
		}
	}
	if len(read.Firm) == 0 {
		read.Firm = nil
	}
	*d = read
	return nil
}

func (d *Dist) percentile(key string, raw json.RawMessage) error {
	if digits, found := strings.CutPrefix(key, "p"); !found || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return fmt.Errorf("unknown key; expected n, mean, max, confident, ci, low, high or a percentile such as p99")
	}
	var v float64
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	d.P[key] = v
	return nil
}

// number writes v with six significant digits at most; JSON knows no NaN and
// no infinity.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "null"
	}
	return text.Plain(round(v))
}

// PercentileKey names a percentile: p and its digits without the dot.
func PercentileKey(percent float64) string {
	return "p" + strings.Replace(text.Plain(percent), ".", "", 1)
}

// round keeps six significant digits: what a figure of any run can carry.
func round(v float64) float64 { return text.Round(v, 6) }
