package wire

import (
	"testing"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
	"redline/internal/must"
)

// What engines say beside usage of tiers and drafts is read, whichever way an event is.
func TestDetailsOfReplies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tree func(jsonio.Tree, *Delta)
		scan func(*jsonio.Scanner, *Delta)
		text string
		want llm.Usage
	}{
		{"vLLM", treeOpenAI, nil, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":7},"metrics":{"speculative_decoding":{"num_draft_tokens":12,"num_accepted_draft_tokens":5}}}`,
			llm.Usage{PromptTokens: 9, OutputTokens: 7, Drafted: 12, Accepted: 5}},
		{"SGLang chat", treeOpenAI, nil, `{"choices":[],"sglext":{"cached_tokens_details":{"device":3,"host":4,"storage":2}}}`, llm.Usage{HostTokens: 4, StorageTokens: 2}},
		{"SGLang", treeSGLang, scanSGLang, `{"text":"a","meta_info":{"prompt_tokens":9,"completion_tokens":7,"cached_tokens":6,"cached_tokens_details":{"device":2,"host":4},"spec_num_proposed_drafts":12,"spec_num_correct_drafts":5}}`,
			llm.Usage{PromptTokens: 9, OutputTokens: 7, CachedTokens: 6, HostTokens: 4, Drafted: 12, Accepted: 5}},
		{"llama.cpp", treeLlamaCpp, scanLlamaCpp, `{"content":"","stop":true,"tokens_evaluated":9,"tokens_predicted":7,"timings":{"cache_n":6,"draft_n":12,"draft_n_accepted":5}}`,
			llm.Usage{PromptTokens: 9, OutputTokens: 7, CachedTokens: 6, Drafted: 12, Accepted: 5}},
	} {
		var d Delta
		if c.tree(must.Get(jsonio.ParseTree([]byte(c.text)))(t), &d); d.Usage != c.want || !d.HasUsage {
			t.Errorf("%s: %+v, want %+v", c.name, d.Usage, c.want)
		}
		if c.scan == nil {
			continue
		}
		var scanned Delta
		s := jsonio.NewScanner([]byte(c.text))
		if c.scan(&s, &scanned); scanned.Usage != c.want {
			t.Errorf("%s, scanned: %+v, want %+v", c.name, scanned.Usage, c.want)
		}
	}
}
