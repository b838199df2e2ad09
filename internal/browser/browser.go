// Package browser drives a headless Chromium for tests and for the pictures of
// the documentation. It takes an address and a look (width, light or dark) and
// gives what a reader sees: the page to ask, its keyboard, and pictures. It knows
// nothing of what pages say, and no command links it.
package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// ErrNone says that there is no browser here.
var ErrNone = errors.New("no Chromium found; scripts/browser/install.sh installs one")

// Browser is a running Chromium that can reach nothing but loopback.
type Browser struct{ ctx context.Context }

// patience is how long the browser may take to start, and a page to be looked at.
const patience = 2 * time.Minute

// Start starts the browser; it ends with the context or by stop.
func Start(ctx context.Context) (b *Browser, stop func(), err error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, nil, ErrNone
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.ProxyServer("http://127.0.0.1:9"), chromedp.WSURLReadTimeout(patience))
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancel := chromedp.NewContext(ctx)
	stop = func() { cancel(); end() }
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Browser{ctx}, stop, nil
}

// Look is how a page is seen; at less than 600 pixels, as a phone shows it.
type Look struct {
	Name          string
	Width, Height int64
	Dark          bool
	Paper         bool // as it is printed
}

func (l Look) viewport() chromedp.Action[chromedp.Void] {
	if l.Width < 600 {
		return chromedp.EmulateViewport(l.Width, l.Height, chromedp.EmulateMobile)
	}
	return chromedp.EmulateViewport(l.Width, l.Height)
}

// Looks are those of a desk, in light and dark, and of a phone.
var Looks = []Look{{Name: "light", Width: 1180, Height: 1000}, {Name: "dark", Width: 1180, Height: 1000, Dark: true}, {Name: "phone", Width: 390, Height: 844}}

// Page is a page in a tab of its own.
type Page struct {
	ctx     context.Context
	stop    func()
	address string // what it shows

	mu       sync.Mutex
	messages []string
}

// Open shows an address in a tab of its own. The page is to be closed.
func (b *Browser) Open(address string, look Look) (*Page, error) {
	p, err := b.tab()
	if err != nil {
		return nil, err
	}
	if err := p.Show(address, look); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (b *Browser) tab() (*Page, error) {
	ctx, cancel := chromedp.NewContext(b.ctx)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		return nil, err
	}
	p := &Page{ctx: ctx, stop: cancel}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.mu.Lock()
			p.messages = append(p.messages, fmt.Sprintf("%s: %s", m.Type, m.Text))
			p.mu.Unlock()
		}
	}()
	return p, nil
}

// settled waits until a page has seen its new window and drawn itself again.
//
//go:embed settled.js
var settled string

// Show shows an address in the same tab, which takes a fraction of the time of a
// new one. What is shown already is looked at in another way, and not loaded again.
func (p *Page) Show(address string, look Look) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: map[bool]string{true: "dark", false: "light"}[look.Dark]}}}
	if look.Paper {
		media.Media = "print"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
	if err == nil {
		err = chromedp.Do(ctx, look.viewport())
	}
	switch {
	case err != nil:
	case address != p.address:
		err = chromedp.Do(ctx, chromedp.Navigate(address))
		p.address = address
	default:
		_, err = Ask[bool](p, settled)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

// Resize changes the window.
func (p *Page) Resize(look Look) error { return chromedp.Do(p.ctx, look.viewport()) }

// TakeMessages is what the console, the policy and the network complained of since it was
// last asked.
func (p *Page) TakeMessages() (said []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	said, p.messages = p.messages, nil
	return said
}

// Close closes the tab.
func (p *Page) Close() { p.stop() }

// Ask evaluates an expression in a page, and waits where the answer is still to come.
func Ask[T any](p *Page, expression string) (T, error) {
	return chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Press sends keys to whatever has the focus: letters, or those of chromedp's kb.
func (p *Page) Press(keys string) error { return chromedp.Do(p.ctx, chromedp.KeyEvent(keys)) }

// Move moves the pointer; Drag presses its button on the way from one place to
// another.
func (p *Page) Move(x, y float64) error {
	return chromedp.Do(p.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
}

func (p *Page) Drag(fromX, fromY, toX, toY float64) error {
	return chromedp.Do(p.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, fromX, fromY),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, fromX, fromY, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, toX, toY, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, toX, toY, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// Whole is a picture of the whole page, Window one of what the window shows; both
// as PNG.
func (p *Page) Whole() ([]byte, error)  { return chromedp.Run(p.ctx, chromedp.FullScreenshot(100)) }
func (p *Page) Window() ([]byte, error) { return chromedp.Run(p.ctx, chromedp.CaptureScreenshot()) }

// PDF is the page on paper.
func (p *Page) PDF() ([]byte, error) {
	return chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground()))
}

// Keep writes a picture of the whole page into the directory that REDLINE_SHOTS
// names, if any, for people to look at.
func (p *Page) Keep(name string) error {
	dir := os.Getenv("REDLINE_SHOTS")
	if dir == "" {
		return nil
	}
	picture, err := p.Whole()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
}
