package ui

import (
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"

	"redline/internal/listen"
)

// guard decides who may see and who may change what. A page of another site can
// make the reader's browser send requests here, and a name of another site can
// be pointed at this machine: neither sees or changes anything.
type guard struct {
	site   listen.Site
	closed bool // beyond this machine: nothing is shown without the token
	token  string
	cookie string
}

func newGuard(at net.Addr, token string) guard {
	site := listen.At(at)
	_, port, _ := net.SplitHostPort(site.Address)
	return guard{site: site, token: token, closed: !site.Local(), cookie: "redline-ui-" + port}
}

// pagePolicy lets a page load and ask nothing but what is served here.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxBody is how long a form may be.
const maxBody = 1 << 16

// ServeHTTP answers requests that are meant for this server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Content-Security-Policy": pagePolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
	} {
		w.Header().Set(name, value)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	switch {
	case !s.site.Knows(r.Host):
		s.site.Refuse(w)
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate":
		http.Error(w, "a page of another site asks for this: open it by its own address", http.StatusForbidden)
	case s.enters(w, r):
	case s.closed && !s.hasToken(r):
		http.Error(w, "open the URL that redline ui printed when it started: it has the token", http.StatusForbidden)
	default:
		if err := s.refuses(r); err != nil {
			s.fail(w, r, http.StatusForbidden, nil, err)
			return
		}
		s.pages.ServeHTTP(w, r)
	}
}

// enters takes the token from the address of a first visit into a cookie.
func (g *guard) enters(w http.ResponseWriter, r *http.Request) bool {
	query := r.URL.Query()
	if r.Method != http.MethodGet || !query.Has("token") {
		return false
	}
	if g.same(query.Get("token")) {
		http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	query.Del("token")
	r.URL.RawQuery = query.Encode()
	// Of the path only what this server knows: it cannot name another one.
	target := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/\\")
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, target, http.StatusSeeOther)
	return true
}

func (g *guard) same(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}

// hasToken reports whether a request has the token.
func (g *guard) hasToken(r *http.Request) bool {
	c, err := r.Cookie(g.cookie)
	return err == nil && g.same(c.Value)
}

// refuses says why a request may not change what it would.
func (s *Server) refuses(r *http.Request) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if may, why := s.mayChange(r); !may {
		return errors.New(why)
	}
	if origin := r.Header.Get("Origin"); origin != "http://"+r.Host {
		return errors.New("this request comes from a page of another site: use the buttons of this one")
	}
	return nil
}

// mayChange reports whether whoever asks may change things, and why not.
func (s *Server) mayChange(r *http.Request) (may bool, why string) {
	switch {
	case s.ReadOnly:
		return false, "redline ui --read-only changes nothing: start it without"
	case !s.hasToken(r):
		return false, "to pin, start or stop, open the URL that redline ui printed when it started: it has the token"
	}
	return true, ""
}
