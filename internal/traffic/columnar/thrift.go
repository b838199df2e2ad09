package columnar

import "encoding/binary"

// thrift reads the compact protocol, in which a Parquet file describes itself.
type thrift struct {
	data []byte
	at   int
}

// fields are those of a struct by their numbers: numbers as int64, texts as
// bytes, lists and structs.
type fields map[int]any

func asFields(v any) fields {
	f, _ := v.(fields)
	return f
}

func (f fields) fields(n int) fields { return asFields(f[n]) }

func (f fields) list(n int) []any {
	list, _ := f[n].([]any)
	return list
}

func (f fields) int(n int) int {
	v, _ := f[n].(int64)
	return int(v)
}

func (f fields) bytes(n int) []byte {
	b, _ := f[n].([]byte)
	return b
}

// maxDepth is how deep structs of a description lie in each other.
const maxDepth = 32

// The types of the protocol.
const (
	isTrue, isFalse, isByte, isI16, isI32, isI64, isDouble, isBinary, isList, isSet, isStruct = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
)

func (t *thrift) varint() uint64 {
	v, n := binary.Uvarint(t.data[t.at:])
	if n <= 0 {
		panic("a number does not end")
	}
	t.at += n
	return v
}

func (t *thrift) number() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

func (t *thrift) byte() byte {
	t.at++
	return t.data[t.at-1]
}

func (t *thrift) fields(depth int) fields {
	if depth > maxDepth {
		panic("structs lie too deep in each other")
	}
	f, number := fields{}, 0
	for {
		head := t.byte()
		if head == 0 {
			return f
		}
		if delta := int(head >> 4); delta > 0 {
			number += delta
		} else {
			number = int(t.number())
		}
		f[number] = t.value(head&15, depth)
	}
}

func (t *thrift) value(kind byte, depth int) any {
	switch kind {
	case isTrue, isFalse:
		return kind == isTrue
	case isByte:
		return int64(int8(t.byte()))
	case isI16, isI32, isI64:
		return t.number()
	case isDouble:
		t.at += 8
		return nil // of statistics alone
	case isBinary:
		length := int(t.varint())
		t.at += length
		return t.data[t.at-length : t.at]
	case isList, isSet:
		head := t.byte()
		length := int(head >> 4)
		if length == 15 {
			length = int(t.varint())
		}
		if length > len(t.data)-t.at {
			panic("a list is longer than the file")
		}
		list := make([]any, length)
		for i := range list {
			if inner := head & 15; inner == isTrue || inner == isFalse {
				list[i] = t.byte() == isTrue
			} else {
				list[i] = t.value(inner, depth+1)
			}
		}
		return list
	case isStruct:
		return t.fields(depth + 1)
	}
	panic("a type of the description is not known")
}
