//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// soak drives 20,000 tokens a second for half an hour, watches the client's
// memory.
func soak(h *harness) func() error {
	length := h.Duration("length", 30*time.Minute, "how long it lasts")
	return func() error {
		s, err := h.simulate(place{}, "--pace", "25ms")
		if err != nil {
			return err
		}
		defer s.kill()
		out := filepath.Join(h.work, "run")
		var report strings.Builder
		client := place{}.command(h.redline, "run", "--url", s.url, "--concurrency", "500", "--workload", "fixed(64,200)",
			"--duration", length.String(), "--warmup", "10s", "--quiet", "--out", out)
		client.Stdout, client.Env = &report, append(os.Environ(), "NO_COLOR=1")
		if err := client.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- client.Wait() }()
		var first, most, last int
		for wait, over := 20*time.Second, false; !over; wait = 5 * time.Second {
			select {
			case <-ended:
				over = true
			case <-time.After(min(wait, *length)):
				if now := int(memoryOf(client.Process.Pid, "status", "VmRSS:") >> 20); now > 0 {
					last, most = now, max(most, now)
					if first == 0 {
						first = now
					}
				}
			}
		}
		f, err := h.readRun(out)
		if err != nil {
			return fmt.Errorf("%w: %s", err, report.String())
		}
		h.demandValid(f.Result, "the run")
		log, err := os.Stat(f.dir.RecordsPath())
		if err != nil {
			return err
		}
		shown, _, _ := strings.Cut(report.String(), "\nKept")
		return h.writePart("soak", fmt.Sprintf(`Server and client are on this machine: 500 streams of a token every 25 ms, 20,000 tokens/s, for %v.

| memory of the client | MB |
|---|---|
| after 20 s | %d |
| max | %d |
| at the end | %d |

Record log: %d MB. The run ended with exit code %d and said:

`+"```\n%s\n```\n", *length, first, most, last, log.Size()>>20, client.ProcessState.ExitCode(), strings.TrimSpace(shown)))
	}
}
