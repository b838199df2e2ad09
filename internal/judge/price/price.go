// Package price turns prices into money: it takes what a deployment costs by
// the hour or an API by the token, and what moved in a window, and gives the
// cost of a request, of tokens and of the tokens that were worth having. It is
// the one place of that arithmetic. It must not know how anything was measured.
package price

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"redline/internal/catalog"
	"redline/internal/text"
)

// Spec is what serving costs: the plan's cost block. Amounts are of whatever
// currency the label names; nothing is converted.
type Spec struct {
	// PerHour is the price of the whole deployment that is measured.
	PerHour float64 `yaml:"per_hour,omitempty"`
	// PerAcceleratorHour is the price of one accelerator, Accelerators how many
	// the deployment has.
	PerAcceleratorHour float64 `yaml:"per_accelerator_hour,omitempty"`
	Accelerators       int     `yaml:"accelerators,omitempty"`
	// Accelerator asks for the catalog's price of that accelerator.
	Accelerator string `yaml:"accelerator,omitempty"`
	// ReservedPerHour and ReservedPerAcceleratorHour are what the same costs by
	// a longer contract.
	ReservedPerHour            float64 `yaml:"reserved_per_hour,omitempty"`
	ReservedPerAcceleratorHour float64 `yaml:"reserved_per_accelerator_hour,omitempty"`
	// Prices of an API by the token. Cached prompt tokens cost what others do,
	// unless they have a price of their own.
	Per1MPromptTokens float64  `yaml:"per_1m_prompt_tokens,omitempty"`
	Per1MCachedTokens *float64 `yaml:"per_1m_cached_tokens,omitempty"`
	Per1MOutputTokens float64  `yaml:"per_1m_output_tokens,omitempty"`
	// Overhead is what storage, network and people add to the hourly prices, as
	// a share of them.
	Overhead float64 `yaml:"overhead,omitempty"`
	// Utilization is the share of the measured load that is expected to be
	// there on average: the rest is paid for and idle.
	Utilization float64 `yaml:"utilization,omitempty"`
	// PerKWh is the price of electricity, Watts what the deployment draws where
	// nothing measures it.
	PerKWh float64 `yaml:"per_kwh,omitempty"`
	Watts  float64 `yaml:"watts,omitempty"`
	// Currency is a label only.
	Currency string `yaml:"currency,omitempty"`
	// AsOf and Source say when and where the prices were found.
	AsOf   string `yaml:"as_of,omitempty"`
	Source string `yaml:"source,omitempty"`
}

// The largest prices that make sense: anything above is a slip of the pen.
const (
	maxPerHour      = 1e6
	maxPer1MTokens  = 1e6
	maxOverhead     = 10
	maxAccelerators = 100_000
	maxPerKWh       = 100
	maxWatts        = 1e9
)

// ByToken reports whether tokens have a price, so that spend can be bounded.
func (s Spec) ByToken() bool { return s.Per1MPromptTokens > 0 || s.Per1MOutputTokens > 0 }

// ByHour reports whether time has a price.
func (s Spec) ByHour() bool {
	return s.PerHour > 0 || s.PerAcceleratorHour > 0 || s.Accelerator != "" || s.PerKWh > 0
}

// Given reports whether there is any price.
func (s Spec) Given() bool { return s.ByToken() || s.ByHour() }

