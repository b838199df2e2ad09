package doctor

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/text"
)

const (
	// farAway is a round trip that shows in every first token.
	farAway = 20 * time.Millisecond
	// quick is a reply so short that its events can come together by the pace
	// of the engine alone.
	quick = 30 * time.Millisecond
	// soon is when a certificate should be renewed.
	soon = 14 * 24 * time.Hour
	// maxSkew is as far as clocks may differ before logs no longer join.
	maxSkew = 2 * time.Second
)

func judgeReach(e *Endpoint) judgement {
	if e.Unreachable != "" {
		return bad(e.Unreachable, "is the server running there, and is --url right?")
	}
	figure := fmt.Sprintf("TCP round trip p50 %s over %s", span(e.Handshake.P50), text.Plural(e.Handshake.N, "handshake"))
	if e.Proxy != "" {
		figure += " with the proxy " + e.Proxy
	}
	if e.Handshake.P50 > int64(farAway) {
		return warn(figure, "it is part of every ttft: run redline nearer to the server")
	}
	return ok(figure)
}

func judgePlace(e *Endpoint) judgement {
	if e.Unreachable != "" {
		return silent
	}
	if e.Local {
		return warn("no, this one", "redline and the server take each other's cores: run redline elsewhere")
	}
	return ok("yes")
}

func judgeTLS(e *Endpoint) judgement {
	if e.SessionFault != "" {
		return bad(e.SessionFault, "does the server speak TLS there, or should --url begin with http://?")
	}
	if e.Session == nil {
		return silent
	}
	return ok(e.Session.Version)
}

func judgeCertificate(e *Endpoint) judgement {
	s := e.Session
	if s == nil {
		return silent
	}
	left := s.Expires.Sub(e.now)
	figure := fmt.Sprintf("until %s (%s)", s.Expires.UTC().Format(time.DateOnly), text.Plural(int(left/(24*time.Hour)), "day"))
	switch {
	case e.Insecure:
		return warn(figure+", not verified", "--insecure trusts whoever answers: --ca-cert FILE instead")
	case left < 0:
		return bad("expired "+s.Expires.UTC().Format(time.DateOnly), "renew it, or measure with --insecure")
	case s.Distrust != "":
		return bad(s.Distrust+", issued by "+s.Issuer, trustCure(s.Distrust))
	case left < soon:
		return warn(figure, "renew it")
	}
	return ok(figure)
}

func trustCure(why string) string {
	if why == "for another name" {
		return "use the certificate's name in --url"
	}
	return "trust its issuer with --ca-cert FILE, or measure with --insecure"
}

func judgeModels(e *Endpoint) judgement {
	if !e.spoke() {
		return silent
	}
	names := strings.Join(e.Models[:min(len(e.Models), 3)], ", ")
	if more := len(e.Models) - 3; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case e.Model == "":
		return bad("none listed"+reason(e.ModelsFault), "give --model")
	case e.ModelsFault != "" || len(e.Models) == 0:
		return ok("no list" + reason(e.ModelsFault) + "; asking " + e.Model)
	case e.Unlisted:
		return warn(fmt.Sprintf("%s is not listed: %s", e.Model, names), "give --model one of those")
	}
	return ok(fmt.Sprintf("%s; asking %s", names, e.Model))
}

func (e *Endpoint) spoke() bool {
	return e.Model != "" || e.ModelsFault != "" || e.MetricsFault != "" || e.Metrics != ""
}

func reason(fault string) string {
	if fault == "" {
		return ""
	}
	return " (" + fault + ")"
}

// judgeEngine joins what the server says of itself in different places.
func judgeEngine(e *Endpoint) judgement {
	if !e.spoke() {
		return silent
	}
	var parts []string
	for _, p := range []struct{ word, text string }{
		{"", e.Metrics}, {"version ", e.Version}, {"owned by ", e.OwnedBy}, {"Server: ", e.ServerHeader},
	} {
		if p.text != "" {
			parts = append(parts, p.word+p.text)
		}
	}
	if len(parts) == 0 {
		return judgement{Unread, "it does not tell", ""}
	}
	return ok(strings.Join(parts, ", "))
}

// firstFault gives the first reply that did not come in order.
func (e *Endpoint) firstFault() *Reply {
	for _, r := range []*Reply{e.Cold, e.Fresh, e.Again} {
		if r != nil && r.Fault != "" {
			return r
		}
	}
	return nil
}

// sample is a reply to judge by: the fresh one, since the first may be of a
// server that was still waking up.
func (e *Endpoint) sample() *Reply {
	for _, r := range []*Reply{e.Fresh, e.Cold} {
		if r != nil && r.Fault == "" {
			return r
		}
	}
	return nil
}

func judgeReply(e *Endpoint) judgement {
	if r := e.firstFault(); r != nil {
		figure := string(r.Outcome) + ": " + r.Fault
		if r.Status != 0 {
			figure = fmt.Sprintf("HTTP %d: %s", r.Status, r.Fault)
		}
		if r.Outcome == llm.Timeout && r != e.Cold {
			return warn(fmt.Sprintf("%s for the first one, no time left for more", span(e.Cold.E2E)), "caches were not looked at: try again when the server is less busy")
		}
		return bad(figure, replyCure(r))
	}
	r := e.sample()
	if r == nil {
		return silent
	}
	return ok(fmt.Sprintf("ttft %s, %s in all (first one ttft %s)", span(r.TTFT), span(r.E2E), span(e.Cold.TTFT)))
}

