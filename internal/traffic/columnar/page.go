package columnar

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// Numbers of the format (parquet.thrift).
const (
	kindBool, kindInt32, kindInt64, kindInt96, kindFloat, kindDouble, kindBytes, kindFixed = 0, 1, 2, 3, 4, 5, 6, 7

	pageData, pageDictionary, pageDataV2 = 0, 2, 3

	encodingPlain, encodingPlainDictionary, encodingRLE, encodingDictionary = 0, 2, 3, 8
)

var (
	encodingNames = map[int]string{5: "DELTA_BINARY_PACKED", 6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY", 9: "BYTE_STREAM_SPLIT"}
	codecNames    = map[int]string{3: "LZO", 4: "BROTLI", 5: "LZ4", 7: "LZ4_RAW"}
)

// maxValues bounds a page, which has thousands.
const maxValues = 1 << 24

const rewrite = "write the file again with what pandas does by itself: pandas.read_parquet(FILE).to_parquet(FILE)"

// read takes all pages of a column's chunk.
func (c *column) read(r io.ReaderAt, whole int64, meta fields) error {
	c.defs, c.reps, c.values, c.at, c.valueAt = nil, nil, nil, 0, 0
	start := meta.int(9)
	if at, has := meta[11].(int64); has && at > 0 {
		start = min(start, int(at))
	}
	size := meta.int(7)
	if size < 0 || size > int(min(maxPage, whole)) {
		return fmt.Errorf("has %d bytes; must be at most %d", size, min(maxPage, whole))
	}
	data := make([]byte, size)
	if _, err := r.ReadAt(data, int64(start)); err != nil {
		return err
	}
	var dictionary []any
	for t, seen := (&thrift{data: data}), 0; seen < meta.int(5); {
		head := t.fields(0)
		body := t.data[t.at : t.at+head.int(3)]
		t.at += head.int(3)
		switch head.int(1) {
		case pageDictionary:
			plain, err := unpack(meta.int(4), body, head.int(2))
			if err != nil {
				return err
			}
			if dictionary, err = c.plain(plain, head.fields(7).int(1)); err != nil {
				return err
			}
		case pageData, pageDataV2:
			n, err := c.page(head, body, meta.int(4), dictionary)
			if err != nil {
				return err
			}
			seen += n
		}
	}
	return nil
}

// page takes the levels and values of a page, and gives their number.
func (c *column) page(head fields, body []byte, codec int, dictionary []any) (entries int, err error) {
	about, whole := head.fields(5), head.int(2)
	if v2 := head.fields(8); v2 != nil { // its levels stand before what is compressed
		about = fields{1: v2[1], 2: v2[4]}
		reps, defs := v2.int(6), v2.int(5)
		entries = about.int(1)
		c.reps = c.appendLevels(c.reps, body[:reps], c.rep, entries)
		c.defs = c.appendLevels(c.defs, body[reps:reps+defs], c.def, entries)
		if compressed, said := v2[7].(bool); said && !compressed {
			codec = 0
		}
		if body, err = unpack(codec, body[reps+defs:], whole-reps-defs); err != nil {
			return 0, err
		}
	} else {
		if body, err = unpack(codec, body, whole); err != nil {
			return 0, err
		}
		entries = about.int(1)
		if c.rep > 0 {
			c.reps, body = c.takeLevels(c.reps, body, c.rep, entries)
		}
		if c.def > 0 {
			c.defs, body = c.takeLevels(c.defs, body, c.def, entries)
		}
	}
	there := entries
	if c.def > 0 {
		there = 0
		for _, d := range c.defs[len(c.defs)-entries:] {
			if int(d) == c.def {
				there++
			}
		}
	}
	values, err := c.decode(about.int(2), body, there, dictionary)
	c.values = append(c.values, values...)
	return entries, err
}

func (c *column) takeLevels(to, body []byte, highest, n int) (levels, rest []byte) {
	length := 4 + int(binary.LittleEndian.Uint32(body))
	return c.appendLevels(to, body[4:length], highest, n), body[length:]
}

func (c *column) appendLevels(to, data []byte, highest, n int) []byte {
	if highest == 0 {
		return to
	}
	for _, level := range runs(data, bits.Len(uint(highest)), n) {
		to = append(to, byte(level))
	}
	return to
}

// decode gives the values of a page.
func (c *column) decode(encoding int, body []byte, n int, dictionary []any) ([]any, error) {
	switch encoding {
	case encodingPlain:
		return c.plain(body, n)
	case encodingPlainDictionary, encodingDictionary:
		values := make([]any, 0, min(n, len(body)<<3))
		if n == 0 {
			return nil, nil
		}
		for _, k := range runs(body[1:], int(body[0]), n) {
			values = append(values, dictionary[k])
		}
		return values, nil
	case encodingRLE: // of truth values
		var values []any
		for _, k := range runs(body[4:], 1, n) {
			values = append(values, k == 1)
		}
		return values, nil
	}
	return nil, fmt.Errorf("is encoded as %s, which is not read: %s", nameOf(encodingNames, encoding), rewrite)
}

// runs reads numbers of a width in the hybrid of runs and packed bits.
func runs(data []byte, width, n int) (out []uint32) {
	if n > maxValues {
		panic("a page has too many values")
	}
	at := thrift{data: data}
	for len(out) < n {
		head := at.varint()
		if head&1 == 0 { // one value, again and again
			var value uint32
			for i := range (width + 7) / 8 {
				value |= uint32(at.byte()) << (8 * i)
			}
			for range min(int(head>>1), n-len(out)) {
				out = append(out, value)
			}
			continue
		}
		packed := at.data[at.at:]
		for i := range min(8*int(head>>1), n-len(out)) {
			var value uint32
			for b := range width {
				bit := i*width + b
				value |= uint32(packed[bit/8]>>(bit%8)&1) << b
			}
			out = append(out, value)
		}
		at.at += int(head>>1) * width
	}
	return out
}

// plain reads n values one behind the other.
func (c *column) plain(data []byte, n int) ([]any, error) {
	values := make([]any, 0, min(n, 8*len(data)+1))
	for i := range min(n, maxValues) {
		switch c.kind {
		case kindBool:
			values = append(values, data[i/8]>>(i%8)&1 == 1)
		case kindInt32:
			values = append(values, int32(binary.LittleEndian.Uint32(data[4*i:])))
		case kindInt64:
			values = append(values, int64(binary.LittleEndian.Uint64(data[8*i:])))
		case kindFloat:
			values = append(values, finite(float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))))
		case kindDouble:
			values = append(values, finite(math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))))
		case kindBytes:
			length := int(binary.LittleEndian.Uint32(data))
			values = append(values, c.textOf(data[4:4+length]))
			data = data[4+length:]
		case kindFixed:
			values = append(values, c.textOf(data[c.length*i:c.length*(i+1)]))
		case kindInt96:
			values = append(values, nil) // times of an older form
		default:
			return nil, fmt.Errorf("has the type %d, which is not read", c.kind)
		}
	}
	return values, nil
}

