//go:build !linux

package doctor

import "redline/internal/judge/validity"

// clockSync cannot be asked on these systems.
func clockSync() *validity.Sync { return nil }

// askDriver finds nothing: these systems do not tell.
func askDriver(*validity.Interface) {}
