package config

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"redline/internal/catalog"
	"redline/internal/drive/client"
	"redline/internal/drive/load"
	"redline/internal/drive/wire"
	"redline/internal/yaml"
)

// What holds where nothing is said.
const (
	defaultRate = 10
	defaultAPI  = "openai-chat"

	formatJSON = "json"
	formatText = "text"
)

// Bounds beyond which a value is taken for a slip of the finger.
const (
	maxConcurrency = 100_000
	maxRequests    = 100_000_000
	maxLength      = 30 * 24 * time.Hour
)

// defaultSeed is the same for all runs, so that two of them can be compared request by
// request; their salts keep a server's cache from knowing the prompts.
const defaultSeed = 1

var defaultPercentiles = []float64{50, 90, 95, 99}

// apisOfEngines are what servers speak that people name in place of an API.
var apisOfEngines = map[string]string{"vllm": defaultAPI, "openai": defaultAPI, "nim": defaultAPI, "dynamo": defaultAPI, "trtllm": defaultAPI, "tensorrt-llm": defaultAPI,
	"lmdeploy": defaultAPI, "litellm": defaultAPI, "azure": defaultAPI, "chat": defaultAPI, "completions": "openai-completions", "responses": "openai-responses",
	"sglang": defaultAPI + " or sglang-generate", "tgi": defaultAPI + " or tgi-generate", "ollama": "ollama-chat", "llamacpp": defaultAPI + " or llamacpp-completion",
	"llama.cpp": defaultAPI + " or llamacpp-completion", "anthropic": "anthropic-messages", "claude": "anthropic-messages"}

// complete fills in what was left open and checks the whole.
func (c *Config) complete(in Input) error {
	if !c.isSet("seed") {
		c.Seed = cmp.Or(in.Seed, defaultSeed)
	}
	c.addresses()
	if token, ok := in.LookupEnv("HF_TOKEN"); ok {
		c.Hide([]string{token})
	}
	var wrong error
	for _, rule := range []func() error{
		func() error { return c.togglePlan(in.Command) },
		c.workingSetPlan,
		c.endpoints,
		func() error { return c.key(in.LookupEnv) },
		func() error { return c.proxies(in.LookupEnv) },
		func() error { return c.stamps(in.LookupEnv) },
		c.zeros,
		c.provider,
		c.checkTelemetry,
		c.catalogs,
		c.followRules,
		c.loop,
		c.bounds,
		c.faults,
		c.work,
		c.cancels,
		func() error { return c.length(in.Command) },
		c.events,
		c.confidence,
		c.tokenTimes,
		c.examination,
		c.engine,
		c.show,
		c.resolvePublishing,
		c.workers,
		c.experiment,
		c.checkTuning,
		c.prices,
		c.demand,
		c.labels,
		func() error { return c.isolation(in.Command) },
	} {
		if err := rule(); err != nil && c.isNew(err, wrong) {
			wrong = yaml.Add(wrong, err)
		}
	}
	return wrong
}

// isNew reports whether a mistake is none that may follow from those before it: it is
// of a setting that was given, at a place of its own.
func (c *Config) isNew(err, before error) bool {
	if before == nil {
		return true
	}
	first, ok := before.(*Error)
	next, also := err.(*Error)
	if !ok || !also {
		return false
	}
	same := func(e *Error) bool { return e.Place == next.Place }
	given := slices.ContainsFunc(slices.Collect(maps.Values(c.places)), func(p place) bool { return p.text == next.Place })
	return given && !same(first) && !slices.ContainsFunc(first.More, same)
}

// unmeasured are the paths of APIs whose replies are no text.
var unmeasured = regexp.MustCompile(`/(audio|images|videos|realtime)(/|$)`)

// endpoints checks the URLs and finds the API that they speak.
func (c *Config) endpoints() error {
	const key = "provider.api_endpoint"
	var api string
	for _, text := range c.Provider.URLs {
		served, err := c.endpoint(key, text)
		if err != nil {
			return err
		}
		d, ok := wire.ByPath(served)
		if !ok && c.Provider.API == "" && unmeasured.MatchString(served) {
			return c.errorAt(key, "the path %s is that of an API that redline does not measure: it measures no speech, transcription, image generation or realtime sessions", quote(served))
		}
		if !ok && c.Provider.API == "" && !wire.IsBase(served) {
			return c.errorAt(key, "the path %s is that of no API that is known: give the base, or name it with --api (%s)", quote(served), strings.Join(wire.Names(), ", "))
		}
		if !ok {
			continue
		}
		if api != "" && api != d.Name {
			return c.errorAt(key, "expected one API for all endpoints, got %s and %s", api, d.Name)
		}
		api = d.Name
	}
	if c.Provider.API == "" {
		c.Provider.API = defaultAPI
		if api != "" {
			c.Provider.API = api
		}
	}
	if !slices.Contains(wire.Names(), c.Provider.API) {
		hint := "template describes any other API over HTTP"
		if api := apisOfEngines[strings.ToLower(c.Provider.API)]; api != "" {
			hint = "its API is " + api + " here"
		}
		return c.errorAt("provider.api", "expected one of %s, got %s; %s", strings.Join(wire.Names(), ", "), quote(c.Provider.API), hint)
	}
	d, err := c.Provider.Dialect()
	if err != nil {
		return c.errorIn("provider", err)
	}
	for _, text := range c.Provider.URLs {
		served, _ := c.endpoint(key, text)
		if other, ok := wire.ByPath(served); ok && d.Name != wire.TemplateName && !d.Serves(served) {
			return c.errorAt("provider.api", "is %s, but the endpoint's path is that of %s", c.Provider.API, other.Name)
		}
	}
	return nil
}

