//go:build !linux

package client

// SourcePorts is 0: these systems do not tell without more ado how many source
// ports they have.
func SourcePorts() int { return 0 }