func replyCure(r *Reply) string {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "name the variable that holds the key with --api-key-env"
	case http.StatusNotFound:
		return "is the path in --url right, and --model one that it serves?"
	}
	switch r.Outcome {
	case llm.Rejected:
		return "the server is full or limits its clients: wait, or ask for a higher limit"
	case llm.Timeout:
		return "is the model still loading, or the server busy? try again"
	case llm.Malformed, llm.Truncated, llm.Empty:
		return "-v of redline run shows the exchange; --no-stream measures whole replies"
	}
	return "-v of redline run shows the exchange"
}

// judgeStreaming looks at the reply whose events came most apart: one that came
// in bursts by chance proves no buffer on the way.
func judgeStreaming(e *Endpoint) judgement {
	r := e.sample()
	if r == nil {
		return silent
	}
	for _, other := range []*Reply{e.Cold, e.Again} {
		if other != nil && other.Fault == "" && other.Arrivals > r.Arrivals {
			r = other
		}
	}
	figure := fmt.Sprintf("%s at %s", text.Plural(r.Events, "event"), text.Plural(r.Arrivals, "time"))
	switch {
	case e.Whole:
		return warn("not asked for", "ttft, tpot and itl are not known: leave --no-stream out")
	case r.Events == 1:
		return warn(figure, "the whole reply is one event: tpot and itl cannot be measured")
	case r.Arrivals*4 > r.Events:
		return ok(figure)
	case r.E2E < int64(quick):
		return ok(figure + ", too quick to tell whether they are held back")
	}
	return bad(figure, "")
}

func judgeUsage(e *Endpoint) judgement {
	r := e.sample()
	switch {
	case r == nil:
		return silent
	case !r.Usage:
		return warn("none", "tokens are counted here, by another vocabulary: let the server report usage (stream_options.include_usage)")
	}
	return ok(fmt.Sprintf("%d prompt and %d output tokens", r.Prompt, r.Output))
}

func judgeTokensPerEvent(e *Endpoint) judgement {
	r := e.sample()
	if r == nil || !r.Usage || r.Output == 0 || r.Events < 2 || e.Whole {
		return silent
	}
	per := float64(r.Output) / float64(r.Events)
	// The end-of-sequence token is counted and not shown.
	if r.Output > r.Events+1 {
		return warn(text.Number(per), "the times between tokens inside an event are not known; itl is not shown, icl is")
	}
	return ok(text.Number(per))
}

func judgeLength(e *Endpoint) judgement {
	r := e.sample()
	if r == nil || !r.Usage {
		return silent
	}
	figure := fmt.Sprintf("asked %d tokens, got %d", askedTokens, r.Output)
	if r.Output != askedTokens {
		return warn(figure, "ignore_eos is not respected: lengths are the model's own, and loads differ between runs")
	}
	return ok(figure)
}

func judgeMetrics(e *Endpoint) judgement {
	switch {
	case !e.spoke():
		return silent
	case e.Metrics != "" && e.MetricsURL != "":
		return ok(e.MetricsURL + " of " + e.Metrics)
	case e.Metrics != "":
		return ok("/metrics of " + e.Metrics)
	case e.MetricsURL != "":
		return warn("none"+reason(e.MetricsFault), "give the engine's Prometheus page with --metrics-url")
	}
	return judgement{Unread, "none" + reason(strings.TrimPrefix(e.MetricsFault, "/metrics: ")), ""}
}

// judgeSkew holds the clocks to what one second's resolution can tell.
func judgeSkew(e *Endpoint) judgement {
	if e.Skew == nil {
		return silent
	}
	middle, half := (e.Skew.Least+e.Skew.Most)/2, (e.Skew.Most-e.Skew.Least)/2
	figure := fmt.Sprintf("%+.1f s ± %.1f s (the Date header tells whole seconds)", float64(middle)/1e9, float64(half)/1e9)
	if e.Skew.Least > int64(maxSkew) || e.Skew.Most < -int64(maxSkew) {
		return warn(figure, "logs of both sides do not join: keep both clocks by NTP")
	}
	return ok(figure)
}

// judgeResponseCache compares the same request's two replies. A prefix cache
// shortens the first token; only a kept reply also shortens all the others. The
// first reply, to another prompt, stands beside the fresh one, so that one that
// was slow by chance is not taken for the rule.
func judgeResponseCache(e *Endpoint) judgement {
	if e.Again == nil || e.firstFault() != nil {
		return silent
	}
	cold, fresh, again := e.Cold, e.Fresh, e.Again
	figure := fmt.Sprintf("same request: ttft %s, then %s; in all %s, then %s",
		span(fresh.TTFT), span(again.TTFT), span(fresh.E2E), span(again.E2E))
	first := min(cold.TTFT, fresh.TTFT)
	rest := min(cold.E2E-cold.TTFT, fresh.E2E-fresh.TTFT)
	switch {
	case again.text == fresh.text && far(again.E2E, first+rest) && far(again.E2E-again.TTFT, rest):
		return bad(figure, "")
	case far(again.TTFT, first) && again.Cached == 0:
		return warn(figure, "much faster, and no cached tokens reported: is a cache in front of the engine?")
	}
	return ok(figure)
}

// far reports whether a repeated time is far below that of the first.
func far(again, first int64) bool { return validity.Sooner(time.Duration(first), time.Duration(again)) }

func judgePrefixCache(e *Endpoint) judgement {
	switch {
	case e.Again == nil || e.firstFault() != nil:
		return silent
	case !e.Again.Usage:
		return judgement{Unread, "usage is not reported", ""}
	case e.Again.Cached == 0:
		return ok("no cached tokens reported for a repeated prompt")
	}
	return ok(fmt.Sprintf("%d of %d tokens of a repeated prompt came from it", e.Again.Cached, e.Again.Prompt))
}