// Validate checks the block by itself. A message begins with the key.
func (s Spec) Validate() error {
	for _, p := range []struct {
		key   string
		price float64
		most  float64
	}{
		{"per_hour", s.PerHour, maxPerHour},
		{"per_accelerator_hour", s.PerAcceleratorHour, maxPerHour},
		{"reserved_per_hour", s.ReservedPerHour, maxPerHour},
		{"reserved_per_accelerator_hour", s.ReservedPerAcceleratorHour, maxPerHour},
		{"per_kwh", s.PerKWh, maxPerKWh},
		{"per_1m_prompt_tokens", s.Per1MPromptTokens, maxPer1MTokens},
		{"per_1m_cached_tokens", s.cachedTokenPrice(), maxPer1MTokens},
		{"per_1m_output_tokens", s.Per1MOutputTokens, maxPer1MTokens},
	} {
		if !(p.price >= 0) || math.IsInf(p.price, 0) {
			return fmt.Errorf("%s: expected a price of at least 0, got %g", p.key, p.price)
		}
		if p.price > p.most {
			return fmt.Errorf("%s: expected a price of at most %s, got %g", p.key, text.Exact(p.most), p.price)
		}
	}
	return s.consistent()
}

// consistent checks what the keys say together, and those that are no prices.
func (s Spec) consistent() error {
	hourly := 0
	for _, given := range []bool{s.PerHour > 0, s.PerAcceleratorHour > 0, s.Accelerator != ""} {
		if given {
			hourly++
		}
	}
	switch {
	case hourly > 1:
		return fmt.Errorf("per_hour: expected one of per_hour (the whole deployment), per_accelerator_hour and accelerator (the catalog's price), got %d", hourly)
	case s.ReservedPerHour > 0 && s.ReservedPerAcceleratorHour > 0:
		return fmt.Errorf("reserved_per_hour: reserved_per_accelerator_hour is given too; give only one of the two")
	case s.Accelerators < 0 || s.Accelerators > maxAccelerators:
		return fmt.Errorf("accelerators: must be 1 to %d, got %d", maxAccelerators, s.Accelerators)
	case !(s.Watts >= 0 && s.Watts <= maxWatts):
		return fmt.Errorf("watts: expected the power that the deployment draws, such as 5600, got %g", s.Watts)
	case !(s.Overhead >= 0 && s.Overhead <= maxOverhead):
		return fmt.Errorf("overhead: expected a share such as 0.15, got %g", s.Overhead)
	case !(s.Utilization >= 0 && s.Utilization <= 1):
		return fmt.Errorf("utilization: expected a share above 0 and up to 1 such as 0.6, got %g", s.Utilization)
	}
	if s.AsOf != "" {
		if _, err := time.Parse(time.DateOnly, s.AsOf); err != nil {
			return fmt.Errorf("as_of: expected a date such as 2026-11-15, got %q", s.AsOf)
		}
	}
	if s.Accelerator != "" {
		_, err := findPriced(s.Accelerator)
		return err
	}
	return nil
}

func findPriced(name string) (catalog.Accelerator, error) {
	a, err := catalog.FindAccelerator(name)
	if err != nil {
		return a, fmt.Errorf("accelerator: %w", err)
	}
	if a.PriceLow <= 0 {
		return a, fmt.Errorf("accelerator: the catalog has no price for %s; give per_accelerator_hour", a.Name)
	}
	return a, nil
}

func (s Spec) cachedTokenPrice() float64 {
	if s.Per1MCachedTokens == nil {
		return s.Per1MPromptTokens
	}
	return *s.Per1MCachedTokens
}

// Tokens is the price of so many tokens by the token prices alone.
func (s Spec) Tokens(prompt, cached, output float64) float64 {
	return (prompt*s.Per1MPromptTokens + cached*s.cachedTokenPrice() + output*s.Per1MOutputTokens) / 1e6
}

// Prices is a Spec made definite for one deployment.
type Prices struct {
	Spec
	// Hour is what the deployment costs in an hour, overhead included; 0 where
	// only tokens have a price. ReservedHour is the same by a longer contract.
	Hour, ReservedHour float64
	// Devices is how many accelerators the deployment has.
	Devices int
	// Assumptions say where each price is from and what was taken for granted.
	Assumptions []string
}

