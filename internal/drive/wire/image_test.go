package wire

import (
	"bytes"
	pictures "image"
	"image/color"
	"image/png"
	"slices"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
)

// TestImagesArrive sends an image in every API that has a word for it, and finds
// it again behind the server's half: byte by byte, and pixel by pixel.
func TestImagesArrive(t *testing.T) {
	picture := pictures.NewRGBA(pictures.Rect(0, 0, 5, 3))
	for i := range 15 {
		picture.Set(i%5, i/5, color.RGBA{byte(i * 16), byte(255 - i), byte(i * i), 255})
	}
	var file bytes.Buffer
	must.Do(t, png.Encode(&file, picture))
	part := llm.Part{Kind: llm.Image, Media: "image/png", Data: file.Bytes()}
	var with []string
	for _, d := range All() {
		if !d.Has(llm.NeedImages) {
			continue
		}
		with = append(with, d.Name)
		asked := &llm.Request{Model: "m", MaxTokens: 4, Stream: true, Messages: []llm.Message{{Role: "user", Content: "What is \"this\"?", Parts: []llm.Part{part, part}}}}
		got, _, err := d.ParseRequest(d.Encode(nil, asked, Quirks{}))
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		n, size, _ := got.Images()
		if n != 2 || size != 2*file.Len() {
			t.Fatalf("%s: %d images of %d bytes arrive, want 2 of %d", d.Name, n, size, 2*file.Len())
		}
		m := got.Messages[len(got.Messages)-1]
		back, err := png.Decode(bytes.NewReader(m.Parts[1].Data))
		if err != nil || m.Content != asked.Messages[0].Content {
			t.Fatalf("%s: the text is %q, the image %v", d.Name, m.Content, err)
		}
		for i := range 15 {
			if back.At(i%5, i/5) != picture.At(i%5, i/5) {
				t.Fatalf("%s: pixel %d is %v", d.Name, i, back.At(i%5, i/5))
			}
		}
	}
	want := []string{"openai-chat", "openai-responses", "anthropic-messages", "tgi-generate", "ollama-chat", "ollama-generate", "sglang-generate", "llamacpp-completion"}
	if !slices.Equal(with, want) {
		t.Errorf("images go to %v, want %v", with, want)
	}
}

// TestVisionTokens reads the tokens of images out of what servers report, whole
// and streamed.
func TestVisionTokens(t *testing.T) {
	for api, event := range map[string]string{
		"openai-chat":     `{"choices":[],"usage":{"prompt_tokens":900,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":16,"multimodal_tokens":{"image":800,"audio":3}}}}`,
		"openai-chat ":    `{"choices":[],"usage":{"prompt_tokens":900,"completion_tokens":1,"prompt_tokens_details":{"image_tokens":800,"cached_tokens":16}}}`,
		"sglang-generate": `{"text":"x","meta_info":{"prompt_tokens":900,"completion_tokens":1,"cached_tokens":16,"image_tokens":800,"finish_reason":null}}`,
	} {
		d, _ := ByName(string(bytes.TrimSpace([]byte(api))))
		var delta Delta
		must.Do(t, d.Decode(nil, []byte(event), &delta))
		if u := delta.Usage; u.VisionTokens != 800 || u.PromptTokens != 900 || u.CachedTokens != 16 {
			t.Errorf("%s: %+v", api, u)
		}
	}
}