// addresses gives those that only name a host and a port their scheme.
func (c *Config) addresses() {
	lists := [][]string{c.Provider.URLs, c.Telemetry.MetricsURLs}
	for i := range c.Experiment.Variants {
		lists = append(lists, c.Experiment.Variants[i].URLs)
	}
	for _, urls := range lists {
		for i := range urls {
			urls[i] = client.Address(urls[i])
		}
	}
	for _, url := range []*string{&c.Experiment.OnURL, &c.Experiment.OffURL} {
		*url = client.Address(*url)
	}
	if c.Quality.Judge != nil {
		c.Quality.Judge.URL = client.Address(c.Quality.Judge.URL)
	}
}

// endpoint gives the path of one URL.
func (c *Config) endpoint(key, text string) (string, error) {
	if socket, ok := strings.CutPrefix(text, "unix:"); ok {
		if !path.IsAbs(strings.TrimPrefix(socket, "//")) {
			return "", c.errorAt(key, "expected an absolute socket path such as unix:/run/engine.sock, got %s", quote(text))
		}
		return "", nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || strings.ContainsAny(text, " \t\r\n"):
		return "", c.errorAt(key, "expected a URL such as http://127.0.0.1:8000, got %s", quote(cleanURL(text)))
	case slices.Contains([]string{"grpc", "grpcs", "ws", "wss"}, u.Scheme):
		return "", c.errorAt(key, "%s is not spoken: give the address of the server's HTTP API, which begins with http:// or https://, got %s",
			map[bool]string{true: "gRPC", false: "WebSocket"}[strings.HasPrefix(u.Scheme, "grpc")], quote(cleanURL(text)))
	case u.Scheme != "http" && u.Scheme != "https":
		return "", c.errorAt(key, "expected a URL that begins with http:// or https://, got %s", quote(cleanURL(text)))
	case u.Hostname() == "":
		return "", c.errorAt(key, "expected a URL with a host, got %s", quote(cleanURL(text)))
	case u.User != nil:
		return "", c.errorAt(key, "holds a user or password: give a key by --api-key-env, or a header")
	}
	return u.Path, nil
}

// MissingKey names the variable that should hold the API key and does not, which only
// a dry run lets pass; "" where there is none.
func (c *Config) MissingKey() string {
	if c.Provider.APIKey != "" {
		return ""
	}
	return c.keyEnv
}

// key finds the API key. A variable that was named must hold one; the default
// of the API may be missing, since many servers want none.
func (c *Config) key(lookup func(string) (string, bool)) error {
	const key = "provider.api_key"
	if strings.ContainsAny(c.Provider.APIKey, "\r\n\x00") {
		return c.errorAt(key, "holds a line break, expected the key alone")
	}
	if t, ok := c.templates[key]; ok && c.keyEnv == "" && c.Provider.APIKey == "" {
		return c.errorAt(key, "%s is empty, expected the key", t.Raw)
	}
	if c.keyEnv != "" {
		value, _ := lookup(c.keyEnv)
		if value == "" && !c.Output.DryRun { // which sends nothing
			return c.errorAt(key, "environment variable %s is not set (export %s=…)", c.keyEnv, c.keyEnv)
		}
		c.Provider.APIKey = value
		return nil
	}
	if c.Provider.APIKey != "" || c.Embedded() {
		return nil
	}
	if d, ok := wire.ByName(c.Provider.API); ok && d.KeyEnv != "" {
		if value, _ := lookup(d.KeyEnv); value != "" {
			c.Provider.APIKey, c.keyEnv = value, d.KeyEnv
		}
	}
	return nil
}

