// Package load is the engine: due times × sessions × a target give records.
// It paces, caps and drains; it knows no provider, no percentile and no file.
package load
