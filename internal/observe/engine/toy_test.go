package engine

// This file is all that a new engine takes. TestOneFileIsAnEngine shows that
// the others find it.

var _ = register(Engine{
	Name: "toy", Words: []string{"toyserve"},
	Dialects: []string{"tgi-generate"},
	Pages:    []Page{{Path: "/toy", Read: readToy}},
	Metrics: Metrics{
		Path: "/toy/metrics", Prefix: "toy_", Replica: "rank", Config: "toy_info",
		Running:      sourcesOf("toy_batch"),
		PromptTokens: sourcesOf("toy_input_length_sum"),
		E2E:          sourcesOf("toy_seconds"),
	},
	CountsAtEnd: true,
	Tokenize:    func(_, text string) any { return map[string]any{"toy": text} },
	Advice:      map[string]string{"queueing": "--toys up"},
	Log:         map[string][]string{"preemption": {"thrown out"}},
	Style: &Style{
		Name: "toy", Owner: "toys",
		Series: []Series{
			same(gauge, "toy_batch", `rank="a"`, running),
			computedSeries(counter, "toy_input_length_sum", "", func(f Figures) float64 { return f.Value(prompts) }),
			timing("toy_seconds", modelLabel, endToEnds, 1),
		},
		Pages: map[string]func(Sim) any{"/toy": func(s Sim) any { return map[string]any{"toy_model": s.Model, "slots": s.MaxNumSeqs} }},
	},
})

func readToy(o object, f *Facts) {
	if f.Model = o.text("toy_model"); f.Model != "" {
		f.Engine = "toy"
		f.keep(o, "slots")
	}
}
