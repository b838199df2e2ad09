package config

import "redline/internal/catalog"

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
