package peer

import (
	"bytes"
	"encoding/json"
	"math"
)

// object is a JSON object whose keys keep their order, as peers write them.
type object struct {
	keys   []string
	values map[string]any
}

// objectOf makes one of keys, each with its value behind it.
func objectOf(pairs ...any) *object {
	o := &object{}
	for i := 0; i < len(pairs); i += 2 {
		o.put(pairs[i].(string), pairs[i+1])
	}
	return o
}

// put sets a key; a later value takes the earlier one's place.
func (o *object) put(key string, value any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, has := o.values[key]; !has {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// MarshalJSON writes the keys in their order.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(o.values[key])
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// makeList is a list that is written as [] where it is empty.
func makeList[T any](n int, of func(int) T) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = of(i)
	}
	return list
}

// orNull is null for what JSON cannot say.
func orNull(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}
