package wire

import (
	"encoding/base64"
	"fmt"
	"strings"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// Engines whose own APIs take a prompt as one text have images beside it, or in
// it. mark writes what stands for an image in the text.

// appendMarked joins the texts of messages as appendPrompt does, with a mark in
// the place of each image.
func appendMarked(dst []byte, messages []llm.Message, mark func([]byte, *llm.Part) []byte) []byte {
	dst = append(dst, '"')
	for i := range messages {
		if i > 0 {
			dst = append(dst, `\n`...)
		}
		dst = jsonio.AppendUnquoted(dst, messages[i].Content)
		for k := range messages[i].Parts {
			switch p := &messages[i].Parts[k]; p.Kind {
			case llm.Text:
				dst = jsonio.AppendUnquoted(dst, p.Text)
			case llm.Image:
				dst = mark(dst, p)
			}
		}
	}
	return append(dst, '"')
}

// images writes those of all messages as a list, in the given form; nothing where
// there are none.
func (b *body) images(name, form string, messages []llm.Message) {
	var list []byte
	for i := range messages {
		for k := range messages[i].Parts {
			if p := &messages[i].Parts[k]; p.Kind == llm.Image {
				list = append(appendPart(list, form, p), ',')
			}
		}
	}
	if list != nil && b.key(name) {
		b.dst = closeList(append(append(b.dst, '['), list...))
	}
}

// The forms of an image that is a text: with its type, and alone.
const (
	dataURL   = `"data:%m;base64,%d"`
	plainData = `"%d"`
)

// readImages is the server's half of images: it adds them to the last message.
func readImages(field, form string, messages []llm.Message, list []string) error {
	m := &messages[len(messages)-1]
	for i, one := range list {
		p := llm.Part{Kind: llm.Image}
		if !matchText(strings.Trim(form, `"`), one, &p) && !matchText("%d", one, &p) {
			return fmt.Errorf("%s[%d]: expected %s", field, i, form)
		}
		m.Parts = append(m.Parts, p)
	}
	return nil
}

// markdown is an image in the text of text-generation-inference.
func markdown(dst []byte, p *llm.Part) []byte {
	dst = append(jsonio.AppendUnquoted(append(dst, "![](data:"...), p.Media), ";base64,"...)
	return append(base64.StdEncoding.AppendEncode(dst, p.Data), ')')
}

// splitMarkdown takes the images out of such a text.
func splitMarkdown(m *llm.Message) {
	const open = "![](data:"
	rest := m.Content
	for i := 0; ; i++ {
		before, after, found := strings.Cut(rest, open)
		if i == 0 {
			m.Content = before
		} else if before != "" {
			m.Parts = append(m.Parts, llm.Part{Text: before})
		}
		inner, behind, closed := strings.Cut(after, ")")
		p := llm.Part{Kind: llm.Image}
		if !found || !closed || !matchText("%m;base64,%d", inner, &p) {
			return
		}
		m.Parts = append(m.Parts, p)
		rest = behind
	}
}

// mediaMark is what llama.cpp's prompts have in the place of an image.
const mediaMark = "<__media__>"

func markMedia(dst []byte, _ *llm.Part) []byte { return append(dst, mediaMark...) }
