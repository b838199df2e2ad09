package client

import (
	"net/http"
	"strings"

	"redline/internal/text"
)

// message gives the server's own words, with the cure where one is known.
func (x *exchange) message(head *response, content []byte) string {
	if head.status >= 300 && head.status < 400 && head.location != "" {
		return "redirected to " + x.words(x.ep.target(head.location)) + ": give that URL with --url"
	}
	said := x.words(x.c.dialect.DecodeError(content))
	if said == "" {
		said = x.gist(string(content))
	}
	switch {
	case said == "":
		return "the server gave no reason (" + http.StatusText(head.status) + ")"
	case x.ep.wantsTLS(said):
		return said + " Use https:// in --url."
	}
	return said
}

// useTLS is what to do about a server that wants TLS, which it says to whoever asks it
// without.
const useTLS = "use https:// in --url"

func (ep *endpoint) wantsTLS(said string) bool {
	return ep.tls == nil && strings.Contains(said, "HTTP request") && strings.Contains(said, "HTTPS")
}

// gist says what a body is that is not the JSON that was expected: the title of
// a page, or its first line.
func (x *exchange) gist(content string) string {
	const limit = 200
	content = strings.TrimSpace(content)
	if isPage(content) {
		if title := titleOf(content); title != "" {
			return "an HTML page titled \"" + x.mask().Line(title, limit) + "\""
		}
		return "an HTML page"
	}
	line, _, _ := strings.Cut(content, "\n")
	return x.mask().Line(line, limit)
}

func isPage(content string) bool {
	start := strings.ToLower(content[:min(len(content), 1024)])
	for strings.HasPrefix(start, "<!--") || strings.HasPrefix(start, "<?xml") {
		_, rest, ok := strings.Cut(start, ">")
		if !ok {
			return false
		}
		start = strings.TrimSpace(rest)
	}
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body", "<title", "<h1", "<center"} {
		if strings.HasPrefix(start, tag) {
			return true
		}
	}
	return false
}

// titleOf is the title of a page, or its first heading.
func titleOf(page string) string {
	lower := strings.ToLower(page)
	if len(lower) != len(page) {
		lower = page // a letter whose small form is longer: places would not agree
	}
	for _, tag := range []string{"title", "h1"} {
		from := strings.Index(lower, "<"+tag)
		if from < 0 {
			continue
		}
		open := strings.IndexByte(lower[from:], '>')
		end := strings.Index(lower[from:], "</"+tag)
		if open >= 0 && end > open {
			if title := strings.TrimSpace(page[from+open+1 : from+end]); title != "" {
				return title
			}
		}
	}
	return ""
}

// maxWords bounds what is kept of what a server said.
const maxWords = 300

// words makes what a server said fit for a record: one line of bounded length,
// without the secrets that a server may repeat.
func (x *exchange) words(s string) string { return x.mask().Line(s, maxWords) }

// mask hides the secrets of this request too: a tenant has its own.
func (x *exchange) mask() *text.Mask {
	mask := x.c.mask
	if x.r.Key != "" || len(x.r.Headers)+len(x.r.Body) > 0 {
		mask = mask.With(append(secretTexts(x.r.Body), x.r.Key)...)
		for _, h := range x.r.Headers {
			if !harmless(h[0]) {
				mask = mask.With(credentials(h[1])...)
			}
		}
	}
	return mask
}
