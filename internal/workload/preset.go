package workload

// Preset is a named shape of traffic.
type Preset struct {
	Name           string
	About          string
	Prompt, Output Dist
}

// Presets is the table of shapes known by name, the default first.
//
// The first four are approximate production shapes, all log-normal with a
// sigma of 0.8. Published lists call the parameter their mean; drawn with
// mu = ln(mean) it is the median, and is named so here.
//
// rag_agent is for retrieval and agents, whose prompts lie mostly between 2k
// and 16k tokens: its median is the geometric middle of that range, and sigma
// 0.8 puts four prompts in five inside it. Its answers are short: a tool call
// or a grounded paragraph.
var Presets = []Preset{
	{"chat", "conversation: short prompts, medium answers",
		logNormal(500, 50, 4000), logNormal(200, 10, 2000)},
	{"code_generation", "code with its context, long answers",
		logNormal(1500, 200, 8000), logNormal(500, 50, 4000)},
	{"long_context_qa", "a question on a long document",
		logNormal(16000, 2000, 128000), logNormal(300, 20, 2000)},
	{"summarization", "a document and its short summary",
		logNormal(4000, 500, 32000), logNormal(150, 50, 500)},
	{"rag_agent", "retrieved passages or tool results, short answers",
		logNormal(5800, 500, 32000), logNormal(250, 20, 2000)},
}

func logNormal(median float64, lo, hi int) Dist {
	return Dist{Median: median, Sigma: 0.8, Min: lo, Max: hi}
}
