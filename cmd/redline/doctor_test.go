package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/validity"
	"redline/internal/run/doctor"
)

// briefly is a look just long enough to see everything once.
var briefly = doctor.Pace{Sleeps: 4, Sleep: time.Millisecond, RoundTrips: 5, Step: 40 * time.Millisecond, Steps: 1,
	Requests: 40 * time.Millisecond, Endpoint: 20 * time.Second}

// runDoctor runs redline doctor in this process.
func runDoctor(t *testing.T, stop <-chan struct{}, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err buffer
	p := &process{args: append([]string{"doctor"}, args...), stdout: &out, stderr: &err, stop: stop, doctorPace: briefly, lookupEnv: environment(env)}
	code = p.run(t.Context())
	return code, out.String(), err.String()
}

// verdictOf parses the JSON answer, which a busy machine may make one with a
// problem of the machine.
func verdictOf(t *testing.T, stdout string) (all doctor.Report, bad []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s", err, stdout)
	}
	for _, f := range all.Findings {
		if f.Mark == validity.Bad && f.About != "machine" {
			bad = append(bad, f.Check)
		}
	}
	return all, bad
}

func TestDoctorOnAServerThatIsWell(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runDoctor(t, nil, nil, "--url", metronome(t, 5*time.Millisecond), "--json")
	r, bad := verdictOf(t, stdout)
	if len(bad) > 0 || stderr != "" || r.Machine == nil || len(r.Endpoints) != 1 {
		t.Errorf("bad: %v; stderr %q", bad, stderr)
	}
	if want := map[bool]int{true: exitOK, false: exitError}[r.Ready]; code != want {
		t.Errorf("exit %d with %q", code, r.Verdict)
	}
}

func TestDoctorOnADeadServer(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runDoctor(t, nil, nil, "--url", deadPort(t))
	if code != exitError || stderr != "" {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
	first, rest, _ := strings.Cut(stdout, "\n")
	if !strings.Contains(first, "problem") || !strings.Contains(first, "reachable") {
		t.Errorf("the first line is no verdict: %q", first)
	}
	for _, want := range []string{"this machine (", "  ok    cores", "tokens it can drive", "  bad   reachable", "refused the connection → "} {
		if !strings.Contains(rest, want) {
			t.Errorf("the list does not say %q:\n%s", want, rest)
		}
	}
}

func TestDoctorKeepsKeysToItself(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret"
	got := make(chan string, 64)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.URL.Path + " " + r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"message":"bad key `+key+`"}}`)
	})
	code, stdout, stderr := runDoctor(t, nil, map[string]string{"MY_KEY": key}, "--url", url, "--model", "m", "--api-key-env", "MY_KEY", "--json")
	_, bad := verdictOf(t, stdout)
	if code != exitError || strings.Join(bad, " ") != "reply" {
		t.Errorf("exit %d, bad: %v", code, bad)
	}
	if strings.Contains(stdout+stderr, key) {
		t.Error("the key is shown")
	}
	sent := false
	for len(got) > 0 {
		path, header, _ := strings.Cut(<-got, " ")
		if path == "/" && header != "" {
			t.Error("the page in front was asked for with the key")
		}
		sent = sent || path == "/v1/chat/completions" && header == "Bearer "+key
	}
	if !sent {
		t.Error("the key was not sent where it belongs")
	}
}

func TestDoctorIsInterrupted(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	close(stop)
	if code, stdout, stderr := runDoctor(t, stop, nil); code != exitInterrupted || stdout != "" || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestDoctorSaysHowItIsUsed(t *testing.T) {
	t.Parallel()
	code, stdout, _ := runDoctor(t, nil, nil, "--help")
	for _, want := range []string{"Examples:", "redline doctor --url", "--api-key-env", "--json", "Exit code"} {
		if code != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, help without %q:\n%s", code, want, stdout)
		}
	}
	for _, args := range [][]string{{"now"}, {"--rate", "5"}, {"--url", "ftp://x"}} {
		if code, stdout, stderr := runDoctor(t, nil, nil, args...); code != exitUsage || stdout != "" || stderr == "" {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
