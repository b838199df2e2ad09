package validity

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

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

func judgeReach(e *Endpoint) outcome {
	if e.Unreachable != "" {
		return badWithCure(e.Unreachable)
	}
	figure := fmt.Sprintf("TCP round trip p50 %s over %s", text.Span(e.Handshake.P50), text.Plural(e.Handshake.N, "handshake"))
	if e.Proxy != "" {
		figure += " with the proxy " + e.Proxy
	}
	return warnIf(e.Handshake.P50 > int64(farAway), figure, "it is part of every ttft: run redline nearer to the server")
}

// badWithCure is the client's word on a connection: what is wrong, and mostly the cure
// behind a colon.
func badWithCure(said string) outcome {
	figure, cure, _ := strings.Cut(said, ": ")
	return bad(figure, cure)
}

func judgePlace(e *Endpoint) outcome {
	if e.Unreachable != "" {
		return silent
	}
	if e.Local {
		return warn("no, this one")
	}
	return ok("yes")
}

func judgeTLS(e *Endpoint) outcome {
	if e.SessionFault != "" {
		return badWithCure(e.SessionFault)
	}
	if e.Session == nil {
		return silent
	}
	return ok(e.Session.Version)
}

func judgeCertificate(e *Endpoint) outcome {
	s := e.Session
	if s == nil {
		return silent
	}
	left := s.Expires.Sub(e.now)
	figure := fmt.Sprintf("until %s (%s)", s.Expires.UTC().Format(time.DateOnly), text.Plural(int(left/(24*time.Hour)), "day"))
	switch {
	case e.Insecure:
		return warn(figure+", not verified", "--insecure trusts whoever answers: --ca-cert FILE instead")
	case left < soon:
		return warn(figure, "renew it")
	}
	return ok(figure)
}

func judgeModels(e *Endpoint) outcome {
	if !e.isAsked() {
		return silent
	}
	names := e.modelNames()
	cause, cure := refusal(e.ModelsStatus)
	switch {
	case e.Model == "" && cause != "":
		return bad(fmt.Sprintf("%d from the server: %s", e.ModelsStatus, cause), cure)
	case e.Model == "":
		cure = e.ModelsCure
		if e.ModelsStatus == http.StatusNotFound {
			cure = "is the path in --url right? If it is, give --model"
		}
		why := "its model list is empty"
		if e.ModelsFault != "" {
			why = "no model list: " + e.ModelsFault
		}
		return bad("cannot tell which model to ask ("+why+")", cure)
	case e.ModelsFault != "" || len(e.Models) == 0:
		return ok("no list" + reason(e.ModelsFault) + "; asking " + e.Model)
	case e.Unlisted:
		return warn(fmt.Sprintf("%s is not listed: %s", e.Model, names), "give --model one of those")
	}
	return ok(fmt.Sprintf("%s; asking %s", names, e.Model))
}