// For gives the prices of a deployment on so many accelerators; 0 where that is
// not known. The count in the plan goes before what was found.
func (s Spec) For(devices int) (Prices, error) {
	if err := s.Validate(); err != nil {
		return Prices{}, err
	}
	p := Prices{Spec: s, Devices: devices}
	if s.Accelerators > 0 {
		p.Devices = s.Accelerators
	}
	known := p.Devices > 0
	p.Devices = max(1, p.Devices)
	if err := p.byHour(); err != nil {
		return Prices{}, err
	}
	if s.PerKWh > 0 && s.Watts > 0 {
		p = p.addPower(s.Watts, "as given")
	}
	if !known && (s.PerAcceleratorHour > 0 || s.Accelerator != "") && s.PerHour == 0 {
		p.assume("one accelerator is assumed: set --gpus-per-instance or cost.accelerators to change it")
	}
	p.byToken()
	if s.Overhead > 0 && p.Hour > 0 {
		p.assume("%s of it on top for storage, network and operation", text.Percent(s.Overhead))
	}
	return p, nil
}

func (p *Prices) byHour() error {
	over := 1 + p.Overhead
	p.ReservedHour = over * (p.ReservedPerHour + p.ReservedPerAcceleratorHour*float64(p.Devices))
	switch {
	case p.PerHour > 0:
		p.Hour = over * p.PerHour
		p.assume("%s an hour for the whole deployment%s", p.money(p.PerHour), p.origin())
	case p.PerAcceleratorHour > 0:
		p.Hour = over * p.PerAcceleratorHour * float64(p.Devices)
		p.assume("%s an accelerator-hour × %d%s", p.money(p.PerAcceleratorHour), p.Devices, p.origin())
	case p.Accelerator != "":
		a, err := findPriced(p.Accelerator)
		if err != nil {
			return err
		}
		// The price between the lowest and the highest listed: the geometric
		// mean, because prices spread by factors.
		mean := math.Sqrt(a.PriceLow * max(a.PriceLow, a.PriceHigh))
		each := math.Round(100*mean) / 100
		p.Hour = over * each * float64(p.Devices)
		p.assume("%s %s an hour × %d, %scatalog of %s, %s confidence: give your own price for a decision",
			a.Name, p.money(each), p.Devices, priceRange(a, p), a.PriceDated, a.PriceConfidence)
	}
	switch {
	case p.ReservedPerHour > 0:
		p.assume("%s an hour reserved", p.money(p.ReservedPerHour))
	case p.ReservedPerAcceleratorHour > 0:
		p.assume("%s an accelerator-hour reserved", p.money(p.ReservedPerAcceleratorHour))
	}
	return nil
}

// addPower adds the electricity of so many watts to every hour.
func (p Prices) addPower(watts float64, how string) Prices {
	hourly := watts / 1000 * p.PerKWh
	p.Hour += hourly
	if p.ReservedHour > 0 {
		p.ReservedHour += hourly
	}
	p.Assumptions = append(p.Assumptions[:len(p.Assumptions):len(p.Assumptions)], fmt.Sprintf("%s a kWh × %s W %s: %s an hour", p.money(p.PerKWh), text.Number(watts), how, p.money(hourly)))
	return p
}

// WithMeasuredPower gives the prices with the electricity that was measured in place of
// the power given; nil where nothing measured it.
func (s Spec) WithMeasuredPower(devices int, watts *float64) (Prices, error) {
	given := s.Watts
	if watts != nil {
		s.Watts = 0
	}
	p, err := s.For(devices)
	switch {
	case err != nil || s.PerKWh == 0:
		return p, err
	case watts != nil:
		return p.addPower(*watts, "as measured"), nil
	case given == 0:
		p.assume("electricity is not counted: nothing measured the power; give it with --watts")
	}
	return p, nil
}

