package measure

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"redline/internal/drive/client"
	"redline/internal/llm"
)

// refusal says in a user's words what a status before the load means, with its
// cure; "" of one that says nothing of its own.
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

// refusalText words a status, what the server said about it, and the cure.
func refusalText(status int, said, cure string) string {
	cause, usual := refusal(status)
	if cause != "" && said != "" {
		said = " (it says: " + said + ")"
	}
	text := fmt.Sprintf("%d from the server", status)
	if cause+said != "" {
		text += ": " + cause + said
	}
	if cure = cmp.Or(cure, usual); cure != "" {
		text = strings.TrimSuffix(text, ".") + "; " + cure
	}
	return text
}

// statusOf is the status with which a control call was refused, 0 where it was
// not.
func statusOf(err error) int {
	var e *client.StatusError
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// cureOf is what to look at after a failed preflight, "" where the status says
// it already.
func (t *Target) cureOf(f *llm.Fault, served []client.ServedModel) string {
	switch {
	case f.Status == http.StatusNotFound:
		if names := modelNames(served); names != "" {
			return "it serves " + names
		}
		return "is the path in --url right, and is there a model of that name (--model)?"
	case f.Outcome == llm.Reset && !t.answeredHTTP && len(served) == 0 && strings.HasPrefix(t.client.LastURL(), "http://"):
		return "if the server speaks TLS, use https:// in --url"
	}
	return ""
}
