package client

// FileLimit is 0, not known: Windows bounds open sockets by memory alone.
func FileLimit() int { return 0 }
