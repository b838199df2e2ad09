package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"redline/internal/judge/result"
	"redline/internal/show/report"
	"redline/internal/text"
)

// JSON writes the result document.
func JSON(w io.Writer, r *result.Result) error {
	if r == nil {
		return report.ErrNoResult
	}
	if err := WriteJSON(w, r); err != nil {
		return fmt.Errorf("write result %q as JSON: %w", r.ID, err)
	}
	return nil
}

// WriteJSON writes a value as JSON, whole or not at all: keys in the order of the
// types, a newline at the end.
func WriteJSON(w io.Writer, v any) error {
	var document bytes.Buffer
	encoder := json.NewEncoder(&document)
	// Objectives read "ttft:p99<500ms"; escaping would hide them from grep.
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(text.PackNumbers(document.Bytes()))
	return err
}
