package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
)

// quality is what cameras and web pages use.
const quality = 85

// The markers of a JPEG.
const (
	startOfFrame = 0xc0
	startOfScan  = 0xda
	endOfImage   = 0xd9
	interval     = 0xdd
	restart      = 0xd0
)

// encodeJPEG compresses a strip of whole blocks; what is below its last row is
// that row.
func encodeJPEG(p raster) strip {
	img := image.NewRGBA(image.Rect(0, 0, p.width, stripRows))
	for y := range stripRows {
		row := p.pix[min(y, p.height-1)*3*p.width:]
		for x := range p.width {
			copy(img.Pix[y*img.Stride+4*x:], row[3*x:3*x+3])
			img.Pix[y*img.Stride+4*x+3] = 255
		}
	}
	var b bytes.Buffer
	_ = jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}) // a buffer takes anything
	return strip{data: b.Bytes()}
}

// joinJPEG lays the scans of strips one behind the other. A restart marker
// between two of them says that the second knows nothing of the first, which is
// so: each was compressed alone, with the same tables.
func joinJPEG(width, height int, strips []strip) []byte {
	total := 1024
	for _, s := range strips {
		total += len(s.data)
	}
	out := make([]byte, 0, total)
	for i, s := range strips {
		head, scan := splitJPEG(s.data)
		if i == 0 {
			out = appendJPEGHead(out, head, width, height)
		} else {
			out = append(out, 0xff, byte(restart+(i-1)%8))
		}
		out = append(out, scan...)
	}
	return append(out, 0xff, endOfImage)
}

// splitJPEG parts what stands before the scan from the scan itself.
func splitJPEG(data []byte) (head, scan []byte) {
	at := 2
	for data[at+1] != startOfScan {
		at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
	}
	at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
	return data[:at], data[at : len(data)-2]
}

// appendJPEGHead copies the head of a strip as that of the whole, with how many
// blocks lie between two restarts.
func appendJPEGHead(out, head []byte, width, height int) []byte {
	out = append(out, head[:2]...)
	for at := 2; at < len(head); {
		length := 2 + int(binary.BigEndian.Uint16(head[at+2:]))
		if head[at+1] == startOfScan {
			out = append(out, 0xff, interval, 0, 4)
			out = binary.BigEndian.AppendUint16(out, uint16((width+stripRows-1)/stripRows))
		}
		segment := append(out[len(out):], head[at:at+length]...)
		if head[at+1] == startOfFrame {
			binary.BigEndian.PutUint16(segment[5:], uint16(height))
		}
		out = append(out, segment...)
		at += length
	}
	return out
}
