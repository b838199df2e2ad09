package token

import (
	"encoding/json"
	"os"
	"path/filepath"

	"redline/internal/traffic/hub"
)

// ChatTemplate gives the chat template that stands beside a Hugging Face
// tokenizer, "" where there is none to be found.
func ChatTemplate(name string) string {
	if _, embedded := EmbeddedVocabulary(name); embedded {
		return ""
	}
	path, err := hub.Tokenizer(name)
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	if template, err := os.ReadFile(filepath.Join(path, "chat_template.jinja")); err == nil {
		return string(template)
	}
	content, err := os.ReadFile(filepath.Join(path, "tokenizer_config.json"))
	if err != nil {
		return ""
	}
	var config struct {
		ChatTemplate json.RawMessage `json:"chat_template"`
	}
	if json.Unmarshal(content, &config) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(config.ChatTemplate, &text) == nil {
		return text
	}
	return string(config.ChatTemplate) // several, by name
}
