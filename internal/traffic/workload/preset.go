package workload

import (
	"embed"
	"sync"

	"redline/internal/traffic/dist"
	"redline/internal/traffic/job"
)

// preset is a named shape of traffic.
type preset struct {
	Name           string
	About          string
	Prompt, Output Dist
	Prefix         *Prefix  // nil: nothing is shared
	Session        *Session // nil: single requests
	// Jobs makes jobs of agents in place of all these; nil for none.
	Jobs func() *job.Generator
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
//
// multi_turn_chat, shared_rag and agent_loop have structure too: conversations,
// documents that several users ask about, and agents who call tools.
//
// The last two are jobs of agents; their files say where their figures come from.
var Presets = []preset{
	{Name: "chat", About: "conversation: short prompts, medium answers",
		Prompt: logNormal(500, 50, 4000), Output: logNormal(200, 10, 2000)},
	{Name: "code_generation", About: "code with its context, long answers",
		Prompt: logNormal(1500, 200, 8000), Output: logNormal(500, 50, 4000)},
	{Name: "long_context_qa", About: "a question on a long document",
		Prompt: logNormal(16000, 2000, 128000), Output: logNormal(300, 20, 2000)},
	{Name: "summarization", About: "a document and its short summary",
		Prompt: logNormal(4000, 500, 32000), Output: logNormal(150, 50, 500)},
	{Name: "rag_agent", About: "retrieved passages or tool results, short answers",
		Prompt: logNormal(5800, 500, 32000), Output: logNormal(250, 20, 2000)},
	{Name: "multi_turn_chat", About: "conversations of two to eight turns, replies fed back",
		Prompt: logNormal(200, 20, 2000), Output: logNormal(200, 10, 1000),
		Session: &Session{Turns: &Dist{Min: 2, Max: 8}, Think: seconds(8, 0.8)}},
	{Name: "shared_rag", About: "questions on a hundred documents, some asked about far more than others",
		Prompt: logNormal(120, 20, 1000), Output: logNormal(250, 20, 2000),
		Prefix: &Prefix{Groups: 100, Tokens: 4096, Popularity: dist.Popularity{Zipf: 1.1}}},
	{Name: "agent_loop", About: "agents: two to eight tool calls for a task, the context growing with each",
		Prompt: logNormal(800, 100, 4000), Output: logNormal(250, 20, 2000),
		Prefix: &Prefix{Groups: 5, Tokens: 2048, Popularity: dist.Popularity{Zipf: 1}},
		Session: &Session{Agent: &Agent{Calls: Dist{Min: 2, Max: 8}, Latency: seconds(1, 1),
			Result: logNormal(600, 20, 8000), Output: &Dist{Min: 30, Max: 120}}}},
	{Name: "coding_agent", About: "jobs of a coding agent and its subagents, as recorded", Jobs: builtinJobs("coding_agent")},
	{Name: "research_agent", About: "jobs of a research agent that launches three to five searching subagents at once", Jobs: builtinJobs("research_agent")},
}

//go:embed agents/*.yaml
var agentFiles embed.FS

// builtinJobs gives a generator that is part of the program.
func builtinJobs(name string) func() *job.Generator {
	return sync.OnceValue(func() *job.Generator {
		data, err := agentFiles.ReadFile("agents/" + name + ".yaml")
		if err != nil {
			panic(err)
		}
		g, err := job.ReadGenerator(name, data)
		if err != nil {
			panic(err)
		}
		return g
	})
}

func logNormal(median float64, lo, hi int) Dist {
	return Dist{Median: median, Sigma: 0.8, Min: lo, Max: hi}
}
