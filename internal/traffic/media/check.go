package media

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"sync"
)

// maxDecoded bounds an image that is checked, and maxChecked all that are decoded for
// it: beyond that their heads alone are read, since a large set would take minutes.
const (
	maxDecoded = 1 << 28
	maxChecked = 1 << 29
)

// checked are the images that were decoded: files are read more than once.
var checked struct {
	sync.Mutex
	pixels int
	known  map[[sha256.Size]byte]error
}

// CheckFile decodes an image of a file.
func CheckFile(path string) error {
	part, err := Open(path)
	if err != nil {
		return err
	}
	if err := Check(part.Data); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Check decodes an image from end to end, or says why that cannot be done: a server
// would refuse one that was cut off only once the load is on. Of WebP the length is
// compared with what its head says.
func Check(data []byte) error {
	part, err := Read(data)
	switch {
	case err != nil:
		return err
	case isWebP(data):
		if want := 8 + int(binary.LittleEndian.Uint32(data[4:])); len(data) < want {
			return fmt.Errorf("the image is cut off: it has %d of %d bytes", len(data), want)
		}
		return nil
	}
	pixels := part.Width * part.Height
	if pixels <= 0 || pixels > maxDecoded {
		return fmt.Errorf("the image has %d x %d pixels, expected at most %d million", part.Width, part.Height, maxDecoded/1_000_000)
	}
	sum := sha256.Sum256(data)
	checked.Lock()
	defer checked.Unlock()
	err, known := checked.known[sum]
	if known || checked.pixels > maxChecked {
		return err
	}
	checked.pixels += pixels
	if _, _, err = image.Decode(bytes.NewReader(data)); err != nil {
		err = fmt.Errorf("the image cannot be decoded, it is cut off or damaged: %w", err)
	}
	if checked.known == nil {
		checked.known = map[[sha256.Size]byte]error{}
	}
	checked.known[sum] = err
	return err
}
