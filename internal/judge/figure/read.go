package figure

import (
	"math"
	"reflect"
	"strings"
)

// Spread is a distribution in a result.
type Spread interface {
	// Statistic gives a percentile, the mean or the maximum.
	Statistic(key string) (float64, bool)
	// Ends gives the lowest and the highest that a statistic can have been
	// without what the machine that measured it did.
	Ends(key string) (lowest, highest float64, ok bool)
}

// Read gives the statistic of a point; of several documents the first that has
// it. What a document leaves out was not measured.
func (s Statistic) Read(in ...any) (value float64, ok bool) {
	if d := s.Figure.Dist(in...); d != nil {
		value, ok = d.Statistic(s.Stat)
	} else if !s.Spread() {
		value, ok = s.Figure.value(in)
	}
	return value, ok && !math.IsNaN(value) && !math.IsInf(value, 0)
}

// Shows reports whether a value says anything: a rate or a time of 0 does not.
func (f *Figure) Shows(value float64) bool { return value > 0 || value == 0 && (f.Zero || f.Share()) }

// Dist gives the distribution of a figure in its form from due, and in that
// from sent where there is no other; nil where it was not measured.
func (f *Figure) Dist(in ...any) Spread {
	if d := f.JudgedForm().Own(in...); d != nil {
		return d
	}
	return f.Own(in...)
}

// Own gives the distribution in the very form that the row is about.
func (f *Figure) Own(in ...any) Spread {
	for _, document := range in {
		if d, ok := At(document, f.At).(Spread); ok {
			return d
		}
	}
	return nil
}

// Place is where a result has the statistic, as its warnings name it.
func (s Statistic) Place() string {
	switch {
	case s.Over == due:
		return "requests"
	case s.Spread():
		return s.JudgedForm().At + "." + s.Stat
	}
	return s.At
}

// value is the quotient of At, or the sum of what it names, and Over.
func (f *Figure) value(in []any) (float64, bool) {
	sum := 0.0
	for place := range strings.SplitSeq(f.At, "+") {
		v, ok := number(in, place, f.Stat)
		if !ok {
			return 0, false
		}
		sum += v
	}
	if f.Over == "" {
		return sum, true
	}
	over, ok := number(in, f.Over, "")
	return sum / over, ok && over > 0
}

func number(in []any, place, stat string) (float64, bool) {
	for _, document := range in {
		switch v := At(document, place).(type) {
		case float64:
			return v, true
		case int:
			return float64(v), true
		case interface{ ScoreOf(string) (float64, bool) }:
			return v.ScoreOf(stat)
		}
	}
	return 0, false
}

// At follows JSON keys into a document and gives what is there, nil where
// the document would leave it out. What a pointer points to is given as the
// pointer if it has methods.
func At(document any, place string) any {
	at := reflect.ValueOf(document)
	for key := range strings.SplitSeq(place, ".") {
		for at.Kind() == reflect.Pointer && !at.IsNil() {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return nil
		}
		if at = member(at, key); !at.IsValid() {
			return nil
		}
	}
	if at.Kind() != reflect.Pointer || at.NumMethod() > 0 {
		return at.Interface()
	}
	return at.Elem().Interface()
}

// member is the field that a JSON key names and the document has.
func member(of reflect.Value, key string) reflect.Value {
	for field, value := range of.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && tag == "" && value.Kind() == reflect.Struct {
			if v := member(value, key); v.IsValid() {
				return v
			}
		}
		if tag != key || tag == "" {
			continue
		}
		if value.Kind() == reflect.Pointer && value.IsNil() || strings.Contains(options, "omitempty") && value.IsZero() {
			return reflect.Value{}
		}
		return value
	}
	return reflect.Value{}
}
