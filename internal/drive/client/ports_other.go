//go:build !linux

package client

// sourcePorts is 0: these systems do not tell without more ado how many source
// ports they have.
func sourcePorts() int { return 0 }
