package report

import (
	"fmt"
	"io"
	"reflect"
	"testing"
)

// replace sets every fraction below v to n, and where asked every whole number.
func replace(v reflect.Value, n float64, whole bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			replace(v.Elem(), n, whole)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				replace(v.Field(i), n, whole)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			replace(v.Index(i), n, whole)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			replace(value, n, whole)
			v.SetMapIndex(key, value)
		}
	case reflect.Float64:
		v.SetFloat(n)
	case reflect.Int, reflect.Int64:
		if whole {
			v.SetInt(int64(n))
		}
	}
}

// TestOddNumbers: a result from elsewhere may hold any number. It gets a report
// in every format all the same.
func TestOddNumbers(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		for _, n := range []float64{0, -1, 1e308, 5e-324} {
			res := copied(t, s.result)
			replace(reflect.ValueOf(res), n, n == -1)
			t.Run(fmt.Sprintf("%s %g", s.name, n), func(t *testing.T) {
				for _, format := range Formats {
					if err := format.Write(io.Discard, res); err != nil {
						t.Errorf("%s: %v", format.Name, err)
					}
				}
			})
		}
	}
}
