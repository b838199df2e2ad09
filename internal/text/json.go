package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
)

// Reason is an error in words for people: one about a JSON document names no
// types of the program's own.
func Reason(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	return strings.Replace(err.Error(), wrong.Error(), Mismatch(wrong), 1)
}

// Mismatch says what was wanted of a JSON document, and what stood there.
func Mismatch(wrong *json.UnmarshalTypeError) string {
	said := "expected " + describeType(wrong.Type) + ", got " + describeValue(wrong.Value)
	if wrong.Field != "" {
		said = wrong.Field + ": " + said
	}
	return said
}

// describeType is a type in the words of JSON.
func describeType(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return "a string"
	case kind == reflect.Bool:
		return "true or false"
	case kind == reflect.Float32, kind == reflect.Float64:
		return "a number"
	case kind >= reflect.Int && kind <= reflect.Uint64:
		return "a whole number"
	case kind == reflect.Slice, kind == reflect.Array:
		return "an array"
	}
	return "an object"
}

// describeValue is what stood there with its article: "array", "number 1.5", "bool".
func describeValue(value string) string {
	switch kind, number, _ := strings.Cut(value, " "); {
	case number != "":
		return "the number " + number
	case kind == "array", kind == "object":
		return "an " + kind
	case kind == "bool":
		return "a boolean"
	default:
		return "a " + kind
	}
}

// longArray is eight numbers or more, each on a line. A string holds no line break
// that is not escaped.
var longArray = regexp.MustCompile(`\[\n\s+-?\d[-+.eE\d]*(?:,\n\s+-?\d[-+.eE\d]*){7,}\n\s+\]`)

// PackNumbers puts the long arrays of numbers of indented JSON on a line each.
func PackNumbers(document []byte) []byte {
	return longArray.ReplaceAllFunc(document, func(array []byte) []byte { return bytes.Join(bytes.Fields(array), nil) })
}
