//go:build unix

package truth

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine names this machine as far as it tells.
func Machine() string {
	name := fmt.Sprintf("%d cores", runtime.NumCPU())
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		name += " of " + model
	}
	if kernel := firstLine("/proc/sys/kernel/osrelease"); kernel != "" {
		return name + ", Linux " + kernel
	}
	return name + ", " + runtime.GOOS + "/" + runtime.GOARCH
}

// LoadAverage is the mean number of runnable tasks over the last minute, as
// text; "unknown" where the system does not tell.
func LoadAverage() string {
	if minute, _, found := strings.Cut(firstLine("/proc/loadavg"), " "); found {
		return minute
	}
	return "unknown"
}

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// field gives the first value of a "name : value" file.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	for scan.Scan() {
		key, value, _ := strings.Cut(scan.Text(), ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
