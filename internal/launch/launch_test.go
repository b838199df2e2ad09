//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// asServer makes the test binary serve on the port in its value; asHow says what
// is wrong with it.
const asServer, asHow = "LAUNCH_TEST_PORT", "LAUNCH_TEST_HOW"

func TestMain(m *testing.M) {
	if port := os.Getenv(asServer); port != "" {
		serve(port, os.Getenv(asHow))
	}
	os.Exit(m.Run())
}

// serve is a server of the kind that how says; it never returns.
func serve(port, how string) {
	begun, mux := time.Now(), http.NewServeMux()
	fmt.Println("loading weights, mood", os.Getenv("MOOD"))
	switch how {
	case "exits":
		fmt.Println("ValueError: no such model")
		os.Exit(3)
	case "memory":
		fmt.Println("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")
		fmt.Println("Engine core initialization failed")
		os.Exit(1)
	case "deaf":
		time.Sleep(time.Hour)
	case "models":
		mux.HandleFunc("/v1/models", func(http.ResponseWriter, *http.Request) {})
	case "loads":
		mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
			if time.Since(begun) < 200*time.Millisecond {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
	case "never":
		mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	case "dies":
		mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {
			time.AfterFunc(50*time.Millisecond, func() { os.Exit(9) })
		})
	}
	fmt.Println(http.ListenAndServe("127.0.0.1:"+port, mux))
	os.Exit(1)
}

// startServer starts a server of the kind that how says.
func startServer(t *testing.T, how string, s Spec) (*Server, error) {
	t.Helper()
	port := must.Get(FreePorts(2))(t)
	s.Command = asServer + "={port} " + asHow + "={how} MOOD=$MOOD {redline}"
	server, err := Start(t.Context(), s, Options{Port: port, Values: map[string]string{"how": how}, Log: filepath.Join(t.TempDir(), "log")})
	if err == nil {
		t.Cleanup(server.Stop)
	}
	return server, err
}

func TestServersBecomeReady(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"loads", "models", "plain"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server := must.Get(startServer(t, how, Spec{Env: map[string]string{"MOOD": "fine"}}))(t)
			if server.StartUp() <= 0 || server.Failure() != nil {
				t.Errorf("ready after %v, failure %v", server.StartUp(), server.Failure())
			}
			if how == "loads" && server.StartUp() < 200*time.Millisecond {
				t.Errorf("ready after %v, before it said so", server.StartUp())
			}
			expect.NoDiff(t, cmp.Diff([]string{"loading weights, mood fine"}, server.Tail()), "log")
			server.Stop()
			server.Stop() // again does no harm
			if _, err := net.Dial("tcp", strings.TrimPrefix(server.URL(), "http://")); err == nil {
				t.Error("somebody still serves there")
			}
		})
	}
}

func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how, want string
		log       string
		spec      Spec
	}{
		{"exits", "exited with code 3", "ValueError: no such model", Spec{}},
		{"memory", "before it was ready (out of memory)", "Engine core initialization failed", Spec{}},
		{"deaf", "was not ready after 2 s", "loading weights, mood", Spec{ReadyTimeout: 2 * time.Second}},
		{"never", "was not ready after 2 s", "loading weights, mood", Spec{ReadyTimeout: 2 * time.Second}},
		{"plain", "was not ready after 2 s", "loading weights, mood", Spec{Ready: "/ready", ReadyTimeout: 2 * time.Second}},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			_, err := startServer(t, c.how, c.spec)
			var failure *Failure
			if !errors.As(err, &failure) {
				t.Fatalf("%v, want a failure of the server", err)
			}
			if !strings.Contains(failure.Why, c.want) || len(failure.Log) == 0 || failure.Log[len(failure.Log)-1] != c.log {
				t.Errorf("it %s, log %q; want %q and %q", failure.Why, failure.Log, c.want, c.log)
			}
		})
	}
}

func TestACrashIsNoticed(t *testing.T) {
	t.Parallel()
	server := must.Get(startServer(t, "dies", Spec{}))(t)
	<-server.Done()
	if err := server.Failure(); err == nil || !strings.Contains(err.Error(), "exited with code 9") {
		t.Errorf("%v, want how it ended", err)
	}
}

func TestATakenPortIsRefused(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err := Start(t.Context(), Spec{Command: "echo {port}"}, Options{Port: port})
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(port)) || !strings.Contains(err.Error(), "server.port") {
		t.Errorf("%v, want the port and the cure", err)
	}
}

func TestWaitingCanBeGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	port := must.Get(FreePorts(1))(t)
	_, err := Start(ctx, Spec{Command: "sleep 1000 # {port}"}, Options{Port: port})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	s := Spec{Command: `serve --port {port} -n {n} --opt '{"a": {n}}' ${HOME} {flag} {n}`}
	expect.NoDiff(t, cmp.Diff([]string{"n", "flag"}, s.Placeholders()), "placeholders")
	line, err := s.Line(8000, map[string]string{"n": "64", "flag": ""})
	if want := `serve --port 8000 -n 64 --opt '{"a": 64}' ${HOME}  64`; err != nil || line != want {
		t.Errorf("%q, %v; want %q", line, err, want)
	}
	if _, err := s.Line(8000, map[string]string{"n": "64"}); err == nil || !strings.Contains(err.Error(), "{flag}") {
		t.Errorf("%v, want what has no value", err)
	}
	for name, want := range map[string]bool{"n": true, "max-num-seqs": true, "port": false, "redline": false, "": false, "a b": false, "1": false, "a}": false} {
		if ValidName(name) != want {
			t.Errorf("ValidName(%q) is %t", name, !want)
		}
	}
}

func TestSpecsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{}, ""},
		{Spec{Command: "serve --port {port}"}, ""},
		{Spec{Ready: "/health"}, "command: is missing"},
		{Spec{Command: "  "}, "command: expected"},
		{Spec{Command: "serve"}, "has no {port}"},
		{Spec{Command: "{port}", Port: 70000}, "port: must be"},
		{Spec{Command: "{port}", Ready: "health"}, "ready: expected a path"},
		{Spec{Command: "{port}", ReadyTimeout: -1}, "ready_timeout: must be"},
		{Spec{Command: "{port}", Env: map[string]string{"A=B": "c"}}, "env: "},
	} {
		err := c.spec.Validate(false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("serve --port {port} -n {n}", "64")
	f.Add("{{n}} ${n} {", "}{port}")
	f.Fuzz(func(t *testing.T, command, value string) {
		s := Spec{Command: command}
		values := map[string]string{}
		for _, name := range s.Placeholders() {
			if !ValidName(name) {
				t.Fatalf("%q is a placeholder, but not a name", name)
			}
			values[name] = value
		}
		if _, err := s.Line(1, values); err != nil {
			t.Fatalf("all values are given: %v", err)
		}
	})
}
