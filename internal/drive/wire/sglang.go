package wire

import (
	"encoding/json"
	"fmt"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// sglangGenerate is SGLang's own API. Each of its events repeats all the text
// before it.
var sglangGenerate = Dialect{
	Name:     "sglang-generate",
	Path:     "/generate",
	KeyEnv:   "SGLANG_API_KEY",
	Features: Features{Schemas: true, IgnoreEOS: true, Seed: true, Stop: true},
	needs:    []llm.Need{llm.NeedAdapter, llm.NeedPriority, llm.NeedImages, llm.NeedTokenIDs},

	Encode: encodeSGLang,
	scan:   scanSGLang,
	tree:   treeSGLang,
	whole: func(t jsonio.Tree, d *Delta) {
		d.joinString(&d.Text, t.Str("text"))
		treeSGLangMeta(t, d)
	},

	ParseRequest: parse[sglangRequest],
	Output: func(dst []byte, r *Reply, _ llm.PartKind, text string) []byte {
		r.say(text)
		return append(appendSGLang(append(dst, "data: "...), r, string(r.said), false, r.ContinuousUsage), "\n\n"...)
	},
	Close: func(dst []byte, r *Reply) []byte {
		dst = appendSGLang(append(dst, "data: "...), r, string(r.said), true, r.IncludeUsage || r.ContinuousUsage)
		return append(dst, "\n\ndata: "+closingMark+"\n\n"...)
	},
	Whole: func(dst []byte, r *Reply, text, reasoning, tool string) []byte {
		return appendSGLang(dst, r, reasoning+text+tool, true, true)
	},
}

func encodeSGLang(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, r, q)
	b.textOrIDs("text", "input_ids", r)
	b.images("image_data", dataURL, r.Messages)
	b.object("sampling_params", func(p *body) {
		p.limit("max_new_tokens", r)
		p.ignoreEOS(r, q)
		p.float("temperature", r.Sampling.Temperature)
		p.float("top_p", r.Sampling.TopP)
		p.seed("sampling_seed", r.Sampling.Seed)
		p.strs("stop", r.Sampling.Stop)
		if f := q.formatOf(r); f != nil {
			p.str("json_schema", schemaOf(f)) // as text
		}
	})
	if r.Adapter != "" {
		b.str("lora_path", r.Adapter)
	}
	b.priority(r)
	b.flag("stream", r.Stream)
	return b.end()
}

func scanSGLang(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var text jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "text":
			s.Into(&text)
		case "meta_info":
			if s.Object(&seen, 0) {
				scanSGLangMeta(s, d)
			}
		default:
			skipOther(s, k)
		}
	}
	if s.AtEnd() {
		var whole []byte
		d.join(&whole, text)
		d.joinRest(whole)
	}
}

func scanSGLangMeta(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var times sglangTimes
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "prompt_tokens":
			s.Tally(&d.Usage.PromptTokens)
			d.HasUsage = true
		case "completion_tokens":
			s.Tally(&d.Usage.OutputTokens)
			d.HasUsage = true
		case "cached_tokens":
			s.Tally(&d.Usage.CachedTokens)
		case "cached_tokens_details":
			s.MarkSeen(&seen, 4)
			scanCountsIn(s, []string{"host", "storage"}, &d.Usage.HostTokens, &d.Usage.StorageTokens)
		case "spec_num_proposed_drafts":
			s.Tally(&d.Usage.Drafted)
		case "spec_num_correct_drafts":
			s.Tally(&d.Usage.Accepted)
		case "image_tokens":
			s.Tally(&d.Usage.VisionTokens)
		case "queue_time":
			s.MarkSeen(&seen, 0)
			times.queue, times.waited = s.Number()
		case "forward_entry_time":
			s.MarkSeen(&seen, 1)
			times.began, _ = s.Number()
		case "prefill_finished_time":
			s.MarkSeen(&seen, 2)
			times.ended, _ = s.Number()
		case "dp_rank": // in every event
			s.MarkSeen(&seen, 3)
			if !s.Null() {
				d.Served.Replica = rankName(s.Count())
			}
		case "finish_reason":
			s.FailIf(!s.Null())
		default:
			s.Skip()
		}
	}
	d.Timing = times.timing()
}

