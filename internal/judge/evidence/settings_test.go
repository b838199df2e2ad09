package evidence

func settings() []setting { return []setting{{"final", func() {}}} }
