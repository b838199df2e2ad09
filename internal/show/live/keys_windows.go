package live

import (
	"os"

	"golang.org/x/sys/windows"
)

// prepare lets the console act on the sequences of a screen, as older ones do not
// by themselves.
func prepare(out *os.File) error {
	var mode uint32
	console := windows.Handle(out.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING)
}

// Foreground is always true: a console has no jobs in the background.
func Foreground(*os.File) bool { return true }

// listen lets keys be read as they are typed. A console cannot be asked without
// waiting, so a goroutine waits; it ends with the process.
func listen(in *os.File) (keys func() []byte, restore func(), err error) {
	console := windows.Handle(in.Fd())
	var before uint32
	if err := windows.GetConsoleMode(console, &before); err != nil {
		return nil, nil, err
	}
	if err := windows.SetConsoleMode(console, before&^(windows.ENABLE_LINE_INPUT|windows.ENABLE_ECHO_INPUT)); err != nil {
		return nil, nil, err
	}
	typed := make(chan byte, 16)
	go func() {
		one := make([]byte, 1)
		for {
			if _, err := in.Read(one); err != nil {
				return
			}
			typed <- one[0]
		}
	}()
	keys = func() (list []byte) {
		for {
			select {
			case key := <-typed:
				list = append(list, key)
			default:
				return list
			}
		}
	}
	return keys, func() { _ = windows.SetConsoleMode(console, before) }, nil
}
