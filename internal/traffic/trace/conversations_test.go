package trace

import (
	"fmt"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/stats"
)

// fitRows fits a workload to logs of second, session, prompt and output.
func fitRows(t *testing.T, logs ...string) *FittedWorkload {
	t.Helper()
	var files []*File
	for _, log := range logs {
		files = append(files, open(t, must.File(t, "log.csv", "ts,session,prompt_tokens,output_tokens\n"+log), Options{}))
	}
	return must.Get(Fit(FitOptions{}, files...))(t)
}

// Turns belong together across the logs of several replicas, and what does not
// continue the turn before begins a session.
func TestSessionsAreConversations(t *testing.T) {
	t.Parallel()
	// Session a has three turns, of which another replica answered the second; b
	// starts again with a shorter prompt; c comes back after an hour; d and the row
	// without a session stand alone.
	w := fitRows(t, "1000,a,10,5\n1001,b,10,5\n1002,c,10,5\n1003,b,20,5\n1004,,50,5\n1010,a,44,8\n1020,b,12,5\n1021,b,22,5\n5000,c,30,5\n5001,d,7,5\n",
		"1006,a,22,6\n")
	s := w.Sessions
	if !w.Converses() || s.Count != 7 || s.Requests != 0.909091 || s.Gap.Quantile(1) != 6 {
		t.Fatalf("%+v, want sessions a, b twice, c twice, d and one alone, with at most 6 s from turn to turn", s)
	}
	// a adds 22−10−5 and 44−22−6 tokens, b 20−10−5 and 22−12−5.
	var added, turns []float64
	r := stats.Rand(1, "test", 0)
	for range 2000 {
		message, _, _ := w.Later(r)
		added = append(added, float64(message))
		turns = append(turns, float64(w.Turns(r)))
	}
	if mean := stats.Mean(added); mean < 5 || mean > 16 {
		t.Errorf("later turns add %.3g tokens on average, want those of 5, 5, 7 and 16", mean)
	}
	if mean := stats.Mean(turns); mean < 11.0/7-0.1 || mean > 11.0/7+0.1 {
		t.Errorf("%.3g turns a session, want 11 in 7", mean)
	}
	// All sessions begin in the first minutes of a log that goes on for an hour.
	if minutes := len(s.Arrivals.Rates); minutes != len(w.Arrivals.Rates) {
		t.Errorf("sessions have rates of %d minutes, requests of %d", minutes, len(w.Arrivals.Rates))
	}
}

func TestSessionsThatAreNoConversations(t *testing.T) {
	t.Parallel()
	var apart, alike, dropped strings.Builder
	for i := range 20 {
		fmt.Fprintf(&apart, "%d,a,%d,5\n", 3600*i, 10*i)
		fmt.Fprintf(&alike, "%d,a,10,5\n", i)
		fmt.Fprintf(&dropped, "%d,a,%d,500\n", i, 10+20*i)
	}
	for name, row := range map[string]struct {
		log, note string
		converses bool
	}{
		"hours apart":       {apart.String(), "come more than 30 min behind each other", false},
		"prompts alike":     {alike.String(), "do not grow from turn to turn (0 of 19 do)", false},
		"reasoning dropped": {dropped.String(), "grow by less than the reply before them in 19 of 19 later turns", true},
	} {
		w := fitRows(t, row.log)
		if notes := strings.Join(w.Source.Notes, "; "); w.Converses() != row.converses || !strings.Contains(notes, row.note) {
			t.Errorf("%s: conversations: %v, %q", name, w.Converses(), notes)
		}
		if w.Turns(stats.Rand(1, "test", 0)) > 1 && !row.converses {
			t.Errorf("%s: several turns", name)
		}
	}
}
