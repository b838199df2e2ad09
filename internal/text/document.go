package text

import (
	"io"
	"reflect"
	"strings"
)

// Tidy hides secrets and shows control characters as escapes in every text below
// a pointer: of structs, lists and maps, their keys too. Lists and maps are
// replaced, since a plan or a table of the program may have them too. Texts of a
// type of their own are words that the program chose: no secret is looked for in
// them, but a document from elsewhere may have anything there.
func (m *Mask) Tidy(document any) { m.tidy(reflect.ValueOf(document)) }

func (m *Mask) tidy(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			m.tidy(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				m.tidy(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if kind := v.Type().Elem().Kind(); kind >= reflect.Bool && kind <= reflect.Complex128 {
			return // figures, of which there may be many
		}
		if v.Kind() == reflect.Slice && v.CanSet() && !v.IsNil() {
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v.Set(own)
		}
		for i := range v.Len() {
			m.tidy(v.Index(i))
		}
	case reflect.Map:
		if v.CanSet() && !v.IsNil() {
			v.Set(m.tidyMap(v))
		}
	case reflect.Interface:
		if v.CanSet() && !v.IsNil() {
			v.Set(m.tidyCopy(v.Elem()))
		}
	case reflect.String:
		switch {
		case !v.CanSet():
		case v.Type() == reflect.TypeFor[string]():
			v.SetString(m.show(v.String()))
		default:
			v.SetString(Clean(v.String()))
		}
	}
}

// tidyCopy is a copy of a value that cannot be changed where it stands.
func (m *Mask) tidyCopy(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	m.tidy(c)
	return c
}

func (m *Mask) tidyMap(v reflect.Value) reflect.Value {
	own := reflect.MakeMapWithSize(v.Type(), v.Len())
	for _, key := range v.MapKeys() {
		own.SetMapIndex(m.tidyCopy(key), m.tidyCopy(v.MapIndex(key)))
	}
	return own
}

// show takes a text that was cut elsewhere for a piece of one.
func (m *Mask) show(s string) string {
	if before, cut := strings.CutSuffix(s, "…"); cut {
		return Clean(m.HidePiece(before)) + "…"
	}
	return Clean(m.Hide(s))
}

// Writer hides secrets in what is written to w. Every Write is whole in itself:
// a line, or several.
func (m *Mask) Writer(w io.Writer) io.Writer { return writer{w, m.Hide} }

// Writer cleans what is written to w: for pages that are plain text. Every Write
// is one of whole characters.
func Writer(w io.Writer) io.Writer { return writer{w, Clean} }

type writer struct {
	w    io.Writer
	mend func(string) string
}

func (w writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.mend(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
