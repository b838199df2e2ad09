package imported

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"redline/internal/text"
)

// Read reads a file that may be anything, and not more of it than can be
// worked with.
func Read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory; import takes the result file in it", file)
	case info.Mode()&(fs.ModeDevice|fs.ModeSocket) != 0:
		return nil, fmt.Errorf("%s is a device; import takes the result file of a benchmark", file)
	case info.Size() > MaxBytes:
		return nil, tooLong(file)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	content, err := io.ReadAll(io.LimitReader(in, MaxBytes+1)) // a pipe has no size
	if len(content) > MaxBytes {
		return nil, tooLong(file)
	}
	return content, err
}

func tooLong(file string) error {
	return fmt.Errorf("%s is longer than %s, the most that import reads: write the result without texts, or in parts", file, text.Bytes(MaxBytes))
}
