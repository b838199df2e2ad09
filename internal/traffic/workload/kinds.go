package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"redline/internal/llm"
	"redline/internal/stats"
	"redline/internal/traffic/corpus"
)

// Kind is a request with what those of a class, a tenant, a row of a file or one of
// a set carry, and who they are.
type Kind struct {
	Place string
	*llm.Turn
	sampled bool // as no other class
}

// kindTokens is how long the prompt of a Kind is that is no row's own.
const kindTokens = 16

// Kinds are up to limit requests, such that each tenant in each class, each row that
// differs from others in more than text, each adapter, schema and list of tools is in
// one, and how many it would take for all of them. What carries nothing but text is
// left out. Classes take turns, so that a limit leaves none of them out.
func (w *Workload) Kinds(limit int) (list []Kind, all int) {
	for i, more := 0, true; more; i++ {
		more = false
		for c := range w.classes {
			class := &w.classes[c]
			if i >= w.kindsOf(class) {
				continue
			}
			more = true
			if kind := w.kind(class, i); len(kind.Carried()) > 0 || class.images != nil {
				if all++; len(list) < limit {
					list = append(list, kind)
				}
			}
		}
	}
	return list, all
}

// Carried names what a server may refuse of it, as a plan does.
func (k Kind) Carried() []string {
	names := map[string]bool{}
	add := func(name string, carried bool) {
		if carried {
			names[name] = true
		}
	}
	for _, need := range k.Request.Needs() {
		names[string(need)] = true
	}
	for _, h := range k.Request.Headers {
		add("headers."+h[0], true)
	}
	for name := range k.Request.Body {
		add("body."+name, true)
	}
	add("model", k.Request.Model != "")
	add("api_key", k.Request.Key != "")
	add("generation", k.sampled)
	return slices.Sorted(maps.Keys(names))
}

// kindsOf is how many kinds a class has.
func (w *Workload) kindsOf(c *class) int {
	n := max(1, len(c.rows))
	if a := c.attachments; a != nil {
		n = max(n, len(a.tools.list), len(a.formats.list), len(a.adapters.list))
	}
	if w.tenants != nil {
		n = max(n, len(w.tenants.entries))
	}
	return n
}

// kind is the i-th of a class.
func (w *Workload) kind(c *class, i int) Kind {
	var places []string
	name := func(what, which string) {
		if which != "" {
			places = append(places, strings.TrimSpace(what+" "+which))
		}
	}
	name("class", c.name)
	s := session{workload: w, index: i, class: c, script: &script{}}
	var row corpus.Sample
	if n := len(c.rows); n > 0 {
		row = c.rows[i%n]
		name("", fmt.Sprintf("%s:%d", c.file, row.Row))
	}
	if t := w.tenants; t != nil && row.Tenant == "" {
		s.tenant = t.entries[i%len(t.entries)]
	} else {
		s.tenant = w.tenantOf(i, row.Tenant)
	}
	name("tenant", s.tenant.name)
	next := step{messages: row.Messages, sampling: row.Sampling, tools: row.Tools, format: row.Format, adds: row.Additions, output: kindTokens}
	if next.messages == nil {
		next.messages = []llm.Message{{Role: "user", Content: string(w.text.Compose(nil, stats.Rand(w.textSeed, "workload kinds", uint64(i)), kindTokens))}}
	}
	if a := c.attachments; a != nil {
		a.give(&next, a.tools.at(i), a.formats.at(i), a.adapters.at(i))
		name("adapter", next.adapter)
		if n := len(a.formats.list); n > 0 && next.format == a.formats.at(i) {
			name("schema", fmt.Sprint(i%n+1))
		}
	}
	s.history, s.illustrated = next.messages, lastUser(next.messages)
	turn := s.illustrate(&llm.Turn{Request: s.request(next)})
	turn.Request.Cancel, turn.Request.Deadline = nil, 0
	return Kind{strings.Join(places, ", "), turn, c.ownSampling}
}
