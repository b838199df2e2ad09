package workload

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/token"
)

// twoSpawns is a job of a plan, two subagents, and a merge 2 s after the last of
// them.
const twoSpawns = `{"id":"one","block_size":64,"hash_id_scope":"local","requests":[
 {"t":0,"type":"n","in":100,"out":50,"hash_ids":[1],"api_time":1},
 {"t":3,"type":"subagent","agent_id":"a","status":"completed","requests":[{"t":3,"type":"n","in":128,"out":9,"hash_ids":[1,5],"api_time":2}]},
 {"t":4,"type":"subagent","agent_id":"b","status":"completed","requests":[{"t":4,"type":"n","in":64,"out":9,"hash_ids":[7],"api_time":3}]},
 {"t":9,"type":"n","in":200,"out":70,"hash_ids":[1,2,3],"api_time":2}]}
`

func newJobs(t *testing.T, text string, jobs *Jobs) *Workload {
	t.Helper()
	path := must.File(t, "jobs.json", text)
	w := must.Get(Spec{Traffic: Traffic{File: path, Jobs: jobs}}.New(token.O200k(), 7, Options{Model: "m", Salt: "run"}))(t)
	return w
}

// turnsOf gives a turn and those beside it.
func turnsOf(turn *llm.Turn) []*llm.Turn {
	if turn == nil {
		return nil
	}
	all := append([]*llm.Turn{turn}, turn.Beside...)
	for _, turn := range all {
		turn.Compose()
	}
	return all
}

func TestJobsGiveWhatIsReady(t *testing.T) {
	w := newJobs(t, twoSpawns, nil)
	s := w.Session(0)
	first := turnsOf(s.Next(nil))
	if len(first) != 1 || first[0].Number != 0 || first[0].Think != 0 {
		t.Fatalf("%d turns at first, want one", len(first))
	}
	spawned := turnsOf(s.Next(&llm.Reply{Outcome: llm.OK, Turn: 0, End: 1e9}))
	if len(spawned) != 2 || spawned[0].Think != 2*time.Second || spawned[1].Think != 3*time.Second || spawned[1].After != 1e9 {
		t.Fatalf("%+v, want two subagents, 2 and 3 s after the plan", spawned)
	}
	// The one that ends last has its reply come first.
	if turn := s.Next(&llm.Reply{Outcome: llm.OK, Turn: 2, End: 9e9}); turn != nil {
		t.Fatalf("%+v before the other subagent has ended", turn)
	}
	merge := turnsOf(s.Next(&llm.Reply{Outcome: llm.OK, Turn: 1, End: 8e9}))
	if len(merge) != 1 || merge[0].Number != 3 || merge[0].After != 9e9 || merge[0].Think != 2*time.Second {
		t.Fatalf("%+v, want the merge, 2 s after the later end", merge)
	}
	if turn := s.Next(&llm.Reply{Outcome: llm.OK, Turn: 3, End: 2e10}); turn != nil {
		t.Errorf("%+v behind the last", turn)
	}
	prompts := []string{first[0].Request.Messages[0].Content, spawned[0].Request.Messages[0].Content, spawned[1].Request.Messages[0].Content, merge[0].Request.Messages[0].Content}
	for i, want := range []int{100, 128, 64, 200} {
		if n := token.O200k().Count(prompts[i]); n != want {
			t.Errorf("prompt %d has %d tokens, want %d", i, n, want)
		}
	}
	// The plan, the first subagent and the merge begin with the same block.
	block := len(strings.Join(strings.Fields(prompts[0])[:50], " "))
	if prompts[1][:block] != prompts[0][:block] || prompts[3][:block] != prompts[0][:block] || prompts[2][:block/2] == prompts[0][:block/2] {
		t.Error("equal blocks are not equal text, or unequal ones are")
	}
	again := turnsOf(w.Session(1).Next(nil))[0].Request.Messages[0].Content // the second pass through the file
	if again[:block/2] == prompts[0][:block/2] || token.O200k().Count(again) != 100 {
		t.Error("the next pass finds the prompts of this one")
	}
}

