package workload

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/yaml"

	"redline/internal/llm"
	"redline/internal/traffic/dist"
)

func TestClassesHaveTheirWeightsAndSettings(t *testing.T) {
	t.Parallel()
	w := open(t, Spec{Classes: []Class{
		{Name: "short", Weight: 3, Workload: Part{Prompt: fixedAt(10), Output: fixedAt(1)}},
		{Name: "long", Workload: Part{Prompt: fixedAt(90), Output: fixedAt(2)}, Generation: &Generation{Preset: "product"}},
	}}, Options{Sampling: llm.Sampling{Temperature: new(0.25)}})
	const n = 4000
	counts := map[string]int{}
	for i := range n {
		r := w.Session(i).Next(nil).Request
		counts[r.Class]++
		short := r.Class == "short" && r.PromptTokens == 10 && r.MaxTokens == 1 && *r.Sampling.Temperature == 0.25
		long := r.Class == "long" && r.PromptTokens == 90 && r.MaxTokens == 2 && *r.Sampling.Temperature == 0.7
		if !short && !long {
			t.Fatalf("session %d: class %s of %d and %d tokens at %v", i, r.Class, r.PromptTokens, r.MaxTokens, *r.Sampling.Temperature)
		}
	}
	if share := float64(counts["short"]) / n; math.Abs(share-0.75) > 0.03 {
		t.Errorf("short has the share %v, want 0.75", share)
	}
	prompt, output := w.Mean()
	if math.Abs(prompt-30) > 6 || math.Abs(output-1.25) > 0.1 {
		t.Errorf("means %v and %v, want about 30 and 1.25", prompt, output)
	}
}

// TestClassesShareNoPrefix has two classes whose groups bear the same numbers.
func TestClassesShareNoPrefix(t *testing.T) {
	t.Parallel()
	part := func(tokens int) Part {
		return Part{Prompt: fixedAt(10), Prefix: &Prefix{Groups: 1, Tokens: tokens}}
	}
	w := open(t, Spec{Classes: []Class{{Name: "a", Workload: part(100)}, {Name: "b", Workload: part(60)}, {Name: "c", Workload: part(100)}}}, Options{})
	first := map[string][]int32{}
	for i := range 30 {
		r := w.Session(i).Next(nil).Request
		if r.Natural {
			t.Errorf("session %d may end when it likes", i)
		}
		if _, ok := first[r.Class]; !ok {
			first[r.Class] = ids(w, i)
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"b", "c"}, {"a", "c"}} {
		if n := alike(first[pair[0]], first[pair[1]]); n > 3 {
			t.Errorf("classes %v begin with %d tokens alike", pair, n)
		}
	}
	// Of 30 sessions all but the first of each class find their prefix.
	var hits, all float64
	seen := map[string]bool{}
	for i := range 30 {
		prompt, _ := w.lengths(i)
		all += float64(prompt)
		if name := w.classOf(i).name; seen[name] {
			hits += float64(prompt - 10)
		} else {
			seen[name] = true
		}
	}
	if got, err := w.DesignedSharing(30); err != nil || math.Abs(got-hits/all) > 1e-12 {
		t.Errorf("designed sharing %v, %v; want %v", got, err, hits/all)
	}
}

func TestNaturalLeavesTheEndToTheModel(t *testing.T) {
	t.Parallel()
	w := open(t, Spec{Traffic: Traffic{Preset: "chat", Natural: true}}, Options{})
	if !w.Session(0).Next(nil).Request.Natural {
		t.Error("the end is not left to the model")
	}
}

func TestEveryMixIsMadeOfPresets(t *testing.T) {
	t.Parallel()
	for _, m := range Mixes {
		if err := (Spec{Classes: m.Classes}).Validate(); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		total := 0.0
		for _, c := range m.Classes {
			total += c.Weight
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("%s: weights add up to %v", m.Name, total)
		}
		w := newWorkload(t, m.Name, 1)
		seen := map[string]bool{}
		for i := range 300 {
			seen[w.Session(i).Next(nil).Request.Class] = true
		}
		if len(seen) != len(m.Classes) {
			t.Errorf("%s: %d classes seen of %d", m.Name, len(seen), len(m.Classes))
		}
	}
}

