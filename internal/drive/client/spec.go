package client

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"redline/internal/drive/frame"
	"redline/internal/drive/wire"
	"redline/internal/llm"
)

// Spec says which server to ask and how. It is the plan's provider block.
type Spec struct {
	Name string `yaml:"name,omitempty" secret:"text"`
	// URLs are base URLs or full paths; a known path selects the API. Requests are
	// spread over several.
	URLs      []string          `yaml:"api_endpoint,omitempty" secret:"url"`
	API       string            `yaml:"api,omitempty"`
	Model     string            `yaml:"model,omitempty" secret:"text"`
	APIKey    string            `yaml:"api_key,omitempty" secret:"key"`
	Headers   map[string]string `yaml:"headers,omitempty" secret:"headers"`
	ExtraBody map[string]any    `yaml:"extra_body,omitempty" secret:"fields"`
	TLS       TLS               `yaml:"tls,omitempty" secret:"text"`
	// Template describes the API where API is "template".
	Template *wire.Template `yaml:"template,omitempty" secret:"text"`
	// Stream is true unless the plan says otherwise.
	Stream *bool `yaml:"stream,omitempty"`
	// Traceparent gives every request a header by which traces are joined.
	Traceparent bool `yaml:"traceparent,omitempty"`
	// ReplicaHeader is the header of a reply that names the engine which served it,
	// where it is none of those that are known.
	ReplicaHeader string `yaml:"replica_header,omitempty" secret:"text"`
	// Spread is how requests are spread over several URLs, InTurn by default.
	Spread string `yaml:"spread,omitempty"`
	// Timeouts are the longest times that a server may take.
	Timeouts Timeouts `yaml:"timeouts,omitempty"`
	// Proxies come from the environment and are no part of a plan.
	Proxies Proxies `yaml:"-"`
	// NoKernelStamps stamps what arrives by the clock after each read, as on
	// systems whose kernel does not. It comes from the environment too.
	NoKernelStamps bool `yaml:"-"`
	// Secrets are values that must not be shown, beside those of the fields
	// above: a launched server knows some of its own.
	Secrets []string `yaml:"-"`
}

// TLS holds the trusted certificates. Servers are verified unless Insecure.
type TLS struct {
	Insecure   bool   `yaml:"insecure,omitempty"`
	CACert     string `yaml:"ca_cert,omitempty"`
	ClientCert string `yaml:"client_cert,omitempty"` // certificate and key in one PEM file
}

// Streams reports whether replies are to be streamed, which not every API can.
func (s Spec) Streams() bool {
	if d, err := s.Dialect(); err == nil && d.Framing == frame.Single {
		return false
	}
	return s.Stream == nil || *s.Stream
}

// Dialect is the API that the spec names, or that its first URL's path
// selects, or OpenAI's chat completions.
func (s Spec) Dialect() (*wire.Dialect, error) {
	switch {
	case s.API == wire.TemplateName && s.Template == nil:
		return nil, errors.New("template: api is template, so say how to ask and where the text stands: template.body, template.text")
	case s.API == wire.TemplateName:
		return s.Template.Dialect()
	case s.Template != nil:
		return nil, fmt.Errorf("template: belongs to api template, but api is %q", s.API)
	case s.API != "":
		if d, ok := wire.ByName(s.API); ok {
			return d, nil
		}
		return nil, fmt.Errorf("unknown api %q; known: %s", s.API, strings.Join(wire.Names(), ", "))
	}
	for _, raw := range s.URLs {
		u, err := parseURL(raw)
		if err != nil || u.Scheme == "unix" {
			continue
		}
		if d, ok := wire.ByPath(u.Path); ok {
			return d, nil
		}
		if !wire.IsBase(u.Path) {
			return nil, fmt.Errorf("url %q: the path is neither a base such as /v1 nor that of a known API: give the base, or say with --api what is spoken there", safeURL(raw))
		}
	}
	return wire.Dialects[0], nil
}

// Validate reports the first thing that is wrong with the spec.
func (s Spec) Validate() error {
	for _, raw := range s.URLs {
		if _, err := parseURL(raw); err != nil {
			return err
		}
	}
	if err := s.Timeouts.Validate(); err != nil {
		return err
	}
	if err := checkSpread(s.Spread); err != nil {
		return err
	}
	if s.ReplicaHeader != "" && !llm.IsHeader(s.ReplicaHeader) {
		return fmt.Errorf("replica_header: expected the name of a header such as X-Served-By, got %q", s.ReplicaHeader)
	}
	if strings.ContainsFunc(s.APIKey, unicode.IsControl) {
		return errors.New("api_key: holds a line break or another control character; does the variable end with a newline?")
	}
	if err := llm.CheckHeaders(s.Headers); err != nil {
		return err
	}
	for name := range s.Headers {
		if s.Traceparent && strings.EqualFold(name, "traceparent") {
			return errors.New("headers: traceparent: --traceparent writes one for each request: leave out one of the two")
		}
	}
	_, err := s.Dialect()
	return err
}

// bare is an address without a scheme that can only be a host: one with a port,
// or this machine's.
var bare = regexp.MustCompile(`^(?:(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.%]+\]):[0-9]{1,5}|localhost|[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.%]+\])(?:[/?].*)?$`)

// Address is a server's address with its scheme: localhost:8000 is asked by
// http. What listens on the port of https is not: a key would go there in clear.
func Address(raw string) string {
	if !bare.MatchString(raw) || strings.Contains(raw, "://") {
		return raw
	}
	if u, err := url.Parse("http://" + raw); err != nil || u.Port() == "443" || u.Port() == "8443" {
		return raw
	}
	return "http://" + raw
}

// parseURL reads a server's address: http, https or unix, without user info,
// which would leak into files.
func parseURL(raw string) (*url.URL, error) {
	if socket, ok := strings.CutPrefix(raw, "unix:"); ok {
		if !path.IsAbs(strings.TrimPrefix(socket, "//")) {
			return nil, fmt.Errorf("url %q: expected an absolute socket path such as unix:/run/engine.sock", raw)
		}
		return &url.URL{Scheme: "unix", Path: strings.TrimPrefix(socket, "//")}, nil
	}
	u, err := url.Parse(Address(raw))
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("url %q: %v", safeURL(raw), err)
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("url %q: holds a user or password; use --api-key-env or --header instead", safeURL(raw))
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("url %q: expected one that begins with http://, https:// or unix:/", safeURL(raw))
	case u.Hostname() == "":
		return nil, fmt.Errorf("url %q: no host", safeURL(raw))
	}
	u.Fragment = ""
	return u, nil
}

// safeURL is a URL as a message may show it: without what may hold secrets.
func safeURL(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		raw = "…" + raw[i:]
	}
	return raw
}