func TestJobsEndWithAFailure(t *testing.T) {
	s := newJobs(t, twoSpawns, nil).Session(0)
	s.Next(nil)
	s.Next(&llm.Reply{Outcome: llm.OK, Turn: 0, End: 1})
	for turn, outcome := range map[int]llm.Outcome{1: llm.Reset, 2: llm.OK} {
		if next := s.Next(&llm.Reply{Outcome: outcome, Turn: turn, End: 2}); next != nil {
			t.Errorf("%+v after a failure", next)
		}
	}
}

func TestPausesOfJobs(t *testing.T) {
	half := 0.5
	s := newJobs(t, twoSpawns, &Jobs{IdleCap: 2500 * time.Millisecond, TimeScale: &half}).Session(0)
	s.Next(nil)
	spawned := turnsOf(s.Next(&llm.Reply{Outcome: llm.OK, Turn: 0, End: 1}))
	if spawned[0].Think != time.Second || spawned[1].Think != 1250*time.Millisecond {
		t.Errorf("pauses of %v and %v, want half of 2 s and of the cap of 2.5 s", spawned[0].Think, spawned[1].Think)
	}
}

func TestJobsAreRefused(t *testing.T) {
	path := must.File(t, "jobs.json", twoSpawns)
	minus := -1.0
	for _, bad := range []struct {
		traffic Traffic
		options Options
		want    string
	}{
		{Traffic{File: path, Prompt: &Dist{Fixed: 3}}, Options{}, "has lengths of its own"},
		{Traffic{File: path, Session: &Session{Turns: &Dist{Fixed: 3}}}, Options{}, "session: "},
		{Traffic{File: path}, Options{Pooling: true}, "want replies"},
		{Traffic{File: path, Jobs: &Jobs{TimeScale: &minus}}, Options{}, "jobs.time_scale: expected a factor from 0 to 1000, got -1"},
		{Traffic{Preset: "chat", Jobs: &Jobs{}}, Options{}, "jobs: is for a file"},
		{Traffic{Preset: "coding_agent", Prefix: &Prefix{Tokens: 9, Groups: 1}}, Options{}, "coding_agent has lengths of its own"},
		{Traffic{Preset: "coding_agent"}, Options{MaxContext: 1000}, "coding_agent: every job has a request that is longer than the model's context of 1,000 tokens"},
	} {
		_, err := Spec{Traffic: bad.traffic}.New(token.O200k(), 1, bad.options)
		if err == nil {
			err = Spec{Traffic: bad.traffic}.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, want %q", err, bad.want)
		}
	}
	w := must.Get(Spec{Traffic: Traffic{File: path}}.New(token.O200k(), 1, Options{MaxContext: 269}))(t)
	if err := w.CheckContext(0); err == nil || !strings.Contains(err.Error(), "jobs.json:1: request 3 of one: 200 prompt and 70 output tokens do not fit the model's context of 269") {
		t.Errorf("%v", err)
	}
}

func TestOverflowOfJobs(t *testing.T) {
	long := strings.Replace(twoSpawns, `"id":"one"`, `"id":"long"`, 1)
	short := `{"id":"short","block_size":64,"requests":[{"t":0,"type":"n","in":100,"out":50,"hash_ids":[1]}]}`
	path := must.File(t, "jobs.json", long+short)
	const context = 269 // the merge of 200 and 70 tokens is longer
	for word, want := range map[string]struct{ jobs, requests, longest int }{"skip": {1, 1, 100}, "truncate": {2, 5, 199}, "send": {2, 5, 200}} {
		w := must.Get(Spec{Traffic: Traffic{File: path, Jobs: &Jobs{Overflow: word}}}.New(token.O200k(), 7, Options{MaxContext: context}))(t)
		if err := w.CheckContext(0); err != nil {
			t.Errorf("%s: %v", word, err)
		}
		s := must.Get(w.Summary(0))(t)
		if s.Sessions != want.jobs || s.Requests != want.requests || int(s.Prompt.Max) != want.longest {
			t.Errorf("%s: %d jobs of %d requests, prompts of %g tokens at most; want %+v", word, s.Sessions, s.Requests, s.Prompt.Max, want)
		}
	}
	w := must.Get(Spec{Traffic: Traffic{File: path, Jobs: &Jobs{Overflow: "truncate"}}}.New(token.O200k(), 7, Options{MaxContext: 140}))(t)
	session := w.Session(0)
	if first := turnsOf(session.Next(nil))[0].Request; first.PromptTokens != 90 || token.O200k().Count(first.Messages[0].Content) != 90 || first.MaxTokens != 50 {
		t.Errorf("%d tokens, want 90 beside the 50 of the reply", first.PromptTokens)
	}
	if _, err := (Spec{Traffic: Traffic{File: path, Jobs: &Jobs{Overflow: "skip"}}}).New(token.O200k(), 7, Options{MaxContext: 100}); err == nil ||
		!strings.Contains(err.Error(), "every job has a request that is longer than the model's context of 100 tokens") {
		t.Errorf("%v", err)
	}
}