func TestTenantsHaveTheirShares(t *testing.T) {
	t.Parallel()
	list := []Tenant{
		{Name: "acme", Share: 2, Additions: llm.Additions{Key: "k1", Model: "acme-lora", Headers: map[string]string{"X-Team": "blue"}}},
		{Name: "free", Share: 2, Count: 3, Popularity: dist.Popularity{Zipf: 1}},
	}
	free := 1 + 1.0/2 + 1.0/3
	for name, row := range map[string]struct {
		hot  *HotSpot
		want map[string]float64
	}{
		"by shares":         {nil, map[string]float64{"acme": 0.5, "free-1": 0.5 / free, "free-2": 0.25 / free, "free-3": 0.5 / 3 / free}},
		"one excluded":      {&HotSpot{Tenant: "acme", Excluded: true}, map[string]float64{"free-1": 1 / free, "free-2": 0.5 / free, "free-3": 1.0 / 3 / free}},
		"the last excluded": {&HotSpot{Tenant: "free-3", Excluded: true}, map[string]float64{"acme": 0.5 / (0.5 + 0.75/free), "free-1": 0.5 / free / (0.5 + 0.75/free), "free-2": 0.25 / free / (0.5 + 0.75/free)}},
		"a hot spot":        {&HotSpot{Tenant: "free-3", Share: 0.8}, map[string]float64{"free-3": 0.8, "acme": 0.2 * 0.5 / (0.5 + 0.75/free), "free-1": 0.2 * 0.5 / free / (0.5 + 0.75/free), "free-2": 0.2 * 0.25 / free / (0.5 + 0.75/free)}},
	} {
		w := open(t, Spec{Traffic: Traffic{Prompt: fixedAt(2)}, Tenants: list, HotSpot: row.hot}, Options{Model: "base"})
		const n = 20_000
		counts := map[string]float64{}
		for i := range n {
			counts[w.tenantOf(i, "").name]++
		}
		for tenant, want := range row.want {
			if got := counts[tenant] / n; math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n) {
				t.Errorf("%s: %s has the share %v, want %v", name, tenant, got, want)
			}
		}
		if len(counts) != len(row.want) {
			t.Errorf("%s: tenants %v", name, counts)
		}
	}
	w := open(t, Spec{Traffic: Traffic{Prompt: fixedAt(2), Session: &Session{Turns: fixedAt(3)}}, Tenants: list}, Options{Model: "base"})
	for i := range 30 {
		for _, r := range talk(t, w, i) {
			acme := r.Tenant == "acme" && r.Key == "k1" && r.Model == "acme-lora" && len(r.Headers) == 1
			other := strings.HasPrefix(r.Tenant, "free-") && r.Key == "" && r.Model == "base" && r.Headers == nil
			if !acme && !other || r.Tenant != talk(t, w, i)[0].Tenant {
				t.Errorf("session %d: tenant %q with model %q, headers %v", i, r.Tenant, r.Model, r.Headers)
			}
		}
	}
}

// TestAdditionsAreMerged: what a row says goes before what its tenant says, and
// that before its class, header by header and member by member; the adapter of a
// class is none of a tenant's own model; and the API is asked whether it has words
// for all of it.
func TestAdditionsAreMerged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	rows := `{"prompt": "a", "tenant": "acme", "headers": {"X-Row": "r", "X-Both": "row"}, "priority": 9, "adapter": "row-lora", "body": {"cache_salt": "r"}}
{"prompt": "b", "tenant": "acme"}
`
	must.Write(t, path, rows)
	w := open(t, Spec{
		Classes: []Class{{Name: "chat", Workload: Part{File: path, Order: "file"}, Additions: llm.Additions{Key: "class-key", Adapter: "lora", Priority: new(0),
			Headers: map[string]string{"X-Class": "c", "X-Both": "class"}, Body: map[string]any{"cache_salt": "c", "top_k": 20}}}},
		Tenants: []Tenant{{Name: "acme", Additions: llm.Additions{Key: "k1", Headers: map[string]string{"X-Both": "tenant"}, Model: "big"}}},
		Salt:    "false",
	}, Options{Model: "base"})
	type sent struct {
		Key, Model, Adapter string
		Priority            int
		Headers             [][2]string
		Body                map[string]any
	}
	want := []sent{
		{"k1", "big", "row-lora", 9, [][2]string{{"X-Both", "row"}, {"X-Class", "c"}, {"X-Row", "r"}}, map[string]any{"cache_salt": "r", "top_k": 20}},
		{"k1", "big", "", 0, [][2]string{{"X-Both", "tenant"}, {"X-Class", "c"}}, map[string]any{"cache_salt": "c", "top_k": 20}},
	}
	for i, want := range want {
		r := w.Session(i).Next(nil).Request
		expect.NoDiff(t, cmp.Diff(want, sent{r.Key, r.Model, r.Adapter, *r.Priority, r.Headers, r.Body}), "row %d: -want +got", i+1)
	}
	asks := []Ask{{llm.NeedAdapter, path + ":1"}, {llm.NeedPriority, path + ":1"}, {llm.NeedAdapter, "class chat"}, {llm.NeedPriority, "class chat"}}
	expect.NoDiff(t, cmp.Diff(asks, w.Asks()), "asks: -want +got")
}

