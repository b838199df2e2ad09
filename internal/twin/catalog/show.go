package catalog

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"redline/internal/text"
)

// List writes every entry in a line.
func (c *Catalog) List(w io.Writer) error {
	rows := [][]string{{"model", "parameters", "active", "KV/token", "context", "weights"}}
	for _, m := range c.Models() {
		active := ""
		if m.Experts > 0 {
			active = billions(m.MatmulParams())
		}
		rows = append(rows, []string{m.Name, billions(m.TotalParams()), active, text.Bytes(float64(m.KVBytesPerToken(BF16))),
			text.Count(m.MaxLen), string(m.Precision)})
	}
	out := columns(rows) + "\n"
	rows = [][]string{{"accelerator", "memory", "bandwidth", "bf16", "fp8", "$/hour"}}
	for _, a := range c.Accelerators() {
		rows = append(rows, []string{a.Name, text.Bytes(float64(a.Memory)), text.Number(a.Read/1e12) + " TB/s", teraflops(a.BF16), teraflops(a.FP8), a.priceRange(1)})
	}
	out += columns(rows) + c.pricesDated() + "\nOne of them: redline catalog NAME. A pair: redline catalog MODEL --gpu NAME [--tp N].\nMore of them: docs/CATALOG.md\n"
	_, err := io.WriteString(w, out)
	return err
}

// pricesDated says of when the list's prices are.
func (c *Catalog) pricesDated() string {
	var dates []string
	for _, a := range c.Accelerators() {
		if a.PriceHigh > 0 && a.PriceDated != "" {
			dates = append(dates, a.PriceDated)
		}
	}
	if len(dates) == 0 {
		return ""
	}
	when := slices.Min(dates)
	if last := slices.Max(dates); last != when {
		when += " to " + last
	}
	return "prices on demand, as seen " + when + ": for a first look\n"
}

// Show writes what is known of a model.
func (m Model) Show(w io.Writer) error {
	lines := []string{m.Name + ": " + billions(m.TotalParams()) + " parameters" + m.activePhrase()}
	add := func(key, text string) { lines = append(lines, fact(key, text)) }
	add("shape", m.shapePhrase())
	add("attention", m.attentionPhrase())
	add("weights", m.weightsPhrase())
	add("kv cache", m.cachePhrase())
	add("context", text.Count(m.MaxLen)+" tokens")
	add("from", origin(m.Dated, m.Source, m.Confidence))
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func (m Model) activePhrase() string {
	if m.Experts == 0 {
		return ""
	}
	return ", of which a token is multiplied with " + billions(m.MatmulParams())
}

func (m Model) weightsPhrase() string {
	out := text.Bytes(float64(m.WeightBytes(m.Precision))) + " as shipped (" + string(m.Precision) + ")"
	for _, other := range []Precision{BF16, FP8, INT4} {
		if other != m.Precision {
			out += ", " + text.Bytes(float64(m.WeightBytes(other))) + " at " + string(other)
		}
	}
	return out
}

func (m Model) shapePhrase() string {
	out := fmt.Sprintf("%d layers of %s, vocabulary %s", m.Layers, text.Count(m.Hidden), text.Count(m.Vocab))
	if m.Tied {
		out += " (embedding and head are one)"
	}
	if m.Experts > 0 {
		out += fmt.Sprintf("; %d experts of %s, %d for each token", m.Experts, text.Count(m.FFN), m.TopK)
		if m.SharedExperts > 0 {
			out += fmt.Sprintf(" and %d shared", m.SharedExperts)
		}
		return out
	}
	return out + ", feed-forward " + text.Count(m.FFN)
}

func (m Model) attentionPhrase() string {
	out := fmt.Sprintf("%d heads over %d for keys and values, of %d", m.Heads, m.KVHeads, m.HeadDim)
	if m.KVLora > 0 {
		out = fmt.Sprintf("%d heads over a latent of %d + %d (MLA)", m.Heads, m.KVLora, m.RopeDim)
	}
	if m.WindowLayers > 0 {
		out += fmt.Sprintf("; %d layers look back only %s tokens", m.WindowLayers, text.Count(m.Window))
	}
	return out
}

func (m Model) cachePhrase() string {
	out := text.Bytes(float64(m.KVBytesPerToken(BF16))) + " a token at 16 bits"
	if m.WindowLayers > 0 {
		growth := m.KVBytes(m.Window+1, BF16) - m.KVBytes(m.Window, BF16)
		out += ", " + text.Bytes(float64(growth)) + " for each one beyond the window"
	}
	if m.KVLora > 0 {
		out += ", held by every accelerator"
	}
	return out
}

// Show writes what is known of an accelerator.
func (a Accelerator) Show(w io.Writer) error {
	lines := []string{a.Name + ": " + text.Bytes(float64(a.Memory)) + " at " + text.Number(a.Read/1e12) + " TB/s"}
	add := func(key, text string) { lines = append(lines, fact(key, text)) }
	rates := "bf16 " + teraflops(a.BF16)
	for _, r := range []struct {
		name string
		rate float64
	}{{"fp8", a.FP8}, {"fp4", a.FP4}} {
		if r.rate > 0 {
			rates += ", " + r.name + " " + teraflops(r.rate)
		}
	}
	add("peak", rates+" (dense)")
	add("ridge", text.Number(a.BF16/a.Read)+" operations for each byte read, at bf16")
	if a.Link > 0 {
		add("link", text.Number(a.Link/1e9)+" GB/s to its peers, one way")
	}
	if a.Watts > 0 {
		add("power", text.Exact(a.Watts)+" W")
	}
	add("price", a.pricePhrase(1))
	add("from", origin(a.Dated, a.Source, a.Confidence))
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// priceRange is the price of n on demand, without its unit.
func (a Accelerator) priceRange(n float64) string {
	switch {
	case a.PriceHigh == 0:
		return ""
	case a.PriceLow == a.PriceHigh:
		return text.Fixed(n*a.PriceLow, 2)
	}
	return text.Fixed(n*a.PriceLow, 2) + " to " + text.Fixed(n*a.PriceHigh, 2)
}

func (a Accelerator) pricePhrase(n float64) string {
	var parts []string
	if a.PriceHigh > 0 {
		parts = append(parts, "$"+a.priceRange(n)+" an hour on demand")
	}
	if a.PriceReserved > 0 {
		parts = append(parts, "$"+text.Fixed(n*a.PriceReserved, 2)+" reserved")
	}
	if len(parts) == 0 {
		return "not known; give price in a catalog file"
	}
	return strings.Join(parts, ", ") + " (assumed: " + origin(a.PriceDated, a.PriceSource, a.PriceConfidence) + ")"
}

func origin(dated, source, confidence string) string {
	var parts []string
	for _, p := range []string{source, dated} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if confidence != "" {
		parts = append(parts, confidence+" confidence")
	}
	return strings.Join(parts, ", ")
}

// fact is a named text, in lines that fit a terminal.
func fact(key, text string) string {
	const left, width = 12, 100
	var b strings.Builder
	b.WriteString(key + strings.Repeat(" ", max(1, left-utf8.RuneCountInString(key))))
	used := 0
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width-left:
			b.WriteString("\n" + strings.Repeat(" ", left))
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// columns sets a table whose first column is aligned to the left, the others
// to the right.
func columns(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line += c + pad
				continue
			}
			line += "  " + pad + c
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func billions(n int64) string { return text.Number(float64(n)/1e9) + " B" }

func teraflops(rate float64) string {
	if rate == 0 {
		return ""
	}
	return text.Fixed(rate/1e12, 0) + " TFLOPS"
}