// Jobs of a preset are drawn without an end, each once, and within the model's
// context.
func TestJobsOfPresets(t *testing.T) {
	for _, name := range []string{"coding-agent", "research-agent"} {
		spec, err := Parse(name)
		if err != nil || !spec.HoldsJobs() {
			t.Fatalf("%s: %v, want jobs", name, err)
		}
		const context = 131_072
		w := must.Get(spec.New(token.O200k(), 7, Options{Model: "m", Salt: "run", MaxContext: context}))(t)
		if err := w.CheckContext(0); err != nil || !w.Branches() {
			t.Errorf("%s: %v", name, err)
		}
		s := must.Get(w.Summary(0))(t)
		if !s.Drawn || s.Sessions != 200 || s.Prompt.Max > context || s.Sharing < 0.8 || s.Turns.Max == s.Turns.Min {
			t.Errorf("%s: %+v, want 200 different jobs of prompts that share most tokens", name, s)
		}
		first, other := turnsOf(w.Session(0).Next(nil))[0].Request, turnsOf(w.Session(1).Next(nil))[0].Request
		if n := token.O200k().Count(first.Messages[0].Content); n != first.PromptTokens {
			t.Errorf("%s: a prompt of %d tokens, want %d", name, n, first.PromptTokens)
		}
		// Agents of research jobs have the same system prompt.
		if same := first.Messages[0].Content[:1000] == other.Messages[0].Content[:1000]; same != (name == "research-agent") {
			t.Errorf("%s: two jobs begin alike: %v", name, same)
		}
	}
}

// When a file begins again its jobs have other text, but for what they share with
// each other.
func TestJobsShareInEveryPass(t *testing.T) {
	two := ""
	for _, id := range []string{"1", "2"} {
		two += `{"id":"` + id + `","block_size":64,"hash_id_scope":"global","requests":[{"t":0,"type":"n","in":128,"out":5,"hash_ids":[9,` + id + `]}]}` + "\n"
	}
	w := newJobs(t, two, nil)
	prompt := func(i int) (shared, own string) {
		words := turnsOf(w.Session(i).Next(nil))[0].Request.Messages[0].Content
		return words[:100], words[len(words)-100:]
	}
	shared, own := prompt(0)
	for i := 1; i < 4; i++ {
		if s, o := prompt(i); s != shared || o == own {
			t.Errorf("job %d: shares a block %v, repeats its own %v", i, s == shared, o == own)
		}
	}
	if s, err := w.DesignedSharing(4); err != nil || s != 3.0/8 {
		t.Errorf("sharing %v, %v, want three of eight blocks", s, err)
	}
}

