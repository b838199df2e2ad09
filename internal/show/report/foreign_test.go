package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/text"
)

// attack is what somebody puts into a name to rule over a terminal.
const attack = "\x1b[2J\x1b]0;owned\a\u202egnp.exe\u2066\u009b31m\rback"

// infect puts the attack behind every text below v that can come from outside.
func infect(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.Kind() == reflect.Interface && !v.IsNil() && v.Elem().Kind() == reflect.String && v.CanSet() {
			v.Set(reflect.ValueOf(v.Elem().String() + attack))
		} else if !v.IsNil() {
			infect(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				infect(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			infect(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			infect(value)
			v.SetMapIndex(key, value)
			if key.Type() == reflect.TypeFor[string]() && value.Kind() == reflect.String {
				v.SetMapIndex(reflect.ValueOf(key.String()+attack), value)
			}
		}
	case reflect.String:
		if v.CanSet() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(v.String() + attack)
		}
	}
}

// copied is a result that shares nothing with another.
func copied(t *testing.T, r *result.Result) *result.Result {
	t.Helper()
	text, err := json.Marshal(r)
	out := &result.Result{}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	must.Do(t, err)
	return out
}

// TestNoFormatIsObeyed: whatever stands in a result, once it has passed the gate
// that results are written and read through, no format writes characters that a
// terminal or a browser acts upon.
func TestNoFormatIsObeyed(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		res := copied(t, s.result)
		infect(reflect.ValueOf(res))
		text.NewMask().Tidy(res)
		for _, format := range Formats {
			var out bytes.Buffer
			if err := format.Write(&out, res); err != nil {
				t.Errorf("%s as %s: %v", s.name, format.Name, err)
				continue
			}
			page := out.String()
			for i, r := range page {
				if text.Clean(string(r)) != string(r) {
					t.Errorf("%s as %s holds %U: %q", s.name, format.Name, r, page[max(0, i-90):min(len(page), i+40)])
					break
				}
			}
		}
	}
}
