package measure

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"redline/internal/drive/client"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
)

// Pages reads a server's metrics.
type Pages struct {
	Fetch telemetry.Fetch
	// Address names the pages for people, without what may be secret in them;
	// "" for the server's own.
	Address string

	clients []*client.Client
	// others are where the server's own page may be instead.
	others []telemetry.Fetch
}

// OpenPages prepares to read the pages that the spec names, or the server's own
// beside its API, of each of its URLs. Those elsewhere are asked as the server is, but with none of
// its keys and headers.
func OpenPages(server *client.Client, provider client.Spec, spec telemetry.Spec, o client.Options) (*Pages, error) {
	p := &Pages{}
	if len(spec.MetricsURLs) == 0 {
		servers := []*client.Client{server}
		for _, other := range provider.URLs[min(1, len(provider.URLs)):] {
			one := provider
			one.URLs = []string{other}
			c, err := client.New(one, o)
			if err != nil {
				p.Close()
				return nil, err
			}
			p.clients, servers = append(p.clients, c), append(servers, c)
		}
		for _, path := range engine.MetricsPaths() {
			var each []telemetry.Fetch
			for _, s := range servers {
				each = append(each, func(ctx context.Context) ([]byte, error) { return s.Get(ctx, path) })
			}
			p.others = append(p.others, telemetry.FetchAll(each))
		}
		p.Fetch, p.others = p.others[0], p.others[1:]
		return p, nil
	}
	var each []telemetry.Fetch
	var names []string
	for _, text := range spec.MetricsURLs {
		u, err := url.Parse(text)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("telemetry.metrics_url: %w", err)
		}
		c, err := client.New(client.Spec{URLs: []string{text}, TLS: provider.TLS, Proxies: provider.Proxies}, o)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.clients = append(p.clients, c)
		each = append(each, fetchFrom(c, u))
		names = append(names, address(u))
	}
	p.Fetch, p.Address = telemetry.FetchAll(each), strings.Join(names, ", ")
	return p, nil
}

// address leaves out the query, in which there may be a secret.
func address(u *url.URL) string { return u.Host + u.EscapedPath() }

// fetchFrom gets a page of its own address, which its errors name.
func fetchFrom(c *client.Client, u *url.URL) telemetry.Fetch {
	return func(ctx context.Context) ([]byte, error) {
		text, err := c.Get(ctx, u.RequestURI())
		if err == nil {
			return text, nil
		}
		if status, ok := strings.CutPrefix(err.Error(), u.Path+": "); ok {
			err = errors.New(status)
		}
		return nil, fmt.Errorf("%s: %w", address(u), err)
	}
}

// Recognize names the engine whose pages they are, within the time that one
// scrape may take. Where the page is not given, the first of the usual
// ones that an engine is known by is read from then on.
func (p *Pages) Recognize(ctx context.Context) (engine string, err error) {
	ctx, cancel := context.WithTimeout(ctx, telemetry.DefaultScrapeLimit)
	defer cancel()
	engine, err = telemetry.Recognize(ctx, p.Fetch)
	for _, fetch := range p.others {
		if err == nil || ctx.Err() != nil {
			break
		}
		if other, elsewhere := telemetry.Recognize(ctx, fetch); elsewhere == nil {
			p.Fetch, engine, err = fetch, other, nil
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %v", telemetry.DefaultScrapeLimit)
	}
	return engine, err
}

// Close closes the connections to pages that are not the server's own.
func (p *Pages) Close() {
	for _, c := range p.clients {
		c.Close()
	}
}
