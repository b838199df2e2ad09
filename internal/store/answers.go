package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"redline/internal/judge/result"
)

// WriteAnswers keeps answers with their text, a line each.
func (d *Dir) WriteAnswers(answers []result.KeptAnswer) error {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for i := range answers {
		if err := lines.Encode(&answers[i]); err != nil {
			return cause(d.Path, err)
		}
	}
	// What people were told and what they asked is nobody else's business.
	if err := os.WriteFile(filepath.Join(d.Path, answersFile), out.Bytes(), 0o600); err != nil {
		return cause(d.Path, err)
	}
	return nil
}