// Lanes meet jobs as often as they are long, at every point of them, each with text
// of its own.
func TestLanesMeetJobsAtRandom(t *testing.T) {
	row := func(id string, pause float64) string {
		return `{"id":"` + id + `","block_size":64,"requests":[{"t":0,"type":"n","in":128,"out":5,"hash_ids":[1,2],"api_time":1},{"t":` +
			strconv.FormatFloat(1+pause, 'f', -1, 64) + `,"type":"n","in":192,"out":7,"hash_ids":[1,2,3],"api_time":1}]}` + "\n"
	}
	path := must.File(t, "jobs.jsonl", row("short", 8)+row("long", 88))
	const lanes = 1000 // at 100 s of jobs: 10 s of the short one, 90 s of the long one
	w, err := Spec{Traffic: Traffic{File: path}}.New(token.O200k(), 7, Options{Lanes: lanes})
	must.Do(t, err)
	met, pauses, texts := map[string]int{}, 0.0, map[string]bool{}
	for i := range lanes {
		s := w.Session(i).(*tree)
		met[s.script.job.Name]++
		first := turnsOf(s.Next(nil))[0]
		if texts[first.Request.Messages[0].Content] {
			t.Fatalf("lane %d has the text of another", i)
		}
		texts[first.Request.Messages[0].Content] = true
		if first.Request.MaxTokens != 1 || first.Number != 0 {
			continue // met before its first request, or behind its last
		}
		next := turnsOf(s.Next(&llm.Reply{Outcome: llm.OK, Turn: first.Number, End: 5}))[0]
		if next.Number != 1 || next.Request.MaxTokens != 7 || !strings.HasPrefix(next.Request.Messages[0].Content, first.Request.Messages[0].Content[:200]) {
			t.Fatalf("lane %d: %+v behind the request that warms its cache", i, next)
		}
		pauses += next.Think.Seconds()
	}
	if met["short"] != 100 || met["long"] != 900 {
		t.Errorf("%v, want the short job 100 times in 1000 lanes", met)
	}
	if mean := pauses / lanes; mean < 38 || mean > 42 {
		t.Errorf("%.1f s are left of pauses on average, want about half of 0.9·89 s and of 0.1·9 s", mean)
	}
	if whole := w.Session(lanes).(*tree); whole.script.numbers != nil || whole.script.job.Name != "short" {
		t.Error("a job behind the first of each lane does not begin at its start")
	}
	w, err = Spec{Traffic: Traffic{File: path, Jobs: &Jobs{AgentsFrom: "start"}}}.New(token.O200k(), 7, Options{Lanes: lanes})
	if err != nil || w.Session(0).(*tree).script.numbers != nil {
		t.Errorf("%v: jobs from their start begin elsewhere", err)
	}
}

// With a live history later prompts have what the server said in place of the
// recorded replies, and all else as it was.
func TestJobsSendRepliesBack(t *testing.T) {
	const three = `{"id":"one","block_size":64,"requests":[{"t":0,"type":"n","in":130,"out":5,"hash_ids":[1,2],"api_time":1},
 {"t":1,"type":"n","in":256,"out":70,"hash_ids":[1,2,3,4],"api_time":1},{"t":2,"type":"n","in":400,"out":7,"hash_ids":[1,2,3,4,5,6],"api_time":1},
 {"t":3,"type":"n","in":140,"out":7,"hash_ids":[1,2],"api_time":1}]}`
	w := newJobs(t, three, &Jobs{History: "live"})
	s := w.Session(0)
	count := token.O200k().Count
	said := []string{"One two three", "Four five six seven", ""}
	var prompts [][]llm.Message
	turn := s.Next(nil)
	for i, want := range [][]int{{130}, {130, 0, 256 - 135}, {130, 0, 121, 0, 400 - 256 - 70}, {140}} {
		turnsOf(turn)
		messages := turn.Request.Messages
		if len(messages) != len(want) {
			t.Fatalf("request %d has %d messages, want %d", i, len(messages), len(want))
		}
		tokens := 0
		for k, m := range messages {
			n := count(m.Content)
			tokens += n
			if k%2 == 1 && (m.Role != "assistant" || m.Content != said[k/2]) || k%2 == 0 && (m.Role != "user" || n != want[k]) {
				t.Errorf("request %d, message %d: %s of %d tokens, want %d", i, k, m.Role, n, want[k])
			}
		}
		if turn.Request.PromptTokens != tokens || !turn.KeepReply {
			t.Errorf("request %d says %d tokens, its messages have %d", i, turn.Request.PromptTokens, tokens)
		}
		prompts = append(prompts, messages)
		if i < len(said) {
			turn = s.Next(&llm.Reply{Outcome: llm.OK, Turn: i, Text: said[i], End: int64(i + 1)})
		}
	}
	// The unhashed tail of two tokens is another block in the second prompt.
	if block := prompts[0][0].Content[:200]; prompts[1][0].Content[:200] != block || prompts[3][0].Content[:200] != block || prompts[2][2].Content != prompts[1][2].Content {
		t.Error("what was sent before is not sent again")
	}
	recorded := newJobs(t, three, nil)
	live := must.Get(w.DesignedSharing(1))(t)
	plain, err := recorded.DesignedSharing(1)
	if err != nil || live != plain+75.0/(130+256+400+140) {
		t.Errorf("sharing of %v, %v; want the 75 tokens of two replies more than %v", live, err, plain)
	}
}
