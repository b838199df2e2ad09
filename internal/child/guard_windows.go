package child

import (
	"io"
	"os"
	"os/exec"
)

// guardCommand is the command itself: there are no groups here, and Stop ends the
// one process.
func guardCommand(words []string) (*exec.Cmd, error) {
	return exec.Command(words[0], words[1:]...), nil
}

// attach gives the command its input. Whatever it is then told ends it.
func attach(cmd *exec.Cmd, s Spec) (io.WriteCloser, error) {
	if s.Input == "" {
		return &ender{cmd: cmd}, nil
	}
	in, err := os.Open(s.Input)
	if err != nil {
		return nil, err
	}
	cmd.Stdin = in
	return &ender{cmd: cmd, in: in}, nil
}

// ender ends a command at the first word.
type ender struct {
	cmd *exec.Cmd
	in  *os.File
}

func (e *ender) Write(word []byte) (int, error) { return len(word), e.cmd.Process.Kill() }

func (e *ender) Close() error {
	if e.in == nil {
		return nil
	}
	return e.in.Close()
}

// guard has nothing to do here: no process is started as one.
func guard() int { return 0 }
