package client

import "time"

// Spec says which server to ask and how. It is the plan's provider block.
type Spec struct {
	Name string `yaml:"name,omitempty"`
	// URLs are base URLs or full paths; a known path selects the API. Several
	// are used in turn.
	URLs      []string          `yaml:"api_endpoint,omitempty"`
	API       string            `yaml:"api,omitempty"`
	Model     string            `yaml:"model,omitempty"`
	APIKey    string            `yaml:"api_key,omitempty"`
	Headers   map[string]string `yaml:"headers,omitempty"`
	ExtraBody map[string]any    `yaml:"extra_body,omitempty"`
	TLS       TLS               `yaml:"tls,omitempty"`
	// Stream is true unless the plan says otherwise.
	Stream *bool `yaml:"stream,omitempty"`
	// Timeout bounds one request from its first byte sent to its end.
	Timeout time.Duration `yaml:"timeout,omitempty"`
}

// TLS says whom to trust. Servers are verified unless Insecure.
type TLS struct {
	Insecure   bool   `yaml:"insecure,omitempty"`
	CACert     string `yaml:"ca_cert,omitempty"`
	ClientCert string `yaml:"client_cert,omitempty"` // certificate and key in one PEM file
}