// Power is what the deployment draws in watts, and how that is known: as measured
// or given, else by the catalog's rating of its accelerators; nil where none knows.
func (p Prices) Power(measured *float64, accelerator string) (watts *float64, how string) {
	if measured != nil {
		return new(*measured), "power as measured"
	}
	if p.Watts > 0 {
		return new(p.Watts), "power as given (--watts)"
	}
	a, err := catalog.FindAccelerator(accelerator)
	if err != nil || a.Watts == 0 {
		return nil, ""
	}
	return new(a.Watts * float64(p.Devices)), fmt.Sprintf("power by the catalog: %s W for each %s, without hosts and cooling", text.Exact(a.Watts), a.Name)
}

func priceRange(a catalog.Accelerator, p *Prices) string {
	if a.PriceHigh <= a.PriceLow {
		return ""
	}
	return fmt.Sprintf("the geometric mean of %s to %s, ", p.money(a.PriceLow), p.money(a.PriceHigh))
}

func (p *Prices) byToken() {
	if !p.ByToken() {
		return
	}
	parts := []string{p.money(p.Per1MPromptTokens) + " prompt"}
	if p.Per1MCachedTokens != nil {
		parts = append(parts, p.money(*p.Per1MCachedTokens)+" cached")
	}
	parts = append(parts, p.money(p.Per1MOutputTokens)+" output")
	p.assume("by the million tokens: %s%s", strings.Join(parts, ", "), p.origin())
}

func (p *Prices) assume(format string, args ...any) {
	p.Assumptions = append(p.Assumptions, fmt.Sprintf(format, args...))
}

// origin is when and where the plan's prices were found, as far as it says.
func (p *Prices) origin() string {
	text := ""
	if p.AsOf != "" {
		text += ", as of " + p.AsOf
	}
	if p.Source != "" {
		text += ", " + p.Source
	}
	return text
}

func (s Spec) money(v float64) string { return text.Price(v, s.Currency) }

// OrElse gives these prices with what they leave open from the ones below. A
// price by the hour replaces any other, and so do prices by the token.
func (s Spec) OrElse(below Spec) Spec {
	if s.ByHour() {
		below.PerHour, below.PerAcceleratorHour, below.Accelerator = 0, 0, ""
	}
	if s.ReservedPerHour > 0 || s.ReservedPerAcceleratorHour > 0 {
		below.ReservedPerHour, below.ReservedPerAcceleratorHour = 0, 0
	}
	if s.ByToken() {
		below.Per1MPromptTokens, below.Per1MCachedTokens, below.Per1MOutputTokens = 0, nil, 0
	}
	if s.Given() {
		below.AsOf, below.Source = "", ""
	}
	return Spec{
		PerHour: cmp.Or(s.PerHour, below.PerHour), PerAcceleratorHour: cmp.Or(s.PerAcceleratorHour, below.PerAcceleratorHour),
		Accelerators: cmp.Or(s.Accelerators, below.Accelerators), Accelerator: cmp.Or(s.Accelerator, below.Accelerator),
		ReservedPerHour:            cmp.Or(s.ReservedPerHour, below.ReservedPerHour),
		ReservedPerAcceleratorHour: cmp.Or(s.ReservedPerAcceleratorHour, below.ReservedPerAcceleratorHour),
		Per1MPromptTokens:          cmp.Or(s.Per1MPromptTokens, below.Per1MPromptTokens),
		Per1MCachedTokens:          cmp.Or(s.Per1MCachedTokens, below.Per1MCachedTokens),
		Per1MOutputTokens:          cmp.Or(s.Per1MOutputTokens, below.Per1MOutputTokens),
		Overhead:                   cmp.Or(s.Overhead, below.Overhead), Utilization: cmp.Or(s.Utilization, below.Utilization),
		PerKWh: cmp.Or(s.PerKWh, below.PerKWh), Watts: cmp.Or(s.Watts, below.Watts),
		Currency: cmp.Or(s.Currency, below.Currency), AsOf: cmp.Or(s.AsOf, below.AsOf), Source: cmp.Or(s.Source, below.Source),
	}
}
