package launch

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec is how a server is started: the plan's server block.
type Spec struct {
	// Command is a line for the shell. {port} stands for the port to serve on,
	// {redline} for this program, any other {name} for a value that each start
	// gives.
	Command string `yaml:"command,omitempty" secret:"command"`
	// Port is the first that may be used; 0 finds free ones.
	Port int `yaml:"port,omitempty"`
	// Ready is the path that answers with success once the server can be asked;
	// "" tries /health, then /v1/models.
	Ready string `yaml:"ready,omitempty"`
	// ReadyTimeout is how long that may take; 0 means DefaultReadyTimeout.
	ReadyTimeout time.Duration `yaml:"ready_timeout,omitempty"`
	// Env is added to this program's own environment.
	Env map[string]string `yaml:"env,omitempty" secret:"names"`
}

// DefaultReadyTimeout is long enough for a large model to be read from disk.
const DefaultReadyTimeout = 10 * time.Minute

const maxReadyTimeout = 24 * time.Hour

// The placeholders that need no value.
const (
	portName    = "port"
	programName = "redline"
)

// placeholder is a name in braces. Anything else in braces, such as a JSON
// object or a variable of the shell, is left as it is.
var placeholder = regexp.MustCompile(`\$?\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// ValidName reports whether a value can be referred to by the name.
func ValidName(name string) bool {
	return placeholder.FindString("{"+name+"}") == "{"+name+"}" && name != portName && name != programName
}

// Placeholders are the names of the values that the command needs, each once.
func (s Spec) Placeholders() []string {
	var names []string
	for _, found := range placeholder.FindAllStringSubmatch(s.Command, -1) {
		name := found[1]
		if found[0][0] == '{' && name != portName && name != programName && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Validate checks everything but whether the values exist. A command that has a
// server started elsewhere needs no port.
func (s Spec) Validate(elsewhere bool) error {
	switch {
	case s.Command == "" && (s.Port != 0 || s.Ready != "" || s.ReadyTimeout != 0 || s.Env != nil):
		return fmt.Errorf("command: is missing, and the rest of the block is about the server that it would start")
	case s.Command == "":
		return nil
	case strings.TrimSpace(s.Command) == "":
		return fmt.Errorf("command: expected a command line such as 'vllm serve MODEL --port {port}'")
	case !elsewhere && !strings.Contains(s.Command, "{"+portName+"}"):
		return fmt.Errorf("command: has no {port}: say where the server is to be told its port, as in --port {port}")
	case s.Port < 0 || s.Port > 65534:
		return fmt.Errorf("port: must be 1 to 65534, got %d", s.Port)
	case s.Ready != "" && !strings.HasPrefix(s.Ready, "/"):
		return fmt.Errorf("ready: expected a path such as /health, got %q", s.Ready)
	case s.ReadyTimeout < 0 || s.ReadyTimeout > maxReadyTimeout:
		return fmt.Errorf("ready_timeout: must be above 0 and at most %s, got %s", maxReadyTimeout, s.ReadyTimeout)
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %q is not the name of a variable", name)
		}
	}
	return nil
}

// Line is the command with a port and with values in their places.
func (s Spec) Line(port int, values map[string]string) (string, error) {
	var missing string
	line := placeholder.ReplaceAllStringFunc(s.Command, func(found string) string {
		if found[0] == '$' {
			return found
		}
		name := found[1 : len(found)-1]
		value, known := values[name]
		switch {
		case name == portName:
			return strconv.Itoa(port)
		case name == programName:
			return program()
		case !known:
			missing = name
		}
		return value
	})
	if missing != "" {
		return "", fmt.Errorf("server.command names {%s}, for which there is no value", missing)
	}
	return line, nil
}

// program is this program as a word for the shell.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return programName
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
