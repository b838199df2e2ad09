package result

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
)

// firstSchema is the form before this one, which is still read.
const firstSchema = "redline/result/1"

// renamedKeys are the keys of the first form that have other names now.
var renamedKeys = map[string]string{"firm": "confident", "standing": "outcome", "blurred_first": "merged_first", "blurred_stall": "merged_stall",
	"neighbour": "neighbor", "spoils": "affects", "probe": "exploratory"}

// Read reads a result of this form or of the first.
func Read(content []byte) (*Result, error) {
	var form struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(content, &form); err != nil {
		return nil, fmt.Errorf("not a result: %w", err)
	}
	switch form.Schema {
	case Schema:
	case firstSchema:
		var err error
		if content, err = upgrade(content); err != nil {
			return nil, fmt.Errorf("not a result: %w", err)
		}
	default:
		return nil, fmt.Errorf("schema is %q, expected %q", form.Schema, Schema)
	}
	var r Result
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("not a result: %w", err)
	}
	return &r, nil
}

// upgrade gives a result of the first form the names of this one. Numbers stay
// as they are written.
func upgrade(content []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	var r map[string]any
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	for key, value := range r {
		if key != "plan" { // which has names of its own
			r[key] = rename(value)
		}
	}
	r["schema"] = Schema
	return json.Marshal(r)
}

func rename(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = rename(value[i])
		}
	case map[string]any:
		out := make(map[string]any, len(value))
		_, condition := value["standing"] // whose outcome was the figure behind it
		for key, inner := range value {
			if key == "outcome" && condition {
				key = "figure"
			}
			out[cmp.Or(renamedKeys[key], key)] = rename(inner)
		}
		return out
	}
	return value
}
