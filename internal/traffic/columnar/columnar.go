// Package columnar reads Apache Parquet files, in which data sets are published.
// It takes a file and gives its rows, each as an object of JSON. What it reads is
// what the libraries of Hugging Face, Arrow and pandas write: plain and dictionary
// pages, uncompressed, snappy, gzip or zstd; anything else is refused by its name.
package columnar

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	magic = "PAR1"
	// maxFooter and maxPage bound what a file may ask for.
	maxFooter = 256 << 20
	maxPage   = 1 << 30
)

// node is a field of the schema.
type node struct {
	name               string
	repeated, optional bool
	list               bool // a list, in the three levels that it is written in
	def, rep           int  // levels at which it is there, and at which it repeats
	children           []*node
	columns            []*column // the leaves below it
}

// column is a leaf, and what was read of it in a row group.
type column struct {
	path        string
	kind        int
	length      int // of values of a fixed length
	text        bool
	def, rep    int // the highest levels
	defs, reps  []byte
	values      []any
	at, valueAt int
}

// EachRow calls do with every row of a file.
func EachRow(r io.ReaderAt, size int64, do func(row []byte) error) (err error) {
	defer func() {
		if broken := recover(); broken != nil { // an offset or a length that points outside
			err = fmt.Errorf("is no Parquet file that can be read: %v", broken)
		}
	}()
	footer, err := readFooter(r, size)
	if err != nil {
		return err
	}
	schema := footer.list(2)
	if len(schema) < 2 {
		return errors.New("is no Parquet file that can be read: it has no columns")
	}
	root, _ := readSchema(schema, "", 0, 0, 0)
	for _, group := range footer.list(4) {
		chunks := asFields(group).list(1)
		if len(chunks) != len(root.columns) {
			return errors.New("is no Parquet file that can be read: a row group lacks columns")
		}
		for i, chunk := range chunks {
			if err := root.columns[i].read(r, size, asFields(chunk).fields(3)); err != nil {
				return fmt.Errorf("column %s: %w", root.columns[i].path, err)
			}
		}
		for range asFields(group).int(3) {
			row, err := json.Marshal(root.object())
			if err == nil {
				err = do(row)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readFooter finds the description at the end of the file.
func readFooter(r io.ReaderAt, size int64) (fields, error) {
	tail := make([]byte, 8)
	if _, err := r.ReadAt(tail, max(0, size-8)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != magic || length > min(maxFooter, size-12) {
		return nil, errors.New("is no Parquet file: it does not end as one")
	}
	data := make([]byte, length)
	if _, err := r.ReadAt(data, size-8-length); err != nil {
		return nil, err
	}
	return (&thrift{data: data}).fields(0), nil
}

// Numbers of the format (parquet.thrift).
const (
	optional, repeated = 1, 2

	convertedUTF8, convertedList, convertedEnum, convertedJSON = 0, 3, 4, 19
	logicalString, logicalList, logicalEnum, logicalJSON       = 1, 3, 4, 12
)

// readSchema takes the element at from and all below it, and gives the place of
// the next.
func readSchema(schema []any, path string, from, def, rep int) (*node, int) {
	element := asFields(schema[from])
	n := &node{name: string(element.bytes(4)), def: def, rep: rep}
	if from > 0 {
		path = strings.TrimPrefix(path+"."+n.name, ".")
		switch element.int(3) {
		case repeated:
			n.repeated = true
			n.def++
			n.rep++
		case optional:
			n.optional = true
			n.def++
		}
	}
	converted, logical := element[6], element.fields(10)
	next := from + 1
	for range element.int(5) {
		var child *node
		child, next = readSchema(schema, path, next, n.def, n.rep)
		n.children = append(n.children, child)
		n.columns = append(n.columns, child.columns...)
	}
	n.list = len(n.children) == 1 && n.children[0].repeated && (converted == int64(convertedList) || logical[logicalList] != nil)
	if n.children == nil {
		text := logical[logicalString] != nil || logical[logicalEnum] != nil || logical[logicalJSON] != nil ||
			converted == int64(convertedUTF8) || converted == int64(convertedEnum) || converted == int64(convertedJSON)
		n.columns = []*column{{path: path, kind: element.int(1), length: element.int(2), text: text, def: n.def, rep: n.rep}}
	}
	return n, next
}

// take gives the next value of a field: nil where it is not there.
func (n *node) take() any {
	first := n.columns[0]
	if n.repeated {
		list := []any{}
		if first.level(first.defs, first.def) < n.def {
			n.skip()
			return list
		}
		for more := true; more; more = first.at < first.len() && first.level(first.reps, 0) == n.rep && n.rep > 0 {
			list = append(list, n.one())
		}
		return list
	}
	if n.optional && first.level(first.defs, first.def) < n.def {
		n.skip()
		return nil
	}
	return n.one()
}

// one gives a value that is there.
func (n *node) one() any {
	switch {
	case n.children == nil:
		return n.columns[0].take()
	case n.list:
		elements, _ := n.children[0].take().([]any)
		if inner := n.children[0]; len(inner.children) == 1 { // list.element
			for i := range elements {
				elements[i] = elements[i].(map[string]any)[inner.children[0].name]
			}
		}
		return elements
	}
	object := n.object()
	if image, is := object["bytes"].(string); is && len(n.children) == 2 && strings.HasPrefix(image, "data:") {
		return image // as data sets of images have it, with a path beside it
	}
	return object
}

func (n *node) object() map[string]any {
	object := map[string]any{}
	for _, child := range n.children {
		object[child.name] = child.take()
	}
	return object
}

// skip passes the one entry that each leaf has for what is not there.
func (n *node) skip() {
	for _, c := range n.columns {
		c.at++
	}
}

// level is that of the next entry; where a column writes none, it is the same for
// all.
func (c *column) level(levels []byte, all int) int {
	if levels == nil {
		return all
	}
	return int(levels[c.at])
}

func (c *column) len() int { return max(len(c.defs), len(c.reps)) }

func (c *column) take() any {
	c.at++
	c.valueAt++
	return c.values[c.valueAt-1]
}
