package yaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// setScalar parses text into a bool or number.
func setScalar(v reflect.Value, text string) error {
	var err error
	switch v.Kind() {
	case reflect.Bool:
		var b bool
		if b, err = ParseBool(text); err == nil {
			v.SetBool(b)
		}
	case reflect.Int, reflect.Int64:
		var i int64
		if i, err = parseInt(text); err == nil {
			v.SetInt(i)
		}
	case reflect.Uint64:
		var u uint64
		if u, err = parseUint(text); err == nil {
			v.SetUint(u)
		}
	case reflect.Float64:
		var f float64
		if f, err = ParseFloat(text); err == nil {
			v.SetFloat(f)
		}
	default:
		err = fmt.Errorf("no value of kind %s can stand in a plan", v.Kind())
	}
	return err
}

func wantText(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "a whole number"
	}
	return "a number"
}

// The parsers of scalars, which flags and environment share with the plan.

func ParseBool(s string) (bool, error) {
	switch s {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return false, fmt.Errorf("expected true or false, got %s", text.Quote(s))
}

func parseInt(s string) (int64, error) {
	digits := strings.ReplaceAll(s, "_", "")
	i, err := strconv.ParseInt(digits, 10, 64)
	if err == nil {
		return i, nil
	}
	if f, ferr := strconv.ParseFloat(digits, 64); ferr == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", text.Quote(s))
	}
	return 0, fmt.Errorf("expected a whole number, got %s", text.Quote(s))
}

func parseUint(s string) (uint64, error) {
	u, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", text.Quote(s))
	}
	if err != nil {
		return 0, fmt.Errorf("expected a whole number of at least 0, got %s", text.Quote(s))
	}
	return u, nil
}

func ParseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		if of, ok := strings.CutSuffix(s, "%"); ok {
			if share, err := ParseFloat(of); err == nil {
				return 0, fmt.Errorf("expected a number such as %g, got %s", share/100, text.Quote(s))
			}
		}
		return 0, fmt.Errorf("expected a number, got %s", text.Quote(s))
	}
	return f, nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("expected a duration such as 30s or 1m30s, got %s", text.Quote(s))
	}
	return d, nil
}
