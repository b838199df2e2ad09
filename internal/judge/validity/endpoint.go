package validity

import (
	"time"

	"redline/internal/llm"
)

// Endpoint is the evidence about one address of a server. What was not learned
// is nil or empty.
type Endpoint struct {
	URL string `json:"url"`
	API string `json:"api"`
	// Local says that the server runs on this machine.
	Local bool `json:"local"`
	// Insecure says that its certificate is not to be verified.
	Insecure bool `json:"insecure,omitempty"`
	// KeepsLength says that the API has a word by which replies have the length asked
	// for, AskedTokens.
	KeepsLength bool `json:"-"`
	// Whole says that replies are not to be streamed.
	Whole bool `json:"whole,omitempty"`

	// Proxy is the host of the proxy on the way, to which connections are made.
	Proxy string `json:"proxy,omitempty"`
	// Handshake is the round trip by TCP's handshake; Unreachable is why
	// there is none.
	Handshake   Spread `json:"handshake"`
	Unreachable string `json:"unreachable,omitempty"`

	Session *Session `json:"tls,omitempty"`
	// SessionFault is why there is no TLS session.
	SessionFault string `json:"tls_fault,omitempty"`
	// ServerHeader is what the server calls itself.
	ServerHeader string `json:"server_header,omitempty"`
	Skew         *Skew  `json:"skew,omitempty"`

	Models      []string `json:"models,omitempty"`
	ModelsFault string   `json:"models_fault,omitempty"`
	// ModelsStatus is the status with which the list was refused, ModelsCure what to
	// do about it where that is known.
	ModelsStatus int    `json:"-"`
	ModelsCure   string `json:"-"`
	// Model is the one that is asked; Unlisted says that the server does not
	// list it.
	Model    string `json:"model,omitempty"`
	Unlisted bool   `json:"unlisted,omitempty"`
	OwnedBy  string `json:"owned_by,omitempty"`
	Version  string `json:"version,omitempty"`

	// Metrics is the engine whose figures are on the metrics page, and
	// MetricsURL where that is, if not beside the API.
	Metrics      string `json:"metrics_engine,omitempty"`
	MetricsURL   string `json:"metrics_url,omitempty"`
	MetricsFault string `json:"metrics_fault,omitempty"`

	// Cold is the first reply, Fresh one to a new prompt after it, and Again
	// one to the same prompt as Fresh.
	Cold  *Reply `json:"cold,omitempty"`
	Fresh *Reply `json:"fresh,omitempty"`
	Again *Reply `json:"again,omitempty"`

	now time.Time // when it is judged
}

// Session is a TLS session and the certificate behind it.
type Session struct {
	Version string    `json:"version"`
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Expires time.Time `json:"expires"`
}

// Skew bounds how far the server's clock is ahead of ours, in nanoseconds.
type Skew struct {
	Min int64 `json:"least_ns"`
	Max int64 `json:"most_ns"`
}

// Reply is what came of one request. Times are nanoseconds.
type Reply struct {
	// Fault is why it failed; "" where it did not.
	Fault   string      `json:"fault,omitempty"`
	Outcome llm.Outcome `json:"outcome"`
	Status  int         `json:"status,omitempty"`

	TTFT int64 `json:"ttft_ns"`
	E2E  int64 `json:"e2e_ns"`
	// Events carried output; Arrivals is how many different times they have.
	Events   int `json:"events"`
	Arrivals int `json:"arrivals"`

	// Usage says that the server counted tokens.
	Usage  bool `json:"usage"`
	Prompt int  `json:"prompt_tokens,omitempty"`
	Cached int  `json:"cached_tokens,omitempty"`
	Output int  `json:"output_tokens,omitempty"`

	// Text is what it says, and Answered that it came with HTTP.
	Text     string `json:"-"`
	Answered bool   `json:"-"`
}

// AskedTokens is the length of the replies that an endpoint is asked for.
const AskedTokens = 16
