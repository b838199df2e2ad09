package config

// budgets checks the limits on tokens and money.
func (c *Config) budgets() error {
	const tokens, spend = "load_profile.max_tokens_total", "load_profile.max_spend"
	if c.isSet(tokens) && c.Load.Bounds.MaxTokensTotal < 1 {
		return c.errorAt(tokens, "want a number of tokens above 0, got %d", c.Load.Bounds.MaxTokensTotal)
	}
	if !c.isSet(spend) {
		return nil
	}
	if s := c.Load.Bounds.MaxSpend; s <= 0 {
		return c.errorAt(spend, "want an amount above 0, got %g", s)
	}
	if !c.Cost.ByToken() {
		return c.errorAt(spend, "needs prices: give cost.per_1m_prompt_tokens and cost.per_1m_output_tokens in a plan")
	}
	return nil
}

// prices checks the cost block.
func (c *Config) prices() error {
	if err := c.Cost.Validate(); err != nil {
		return c.errorIn("cost", err)
	}
	if c.isSet("cost.utilization") && c.Cost.Utilization == 0 {
		return c.errorAt("cost.utilization", "want a share above 0 and up to 1 such as 0.6, got 0")
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
