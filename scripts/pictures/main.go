// Command pictures writes the pictures of the documentation: the report of a recorded
// run of vLLM on an H200, and the pages of redline ui over such runs, as a browser
// shows them; a job of an agent, and the search for how many of them a simulated engine
// carries. It sends no request but to itself. With -runs it only writes those
// runs into a directory, for redline ui to show.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"redline/internal/browser"
	"redline/internal/show/report"
	"redline/internal/show/ui"
	"redline/internal/store"
)

const (
	into     = "docs/pictures"
	maxBytes = 150_000
)

var only = flag.String("only", "", "agent-job or agents-curve: take this picture alone")

func main() {
	runs := flag.String("runs", "", "write the recorded runs into this directory, and take no pictures")
	flag.Parse()
	do := func() error { return pictures(context.Background()) }
	if *runs != "" {
		do = func() error { return writeRuns(*runs) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func pictures(ctx context.Context) error {
	work, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := writeRuns(filepath.Join(work, "runs")); err != nil {
		return err
	}
	target, err := filepath.Abs(into)
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := drawJob(target); err != nil || *only == "agent-job" {
		return err
	}
	// Pages name runs as a reader would: by a path from where they are.
	if err := os.Chdir(work); err != nil {
		return err
	}
	b, stop, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if *only == "agents-curve" {
		return shootAgents(b, root, target)
	}
	return errors.Join(shootReport(b, target), shootPages(ctx, b, target), shootAgents(b, root, target))
}

// shootReport takes the picture of the README.
func shootReport(b *browser.Browser, target string) error {
	res, err := (&store.Dir{Path: filepath.Join("runs", "llama-3.1-8b", "chat-25")}).Result()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := report.HTML(&page, res); err != nil {
		return err
	}
	file, err := filepath.Abs("report.html")
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		return err
	}
	return shoot(b, "file://"+file, browser.Look{Width: 1100, Height: 1780}, filepath.Join(target, "report.png"))
}

// shootPages takes those of docs/guide/WATCHING.md.
func shootPages(ctx context.Context, b *browser.Browser, target string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := ui.New(ui.Options{Root: "runs"}, l.Addr())
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l) }()
	a, z, full := ui.Key("llama-3.1-8b-first/chat-20"), ui.Key("llama-3.1-8b/chat-20"), ui.Key("llama-3.1-8b/chat-25")
	list := []struct {
		name, target string
		height       int64
	}{
		{"ui-list", "/?model=llama", 790},
		{"ui-run", "/run/" + full, 1900},
		{"ui-compare", "/compare?a=" + a + "&b=" + z, 1000},
		{"ui-capacity", "/capacity/" + full + "?rate=200&price=4&headroom=0.2&twin=yes", 1240},
	}
	for _, one := range list {
		if err == nil {
			err = shoot(b, "http://"+l.Addr().String()+one.target, browser.Look{Width: 1100, Height: one.height}, filepath.Join(target, one.name+".png"))
		}
	}
	stop()
	return errors.Join(err, <-ended)
}

// shoot writes a picture of a page as soon as it has what it is to show.
func shoot(b *browser.Browser, address string, look browser.Look, file string) error {
	for range 60 {
		p, err := b.Open(address, look)
		if err != nil {
			return err
		}
		unready, err := browser.Ask[bool](p, `document.title.startsWith("not yet")`)
		var shot []byte
		if err == nil && !unready {
			shot, err = p.Window()
		}
		p.Close()
		if err != nil {
			return err
		}
		if !unready {
			return keep(shot, file)
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("%s: the page is not ready after a minute", address)
}

func keep(shot []byte, file string) error {
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return err
	}
	small, err := pack(picture)
	if err != nil {
		return err
	}
	if len(small) > maxBytes {
		return fmt.Errorf("%s: %d bytes, want at most %d", file, len(small), maxBytes)
	}
	return os.WriteFile(file, small, 0o644)
}

// pack is a picture in its 255 commonest colors, which is all that a page of
// text and lines needs. Bright ones count for more: there are few of them, and
// they have a meaning.
func pack(shot image.Image) ([]byte, error) {
	b := shot.Bounds()
	counts := map[color.RGBA]int{}
	bright := func(c color.RGBA) int { return 1 + int(max(c.R, c.G, c.B)-min(c.R, c.G, c.B))/4 }
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(shot.At(x, y)).(color.RGBA) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	common := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]*bright(b)-counts[a]*bright(a), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
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
