package media

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
)

// encodePNG compresses rows into a chunk of their own. Each pixel is written as
// its difference from the one at its left, so that no row needs the one above.
func encodePNG(p raster) strip {
	rows := make([]byte, 0, p.height*(1+3*p.width))
	for y := range p.height {
		row := p.pix[y*3*p.width:][:3*p.width]
		rows = append(rows, 1) // the filter's number
		for i, v := range row {
			if i >= 3 {
				v -= row[i-3]
			}
			rows = append(rows, v)
		}
	}
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, flate.BestSpeed) // the level is a known one, and a buffer takes anything
	_, _ = w.Write(rows)
	_ = w.Flush() // to the end of a byte, and the stream goes on
	return strip{data: appendChunk(nil, "IDAT", packed.Bytes()), sum: adler32.Checksum(rows), size: len(rows)}
}

// joinPNG puts the chunks of strips between those that begin and end the image.
func joinPNG(width, height int, strips []strip) []byte {
	total := 128
	for _, s := range strips {
		total += len(s.data)
	}
	out := append(make([]byte, 0, total), "\x89PNG\r\n\x1a\n"...)
	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	out = appendChunk(out, "IHDR", append(head, 8, 2, 0, 0, 0)) // eight bits of each of three colors
	out = appendChunk(out, "IDAT", []byte{0x78, 0x9c})          // the head of the stream
	sum := uint32(1)
	for _, s := range strips {
		out = append(out, s.data...)
		sum = joinSums(sum, s.sum, s.size)
	}
	out = appendChunk(out, "IDAT", binary.BigEndian.AppendUint32([]byte{3, 0}, sum)) // an empty last block, and the sum
	return appendChunk(out, "IEND", nil)
}

func appendChunk(out []byte, name string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	from := len(out)
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[from:]))
}

// joinSums is the Adler-32 sum of two stretches one behind the other, the second
// of so many bytes, by those of each.
func joinSums(first, second uint32, size int) uint32 {
	const prime = 65521
	a, b := uint64(first&0xffff), uint64(first>>16)
	b = (b + uint64(second>>16) + uint64(size)%prime*(a+prime-1)) % prime
	a = (a + uint64(second&0xffff) + prime - 1) % prime
	return uint32(b<<16 | a)
}
