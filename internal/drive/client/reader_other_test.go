//go:build !linux

package client

func useRuntime() bool { return false }
