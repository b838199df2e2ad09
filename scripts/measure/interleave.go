//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"redline/internal/text"
)

// variant is one way to make the same run.
type variant struct {
	title string
	flags []string
}

// interleave makes the same load in several ways, in rounds, and gives the runs
// of each. The server is a process of its own.
func (h *harness) interleave(n int, length time.Duration, variants []variant, run func(flags []string) (*outcome, error)) ([][]*outcome, error) {
	s, err := h.simulate(place{}, "--pace", "10ms")
	if err != nil {
		return nil, err
	}
	defer s.kill()
	return rounds(n, variants, func(v variant) (*outcome, error) {
		return run(append([]string{"--url", s.url, "--rate", "50", "--arrival", "constant", "--workload", "fixed(64,40)",
			"--duration", length.String(), "--warmup", "2s", "--accelerator", "off"}, v.flags...))
	})
}

func (h *harness) roundFlags(n int) (rounds *int, length *time.Duration) {
	return h.Int("rounds", n, "how often each variant has its turn"), h.Duration("length", 10*time.Second, "how long each run lasts")
}

const interleavedAbout = "%s of %v at 50 requests/s of 40 tokens%s, medians over the rounds with their range; server and client share this machine.%s\n\n"

// scrape shows what reading the server's metrics costs.
func scrape(h *harness) func() error {
	n, length := h.roundFlags(5)
	return func() error {
		variants := []variant{{"never", []string{"--no-telemetry"}}, {"every second", nil}, {"every 100 ms", []string{"--telemetry-interval", "100ms"}}}
		runs, err := h.interleave(*n, *length, variants, func(flags []string) (*outcome, error) { return h.drive(flags...) })
		if err != nil {
			return err
		}
		table := fmt.Sprintf(interleavedAbout, text.Plural(*n, "interleaved round"), *length, "", "") +
			"| metrics read | client CPU, s | ttft p50, ms | ttft p99, ms | itl p50, ms | itl p99, ms | lag p99, ms | one reading, ms |\n|---|---|---|---|---|---|---|---|\n"
		for i, of := range runs {
			var took []float64
			for _, f := range of {
				if s := f.point.Server; s != nil && s.ScrapeMS != nil {
					took = append(took, s.ScrapeMS.Mean)
				}
			}
			cell := func(figure, key string, digits int) string {
				return spread(of, digits, func(f *outcome) float64 { return f.latency(figure, key) })
			}
			table += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", variants[i].title, spread(of, 2, func(f *outcome) float64 { return f.Client.CPUSeconds }),
				cell("ttft", "p50", 2), cell("ttft", "p99", 1), cell("itl", "p50", 2), cell("itl", "p99", 1), cell("lag", "p99", 2),
				spread(took, 1, func(ms float64) float64 { return ms }))
		}
		return h.writePart("scrape", table)
	}
}

// screen shows what the full screen costs against the line and nothing.
func screen(h *harness) func() error {
	n, length := h.roundFlags(7)
	return func() error {
		written := map[*outcome]float64{} // to the terminal, bytes per second
		variants := []variant{{"nothing (`--quiet`)", []string{"--quiet"}}, {"the line", []string{"--progress", "line"}},
			{"the line again", []string{"--progress", "line"}}, {"the screen", []string{"--progress", "screen"}}}
		runs, err := h.interleave(*n, *length, variants, func(flags []string) (*outcome, error) {
			f, bytes, err := h.driveOnTerminal(flags)
			written[f] = float64(bytes) / (length.Seconds() + 2)
			return f, err
		})
		if err != nil {
			return err
		}
		table := fmt.Sprintf(interleavedAbout, text.Plural(*n, "interleaved round"), *length, " on a terminal of 120 × 40",
			" CPU is that of the client in the window, in percent of one core; the line stands twice to show how much equal runs differ.") +
			"| shown | CPU, % of a core | lag p50, ms | lag p99, ms | itl p99, ms | written to the terminal, bytes/s |\n|---|---|---|---|---|---|\n"
		for i, of := range runs {
			table += fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", variants[i].title,
				spread(of, 2, func(f *outcome) float64 {
					return 100 * f.Client.CPUSeconds / (f.point.Window.EndS - f.point.Window.StartS)
				}),
				spread(of, 3, func(f *outcome) float64 { return f.latency("lag", "p50") }),
				spread(of, 2, func(f *outcome) float64 { return f.latency("lag", "p99") }),
				spread(of, 1, func(f *outcome) float64 { return f.latency("itl", "p99") }),
				spread(of, 0, func(f *outcome) float64 { return written[f] }))
		}
		return h.writePart("screen", table)
	}
}

// driveOnTerminal makes a run on a terminal, and counts what is written to it.
func (h *harness) driveOnTerminal(flags []string) (f *outcome, bytes int, err error) {
	dir, err := os.MkdirTemp(h.work, "screen")
	if err != nil {
		return nil, 0, err
	}
	out := filepath.Join(dir, "run")
	line := shellWords(append([]string{h.redline, "run", "--slo", "ttft:p99<500ms", "--slo", "itl:p99<50ms", "--out", out}, flags...))
	cmd := place{}.command("script", "-qec", "stty cols 120 rows 40; exec "+line, filepath.Join(dir, "tty"))
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "CI=")
	if _, err := finishCommand(cmd); err != nil {
		return nil, 0, err
	}
	shown, err := os.ReadFile(filepath.Join(dir, "tty"))
	if err != nil {
		return nil, 0, err
	}
	if strings.HasSuffix(line, "--progress screen") && !strings.Contains(string(shown), "tokens/s") {
		return nil, 0, fmt.Errorf("no screen was shown: %s", firstLine(shown))
	}
	if f, err = h.readRun(out); err != nil {
		return nil, 0, err
	}
	h.demandValid(f.Result, line)
	return f, len(shown), nil
}
