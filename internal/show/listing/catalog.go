// Package listing is what commands show beside reports: what the catalog and a
// workload hold, how good a calibration is, what the doctor found. It takes their
// plain data and gives documents.
package listing

import (
	"fmt"
	"slices"

	"redline/internal/catalog"
	"redline/internal/show/document"
	"redline/internal/text"
)

// sheet begins a document of facts under a headline.
func sheet(word, why string) *document.Builder {
	b := &document.Builder{}
	b.Headline(text.Line(word), document.Plain, text.Line(why))
	return b
}

// Catalog has every entry in a line.
func Catalog(c *catalog.Catalog) *document.Document {
	b := &document.Builder{}
	models := document.NewTable(document.Left("model"), document.Right("parameters"), document.Right("active"), document.Right("KV/token"),
		document.Right("context"), document.Right("weights"))
	for _, m := range c.Models() {
		active := ""
		if m.Experts > 0 {
			active = billions(m.MatmulParams())
		}
		models.Add(text.Line(m.Name), billions(m.TotalParams()), active, text.Bytes(float64(m.KVBytesPerToken(catalog.BF16))), text.Count(m.MaxLen), string(m.Precision))
	}
	accelerators := document.NewTable(document.Left("accelerator"), document.Right("memory"), document.Right("bandwidth"), document.Right("bf16"),
		document.Right("fp8"), document.Right("$/hour"))
	var dates []string
	for _, a := range c.Accelerators() {
		accelerators.Add(text.Line(a.Name), text.Bytes(float64(a.Memory)), text.Number(a.Read/1e12)+" TB/s", teraflops(a.BF16), teraflops(a.FP8), priceRange(a, 1))
		if a.PriceHigh > 0 && a.PriceDated != "" {
			dates = append(dates, a.PriceDated)
		}
	}
	models.Flush, accelerators.Flush = true, true
	b.Add(models)
	b.Add(accelerators)
	if len(dates) > 0 {
		when := slices.Min(dates)
		if last := slices.Max(dates); last != when {
			when += " to " + last
		}
		b.Note(text.Line("prices on demand, as seen " + when + ": for a first look"))
	}
	b.Section("")
	b.Note("One of them: redline catalog NAME. A pair: redline catalog MODEL --gpu NAME [--tp N].")
	b.Note("More of them: docs/reference/CATALOG.md")
	return &b.Document
}

// Model has what is known of one.
func Model(m catalog.Model) *document.Document {
	active := ""
	if m.Experts > 0 {
		active = ", " + billions(m.MatmulParams()) + " active"
	}
	b := sheet(m.Name+": ", billions(m.TotalParams())+" parameters"+active)
	b.Last().Joined = true
	b.Field("shape", shape(m))
	b.Field("attention", attention(m))
	weights := text.Bytes(float64(m.WeightBytes(m.Precision))) + " as shipped (" + string(m.Precision) + ")"
	for _, other := range []catalog.Precision{catalog.BF16, catalog.FP8, catalog.INT4} {
		if other != m.Precision {
			weights += ", " + text.Bytes(float64(m.WeightBytes(other))) + " at " + string(other)
		}
	}
	b.Field("weights", weights)
	b.Field("kv cache", cache(m))
	b.Field("context", text.Count(m.MaxLen)+" tokens")
	b.Field("from", origin(m.Dated, m.Source, m.Confidence))
	return &b.Document
}

func shape(m catalog.Model) string {
	out := fmt.Sprintf("%d layers of %s, vocabulary %s", m.Layers, text.Count(m.Hidden), text.Count(m.Vocab))
	if m.Tied {
		out += " (embedding and head are one)"
	}
	if m.Experts == 0 {
		return out + ", feed-forward " + text.Count(m.FFN)
	}
	out += fmt.Sprintf("; %d experts of %s, %d for each token", m.Experts, text.Count(m.FFN), m.TopK)
	if m.SharedExperts > 0 {
		out += fmt.Sprintf(" and %d shared", m.SharedExperts)
	}
	return out
}

func attention(m catalog.Model) string {
	out := fmt.Sprintf("%d heads over %d for keys and values, of %d", m.Heads, m.KVHeads, m.HeadDim)
	if m.KVLora > 0 {
		out = fmt.Sprintf("%d heads over a latent of %d + %d (MLA)", m.Heads, m.KVLora, m.RopeDim)
	}
	if m.WindowLayers > 0 {
		out += fmt.Sprintf("; %d layers look back only %s tokens", m.WindowLayers, text.Count(m.Window))
	}
	return out
}

func cache(m catalog.Model) string {
	out := text.Bytes(float64(m.KVBytesPerToken(catalog.BF16))) + " a token at 16 bits"
	if m.WindowLayers > 0 {
		growth := m.KVBytes(m.Window+1, catalog.BF16) - m.KVBytes(m.Window, catalog.BF16)
		out += ", " + text.Bytes(float64(growth)) + " for each one beyond the window"
	}
	if m.KVLora > 0 {
		out += ", held by every accelerator"
	}
	return out
}