func (c *Config) provider() error {
	if _, err := wire.NewExtra(c.Provider.ExtraBody); err != nil {
		return c.errorIn("provider", err)
	}
	if err := c.Provider.Validate(); err != nil {
		return c.errorIn("provider", err)
	}
	c.Provider.Timeouts.Total = cmp.Or(c.Provider.Timeouts.Total, client.DefaultTimeout)
	return nil
}

// loop decides between open, closed and capped.
func (c *Config) loop() error {
	const rate, arrivals, cap = "load_profile.rate", "load_profile.arrival", "load_profile.max_concurrency"
	n := c.Load.Bounds.MaxConcurrency
	levels := n == 0 && (c.Experiment.Agents || c.Experiment.Concurrencies != nil)
	closed := c.isSet(cap) && !levels // --agents may name levels
	if closed && (n < 1 || n > maxConcurrency) {
		return c.errorAt(cap, "expected a number of requests in flight from 1 to %d, got %d", maxConcurrency, n)
	}
	if c.Load.Bounds.AtOnce {
		return c.atOnce()
	}
	if !c.isSet(rate) && !c.Load.Open() {
		timed := !closed && c.Workload.HasTimes() && !c.isSet("load_profile.profile")
		for _, key := range []string{arrivals, "load_profile.profile"} {
			switch {
			case closed && c.isSet(key):
				return c.errorAt(key, "a closed loop has no arrivals: give a rate too, or leave it out")
			case timed && c.isSet(key):
				return c.errorAt(key, "the workload's file says when its requests are due: give a rate too, or leave it out")
			}
		}
		if closed || timed {
			return nil
		}
		c.Load.Rate = defaultRate
	}
	if err := c.Load.Spec.Validate(); err != nil {
		return c.errorIn("load_profile", err)
	}
	c.Load.Process = cmp.Or(strings.ToLower(strings.TrimSpace(c.Load.Process)), "poisson")
	return nil
}

// atOnce settles a closed loop whose users all start at its beginning. Without
// their number each request has its own, and the first of them is measured.
func (c *Config) atOnce() error {
	b, key := &c.Load.Bounds, "load_profile.at_once"
	switch {
	case c.Load.Open():
		return c.errorAt(key, "requests that start at once have no rate: leave out one of the two")
	case b.MaxConcurrency == 0 && b.TotalRequests == 0:
		if c.isSet("load_profile.rate") {
			key = "load_profile.rate"
		}
		return c.errorAt(key, "sends all requests at once: say how many with --requests, or how many at a time with --concurrency")
	case b.MaxConcurrency == 0:
		b.MaxConcurrency = b.TotalRequests
		if b.Warmup == nil {
			b.Warmup = new(time.Duration)
		}
	}
	return nil
}

// fewRequests is the number of requests below which nothing is sent beside them.
const fewRequests = 50

// bounds checks how long the load lasts.
func (c *Config) bounds() error {
	const requests, duration, pace = "load_profile.total_requests", "load_profile.duration", "load_profile.pace"
	b := &c.Load.Bounds
	if b.Pace < 0 || b.Pace > maxLength {
		return c.errorAt(pace, "expected a time of at least 0 and at most %s, got %s", maxLength, b.Pace)
	}
	if b.Pace > 0 && c.Mode() != Closed && c.Experiment.Concurrencies == nil {
		return c.errorAt(pace, "is that of users of a closed loop: give a concurrency and no rate")
	}
	if c.isSet(requests) && (b.TotalRequests < 1 || b.TotalRequests > maxRequests) {
		return c.errorAt(requests, "expected a number of requests from 1 to %d, got %d", maxRequests, b.TotalRequests)
	}
	if c.isSet(duration) && (b.Duration <= 0 || b.Duration > maxLength) {
		return c.errorAt(duration, "expected a duration above 0 and at most %s, got %s", maxLength, b.Duration)
	}
	for _, edge := range []struct {
		key string
		d   *time.Duration
	}{{"load_profile.warmup", b.Warmup}, {"load_profile.drain", b.Drain}} {
		if edge.d != nil && (*edge.d < 0 || *edge.d > maxLength) {
			return c.errorAt(edge.key, "expected a duration from 0 to %s, got %s", maxLength, *edge.d)
		}
	}
	if n := b.TotalRequests; n > 0 && n < fewRequests && b.Warmup == nil && !c.isSet("load_profile.plain") && c.Experiment.WorkingSet == "" {
		b.Plain = true // who asks for so few means those
	}
	if b.Plain && b.Warmup == nil {
		b.Warmup = new(time.Duration(0))
	}
	switch {
	case b.Drain == nil && b.Plain: // nothing but its own limit ends a request
		b.Drain = new(cmp.Or(c.Provider.Timeouts.Total, client.DefaultTimeout))
	case b.Drain == nil:
		b.Drain = new(c.usualDrain())
	}
	return c.budgets()
}

