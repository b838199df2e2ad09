// Package client is the HTTP/1.1 side of a load test: it asks on connections
// that it opens and keeps, undoes chunk framing, and turns a dialect and a URL
// into a target that yields stamped events. It knows no record, no schedule and
// no metric.
package client
