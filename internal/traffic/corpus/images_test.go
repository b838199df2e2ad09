package corpus

import (
	"bytes"
	"image"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/must"
)

// TestImageFiles: a row names files beside its own, and one that is no image is
// refused by its name.
func TestImageFiles(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	must.Do(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, 7, 5))))
	for name, content := range map[string]string{"a.png": file.String(), "bad.png": "text",
		"rows.jsonl": `{"prompt": "what", "images": ["a.png", "a.png"]}` + "\n" + `{"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "input_image", "image_url": "a.png"}]}]}`,
		"bad.jsonl":  `{"prompt": "what", "image": "bad.png"}`} {
		must.Write(t, filepath.Join(dir, name), content)
	}
	f := must.Get(Open(filepath.Join(dir, "rows.jsonl"), Options{Format: Lines}))(t)
	defer f.Close()
	for i, want := range []int{2, 1} {
		c := must.Get(f.At(i))(t)
		parts := c.Turns[0].Messages[0].Parts
		if len(parts) != want || parts[0].Width != 7 || parts[0].Media != "image/png" || !bytes.Equal(parts[0].Data, file.Bytes()) {
			t.Errorf("row %d has the parts %v", i, parts)
		}
	}
	if _, err := Open(filepath.Join(dir, "bad.jsonl"), Options{Format: Lines}); err == nil || !strings.Contains(err.Error(), "bad.png: is not an image") {
		t.Errorf("a row with a file that is no image: %v", err)
	}
}
