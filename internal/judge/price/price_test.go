package price

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// window is ten seconds: 20 requests, 4000 prompt tokens of which 1000 cached,
// 1000 of output.
func window() *metric.Summary {
	return &metric.Summary{Window: metric.Window{StartS: 5, EndS: 15}, Rates: metric.Rates{Completed: 2},
		Throughput: metric.Throughput{Prompt: 300, CachedPrompt: 100, Output: 100}}
}

var near = cmpopts.EquateApprox(0, 1e-9)

func TestWhatAWindowCosts(t *testing.T) {
	t.Parallel()
	tenCents := result.Cost{Spend: 0.1, PerRequest: 0.005, Per1kTokens: 0.02, Per1mOutput: 100, TokensPerUnit: new(50_000.0), OutputPerUnit: new(10_000.0)}
	for _, tt := range []struct {
		name string
		spec Spec
		want result.Cost
	}{
		{"by the hour", Spec{PerHour: 36}, tenCents},
		{"by the accelerator-hour", Spec{PerAcceleratorHour: 9, Accelerators: 4}, tenCents},
		{"with overhead", Spec{PerHour: 30, Overhead: 0.2}, tenCents},
		{"by the token, cached ones too", Spec{Per1MPromptTokens: 10, Per1MOutputTokens: 60}, tenCents},
		{"by the token, cached ones cheaper", Spec{Per1MPromptTokens: 13, Per1MCachedTokens: new(1.0), Per1MOutputTokens: 60}, tenCents},
	} {
		prices, err := tt.spec.For(0)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		expect.NoDiff(t, cmp.Diff(&tt.want, prices.Of(window()), near, cmpopts.IgnoreFields(result.Cost{}, "Assumptions")), "%s (-want +got)", tt.name)
	}
	if got := (Prices{}).Of(window()); got != nil {
		t.Errorf("without a price a window costs %+v", got)
	}
}

// Reserved stands beside on demand; tokens with a price cost the same either way.
func TestReservedBesideOnDemand(t *testing.T) {
	t.Parallel()
	prices := must.Get(Spec{PerHour: 18, ReservedPerHour: 9, Per1MOutputTokens: 50}.For(1))(t)
	c := prices.Of(window()) // five cents of time and five of output
	if want := (result.UnitCost{PerRequest: 0.00375, Per1kTokens: 0.015, Per1mOutput: 75}); c.Spend != 0.1 || !cmp.Equal(*c.Reserved, want, near) {
		t.Errorf("%+v on demand and %+v reserved; want %+v", c, c.Reserved, want)
	}
}

// A kilowatt at 36 a kWh is 36 an hour. What was measured goes before what was
// given, and where nobody knows the power that is said.
func TestElectricity(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		spec  Spec
		watts *float64
		spend float64
		says  string
	}{
		{Spec{PerKWh: 36, Watts: 1000}, nil, 0.1, "$36.00 a kWh × 1,000 W as given: $36.00 an hour"},
		{Spec{PerKWh: 36, Watts: 9000}, new(1000.0), 0.1, "× 1,000 W as measured"},
		{Spec{PerKWh: 18, PerHour: 18}, new(1000.0), 0.1, "$18.00 an hour for the whole deployment"},
		{Spec{PerKWh: 36, PerHour: 36}, nil, 0.1, "electricity is not counted: nothing measured the power; give it with --watts"},
	} {
		prices := must.Get(tt.spec.WithMeasuredPower(1, tt.watts))(t)
		if c := prices.Of(window()); !cmp.Equal(c.Spend, tt.spend, near) || !strings.Contains(strings.Join(c.Assumptions, "\n"), tt.says) {
			t.Errorf("%+v: %g, %q; want %g, %q", tt.spec, c.Spend, c.Assumptions, tt.spend, tt.says)
		}
	}
}

// At half the load a deployment by the hour costs twice as much for each
// request; an API by the token does not.
func TestPlannedUtilization(t *testing.T) {
	t.Parallel()
	s := window()
	s.Tokens.Output, s.Tokens.Lost, s.Tokens.Accepted = 900, 100, new(int64(500))
	for _, tt := range []struct {
		name string
		spec Spec
		want result.PlannedCost
	}{
		{"by the hour", Spec{PerHour: 36, Utilization: 0.5},
			result.PlannedCost{Utilization: 0.5, UnitCost: result.UnitCost{PerRequest: 0.01, Per1kTokens: 0.04, Per1mOutput: 200, Per1mAccepted: new(400.0)}}},
		{"by the token", Spec{Per1MPromptTokens: 10, Per1MOutputTokens: 60, Utilization: 0.5},
			result.PlannedCost{Utilization: 0.5, UnitCost: result.UnitCost{PerRequest: 0.005, Per1kTokens: 0.02, Per1mOutput: 100, Per1mAccepted: new(200.0)}}},
	} {
		prices := must.Get(tt.spec.For(1))(t)
		expect.NoDiff(t, cmp.Diff(&tt.want, prices.Of(s).Planned, near), "%s (-want +got)", tt.name)
	}
}

