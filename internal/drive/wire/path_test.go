package wire

import "testing"

func TestByPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                                       "",
		"/":                                      "",
		"/v1":                                    "",
		"/v1/":                                   "",
		"/v1/models":                             "",
		"/v1/chat/completions":                   "openai-chat",
		"/openai/deployments/x/chat/completions": "openai-chat",
		"/v1/completions":                        "openai-completions",
		"/v1/completions/":                       "openai-completions",
		"/v1/messages":                           "anthropic-messages",
		"/v1/messages/count":                     "",
		"/v1/responses":                          "openai-responses",
		"/generate":                              "sglang-generate",
		"/generate_stream":                       "tgi-generate",
		"/api/generate":                          "ollama-generate",
		"/ollama/api/chat":                       "ollama-chat",
		"/completion":                            "llamacpp-completion",
		"/v1/embeddings":                         "embeddings",
		"/v1/rerank":                             "rerank",
		"/v2/rerank":                             "rerank",
		"/rerank/":                               "rerank",
		"/v2/chat":                               "",
		"/api":                                   "",
	} {
		name := ""
		if d, ok := ByPath(path); ok {
			name = d.Name
		}
		if name != want {
			t.Errorf("ByPath(%q): got %q, want %q", path, name, want)
		}
	}
	if _, ok := ByName("openai"); ok {
		t.Error("ByName finds a dialect that does not exist")
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, dialect, want string }{
		{"", "openai-chat", "/v1/chat/completions"},
		{"/", "openai-chat", "/v1/chat/completions"},
		{"/v1", "openai-chat", "/v1/chat/completions"},
		{"/v1/", "openai-completions", "/v1/completions"},
		{"/api/v3", "openai-chat", "/api/v3/chat/completions"},
		{"/v1beta/openai/", "openai-chat", "/v1beta/openai/chat/completions"},
		{"/v1/openai", "embeddings", "/v1/openai/embeddings"},
		{"/openai", "openai-chat", "/openai/v1/chat/completions"},
		{"/openai/v1", "openai-responses", "/openai/v1/responses"},
		{"/gateway", "anthropic-messages", "/gateway/v1/messages"},
		{"/v1/messages", "anthropic-messages", "/v1/messages"},
		{"/openai/chat/completions/", "openai-chat", "/openai/chat/completions"},
		{"/v2/chat", "openai-chat", "/v2/chat"},
		{"/v1/models", "openai-chat", "/v1/models"},
		{"/v1/completions", "openai-chat", "/v1/completions"},
		{"/api", "ollama-chat", "/api/chat"},
		{"/v1", "ollama-chat", "/api/chat"},
		{"/team/v1/", "sglang-generate", "/team/generate"},
		{"/rerank", "rerank", "/rerank"},
		{"", "tgi-generate", "/generate_stream"},
		{"/generate", "tgi-generate", "/generate_stream"},
		{"/tgi/generate_stream", "tgi-generate", "/tgi/generate_stream"},
	} {
		d, _ := ByName(c.dialect)
		if got := d.Resolve(c.path, true); got != c.want {
			t.Errorf("%s: Resolve(%q): got %q, want %q", c.dialect, c.path, got, c.want)
		}
	}
	tgi, _ := ByName("tgi-generate")
	for path, want := range map[string]string{"": "/generate", "/generate": "/generate", "/tgi/generate_stream/": "/tgi/generate"} {
		if got := tgi.Resolve(path, false); got != want {
			t.Errorf("not streamed: Resolve(%q): got %q, want %q", path, got, want)
		}
	}
	if sglang, _ := ByName("sglang-generate"); !tgi.Serves("/x/generate/") || !sglang.Serves("/generate") || sglang.Serves("/generate_stream") || tgi.Serves("/v1") {
		t.Error("/generate is served by both, /generate_stream by one")
	}
}

func TestIsBase(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"": true, "/": true, "/v1": true, "/api/v3/": true, "/v1beta": true, "/gateway": true, "/v1beta/openai": true, "/v1/openai/": true,
		"/v2/chat": false, "/v1/models": false, "/v1/openai/files": false, "/v1/chat/completions": false, "/generate": false,
	} {
		if got := IsBase(path); got != want {
			t.Errorf("IsBase(%q): got %v, want %v", path, got, want)
		}
	}
}
