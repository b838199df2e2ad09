//go:build linux

package main

import (
	"fmt"
	"runtime"
	"time"

	"redline/internal/text"
)

// images shows what sending large images takes of the client.
func images(h *harness) func() error {
	rate := h.Float64("rate", 200, "requests per second, each with one image")
	size := h.String("size", "2048x1152", "of the images, which are photographs in JPEG")
	length := h.Duration("length", 30*time.Second, "how long the window lasts")
	return func() error {
		client, other := halves()
		s, err := h.simulate(other, "--pace", "20ms")
		if err != nil {
			return err
		}
		defer s.kill()
		const warmup = 5 * time.Second
		flags := []string{"--url", s.url, "--workload", "fixed(64,16)", "--rate", fmt.Sprint(*rate), "--warmup", warmup.String(), "--duration", length.String(), "--drain", "10s"}
		var rows string
		for _, with := range [][]string{{"--images", *size}, nil} {
			f, err := h.tryAt(client, append(flags, with...)...)
			if err != nil {
				return err
			}
			shown := "none"
			if i := f.point.Images; i != nil {
				shown = fmt.Sprintf("%s, %.2f megapixels", text.Bytes(i.BytesMean), i.PixelsMean/1e6)
			}
			rows += fmt.Sprintf("| %s | %.0f | %d of %d ok | %.2f / %.2f | %.2f / %.2f | %d | %.2f | %s |\n", shown, f.point.Rates.Sent, f.point.Requests.OK, f.point.Requests.Due,
				f.latency("lag", "p50"), f.latency("lag", "p99"), f.latency("upload", "p50"), f.latency("upload", "p99"), f.mb, f.cpu.Seconds()/(warmup+*length).Seconds(), f.checks())
		}
		shared := ""
		if client.cores == nil {
			shared = fmt.Sprintf("Client and server share the %d cores of this machine with all else that it does: lag and upload are what that leaves.\n\n", runtime.NumCPU())
		}
		return h.writePart("images", shared+`| image | requests/s | requests | lag p50 / p99, ms | upload p50 / p99, ms | client memory, MB | client CPU, cores | checks |
|---|---|---|---|---|---|---|---|
`+rows)
	}
}