// Accepted tokens are a part of all, whatever arrived after the window, and
// what failed requests got is no part of them.
func TestAcceptedTokensAreNeverCheaper(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		output, lost int64
		accepted     int64
		want         float64
	}{
		{"all accepted, half of it after the window", 2000, 0, 2000, 100},
		{"half accepted", 2000, 0, 1000, 200},
		{"a third went to requests that failed", 1000, 500, 1000, 150},
	} {
		s := window()
		s.Tokens.Output, s.Tokens.Lost, s.Tokens.Accepted = tt.output, tt.lost, &tt.accepted
		got := Prices{Hour: 36}.Of(s)
		if got.Per1mOutput != 100 || *got.Per1mAccepted != tt.want {
			t.Errorf("%s: %v per 1M output tokens, %v per 1M accepted, want 100 and %v", tt.name, got.Per1mOutput, *got.Per1mAccepted, tt.want)
		}
	}
}

// A class that held the server three times as long pays three quarters of its
// time, and its own tokens.
func TestClassesShareTheTime(t *testing.T) {
	t.Parallel()
	s := window()
	s.Classes = []metric.Group{
		{Name: "chat", Requests: metric.Requests{OK: 15}, Latency: metric.Latency{E2E: &metric.Dist{N: 15, Mean: 100}},
			PromptTokens: 1000, OutputTokens: 500},
		{Name: "rag", Requests: metric.Requests{OK: 5}, Latency: metric.Latency{E2E: &metric.Dist{N: 5, Mean: 900}},
			PromptTokens: 3000, CachedTokens: 1000, OutputTokens: 500},
	}
	prices := must.Get(Spec{PerHour: 36, Per1MOutputTokens: 100}.For(1))(t)
	// Ten cents of time: 2.5 and 7.5; five cents of output each.
	want := []result.GroupCost{
		{By: "class", Name: "chat", Cost: result.Cost{Spend: 0.075, PerRequest: 0.005, Per1kTokens: 0.05, Per1mOutput: 150, TokensPerUnit: new(20_000.0), OutputPerUnit: new(500 / 0.075), JoulesPerOutput: new(0.4)}},
		{By: "class", Name: "rag", Cost: result.Cost{Spend: 0.125, PerRequest: 0.025, Per1kTokens: 0.125 / 3.5, Per1mOutput: 250, TokensPerUnit: new(28_000.0), OutputPerUnit: new(500 / 0.125), JoulesPerOutput: new(1.2)}},
	}
	// 800 joules for 1000 tokens: 200 and 600 for 500 each.
	point := &result.Point{Summary: *s, Cost: prices.Of(s), GroupCosts: prices.Groups(s, func(string) string { return "" })}
	Energy(point, new(800.0))
	expect.Same(t, want, point.GroupCosts, near)
	expect.NoDiff(t, cmp.Diff(new(0.8), point.Cost.JoulesPerOutput, near), "joules of all tokens (-want +got)")
}

// Tenants who ask the same model pay for it together; one model is all there is.
func TestModelsShareTheTime(t *testing.T) {
	t.Parallel()
	s := window()
	tenant := func(name string, n int, mean float64, output int64) metric.Group {
		return metric.Group{Name: name, Requests: metric.Requests{OK: n}, Latency: metric.Latency{E2E: &metric.Dist{N: n, Mean: mean}}, OutputTokens: output}
	}
	s.Tenants = []metric.Group{tenant("a", 10, 100, 300), tenant("b", 5, 600, 500), tenant("c", 10, 400, 200)}
	asks := map[string]string{"a": "small", "b": "large", "c": "small"}
	prices := must.Get(Spec{PerHour: 36}.For(1))(t)
	got := map[string][2]float64{}
	for _, g := range prices.Groups(s, func(tenant string) string { return asks[tenant] }) {
		if g.By == "model" {
			got[g.Name] = [2]float64{math.Round(1e6 * g.Spend), math.Round(g.Per1mOutput)}
		}
	}
	// 5,000 of 8,000 ms in flight for small: 62,500 of 100,000 millionths, for 500 tokens.
	expect.Same(t, map[string][2]float64{"small": {62_500, 125}, "large": {37_500, 75}}, got)
	for _, g := range prices.Groups(s, func(string) string { return "small" }) {
		if g.By == "model" {
			t.Errorf("one model has a share of its own: %+v", g)
		}
	}
}

// The catalog's price of an accelerator is printed with its date, its range and
// how far it can be trusted.
func TestCatalogPricesAreAssumptions(t *testing.T) {
	t.Parallel()
	prices := must.Get(Spec{Accelerator: "nvidia h100"}.For(8))(t)
	text := strings.Join(prices.Assumptions, "; ")
	for _, part := range []string{"H100-SXM $", "× 8", "catalog of 20", "confidence"} {
		if !strings.Contains(text, part) {
			t.Errorf("assumptions %q lack %q", text, part)
		}
	}
	if prices.Hour <= 0 || prices.Devices != 8 {
		t.Errorf("8 accelerators cost %g an hour as %d", prices.Hour, prices.Devices)
	}
}

func TestPricesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]Spec{
		"per_hour: expected a price of at least 0":            {PerHour: -1},
		"per_accelerator_hour: expected a price of at most":   {PerAcceleratorHour: 1e9},
		"per_1m_cached_tokens: expected a price of at least":  {Per1MCachedTokens: new(-1.0)},
		"per_hour: expected one of":                           {PerHour: 1, Accelerator: "H100"},
		"reserved_per_hour: reserved_per_accelerator":         {ReservedPerHour: 1, ReservedPerAcceleratorHour: 1},
		"accelerators: must be 1 to":                          {Accelerators: -2},
		"overhead: expected a share":                          {Overhead: 50},
		"utilization: expected a share":                       {Utilization: 60},
		"watts: expected the power that the deployment draws": {Watts: -5600},
		"per_kwh: expected a price of at least 0":             {PerKWh: -0.3},
		"as_of: expected a date":                              {AsOf: "last spring"},
		`accelerator: unknown accelerator "H900": did you`:    {Accelerator: "H900"},
	} {
		if err := spec.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", spec, err, want)
		}
	}
}

func TestCostObjectives(t *testing.T) {
	t.Parallel()
	point := result.Point{Cost: &result.Cost{PerRequest: 0.005, Per1kTokens: 0.02, Per1mOutput: 100},
		GroupCosts: []result.GroupCost{{By: byClass, Name: "chat", Cost: result.Cost{PerRequest: 0.002}}, {By: byClass, Name: "rag", Cost: result.Cost{PerRequest: 0.008}}}}
	point.Tenants = []metric.Group{{Name: "acme"}}
	for text, want := range map[string]slo.Verdict{
		"cost:max<$100":       {Standing: slo.Met, Value: new(100.0)},
		"cost:max<$99":        {Standing: slo.Missed, Value: new(100.0)},
		"cost:request<$0.01":  {Standing: slo.Met, Value: new(0.005)},
		"cost:request<$0.004": {Standing: slo.Missed, Value: new(0.005)},
		"cost:1k<$0.02":       {Standing: slo.Met, Value: new(0.02)},
		"cost:1k<$0.01":       {Standing: slo.Missed, Value: new(0.02)},
		"cost:accepted<$1":    {Standing: slo.NotJudged, Note: "not measured: no such tokens came"},
		"ttft:p99<1s":         {Standing: slo.NotJudged},

		"class=chat cost:request<$0.004":        {Standing: slo.Met, Value: new(0.002)},
		"class=rag cost:request<$0.004":         {Standing: slo.Missed, Value: new(0.008)},
		"tenant=acme cost:request<$0.01":        {Standing: slo.Met, Value: new(0.005)},
		"tenant=other cost:request<$1":          {Standing: slo.NotJudged, Note: "not measured: no such tokens came of tenant=other"},
		"class=rag tenant=acme cost:request<$1": {Standing: slo.NotJudged, Note: "not measured: cost is shared by class and by tenant, not by both: name one of the two"},
		"class=rag cost:max<$1":                 {Standing: slo.NotJudged, Note: "not measured: no such tokens came of class=rag"},
	} {
		o := must.Get(slo.Parse(text))(t)
		point.Objectives = []slo.Verdict{{Standing: slo.NotJudged}}
		Judge([]slo.Objective{o}, &point)
		expect.NoDiff(t, cmp.Diff(want, point.Objectives[0]), "%s (-want +got)", text)
	}
}

// A second of the deployment costs four cents whatever comes of it, and only
// requests that kept every objective are worth it.
func TestLeastCost(t *testing.T) {
	t.Parallel()
	point := func(rate, completed, good float64) result.Point {
		s := metric.Summary{Window: metric.Window{StartS: 5, EndS: 15}, Rates: metric.Rates{Completed: completed},
			Throughput: metric.Throughput{Output: 100}, Goodput: &metric.Goodput{Requests: good, Fraction: good / rate}}
		return result.Point{Load: result.Load{Rate: &rate}, Summary: s, Cost: Prices{Hour: 144}.Of(&s)}
	}
	for _, tt := range []struct {
		name   string
		points []result.Point
		want   *result.MinCost
	}{
		{"the rate at which most are good", []result.Point{point(1, 1, 1), point(4, 4, 4), point(8, 8, 3)}, &result.MinCost{Rate: 4, PerRequest: 0.01}},
		{"half fail, and all that are answered are good", []result.Point{point(2, 2, 2), point(8, 4, 4)}, &result.MinCost{Rate: 8, PerRequest: 0.01}},
		{"none is good", []result.Point{point(9, 9, 0)}, nil},
	} {
		expect.NoDiff(t, cmp.Diff(tt.want, MinCost(tt.points), near), "%s (-want +got)", tt.name)
	}
}