// treeSGLang reads a stream event.
func treeSGLang(t jsonio.Tree, d *Delta) {
	d.joinRest([]byte(t.Str("text")))
	treeSGLangMeta(t, d)
}

func treeSGLangMeta(t jsonio.Tree, d *Delta) {
	meta := t.Object("meta_info")
	d.Timing, d.Served = timingOf(t), servedBy(t)
	d.HasUsage = meta.Has("prompt_tokens") || meta.Has("completion_tokens")
	d.Usage = llm.Usage{PromptTokens: meta.Count("prompt_tokens"), CachedTokens: meta.Count("cached_tokens"),
		OutputTokens: meta.Count("completion_tokens"), VisionTokens: meta.Count("image_tokens")}
	treeDetails(t, d)
	reason := meta.Object("finish_reason")
	if kind := reason.Str("type"); kind == "abort" {
		d.fail("aborted: " + reason.Str("message"))
	} else {
		d.readFinish(kind)
	}
}

type sglangRequest struct {
	Text           *string         `json:"text"`
	InputIDs       []int32         `json:"input_ids"`
	Images         json.RawMessage `json:"image_data"`
	Stream         bool            `json:"stream"`
	Adapter        string          `json:"lora_path"`
	Priority       *int            `json:"priority"`
	SamplingParams struct {
		knobs
		MaxNewTokens *int   `json:"max_new_tokens"`
		SamplingSeed *int64 `json:"sampling_seed"`
		JSONSchema   string `json:"json_schema"`
	} `json:"sampling_params"`
}

func (in *sglangRequest) request() (*llm.Request, ServerOptions, error) {
	p := in.SamplingParams
	p.Seed = p.SamplingSeed
	o := ServerOptions{IncludeUsage: true, ContinuousUsage: in.Stream, IgnoreEOS: p.IgnoreEOS}
	var messages []llm.Message
	var err error
	if len(in.InputIDs) == 0 {
		messages, err = parseText("text", in.Text)
	}
	if err == nil && messages != nil {
		var images []string
		if images, err = parseStrings("image_data", in.Images); err == nil {
			err = readImages("image_data", dataURL, messages, images)
		}
	}
	if err != nil {
		return nil, o, err
	}
	r, err := p.request("sampling_params.", messages, p.MaxNewTokens, in.Stream)
	if err == nil {
		r.PromptIDs = in.InputIDs
		r.Adapter, r.Priority, r.Format = in.Adapter, in.Priority, formatIf(llm.JSON(p.JSONSchema))
	}
	return r, o, err
}

func appendSGLang(dst []byte, r *Reply, text string, last, usage bool) []byte {
	dst = jsonio.Appendf(dst, `{"text":%s,"meta_info":{"id":%s`, text, r.ID)
	switch {
	case !last:
		dst = append(dst, `,"finish_reason":null`...)
	case r.Finish == "length":
		dst = jsonio.Appendf(dst, `,"finish_reason":{"type":"length","length":%d}`, r.Usage.OutputTokens)
	default:
		dst = append(dst, `,"finish_reason":{"type":"stop","matched":2}`...)
	}
	if usage {
		dst = jsonio.Appendf(dst, `,"prompt_tokens":%d,"completion_tokens":%d,"cached_tokens":%d`, r.Usage.PromptTokens, r.Usage.OutputTokens, r.Usage.CachedTokens)
		if r.Usage.VisionTokens > 0 {
			dst = jsonio.Appendf(dst, `,"image_tokens":%d`, r.Usage.VisionTokens)
		}
		if r.Usage.Drafted > 0 {
			dst = jsonio.Appendf(dst, `,"spec_num_proposed_drafts":%d,"spec_num_correct_drafts":%d`, r.Usage.Drafted, r.Usage.Accepted)
		}
	}
	if t := r.Timing; last && t.Prefill > 0 {
		// Points in time by the clock of the server, whichever that is.
		dst = fmt.Appendf(dst, `,"queue_time":%.9f,"forward_entry_time":%.9f,"prefill_finished_time":%.9f`,
			float64(t.Queue)/1e9, float64(r.Created), float64(r.Created)+float64(t.Prefill)/1e9)
	}
	return append(dst, "}}"...)
}
