package engine

import "encoding/json"

var _ = register(Engine{
	Name: "ollama", Place: 8, Words: []string{"ollama"}, Wraps: "llama.cpp",
	Dialects: []string{"ollama-chat", "ollama-generate"},
	Pages: []Page{
		{Path: "/api/version", Read: readVersion},
		{Path: "/api/show", Body: ollamaModel, Needs: "/api/version", Read: readOllama},
	},
})

func ollamaModel(model string) []byte {
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return nil
	}
	return body
}

func readOllama(o object, f *Facts) {
	details := o.in("details")
	if len(details) == 0 {
		return
	}
	f.Engine, f.Quantization = "ollama", details.text("quantization_level")
	f.keep(details, "family", "format", "parameter_size")
	info := o.in("model_info")
	f.MaxLen = info.number(info.text("general.architecture") + ".context_length")
	f.ChatTemplate, _ = o["template"].(string)
}