const wholeBlock = `
classes:
  - name: chat
    weight: 0.6
    workload: chat out=fixed(100)
    slo: ["ttft:p99<500ms"]
    generation: {preset: product}
    headers: {X-Class: chat}
    body: {cache_salt: a, chat_template_kwargs: {enable_thinking: false}}
    priority: -1
    adapter: chat-lora
  - name: rag
    weight: 0.4
    workload:
      prompt: normal(200,50,20..900)
      prefix: {groups: 20, popularity: zipf(1.1), tokens: 1024}
      cache: cold
      session:
        turns: uniform(2,6)
        think: lognormal(8s,0.8)
        header: X-Session-Id
        max_context: 8192
        agent: {calls: "uniform(1,3)", latency: exponential(2s), result: "choice(0..512:0.4,512..2048:0.6)"}
tenants:
  - {name: acme, share: 3, api_key: secret, headers: {X-Team: blue}, model: lora}
  - {name: free, count: 10, popularity: zipf(0.9)}
hot_spot: {tenant: acme, share: 0.8}
salt: false
`

func TestWholeBlockIsReadAndWritten(t *testing.T) {
	t.Parallel()
	want := Spec{
		Classes: []Class{
			{Name: "chat", Weight: 0.6, Workload: Part{Preset: "chat", Output: fixedAt(100)}, SLO: []string{"ttft:p99<500ms"},
				Generation: &Generation{Preset: "product"}, Additions: llm.Additions{Headers: map[string]string{"X-Class": "chat"}, Priority: new(-1), Adapter: "chat-lora",
					Body: map[string]any{"cache_salt": "a", "chat_template_kwargs": map[string]any{"enable_thinking": false}}}},
			{Name: "rag", Weight: 0.4, Workload: Part{
				Prompt: &Dist{Average: 200, SD: 50, Min: 20, Max: 900},
				Prefix: &Prefix{Groups: 20, Tokens: 1024, Popularity: dist.Popularity{Zipf: 1.1}}, Cache: "cold",
				Session: &Session{Turns: &Dist{Min: 2, Max: 6}, Think: pause(t, "lognormal(8s,0.8)"), Header: "X-Session-Id", MaxContext: 8192,
					Agent: &Agent{Calls: Dist{Min: 1, Max: 3}, Latency: pause(t, "exponential(2s)"),
						Result: Dist{Buckets: []dist.Bucket{{Lo: 0, Hi: 512}, {Lo: 512, Hi: 2048}}, Weights: []float64{0.4, 0.6}}}}}},
		},
		Tenants: []Tenant{{Name: "acme", Share: 3, Additions: llm.Additions{Key: "secret", Headers: map[string]string{"X-Team": "blue"}, Model: "lora"}},
			{Name: "free", Count: 10, Popularity: dist.Popularity{Zipf: 0.9}}},
		HotSpot: &HotSpot{Tenant: "acme", Share: 0.8},
		Salt:    "false",
	}
	var got Spec
	must.Do(t, decode(wholeBlock, &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	if got.String() != "mix(chat:0.6,rag:0.4) tenants(11) hot_spot(acme:0.8)" {
		t.Errorf("is called %q", got)
	}
	written := must.Get(yaml.Marshal(got))(t)
	var again Spec
	if err := decode(string(written), &again); err != nil {
		t.Fatalf("%v\n%s", err, written)
	}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("written and read again: -want +got\n%s\n%s", diff, written)
	}
}

func TestSpecRefuses(t *testing.T) {
	t.Parallel()
	chat := Part{Preset: "chat"}
	for want, s := range map[string]Spec{
		"classes: is an empty list":                                             {Classes: []Class{}},
		"classes[0].name: is missing":                                           {Classes: []Class{{Workload: chat}}},
		`classes[1].name: "a" is taken`:                                         {Classes: []Class{{Name: "a", Workload: chat}, {Name: "a", Workload: chat}}},
		"classes[0].workload: unknown workload":                                 {Classes: []Class{{Name: "a", Workload: Part{Preset: "chta"}}}},
		"classes[0].workload: mix is a mix itself":                              {Classes: []Class{{Name: "a", Workload: Part{Preset: "mix"}}}},
		"classes[0].generation: temperature: must be 0 to 2":                    {Classes: []Class{{Name: "a", Workload: chat, Generation: &Generation{Temperature: new(3.0)}}}},
		"classes[0].body.stream: use provider.stream":                           {Classes: []Class{{Name: "a", Workload: chat, Additions: llm.Additions{Body: map[string]any{"stream": false}}}}},
		"classes: weight: expected numbers of at least 0, got -1":               {Classes: []Class{{Name: "a", Weight: -1, Workload: chat}}},
		"classes: replace the preset":                                           {Traffic: Traffic{Preset: "chat"}, Classes: []Class{{Name: "a", Workload: chat}}},
		"mix is a mix of classes; give it alone":                                {Traffic: Traffic{Preset: "mix", Output: fixedAt(5)}},
		"tenants[0]: name: is missing":                                          {Tenants: []Tenant{{}}},
		`tenants[1]: the name "a" is taken`:                                     {Tenants: []Tenant{{Name: "a"}, {Name: "a"}}},
		"tenants[0]: share: expected a number of at least 0, got -2":            {Tenants: []Tenant{{Name: "a", Share: -2}}},
		"tenants[0]: count: must be 0 to 1000000, got -1":                       {Tenants: []Tenant{{Name: "a", Count: -1}}},
		"tenants[0]: headers.a b: expected the name of an HTTP header":          {Tenants: []Tenant{{Name: "a", Additions: llm.Additions{Headers: map[string]string{"a b": "c"}}}}},
		"tenants[0]: headers.X: its value holds a line break":                   {Tenants: []Tenant{{Name: "a", Additions: llm.Additions{Headers: map[string]string{"X": "c\nd"}}}}},
		"tenants[0]: popularity: zipf: expected an exponent":                    {Tenants: []Tenant{{Name: "a", Popularity: dist.Popularity{Zipf: 99}}}},
		"hot_spot: there are no tenants":                                        {HotSpot: &HotSpot{Tenant: "a", Share: 0.5}},
		"hot_spot.share: must be above 0 and up to 1, got 2":                    {Tenants: []Tenant{{Name: "a"}}, HotSpot: &HotSpot{Tenant: "a", Share: 2}},
		"hot_spot.share: must be above 0 and up to 1, got 0":                    {Tenants: []Tenant{{Name: "a"}, {Name: "b"}}, HotSpot: &HotSpot{Tenant: "a"}},
		"hot_spot.share: one that is excluded has none":                         {Tenants: []Tenant{{Name: "a"}, {Name: "b"}}, HotSpot: &HotSpot{Tenant: "a", Share: 0.5, Excluded: true}},
		"hot_spot.excluded: without its only tenant":                            {Tenants: []Tenant{{Name: "a"}}, HotSpot: &HotSpot{Tenant: "a", Excluded: true}},
		`hot_spot.tenant: unknown tenant "b": known: a-1, a-2`:                  {Tenants: []Tenant{{Name: "a", Count: 2}}, HotSpot: &HotSpot{Tenant: "b", Share: 0.5}},
		"pairs: expected keep or break, got \"brake\"":                          {Traffic: Traffic{File: "x.csv", Pairs: "brake"}},
		"format: expected sharegpt or jsonl or batch or bfcl or golden or text": {Traffic: Traffic{File: "x.csv", Format: "xml"}},
		"pairs: is for a file, but none is given":                               {Traffic: Traffic{Pairs: "break"}},
		"cache: nothing is shared, expected a prefix beside it":                 {Traffic: Traffic{Cache: "warm"}},
		"prompt: fixed: must be 1 to 10000000, got -5":                          {Traffic: Traffic{File: "x.csv", Prompt: fixedAt(-5)}},
	} {
		err := s.Validate()
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := s.Complete(); err == nil {
			t.Errorf("%q is complete", want)
		}
	}
}

func TestCompleteSpellsNamesAsTheTableDoes(t *testing.T) {
	t.Parallel()
	s, err := Spec{Classes: []Class{{Name: "a", Workload: Part{Preset: "Long-Context-QA"}}}}.Complete()
	if err != nil || s.Classes[0].Workload.Preset != "long_context_qa" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = (Spec{Traffic: Traffic{Preset: "RAG-Agent"}}).Complete(); err != nil || s.Preset != "rag_agent" {
		t.Errorf("%+v, %v", s, err)
	}
}