// modelNames are the first of those that are listed.
func (e *Endpoint) modelNames() string {
	const max = 5
	names := strings.Join(e.Models[:min(len(e.Models), max)], ", ")
	if more := len(e.Models) - max; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// isAsked reports whether the endpoint is asked anything: one that is not reached or
// not to be trusted is not.
func (e *Endpoint) isAsked() bool { return e.Unreachable == "" && e.SessionFault == "" }

func reason(fault string) string {
	if fault == "" {
		return ""
	}
	return " (" + fault + ")"
}

// judgeEngine joins what the server says of itself in different places.
func judgeEngine(e *Endpoint) outcome {
	if !e.isAsked() {
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
		return unread("it does not tell")
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

func judgeReply(e *Endpoint) outcome {
	if r := e.firstFault(); r != nil {
		if r.Outcome == llm.Timeout && r != e.Cold {
			return warn(fmt.Sprintf("%s for the first one, no time left for more", text.Span(e.Cold.E2E)), "caches were not looked at: try again when the server is less busy")
		}
		return e.judgeFault(r)
	}
	r := e.sample()
	if r == nil {
		return silent
	}
	return ok(fmt.Sprintf("ttft %s, %s in all (first one ttft %s)", text.Span(r.TTFT), text.Span(r.E2E), text.Span(e.Cold.TTFT)))
}

// judgeFault words why a request failed, with the cure that its status or its outcome
// suggests.
func (e *Endpoint) judgeFault(r *Reply) outcome {
	figure := r.Fault
	cause, cure := refusal(r.Status)
	if r.Status != 0 {
		if cause != "" && figure != "" {
			figure = cause + " (it says: " + figure + ")"
		}
		figure = text.Join(": ", fmt.Sprintf("%d from the server", r.Status), cmp.Or(figure, cause))
	}
	switch {
	case cure != "":
	case r.Status == http.StatusNotFound && len(e.Models) > 0:
		cure = "it serves " + e.modelNames()
	case r.Status == http.StatusNotFound:
		cure = "is the path in --url right, and is there a model of that name (--model)?"
	case r.Outcome == llm.Timeout:
		cure = "is the model still loading, or the server busy? try again"
	case r.Outcome == llm.Reset && !r.Answered && len(e.Models) == 0 && strings.HasPrefix(e.URL, "http://"):
		cure = "if the server speaks TLS, use https:// in --url"
	}
	return bad(figure, cure)
}

// refusal says in a user's words what a status before a load means, with its cure;
// "" of one that says nothing of its own.
func refusal(status int) (cause, cure string) {
	switch status {
	case http.StatusUnauthorized:
		return "the API key is missing or wrong", "name the variable that holds it with --api-key-env"
	case http.StatusForbidden:
		return "the API key may not use this, or something in front of the server refuses", "check the key (--api-key-env) and --url"
	case http.StatusTooManyRequests:
		return "it takes no more requests from this key now, or its quota is spent", "wait, or use another key"
	case http.StatusServiceUnavailable:
		return "it is starting up or overloaded", "try again when it is ready"
	}
	return "", ""
}

// judgeStreaming looks at the reply whose events came most apart: one that came
// in bursts by chance proves no buffer on the way.
func judgeStreaming(e *Endpoint) outcome {
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
	return bad(figure)
}

func judgeUsage(e *Endpoint) outcome {
	r := e.sample()
	switch {
	case r == nil:
		return silent
	case !r.Usage:
		return warn("none", "tokens are counted here, by another vocabulary: let the server report usage (stream_options.include_usage)")
	}
	return ok(fmt.Sprintf("%d prompt and %d output tokens", r.Prompt, r.Output))
}

func judgeTokensPerEvent(e *Endpoint) outcome {
	r := e.sample()
	if r == nil || !r.Usage || r.Output == 0 || r.Events < 2 || e.Whole {
		return silent
	}
	per := float64(r.Output) / float64(r.Events)
	// The end-of-sequence token is counted and not shown.
	if r.Output > r.Events+1 {
		return warn(text.Number(per))
	}
	return ok(text.Number(per))
}

func judgeLength(e *Endpoint) outcome {
	r := e.sample()
	if r == nil || !r.Usage {
		return silent
	}
	figure := fmt.Sprintf("asked %d tokens, got %d", AskedTokens, r.Output)
	return warnIf(r.Output != AskedTokens, figure, lengthCure(e.KeepsLength))
}

func judgeMetrics(e *Endpoint) outcome {
	switch {
	case !e.isAsked():
		return silent
	case e.Metrics != "" && e.MetricsURL != "":
		return ok(e.MetricsURL + " of " + e.Metrics)
	case e.Metrics != "":
		return ok("/metrics of " + e.Metrics)
	case e.MetricsURL != "":
		return warn("none" + reason(e.MetricsFault))
	}
	return unread("none" + reason(strings.TrimPrefix(e.MetricsFault, "/metrics: ")))
}

// judgeSkew holds the clocks to what one second's resolution can tell.
func judgeSkew(e *Endpoint) outcome {
	if e.Skew == nil {
		return silent
	}
	middle, half := (e.Skew.Min+e.Skew.Max)/2, (e.Skew.Max-e.Skew.Min)/2
	figure := fmt.Sprintf("%+.1f s ± %.1f s (the Date header tells whole seconds)", float64(middle)/1e9, float64(half)/1e9)
	return warnIf(e.Skew.Min > int64(maxSkew) || e.Skew.Max < -int64(maxSkew), figure)
}

// judgeResponseCache compares the same request's two replies. A prefix cache
// shortens the first token; only a kept reply also shortens all the others. The
// first reply, to another prompt, stands beside the fresh one, so that one that
// was slow by chance is not taken for the rule.
func judgeResponseCache(e *Endpoint) outcome {
	if e.Again == nil || e.firstFault() != nil {
		return silent
	}
	cold, fresh, again := e.Cold, e.Fresh, e.Again
	figure := fmt.Sprintf("same request: ttft %s, then %s; in all %s, then %s",
		text.Span(fresh.TTFT), text.Span(again.TTFT), text.Span(fresh.E2E), text.Span(again.E2E))
	first := min(cold.TTFT, fresh.TTFT)
	rest := min(cold.E2E-cold.TTFT, fresh.E2E-fresh.TTFT)
	switch {
	case again.Text == fresh.Text && sooner(first+rest, again.E2E) && sooner(rest, again.E2E-again.TTFT):
		return bad(figure)
	case sooner(first, again.TTFT) && again.Cached == 0:
		return warn(figure, "much faster, and no cached tokens reported: is a cache in front of the engine?")
	}
	return ok(figure)
}

func judgePrefixCache(e *Endpoint) outcome {
	switch {
	case e.Again == nil || e.firstFault() != nil:
		return silent
	case !e.Again.Usage:
		return unread("usage is not reported")
	case e.Again.Cached == 0:
		return ok("no cached tokens reported for a repeated prompt")
	}
	return ok(fmt.Sprintf("%d of %d tokens of a repeated prompt came from it", e.Again.Cached, e.Again.Prompt))
}
