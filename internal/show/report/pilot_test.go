package report

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pilot is a browser that stays open and is told what to do over its debugging
// pipe: a message is JSON that ends with a zero byte.
type pilot struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	last    int
	// complaints are what the console and the page's policy said.
	complaints []string
}

// message is one of the browser's.
type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// fly opens the browser with an empty page.
func (b *browser) fly(t *testing.T) *pilot {
	t.Helper()
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "redline-browser")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	command := exec.CommandContext(ctx, b.path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--user-data-dir="+profile, "--proxy-server="+b.proxy.URL,
		"--remote-debugging-pipe", "about:blank")
	command.ExtraFiles = []*os.File{toRead, fromWrite} // 3 and 4, as it expects
	if err := command.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	p := &pilot{t: t, in: toWrite, out: bufio.NewReaderSize(fromRead, 1<<20)}
	t.Cleanup(func() {
		fmt.Fprint(toWrite, `{"id":0,"method":"Browser.close"}`, "\x00")
		toWrite.Close()
		fromRead.Close()
		_ = command.Wait()
		cancel()
		for range 50 { // its helpers may still be writing
			if os.RemoveAll(profile) == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	var target struct {
		ID string `json:"targetId"`
	}
	p.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct {
		ID string `json:"sessionId"`
	}
	p.ask("Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached)
	p.session = attached.ID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable"} {
		p.call(domain, nil)
	}
	return p
}

// ask calls and reads what came of it.
func (p *pilot) ask(method string, params, into any) {
	p.t.Helper()
	if err := json.Unmarshal(p.call(method, params), into); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

// call does one thing and waits until it is done.
func (p *pilot) call(method string, params any) json.RawMessage {
	p.t.Helper()
	p.last++
	request := map[string]any{"id": p.last, "method": method}
	if params != nil {
		request["params"] = params
	}
	if p.session != "" {
		request["sessionId"] = p.session
	}
	text, err := json.Marshal(request)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(text, 0)); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	for {
		answer := p.next()
		if answer.ID == p.last {
			if answer.Error != nil {
				p.t.Fatalf("%s: %s", method, answer.Error.Message)
			}
			return answer.Result
		}
	}
}

// next reads a message, and remembers what it complains of.
func (p *pilot) next() message {
	p.t.Helper()
	text, err := p.out.ReadBytes(0)
	if err != nil {
		p.t.Fatalf("the browser is gone: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		p.t.Fatal(err)
	}
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		p.complaints = append(p.complaints, m.Method+" "+string(m.Params))
	case "Runtime.consoleAPICalled":
		if strings.Contains(string(m.Params), `"type":"error"`) || strings.Contains(string(m.Params), `"type":"warning"`) {
			p.complaints = append(p.complaints, string(m.Params))
		}
	}
	return m
}

// view is how somebody looks at a page.
type view struct {
	width  int
	scheme string // "light" or "dark"
	print  bool
}

// show opens the page of the browser's proxy in a view.
func (p *pilot) show(v view) {
	p.t.Helper()
	media := ""
	if v.print {
		media = "print"
	}
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": v.width, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	p.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": v.scheme}}})
	p.complaints = nil
	p.call("Page.navigate", map[string]any{"url": pageAddress})
	for range 300 {
		if p.text(`document.readyState + location.href`) == "complete"+pageAddress {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	p.t.Fatal("the page does not load")
}

// text is what an expression of the page comes to, as text.
func (p *pilot) text(expression string) string {
	p.t.Helper()
	var found struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	p.ask("Runtime.evaluate", map[string]any{"expression": "String(" + expression + ")", "awaitPromise": true}, &found)
	if found.Exception != nil {
		p.t.Fatalf("%s: %s", expression, found.Exception)
	}
	return fmt.Sprint(found.Result.Value)
}

// mouse moves the pointer, or presses and lets go of its button.
func (p *pilot) mouse(kind string, x, y float64) {
	p.t.Helper()
	event := map[string]any{"type": kind, "x": x, "y": y}
	if kind != "mouseMoved" {
		event["button"], event["clickCount"] = "left", 1
	}
	p.call("Input.dispatchMouseEvent", event)
}

// keep writes a picture of the whole page where somebody wants to look at it.
func (p *pilot) keep(name string) {
	p.t.Helper()
	dir := os.Getenv("REDLINE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct {
		Data string `json:"data"`
	}
	p.ask("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