// finite is a number that JSON has.
func finite(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return v
}

// textOf is a text, or an image as a data URL; other bytes are left out.
func (c *column) textOf(data []byte) any {
	if c.text {
		return strings.ToValidUTF8(string(data), "\ufffd")
	}
	if media := http.DetectContentType(data); strings.HasPrefix(media, "image/") {
		return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data)
	}
	if utf8.Valid(data) {
		return string(data)
	}
	return nil
}

// unpack undoes the compression of a page, which says how long it is.
func unpack(codec int, data []byte, whole int) (out []byte, err error) {
	if whole < 0 || whole > maxPage {
		return nil, fmt.Errorf("has a page of %d bytes; must be less than %d", whole, maxPage)
	}
	switch codec {
	case 0:
		return data, nil
	case 1:
		if n, err := snappy.DecodedLen(data); err != nil || n != whole || n > 64*len(data) {
			return nil, errors.New("has a page that is not compressed by snappy, as it says")
		}
		return snappy.Decode(nil, data)
	case 2:
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(io.LimitReader(r, int64(whole)))
	case 6:
		r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, int64(whole)))
	}
	return nil, fmt.Errorf("is compressed by %s, which is not read: %s", nameOf(codecNames, codec), rewrite)
}

func nameOf(names map[int]string, n int) string {
	if name := names[n]; name != "" {
		return name
	}
	return fmt.Sprintf("number %d", n)
}
