package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// controlLimit bounds a control call, which is never part of the load.
const controlLimit = 10 * time.Second

func controlClient(ep *endpoint) *http.Client {
	return &http.Client{
		Timeout: controlLimit,
		// Every call goes to the endpoint's own address, so none can follow
		// a redirect to another.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:           func(*http.Request) (*url.URL, error) { return ep.proxy, nil },
			TLSClientConfig: ep.tls.Clone(),
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return ep.dial(ctx, ep.network, ep.addr)
			},
		},
	}
}

// Get fetches a path of the server beside the API's own: "/version".
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.call(ctx, http.MethodGet, path, nil)
}

// Post sends a JSON body to a path of the server, and gives its answer.
func (c *Client) Post(ctx context.Context, path string, body []byte) ([]byte, error) {
	return c.call(ctx, http.MethodPost, path, body)
}

// maxControl is how large the reply to a control call may be. A part of one is
// not read for the whole.
const maxControl = 8 << 20

// call makes one control call.
func (c *Client) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ep := c.endpoints[0]
	scheme := "http"
	if ep.tls != nil {
		scheme = "https"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+ep.host+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range append(c.dialect.Headers(c.key), c.headers...) {
		req.Header.Set(h[0], h[1])
	}
	if host, ok := c.userHeader("Host"); ok {
		req.Host = host
	}
	resp, err := c.control.Do(req)
	if err != nil {
		return nil, ep.controlFault(req, err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxControl+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxControl {
		return nil, fmt.Errorf("%s: the reply is larger than %d MiB, or has no end", req.URL.Path, maxControl>>20)
	}
	if resp.StatusCode != http.StatusOK {
		e := &callError{path: req.URL.Path, said: fmt.Sprintf("HTTP %d", resp.StatusCode), status: resp.StatusCode}
		if ep.wantsTLS(string(content)) {
			e.cure = useTLS
		}
		return nil, e
	}
	return content, nil
}

// callError is a control call without an answer, or one that the server refused.
type callError struct {
	path, said string
	status     int    // 0 where there was no answer
	cure       string // "" where none is known
}

func (e *callError) Error() string { return e.path + ": " + e.said }

// controlFault is why a control call has no answer.
func (ep *endpoint) controlFault(req *http.Request, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	e := &callError{path: req.URL.Path}
	switch {
	case req.Context().Err() != nil:
		return err // the caller's own limit
	case isLate(err):
		e.said, e.cure = "no answer within "+controlLimit.String(), "is the model still loading?"
		if ep.tls == nil {
			e.cure += " If the server speaks TLS, " + useTLS
		}
	case ep.tls == nil && (isEOF(err) || errors.Is(err, syscall.ECONNRESET)):
		e.said, e.cure = "the connection was cut before any reply", "if the server speaks TLS, "+useTLS
	default:
		return err
	}
	return e
}

// ServedModel is one entry of the server's list.
type ServedModel struct {
	ID      string `json:"id"`
	OwnedBy string `json:"owned_by"`
	// Root is what the model is called where its files are.
	Root string `json:"root"`
	// MaxModelLen is the longest context, 0 where the server does not say.
	MaxModelLen int `json:"max_model_len"`
}

// Models asks the server what it serves.
func (c *Client) Models(ctx context.Context) ([]ServedModel, error) {
	path, query, _ := strings.Cut(c.endpoints[0].path, "?")
	if c.dialect.Path == "" {
		path = "" // a template's URL is where it is asked, and nothing else
	}
	if own, versioned := strings.CutPrefix(c.dialect.Path, "/v1"); versioned {
		path = strings.TrimSuffix(path, own) + "/models"
	} else {
		// Servers that have an API of their own list their models in OpenAI's.
		path = strings.TrimSuffix(path, c.dialect.Path) + "/v1/models"
	}
	if query != "" {
		path += "?" + query
	}
	content, err := c.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []ServedModel `json:"data"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("the model list is not JSON: %s", c.mask.Line(string(content[:min(len(content), maxErrorBody)]), 60))
	}
	return list.Data, nil
}

// Addr is where the client connects to, for messages.
func (c *Client) Addr() string { return c.endpoints[0].addr }

// URL is the address that requests go to, without query.
func (c *Client) URL() string { return c.endpoints[0].safeURL() }

// LastURL is the URL that the last request went to, of several that take turns.
func (c *Client) LastURL() string { return c.nth(max(1, c.turn.Load()) - 1).safeURL() }

// safeURL is the endpoint's URL, without what may be secret in it.
func (ep *endpoint) safeURL() string {
	if ep.network == "unix" {
		return "unix:" + ep.addr
	}
	path, _, _ := strings.Cut(ep.path, "?")
	return ep.url.Scheme + "://" + ep.host + path
}

// Local reports whether the server runs on this machine.
func (c *Client) Local() bool {
	ep := c.endpoints[0]
	if ep.network == "unix" {
		return true
	}
	where := ep.addr
	if ep.proxy != nil {
		where = ep.server
	}
	host, _, err := net.SplitHostPort(where)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Refusal is the status with which a control call was refused, 0 where it was not,
// and what to do about one that failed, where that is known.
func Refusal(err error) (status int, cure string) {
	var e *callError
	if errors.As(err, &e) {
		return e.status, e.cure
	}
	return 0, ""
}
