package doctor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
	"redline/internal/run/measure"
)

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
func (p *probe) examine(ctx context.Context, k *clock.Clock) *validity.Endpoint {
	e := &validity.Endpoint{URL: p.spec.URLs[0], Insecure: p.spec.TLS.Insecure, Whole: !p.spec.Streams()}
	c, err := client.New(p.spec, client.Options{Clock: k})
	if err != nil {
		e.Unreachable = err.Error()
		return e
	}
	defer c.Close()
	e.URL, e.API, e.Local, e.KeepsLength = c.URL(), c.Dialect().Name, c.Local(), c.Dialect().IgnoreEOS
	if p.door.proxy != nil {
		e.Proxy = p.door.proxy.Host
	}
	opened := c.Open(ctx, 1)
	if e.Handshake, err = p.door.handshakes(ctx, handshakes); opened != nil {
		said := strings.TrimPrefix(opened.Error(), e.URL+": ")
		if e.SessionFault = said; err != nil {
			e.Unreachable, e.SessionFault = said, ""
		}
		return e
	}
	p.door.greet(ctx, e)
	identify(ctx, e, c, p.spec.Model)
	p.readMetrics(ctx, e, c, k)
	if e.Model != "" {
		converse(ctx, e, c)
	}
	return e
}

func identify(ctx context.Context, e *validity.Endpoint, c *client.Client, asked string) {
	served, err := c.Models(ctx)
	if err != nil {
		e.ModelsFault = err.Error()
		e.ModelsStatus, e.ModelsCure = client.Refusal(err)
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
func (p *probe) readMetrics(ctx context.Context, e *validity.Endpoint, c *client.Client, k *clock.Clock) {
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
func converse(ctx context.Context, e *validity.Endpoint, c *client.Client) {
	warm, fresh := newPrompt(), newPrompt()
	for _, turn := range []struct {
		prompt string
		into   **validity.Reply
	}{{warm, &e.Cold}, {fresh, &e.Fresh}, {fresh, &e.Again}} {
		reply := ask(ctx, c, e.Model, turn.prompt, !e.Whole)
		*turn.into = &reply
		if reply.Fault != "" {
			return
		}
	}
}
