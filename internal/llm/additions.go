package llm

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"redline/internal/text"
)

// Additions is what a class, a tenant or a row of a file adds to its requests,
// or puts in the place of what the provider says. The tag secret tells which
// of it must not be shown.
type Additions struct {
	// Key takes the place of the provider's API key.
	Key     string            `yaml:"api_key,omitempty" json:"-" secret:"key"`
	Headers map[string]string `yaml:"headers,omitempty" json:"headers" secret:"headers"`
	// Body has members of the request's body.
	Body map[string]any `yaml:"body,omitempty" json:"body" secret:"fields"`
	// Model takes the place of the provider's own, and Adapter is what is laid
	// over the model.
	Model   string `yaml:"model,omitempty" json:"-" secret:"text"`
	Adapter string `yaml:"adapter,omitempty" json:"adapter" secret:"text"`
	// Priority is what the server's scheduler goes by; nil for none.
	Priority *int `yaml:"priority,omitempty" json:"-"`
	// Deadline is the longest time from a request's first byte to its reply's end,
	// where it is shorter than the provider's; 0 for none.
	Deadline time.Duration `yaml:"deadline,omitempty" json:"-"`
	// Cancel is the share of its requests that redline closes before they end, and
	// CancelAfter when, as package cancel reads it: alone it is for all of them.
	Cancel      *float64 `yaml:"cancel,omitempty" json:"-"`
	CancelAfter string   `yaml:"cancel_after,omitempty" json:"cancel_after"`
}

// Over gives a, with what it leaves open as it is below. An adapter below is one of
// another model where a has a model.
func (a Additions) Over(below Additions) Additions {
	if a.Model == "" {
		a.Model, a.Adapter = below.Model, cmp.Or(a.Adapter, below.Adapter)
	}
	a.Key = cmp.Or(a.Key, below.Key)
	a.Priority, a.Deadline = cmp.Or(a.Priority, below.Priority), cmp.Or(a.Deadline, below.Deadline)
	if a.Cancel == nil && a.CancelAfter == "" {
		a.Cancel = below.Cancel
	}
	a.CancelAfter = cmp.Or(a.CancelAfter, below.CancelAfter)
	a.Headers, a.Body = overlay(a.Headers, below.Headers), overlay(a.Body, below.Body)
	return a
}

// overlay gives the entries of both maps, those of the first where both have
// one. Neither map is changed.
func overlay[V any](over, below map[string]V) map[string]V {
	if len(over) == 0 {
		return below
	}
	if len(below) == 0 {
		return over
	}
	both := maps.Clone(below)
	maps.Copy(both, over)
	return both
}

// Apply puts the additions on a request.
func (a Additions) Apply(r *Request) {
	r.Key, r.Body, r.Adapter, r.Priority, r.Deadline = a.Key, a.Body, a.Adapter, a.Priority, a.Deadline
	r.Model = cmp.Or(a.Model, r.Model)
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		r.Headers = append(r.Headers, [2]string{name, a.Headers[name]})
	}
}

// Validate says what is wrong with them and what to write in its place.
func (a Additions) Validate() error {
	if err := CheckMembers(a.Body); err != nil {
		return fmt.Errorf("body.%w", err)
	}
	if a.Deadline < 0 {
		return fmt.Errorf("deadline: expected a time such as 10s, got %v", a.Deadline)
	}
	return CheckHeaders(a.Headers)
}

// ownMembers are members of a request's body, under the names of all APIs, that redline
// writes itself and that its figures rest on, and what says them instead.
var ownMembers = []struct {
	names   []string
	instead string
}{
	{[]string{"stream"}, "provider.stream, which also sets how replies are read"},
	{[]string{"messages", "prompt", "input", "inputs", "input_ids"}, "the workload, or prompt or messages of a row, which are what is measured"},
	{[]string{"model"}, "--model, the model of a class or tenant, or an adapter"},
	{[]string{"max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "n_predict", "options.num_predict",
		"parameters.max_new_tokens", "sampling_params.max_new_tokens"}, "output of the workload, or output_tokens of a row"},
}

// CheckMembers refuses members of a body that would take the place of what is measured.
func CheckMembers(body map[string]any) error {
	for _, own := range ownMembers {
		for _, name := range own.names {
			within, key := body, name
			if block, inner, nested := strings.Cut(name, "."); nested {
				within, _ = body[block].(map[string]any)
				key = inner
			}
			if _, set := within[key]; set {
				return fmt.Errorf("%s: use %s", name, own.instead)
			}
		}
	}
	return nil
}

// reservedHeader is one that redline writes itself: who else sets a fixed one says
// another value of it, but nobody lets it carry something else.
type reservedHeader struct {
	name, does string
	fixed      bool
}

var reservedHeaders = []reservedHeader{
	{"Content-Length", "frames the request", true}, {"Transfer-Encoding", "frames the request", true},
	{"Expect", "frames the request", true}, {"Trailer", "frames the request", true}, {"Upgrade", "frames the request", true},
	{"Accept-Encoding", "asks for replies that are not compressed, as they are timed", true},
	{"Host", "names the server", false}, {"Connection", "keeps the connection", false}, {"Content-Type", "names the form of the body", false},
	{"Accept", "names the form of the reply", false}, {"Authorization", "carries the API key", false}, {"X-Api-Key", "carries the API key", false},
	{"Api-Key", "carries the API key", false}, {"Proxy-Authorization", "carries the proxy's password", false}, {"Cookie", "carries the cookies", false},
	{"X-Request-Id", "carries the request's id", false}, {"traceparent", "carries the trace", false},
}

func findReserved(name string) (h reservedHeader, found bool) {
	for _, h := range reservedHeaders {
		if strings.EqualFold(h.name, name) {
			return h, true
		}
	}
	return h, false
}

// CheckHeaders wants names and values that can stand in an HTTP head.
func CheckHeaders(headers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch reserved, _ := findReserved(name); {
		case !IsHeader(name):
			return fmt.Errorf("headers.%s: expected the name of an HTTP header such as X-Team", name)
		case strings.ContainsFunc(headers[name], unicode.IsControl):
			return fmt.Errorf("headers.%s: its value holds a line break or another control character", name)
		case reserved.fixed:
			return fmt.Errorf("headers.%s: cannot be set: it %s", name, reserved.does)
		}
	}
	return nil
}

// CheckCarrier wants the name of a header that can carry something of redline's own,
// such as example.
func CheckCarrier(name, example string) error {
	if !IsHeader(name) {
		return fmt.Errorf("expected the name of an HTTP header such as %s, got %q", example, text.Brief(name))
	}
	if reserved, found := findReserved(name); found {
		return fmt.Errorf("%s %s: expected another header, such as %s", reserved.name, reserved.does, example)
	}
	return nil
}

// IsHeader reports whether a name can be that of a header.
func IsHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}
