package listen

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"redline/internal/must"
)

func TestAPortInUseNamesItsHolder(t *testing.T) {
	t.Parallel()
	l := must.Get(Open(t.Context(), ":0"))(t)
	defer l.Close()
	if host, _, _ := net.SplitHostPort(l.Addr().String()); host != "127.0.0.1" {
		t.Errorf("without a host it listens at %s", l.Addr())
	}
	_, err := Open(t.Context(), l.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "is in use by ") || !strings.Contains(err.Error(), "such as 127.0.0.1:0") {
		t.Fatalf("the port in use gives %v", err)
	}
	if _, linux := os.Stat("/proc/net/tcp"); linux == nil && !strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("the holder is not named: %v", err)
	}
	if _, err := Open(t.Context(), "7700"); err == nil || !strings.Contains(err.Error(), "expected an address") {
		t.Errorf("an address without a port gives %v", err)
	}
}

// What is for this machine alone is read by no name that somebody points at it;
// what other machines may ask is asked by the names that they have for it.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at, host string
		want     int
	}{
		{"127.0.0.1:0", "127.0.0.1:9464", http.StatusOK},
		{"127.0.0.1:0", "localhost", http.StatusOK},
		{"127.0.0.1:0", "[::1]:9464", http.StatusOK},
		{"127.0.0.1:0", "evil.example:9464", http.StatusMisdirectedRequest},
		{"127.0.0.1:0", "localhost.evil.example", http.StatusMisdirectedRequest},
		{"127.0.0.1:0", "127.0.0.1.evil.example", http.StatusMisdirectedRequest},
		{"0.0.0.0:0", "redline.monitoring.svc:9464", http.StatusOK},
	} {
		l := must.Get(Open(t.Context(), c.at))(t)
		server := &http.Server{Handler: Guard(l.Addr(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "figures") }))}
		go func() { _ = server.Serve(l) }()
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+At(l.Addr()).Address, nil))(t)
		request.Host = c.host
		answer := must.Get(http.DefaultClient.Do(request))(t)
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		_ = server.Close()
		if err != nil || answer.StatusCode != c.want || strings.Contains(string(body), "figures") != (c.want == http.StatusOK) {
			t.Errorf("%s asked as %q gives %d %q (%v), want %d", c.at, c.host, answer.StatusCode, body, err, c.want)
		}
	}
}
