package doctor

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/observe/telemetry"
	"redline/internal/run/measure"
)

// Endpoint is the evidence about one address of a server. What was not learned
// is nil or empty.
type Endpoint struct {
	URL string `json:"url"`
	API string `json:"api"`
	// Local says that the server runs on this machine.
	Local bool `json:"local"`
	// Insecure says that its certificate is not to be verified.
	Insecure bool `json:"insecure,omitempty"`
	// Whole says that replies are not to be streamed.
	Whole bool `json:"whole,omitempty"`

	// Proxy is the host of the proxy on the way, to which connections are made.
	Proxy string `json:"proxy,omitempty"`
	// Handshake is the round trip by TCP's handshake; Unreachable is why
	// there is none.
	Handshake   Spread `json:"handshake"`
	Unreachable string `json:"unreachable,omitempty"`

	Session *Session `json:"tls,omitempty"`
	// SessionFault is why there is no TLS session.
	SessionFault string `json:"tls_fault,omitempty"`
	// ServerHeader is what the server calls itself.
	ServerHeader string `json:"server_header,omitempty"`
	Skew         *Skew  `json:"skew,omitempty"`

	Models      []string `json:"models,omitempty"`
	ModelsFault string   `json:"models_fault,omitempty"`
	// Model is the one that is asked; Unlisted says that the server does not
	// list it.
	Model    string `json:"model,omitempty"`
	Unlisted bool   `json:"unlisted,omitempty"`
	OwnedBy  string `json:"owned_by,omitempty"`
	Version  string `json:"version,omitempty"`

	// Metrics is the engine whose figures are on the metrics page, and
	// MetricsURL where that is, if not beside the API.
	Metrics      string `json:"metrics_engine,omitempty"`
	MetricsURL   string `json:"metrics_url,omitempty"`
	MetricsFault string `json:"metrics_fault,omitempty"`

	// Cold is the first reply, Fresh one to a new prompt after it, and Again
	// one to the same prompt as Fresh.
	Cold  *Reply `json:"cold,omitempty"`
	Fresh *Reply `json:"fresh,omitempty"`
	Again *Reply `json:"again,omitempty"`

	now time.Time // when it is judged
}

// Session is a TLS session and the certificate behind it.
type Session struct {
	Version string    `json:"version"`
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Expires time.Time `json:"expires"`
	// Distrust is why the certificate is not to be trusted.
	Distrust string `json:"distrust,omitempty"`
}

// Skew bounds how far the server's clock is ahead of ours, in nanoseconds.
type Skew struct {
	Least int64 `json:"least_ns"`
	Most  int64 `json:"most_ns"`
}

// handshakes is how many connections are opened to time them.
const handshakes = 9

// probe is what it takes to look at one address.
type probe struct {
	spec    client.Spec
	watched telemetry.Spec
	door    *door
}

// newProbe finds what is wrong with the spec; it opens no connection.
func newProbe(spec client.Spec) (*probe, error) {
	c, err := client.New(spec, client.Options{Clock: clock.New()})
	if err != nil {
		return nil, err
	}
	c.Close()
	d, err := newDoor(spec)
	if err != nil {
		return nil, err
	}
	return &probe{spec: spec, door: d}, nil
}

// examine looks at one thing after another, for as long as there is somebody
// to ask: a server that cannot be reached or trusted is asked nothing more.
func (p *probe) examine(ctx context.Context, k *clock.Clock) *Endpoint {
	e := &Endpoint{URL: p.spec.URLs[0], Insecure: p.spec.TLS.Insecure, Whole: !p.spec.Streams()}
	c, err := client.New(p.spec, client.Options{Clock: k})
	if err != nil {
		e.Unreachable = err.Error()
		return e
	}
	defer c.Close()
	e.URL, e.API, e.Local = c.URL(), c.Dialect().Name, c.Local()
	if p.door.proxy != nil {
		e.Proxy = p.door.proxy.Host
	}
	if e.Handshake, err = p.door.handshakes(ctx, handshakes); err != nil {
		e.Unreachable = unreachable(err)
		return e
	}
	p.door.greet(ctx, e)
	if e.SessionFault != "" || e.Session != nil && e.Session.Distrust != "" && !e.Insecure {
		return e
	}
	e.identify(ctx, c, p.spec.Model)
	p.readMetrics(ctx, e, c, k)
	if e.Model != "" {
		e.converse(ctx, c)
	}
	return e
}

func (e *Endpoint) identify(ctx context.Context, c *client.Client, asked string) {
	served, err := c.Models(ctx)
	if err != nil {
		e.ModelsFault = err.Error()
	}
	for _, m := range served {
		e.Models = append(e.Models, m.ID)
		if asked == "" || m.ID == asked {
			asked, e.OwnedBy = m.ID, m.OwnedBy
		}
	}
	e.Model, e.Unlisted = asked, len(served) > 0 && !slices.Contains(e.Models, asked)
	if content, err := c.Get(ctx, "/version"); err == nil {
		var v struct {
			Version string `json:"version"`
		}
		if json.Unmarshal(content, &v) == nil {
			e.Version = v.Version
		}
	}
}

// readMetrics looks for the server's own account of itself.
func (p *probe) readMetrics(ctx context.Context, e *Endpoint, c *client.Client, k *clock.Clock) {
	pages, err := measure.OpenPages(c, p.spec, p.watched, client.Options{Clock: k})
	if err == nil {
		defer pages.Close()
		e.MetricsURL = pages.Address
		e.Metrics, err = pages.Recognize(ctx)
	}
	if err != nil {
		e.MetricsFault = err.Error()
	}
}

// converse asks three times: once to wake the server, once with a new prompt,
// and once more with that same prompt.
func (e *Endpoint) converse(ctx context.Context, c *client.Client) {
	warm, fresh := newPrompt(), newPrompt()
	for _, turn := range []struct {
		prompt string
		into   **Reply
	}{{warm, &e.Cold}, {fresh, &e.Fresh}, {fresh, &e.Again}} {
		reply := ask(ctx, c, e.Model, turn.prompt, !e.Whole)
		*turn.into = &reply
		if reply.Fault != "" {
			return
		}
	}
}
