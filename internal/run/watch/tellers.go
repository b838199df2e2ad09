package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"redline/internal/child"
)

// The forms of a webhook's body.
const (
	formatJSON  = "json"
	formatSlack = "slack"
)

// Bounds of one attempt to tell, and of how often it is tried.
const (
	tellLimit = 10 * time.Second
	tellTries = 3
)

const tellPause = 2 * time.Second

// Tellers are the ways in which a spec wants alerts to be told.
func (a *Alerts) Tellers() []Teller {
	var ways []Teller
	if a.Command != "" {
		ways = append(ways, Teller{"the command of alerts.command", a.runCommand})
	}
	for _, w := range a.Webhooks {
		// The rest of an address may be a secret.
		host := w.URL
		if u, err := url.Parse(w.URL); err == nil {
			host = u.Host
		}
		ways = append(ways, Teller{"the webhook at " + host, w.post})
	}
	return ways
}

// runCommand gives the alert to a command, as JSON on its input and in a few
// variables of its environment.
func (a *Alerts) runCommand(ctx context.Context, alert Alert) error {
	body, err := json.Marshal(alert)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "redline-alert-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(append(body, '\n')); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	said := &child.Tail{Max: 4096}
	p, err := child.Start(child.Spec{Command: a.Command, Output: said, Input: file.Name(), Env: append(os.Environ(),
		"REDLINE_ALERT_SCHEDULE="+alert.Schedule, "REDLINE_ALERT_KIND="+alert.Kind, "REDLINE_ALERT_STATUS="+alert.Status,
		"REDLINE_ALERT_TEXT="+alert.Text, "REDLINE_ALERT_RUN="+alert.Run)})
	if err != nil {
		return err
	}
	defer p.Stop(0)
	limit := time.NewTimer(tellLimit)
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-limit.C:
		return fmt.Errorf("it took longer than %v and was stopped", tellLimit)
	case <-ctx.Done():
		return ctx.Err()
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("it ended with exit code %d %q", code, said.Lines(1))
	}
	return nil
}

// post sends the alert, and tries again where the other side may be better in
// a moment.
func (w *Webhook) post(ctx context.Context, alert Alert) error {
	body, err := w.body(alert)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		again, err := w.postOnce(ctx, body)
		if err == nil || !again || try == tellTries {
			return err
		}
		if !sleepUntil(ctx, time.Now().Add(tellPause)) {
			return err
		}
	}
}

func (w *Webhook) body(alert Alert) ([]byte, error) {
	if w.Format == formatSlack {
		return json.Marshal(map[string]string{"text": alert.line()})
	}
	return json.Marshal(alert)
}

// poster follows no redirection: that would leave the alert's body behind and
// take its headers, which may be secrets, to another host.
var poster = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func (w *Webhook) postOnce(ctx context.Context, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range w.Headers {
		req.Header.Set(name, value)
	}
	res, err := poster.Do(req)
	if err != nil {
		// The error of the client quotes the address, which may hold a secret.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return true, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16)) // so that the connection can be used again
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		return false, fmt.Errorf("it answered %s: give the address that it redirects to", res.Status)
	}
	if res.StatusCode >= 400 {
		return res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests, fmt.Errorf("it answered %s", res.Status)
	}
	return false, nil
}
