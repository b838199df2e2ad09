package quality

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redline/internal/judge/result"
	"redline/internal/must"
)

// serveJudge is a chat server that says what it is told to.
func serveJudge(t *testing.T, status int, reply string) (url string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
		w.WriteHeader(status)
		content, _ := json.Marshal(reply)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":`+string(content)+`}}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// A judge that fails or says anything but a score has not judged.
func TestJudgeScoresOrIsSilent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		reply  string
		score  float64
		err    string
	}{
		{200, `{"score": 0.75}`, 0.75, ""},
		{200, " {\"score\": 1}\n", 1, ""},
		{200, `{"score": 2}`, 0, "its score is 2"},
		{200, `{"score": "1"}`, 0, "is not"},
		{200, `{"score": 1, "why": "fine"}`, 0, "is not"},
		{200, `{"score": 1} {"score": 0}`, 0, "holds more"},
		{200, `The score is 1.`, 0, "is not"},
		{200, `{}`, 0, "is not"},
		{200, ``, 0, "is not"},
		{500, `{"score": 1}`, 0, "HTTP 500"},
	} {
		url, asked := serveJudge(t, c.status, c.reply)
		got, err := Asker(&Judge{URL: url, Model: "m", APIKey: "k"})(t.Context(), "why?", "is short", "because")
		if got != c.score || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %g, %v", c.reply, got, err)
		}
		if said := (*asked)[0]; !strings.HasPrefix(said, "/v1/chat/completions Bearer k ") || !strings.Contains(said, "is short") || !strings.Contains(said, "because") {
			t.Errorf("asked %s", said)
		}
	}
	if _, err := Asker(&Judge{URL: "http://127.0.0.1:1", Model: "m"})(t.Context(), "q", "c", "a"); err == nil {
		t.Error("a judge that is not there has judged")
	}
	if Asker(nil) != nil {
		t.Error("nobody asked for a judge")
	}
}

func TestJudgeAddress(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://j:1":                         "http://j:1/v1/chat/completions",
		"http://j:1/v1/":                     "http://j:1/v1/chat/completions",
		"http://j:1/x/chat/completions":      "http://j:1/x/chat/completions",
		"http://j:1/v1?api-version=2":        "http://j:1/v1/chat/completions?api-version=2",
		"http://j:1/chat/completions?a=b?/c": "http://j:1/chat/completions?a=b?/c",
	} {
		if got := judgeAddress(base); got != want {
			t.Errorf("%s: asked at %s, want %s", base, got, want)
		}
	}
}

func TestJudgedAnswersAreInTheScore(t *testing.T) {
	t.Parallel()
	answers := map[string][]string{"one": {"1"}, "two": {"2"}, "json": {"{}"}, "poem": {"roses"}}
	x, _ := newExam(t, Spec{Golden: "four"}, answers)
	url, _ := serveJudge(t, 200, `{"score": 0.5}`)
	x.Judge = Asker(&Judge{URL: url, Model: "m"})
	must.Do(t, x.Whole(t.Context(), result.Alone))
	// 1 + 3 + 1 + 0.5 of 6.
	if p := x.Result().Phases[0]; p.NotJudged != 0 || *p.Score != 5.5/6 {
		t.Errorf("%+v", p)
	}
	liar, _ := newExam(t, Spec{Golden: "four"}, answers)
	url, _ = serveJudge(t, 200, `{"score": 100}`)
	liar.Judge = Asker(&Judge{URL: url, Model: "m"})
	must.Do(t, liar.Whole(t.Context(), result.Alone))
	q := liar.Result()
	if q.Phases[0].NotJudged != 1 || *q.Phases[0].Score != 1 || !strings.Contains(strings.Join(q.Notes, ""), "its score is 100") {
		t.Errorf("%+v %q", q.Phases[0], q.Notes)
	}
}
