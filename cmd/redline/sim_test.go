package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/twin/faults"
)

func TestSimHelpNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, stdout, _ := redline(t, nil, "sim", "--help-all")
	flowing := strings.Join(strings.Fields(stdout), " ")
	for _, k := range faults.Kinds {
		if !strings.Contains(stdout, "  "+k.Name) || !strings.Contains(flowing, k.Help) {
			t.Errorf("the help does not describe %s: %s", k.Name, k.Help)
		}
	}
	for _, flag := range []string{"--fault FAULT", "--tls ", "--restart-after "} {
		if !strings.Contains(stdout, flag) {
			t.Errorf("the help does not tell of %s", flag)
		}
	}
}

// The flags reach the server: it speaks TLS, and answers every generation with
// the status asked for.
func TestSimServesFaults(t *testing.T) {
	t.Parallel()
	var out, said buffer
	stop := make(chan struct{})
	p := &process{args: []string{"sim", "--listen", "127.0.0.1:0", "--tls", "--fault", "404"}, stdout: &out, stderr: &said,
		stop: stop, lookupEnv: func(string) (string, bool) { return "", false }}
	ended := make(chan int, 1)
	go func() { ended <- p.run(context.WithoutCancel(t.Context())) }()
	var url string
	for url == "" {
		_, rest, found := strings.Cut(said.String(), "serving at ")
		if end := strings.IndexByte(rest, ' '); found && end > 0 {
			url = rest[:end]
		}
		select {
		case code := <-ended:
			t.Fatalf("exit %d before it served: %s", code, said.String())
		case <-time.After(time.Millisecond):
		}
	}
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	reply := must.Get(c.Post(url+"/v1/chat/completions", "application/json", strings.NewReader("{}")))(t)
	reply.Body.Close()
	if !strings.HasPrefix(url, "https://") || reply.StatusCode != http.StatusNotFound {
		t.Errorf("%s answered %s, want https and 404", url, reply.Status)
	}
	close(stop)
	if code := <-ended; code != exitOK {
		t.Errorf("exit %d: %s", code, said.String())
	}
}
