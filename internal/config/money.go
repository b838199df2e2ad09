package config

import "math"

// budgets checks the limits on tokens and money.
func (c *Config) budgets() error {
	const tokens, spend = "load_profile.max_tokens_total", "load_profile.max_spend"
	if c.isSet(tokens) && c.Load.Bounds.MaxTokensTotal < 1 {
		return c.wrong(tokens, "want a number of tokens above 0, got %d", c.Load.Bounds.MaxTokensTotal)
	}
	if !c.isSet(spend) {
		return nil
	}
	if s := c.Load.Bounds.MaxSpend; s <= 0 {
		return c.wrong(spend, "want an amount above 0, got %g", s)
	}
	if !c.Cost.Priced() {
		return c.wrong(spend, "needs prices: give cost.per_1m_prompt_tokens and cost.per_1m_output_tokens in a plan")
	}
	return nil
}

// prices checks the cost block.
func (c *Config) prices() error {
	for _, p := range []struct {
		key   string
		price float64
	}{
		{"cost.per_1m_prompt_tokens", c.Cost.Per1MPromptTokens},
		{"cost.per_1m_output_tokens", c.Cost.Per1MOutputTokens},
		{"cost.per_hour", c.Cost.PerHour},
	} {
		if p.price < 0 || math.IsInf(p.price, 0) {
			return c.wrong(p.key, "want a price of at least 0, got %g", p.price)
		}
	}
	return nil
}
