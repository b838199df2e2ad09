package catalog

import (
	"fmt"
	"io"
	"strings"

	"redline/internal/text"
)

// Sheet is a deployment under traffic with everything that arithmetic says of
// it.
type Sheet struct {
	Model       Model       `json:"model"`
	Accelerator Accelerator `json:"accelerator"`
	TP          int         `json:"tp"`
	Precision   Precision   `json:"precision"`
	KVPrecision Precision   `json:"kv_precision"`
	Prompt      float64     `json:"prompt_tokens"`
	Output      float64     `json:"output_tokens"`
	Concurrency float64     `json:"concurrency"`
	Forecast    Forecast    `json:"forecast"`
	Fits        bool        `json:"fits"`
	// ShortBytes is what each accelerator lacks for the weights and one
	// request, LeastTP how many of them hold both; absent where all is well,
	// or where no number does.
	ShortBytes float64 `json:"short_bytes,omitempty"`
	LeastTP    int     `json:"least_tp,omitempty"`

	deployment Deployment
}

// Sheet computes all of it.
func (d Deployment) Sheet(t Traffic) Sheet {
	s := Sheet{Model: d.Model, Accelerator: d.Accelerator, TP: d.TP, Precision: d.Weights, KVPrecision: d.KV,
		Prompt: t.Prompt, Output: t.Output, Concurrency: t.Concurrency, Forecast: d.Forecast(t), deployment: d}
	s.Fits = s.Forecast.Fits()
	if !s.Fits {
		s.ShortBytes = float64(d.Model.RankKVBytes(tokenCount(t.resident()), d.KV, d.TP)) - s.Forecast.Room
		s.LeastTP = d.LeastTP(t)
	}
	return s
}

// Show writes the sheet in sentences.
func (s Sheet) Show(w io.Writer) error {
	d, f := s.deployment, s.Forecast
	lines := []string{fmt.Sprintf("%s at %s on %d × %s: prompts of %s and replies of %s tokens, %s at a time", s.Model.Name, s.Precision, s.TP,
		s.Accelerator.Name, text.Fixed(s.Prompt, 0), text.Fixed(s.Output, 0), text.Exact(s.Concurrency)), ""}
	add := func(key, text string) { lines = append(lines, fact(key, text)) }
	if !s.Fits {
		lines = append([]string{s.shortage(), lines[0]}, "")
		add("weights", s.weightsPhrase())
		_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
		return err
	}
	add("weights", s.weightsPhrase())
	add("kv cache", fmt.Sprintf("%s a token, %s a request; room for %s tokens (%s): full at %s requests",
		text.Bytes(float64(f.KVPerToken)), text.Bytes(float64(f.KVPerRequest)), text.Fixed(f.RoomTokens, 0), s.onEach(f.Room, " on each"), text.Fixed(f.FullAt, 0)))
	add("decode", fmt.Sprintf("%s ms a token (TPOT), %s tokens/s in all; each step reads %s", text.Number(1e3*f.TPOT), text.Fixed(f.DecodeRate, 0), s.onEach(f.StepBytesRead, " on each accelerator")))
	add("prefill", fmt.Sprintf("%s ms to the first token (TTFT) beside the others and without a queue; %s ms alone, %s tokens/s",
		text.Number(1e3*f.TTFT), text.Number(1e3*f.Prefill), text.Fixed(f.PrefillRate, 0)))
	add("ridge", s.ridgePhrase())
	if s.Concurrency > f.FullAt {
		add("full", fmt.Sprintf("%s requests do not fit at once: about %s run, the others wait or are preempted", text.Exact(s.Concurrency), text.Fixed(f.Batch, 0)))
	}
	add("price", s.Accelerator.pricePhrase(float64(s.TP)))
	add("assumed", fmt.Sprintf("%s of memory for the engine, cache at %s, steps of up to %s tokens", text.Percent(d.Utilization), s.KVPrecision, text.Count(d.BatchTokens)))
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// onEach says that a size is that of every accelerator, where there are several.
func (s Sheet) onEach(bytes float64, where string) string {
	if s.TP > 1 {
		return text.Bytes(bytes) + where
	}
	return text.Bytes(bytes)
}

func (s Sheet) weightsPhrase() string {
	out := text.Bytes(float64(s.Forecast.Weights))
	if s.TP > 1 {
		out += ", " + text.Bytes(float64(s.Forecast.Weights)/float64(s.TP)) + " on each accelerator"
	}
	return out
}

func (s Sheet) ridgePhrase() string {
	side := "memory decides its time"
	if s.Forecast.Batch > s.Forecast.Ridge {
		side = "arithmetic decides its time"
	}
	return fmt.Sprintf("%s tokens; a decode step has %s, so %s", text.Fixed(s.Forecast.Ridge, 0), text.Digits(s.Forecast.Batch, 4), side)
}

// shortage says by how much it does not fit, and what would.
func (s Sheet) shortage() string {
	text := "DOES NOT FIT: weights and one request lack " + s.onEach(s.ShortBytes, " on each accelerator") + "; "
	switch {
	case s.LeastTP > s.TP:
		return text + fmt.Sprintf("the least that fits is --tp %d", s.LeastTP)
	case s.LeastTP > 0:
		return text + fmt.Sprintf("--tp %d fits", s.LeastTP)
	}
	return text + "no number of them does: choose a larger one or a smaller --precision"
}
