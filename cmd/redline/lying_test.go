package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"redline/internal/judge/result"
)

// liar answers every request with twelve words, of which every second answer is a
// copy of the one before, in the name of a model.
func liar(copies bool, model string) http.HandlerFunc {
	var asked atomic.Uint64
	return func(w http.ResponseWriter, q *http.Request) {
		if _, err := io.Copy(io.Discard, q.Body); err != nil || !strings.HasSuffix(q.URL.Path, "/chat/completions") {
			http.NotFound(w, q)
			return
		}
		n := asked.Add(1)
		if copies {
			n /= 2
		}
		w.Header().Set("Content-Type", "text/event-stream")
		words := rand.New(rand.NewPCG(n, 11))
		for range 12 {
			fmt.Fprintf(w, "data: {\"model\":%q,\"choices\":[{\"index\":0,\"delta\":{\"content\":\" %c\"}}]}\n\n", model, 'a'+rune(words.IntN(26)))
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":12}}\n\ndata: [DONE]\n\n")
	}
}

// Copies of other answers and another model in the reply are named in the result,
// and in no result of an honest server.
func TestLyingServersAreNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		copies bool
		model  string
		want   []string
	}{
		{false, "org/m-8b", nil},
		{true, "org/m-8b", []string{"repeat the text of another"}},
		{false, "mini-1b", []string{`the server answers as model "mini-1b", and "m-8b" was asked for`}},
	} {
		virtually(t, func(w *world) {
			code, stdout, stderr := w.redline("run", "--url", w.serve(liar(tt.copies, tt.model)), "--model", "m-8b", "--requests", "40", "--concurrency", "2", "--plain", "--workload", "fixed(20,12)", "--json", "--quiet", "--out", w.TempDir()+"/run")
			var res result.Result
			if err := json.Unmarshal([]byte(stdout), &res); err != nil {
				w.Fatalf("exit %d: %s: %v", code, stderr, err)
			}
			said := fmt.Sprint(res.Warnings, res.Points[0].Notes)
			for _, words := range []string{"repeat the text of another", "the server answers as model"} {
				named := strings.Contains(said, words)
				wanted := len(tt.want) > 0 && strings.Contains(tt.want[0], words)
				if named != wanted {
					w.Errorf("copies %v, model %s: %q is said: %v\n%s", tt.copies, tt.model, words, named, said)
				}
			}
			for _, n := range res.Points[0].Notes { // it is about the tokens, not about a time
				if strings.Contains(n.Text, "repeat the text") && n.Figure != "tokens.output" {
					w.Errorf("the note on copies hangs on %s", n.Figure)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					w.Errorf("no %q in %s", want, said)
				}
			}
		})
	}
}