// usualDrain is the drain of a plan that has none: long enough for a request to
// break an objective on whole replies, and for long replies to end where their pace
// is judged, since one that was cut off counts against it. It is over with the last reply.
func (c *Config) usualDrain() time.Duration {
	around := c.Load.Bounds.MaxAround()
	for _, o := range c.Objectives {
		switch {
		case o.Metric == "e2e" && !o.Above:
			around = max(around, min(load.DefaultDrain, time.Duration(o.Limit)+time.Second))
		case o.Metric == "tpot":
			around = load.DefaultDrain
		}
	}
	return around
}

// engine completes the embedded engine. For a server elsewhere its settings
// say nothing.
func (c *Config) engine() error {
	if !c.Embedded() {
		return nil
	}
	if err := c.engineFile(); err != nil {
		return err
	}
	s := &c.Server.Sim
	named := s.Model != ""
	if !named {
		s.Model = c.Provider.Model
	}
	s.Catalog = c.Known
	if given, ok := c.Known.GivenModel(); ok && s.Model == "" && s.Law == nil {
		s.Model = given.Name
	}
	if err := c.optimize(); err != nil {
		return err
	}
	c.asked = *s
	full, err := s.Resolve()
	if err != nil {
		if message, ok := strings.CutPrefix(err.Error(), "model: "); ok && !named {
			return c.errorAt("provider.model", "%s, as the embedded engine needs (give a URL to ask a server)", message)
		}
		if message, ok := strings.CutPrefix(err.Error(), "gpu: "); ok && c.Defaulted("server.sim.gpu") && !c.Defaulted("provider.model") {
			return c.errorAt("provider.model", "%s", message)
		}
		return c.errorIn("server.sim", err)
	}
	*s = full
	return nil
}

func (c *Config) show() error {
	m := &c.Metrics
	if len(m.Percentiles) == 0 {
		m.Percentiles = slices.Clone(defaultPercentiles)
	}
	for _, p := range m.Percentiles {
		if !(p >= 10 && p < 100) && !(p >= 1 && p < 10 && p == math.Trunc(p)) {
			return c.errorAt("metrics.percentiles", "expected percentages such as 50 or 99.9, from 1 to below 100 and whole below 10, got %g", p)
		}
	}
	slices.Sort(m.Percentiles)
	m.Percentiles = slices.Compact(m.Percentiles)
	switch m.OutputFormat {
	case "", formatText:
	case formatJSON:
		// A flag that says how to show this answer stands before the plan.
		if c.places["metrics.output_format"].plan {
			c.Output.JSON = true
		}
	default:
		return c.errorAt("metrics.output_format", "expected json or text, got %s", quote(m.OutputFormat))
	}
	return nil
}

// labels keeps the label fit for the name of a directory.
func (c *Config) labels() error {
	const limit = 80
	label := c.Metadata["label"]
	if len(label) > limit || strings.ContainsAny(label, "/\\") || label == "." || label == ".." || yaml.Fault("", "%s", label).What != label {
		return c.errorAt("metadata.label", "must be at most %d printable characters without a slash, got %s", limit, quote(label))
	}
	return nil
}

// catalogs reads the files of models and accelerators.
func (c *Config) catalogs() error {
	if len(c.Catalog) == 0 {
		return nil
	}
	known, err := catalog.Open(c.Catalog...)
	if err != nil {
		return c.errorAt("catalog", "%v", err)
	}
	c.Known = known
	return nil
}

// budgets checks the limits on tokens and money.
func (c *Config) budgets() error {
	const tokens, spend = "load_profile.max_tokens_total", "load_profile.max_spend"
	if c.isSet(tokens) && c.Load.Bounds.MaxTokensTotal < 1 {
		return c.errorAt(tokens, "expected a number of tokens above 0, got %d", c.Load.Bounds.MaxTokensTotal)
	}
	if !c.isSet(spend) {
		return nil
	}
	if s := c.Load.Bounds.MaxSpend; s <= 0 {
		return c.errorAt(spend, "expected an amount above 0, got %g", s)
	}
	if !c.Cost.ByToken() {
		return c.errorAt(spend, "needs prices: give --price-per-1m-prompt-tokens and --price-per-1m-output-tokens, or cost in a plan")
	}
	return nil
}

func (c *Config) prices() error {
	if err := c.Cost.Validate(); err != nil {
		return c.errorIn("cost", err)
	}
	if c.isSet("cost.utilization") && c.Cost.Utilization == 0 {
		return c.errorAt("cost.utilization", "expected a share above 0 and up to 1 such as 0.6, got 0")
	}
	return nil
}

// demand checks the load that instances are to be planned for.
func (c *Config) demand() error {
	if err := c.Capacity.Validate(); err != nil {
		return c.errorIn("capacity", err)
	}
	return nil
}
