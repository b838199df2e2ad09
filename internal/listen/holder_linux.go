package listen

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"redline/internal/text"
)

// holder names the process that listens on a port, "" where it is another
// user's or cannot be found.
func holder(port string) string {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return ""
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		addListening(table, fmt.Sprintf(":%04X", number), sockets)
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is sound
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && sockets[target] {
			return process(strings.Split(link, "/")[2])
		}
	}
	return ""
}

// addListening adds the sockets of a table of the kernel that listen on a port.
func addListening(table, port string, sockets map[string]bool) {
	f, err := os.Open(table)
	if err != nil {
		return
	}
	defer f.Close()
	const listen = "0A"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) > 9 && strings.HasSuffix(words[1], port) && words[3] == listen {
			sockets["socket:["+words[9]+"]"] = true
		}
	}
}

// process is the command and the id of a process.
func process(pid string) string {
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	if err != nil || words[0] == "" {
		return "process " + pid
	}
	name := filepath.Base(words[0])
	if len(words) > 1 && !strings.HasPrefix(words[1], "-") {
		name += " " + words[1]
	}
	return fmt.Sprintf("%s (pid %s)", text.Line(text.Brief(name)), pid)
}