// Accelerator has what is known of one.
func Accelerator(a catalog.Accelerator) *document.Document {
	b := sheet(a.Name+": ", text.Bytes(float64(a.Memory))+" at "+text.Number(a.Read/1e12)+" TB/s")
	b.Last().Joined = true
	rates := "bf16 " + teraflops(a.BF16)
	if a.FP8 > 0 {
		rates += ", fp8 " + teraflops(a.FP8)
	}
	if a.FP4 > 0 {
		rates += ", fp4 " + teraflops(a.FP4)
	}
	b.Field("peak", rates+" (dense)")
	b.Field("ridge", text.Number(a.BF16/a.Read)+" operations for each byte read, at bf16")
	if a.Link > 0 {
		b.Field("link", text.Number(a.Link/1e9)+" GB/s to its peers, one way")
	}
	if a.Watts > 0 {
		b.Field("power", text.Exact(a.Watts)+" W")
	}
	b.Field("price", price(a, 1))
	b.Field("from", origin(a.Dated, a.Source, a.Confidence))
	return &b.Document
}

// priceRange is the price of n on demand, without its unit.
func priceRange(a catalog.Accelerator, n float64) string {
	switch {
	case a.PriceHigh == 0:
		return ""
	case a.PriceLow == a.PriceHigh:
		return text.FixedNumber(n*a.PriceLow, 2)
	}
	return text.FixedNumber(n*a.PriceLow, 2) + " to " + text.FixedNumber(n*a.PriceHigh, 2)
}

func price(a catalog.Accelerator, n float64) string {
	demand, reserved := "", ""
	if a.PriceHigh > 0 {
		demand = "$" + priceRange(a, n) + " an hour on demand"
	}
	if a.PriceReserved > 0 {
		reserved = "$" + text.FixedNumber(n*a.PriceReserved, 2) + " reserved"
	}
	if demand+reserved == "" {
		return "not known; give price in a catalog file"
	}
	return text.Join(", ", demand, reserved) + " (assumed: " + origin(a.PriceDated, a.PriceSource, a.PriceConfidence) + ")"
}

func origin(dated, source, confidence string) string {
	if confidence != "" {
		confidence += " confidence"
	}
	return text.Line(text.Join(", ", source, dated, confidence))
}

// Deployment has a deployment under traffic in sentences.
func Deployment(s catalog.Sheet) *document.Document {
	d, f := s.Deployment, s.Forecast
	each := func(bytes float64, where string) string {
		if s.TP > 1 {
			return text.Bytes(bytes) + where
		}
		return text.Bytes(bytes)
	}
	what := fmt.Sprintf("%s at %s on %d × %s: prompts of %s and replies of %s tokens, %s at a time", s.Model.Name, s.Precision, s.TP,
		s.Accelerator.Name, text.FixedNumber(s.Prompt, 0), text.FixedNumber(s.Output, 0), text.Exact(s.Concurrency))
	weights := text.Bytes(float64(f.Weights))
	if s.TP > 1 {
		weights += ", " + text.Bytes(float64(f.Weights)/float64(s.TP)) + " on each accelerator"
	}
	if !s.Fits {
		b := &document.Builder{}
		b.Headline("DOES NOT FIT: ", document.Lost, "weights and one request lack "+each(s.ShortBytes, " on each accelerator")+"; "+fitAdvice(s))
		b.Headline("", document.Plain, text.Line(what))
		b.Field("weights", weights)
		return &b.Document
	}
	b := sheet("", what)
	b.Field("weights", weights)
	b.Field("kv cache", fmt.Sprintf("%s a token, %s a request; room for %s tokens (%s): full at %s",
		text.Bytes(float64(f.KVPerToken)), text.Bytes(float64(f.KVPerRequest)), text.FixedNumber(f.RoomTokens, 0), each(f.Room, " on each"), text.Units(text.FixedNumber(f.FullAt, 0), "request")))
	b.Field("decode", fmt.Sprintf("%s ms a token (TPOT), %s tokens/s in all; each step reads %s", text.Number(1e3*f.TPOT), text.FixedNumber(f.DecodeRate, 0),
		each(f.StepBytesRead, " on each accelerator")))
	b.Field("prefill", fmt.Sprintf("%s ms to the first token (TTFT) beside the others and without a queue; %s ms alone, %s tokens/s",
		text.Number(1e3*f.TTFT), text.Number(1e3*f.Prefill), text.FixedNumber(f.PrefillRate, 0)))
	side := "memory"
	if f.Batch > f.Ridge {
		side = "arithmetic"
	}
	b.Field("ridge", fmt.Sprintf("%s tokens; a decode step has %s, so %s decides its time", text.FixedNumber(f.Ridge, 0), text.Digits(f.Batch, 4), side))
	if s.Concurrency > f.FullAt {
		b.Field("full", fmt.Sprintf("%s requests do not fit at once: about %s run, the others wait or are preempted", text.Exact(s.Concurrency), text.FixedNumber(f.Batch, 0)))
	}
	b.Field("price", price(s.Accelerator, float64(s.TP)))
	b.Field("assumed", fmt.Sprintf("%s of memory for the engine, cache at %s, steps of up to %s tokens", text.Percent(d.Utilization), s.KVPrecision, text.Count(d.BatchTokens)))
	return &b.Document
}

// fitAdvice says what would fit.
func fitAdvice(s catalog.Sheet) string {
	switch {
	case s.MinTP > s.TP:
		return fmt.Sprintf("the least that fits is --tp %d", s.MinTP)
	case s.MinTP > 0:
		return fmt.Sprintf("--tp %d fits", s.MinTP)
	}
	return "no number of them does: choose a larger one or a smaller --precision"
}

func billions(n int64) string { return text.Number(float64(n)/1e9) + " B" }

func teraflops(rate float64) string {
	if rate == 0 {
		return ""
	}
	return text.FixedNumber(rate/1e12, 0) + " TFLOPS"
}
