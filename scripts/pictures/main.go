// Command pictures writes the pictures of the README: the report of a recorded run of
// vLLM on an H200, as a browser shows it. It sends no request.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"redline/internal/judge/result"
	"redline/internal/judge/series"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/run/store"
	"redline/internal/show/report"
)

const (
	recording = "internal/twin/testdata/recorded/vllm-0.24.0-h200-llama-3.1-8b.tar.gz"
	level     = "chat-25"
	picture   = "docs/pictures/report.png"
	mostBytes = 150_000
)

var objectives = []string{"ttft:p95<450ms", "tpot:p95<25ms"}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	work, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := unpack(recording, work); err != nil {
		return err
	}
	res, err := drawn(filepath.Join(work, level))
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := report.HTML(&page, res); err != nil {
		return err
	}
	file := filepath.Join(work, "report.html")
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		return err
	}
	shot, err := screenshot(ctx, work, file)
	if err != nil {
		return err
	}
	small, err := packed(shot)
	if err != nil {
		return err
	}
	if len(small) > mostBytes {
		return fmt.Errorf("%s: %d bytes, want at most %d", picture, len(small), mostBytes)
	}
	return os.WriteFile(picture, small, 0o644)
}

// drawn is the result of a run that was recorded before results held what charts
// are drawn from, judged by objectives that it did not have.
func drawn(path string) (*result.Result, error) {
	dir, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	plan, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return nil, err
	}
	asked := make([]slo.Objective, len(objectives))
	for i, text := range objectives {
		if asked[i], err = slo.Parse(text); err != nil {
			return nil, err
		}
	}
	p := &res.Points[0]
	if p.Objectives, err = measure.Judge(plan, path, asked); err != nil {
		return nil, err
	}
	res.Verdict.SLO, res.Verdict.Reasons = slo.Overall(p.Objectives), []string{}
	logged, err := dir.ReadTelemetry()
	if err != nil {
		return nil, err
	}
	start := int64(p.Window.StartS * 1e9)
	binned := series.New(start-int64(*p.Window.WarmupS*1e9), start, int64(p.Window.EndS*1e9))
	for r, err := range dir.Records() {
		if err != nil {
			return nil, err
		}
		binned.Add(r)
	}
	p.Series, p.Distributions = binned.Over(logged.Scrapes(), logged.Accelerators()), binned.Distributions()
	return res, nil
}

// unpack writes the files of an archive into a directory.
func unpack(archive, into string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg {
			continue
		}
		path := filepath.Join(into, h.Name)
		content, err := io.ReadAll(files)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o644)
		}
		if err != nil {
			return err
		}
	}
}

// screenshot shows a page to Chromium (scripts/browser/install.sh installs one).
func screenshot(ctx context.Context, work, page string) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	file := filepath.Join(work, "shot.png")
	command := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--user-data-dir="+filepath.Join(work, "profile"), "--blink-settings=preferredColorScheme=1", "--window-size=1100,1195", "--screenshot="+file, "file://"+page)
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("chromium: %w: %s", err, strings.TrimSpace(string(said)))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return png.Decode(f)
}

// packed is a picture in its 255 commonest colors, which is all that a page of
// text and lines needs.
func packed(shot image.Image) ([]byte, error) {
	b := shot.Bounds()
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	common := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return counts[b] - counts[a] })
	palette := make(color.Palette, 0, 255)
	for _, c := range common[:min(len(common), 255)] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(b, palette)
	known := map[color.RGBA]uint8{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := at(x, y)
			if _, seen := known[c]; !seen {
				known[c] = uint8(palette.Index(c))
			}
			small.SetColorIndex(x, y, known[c])
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&out, small)
	return out.Bytes(), err
}
