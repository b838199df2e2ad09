package live

import (
	"os"
	"sync"

	"golang.org/x/term"
)

// device is a terminal of the process: it is written to and, where there is a
// keyboard, read from a key at a time, without echo. The terminal goes on to
// turn Ctrl-C into a signal and to mind line ends, so that an interrupt works and
// a panic can be read whatever the screen does.
type device struct {
	*os.File
	keys    func() []byte
	restore func()
	once    sync.Once
}

// OpenTerminal takes out for a screen, and in for its keys where that is a
// terminal too. It is nil where out can show none.
func OpenTerminal(in, out *os.File) Terminal {
	if prepare(out) != nil {
		return nil
	}
	d := &device{File: out, keys: func() []byte { return nil }, restore: func() {}}
	if term.IsTerminal(int(in.Fd())) {
		if keys, restore, err := listen(in); err == nil {
			d.keys, d.restore = keys, restore
		}
	}
	return d
}

func (d *device) Size() (width, height int) {
	width, height, err := term.GetSize(int(d.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

func (d *device) Keys() []byte { return d.keys() }

func (d *device) Restore() { d.once.Do(d.restore) }
