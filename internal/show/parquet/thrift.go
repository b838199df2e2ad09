package parquet

import "encoding/binary"

// Types of Thrift's compact protocol.
const (
	int32Type, int64Type, bytesType, listType, structType = 5, 6, 8, 9, 12
)

// compact writes Thrift's compact protocol: every field is named by its distance
// from the last one of its struct.
type compact struct {
	b     []byte
	last  int
	outer []int // last fields of the structs around this one
}

func (t *compact) field(id, kind int) {
	t.b = append(t.b, byte((id-t.last)<<4|kind))
	t.last = id
}

// varint is zigzag: small numbers of either sign are short.
func (t *compact) varint(n int64) { t.b = binary.AppendVarint(t.b, n) }

func (t *compact) int32(id, n int) {
	t.field(id, int32Type)
	t.varint(int64(n))
}

func (t *compact) int64(id int, n int64) {
	t.field(id, int64Type)
	t.varint(n)
}

func (t *compact) bytes(s string) { t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...) }

func (t *compact) text(id int, s string) {
	t.field(id, bytesType)
	t.bytes(s)
}

// list begins a list; its items follow.
func (t *compact) list(id, n, kind int) {
	t.field(id, listType)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(0xf0|kind)), uint64(n))
}

// item begins a struct of a list, open one that is a field; shut ends either.
func (t *compact) item() { t.outer, t.last = append(t.outer, t.last), 0 }

func (t *compact) open(id int) {
	t.field(id, structType)
	t.item()
}

func (t *compact) endStruct() {
	t.b = append(t.b, 0)
	t.last, t.outer = t.outer[len(t.outer)-1], t.outer[:len(t.outer)-1]
}

// end ends the outermost struct.
func (t *compact) end() []byte { return append(t.b, 0) }
