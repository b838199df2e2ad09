//go:build linux

// Command measure makes the measurements that the documentation shows, each by
// its name, and writes its table or page. It runs from the repository's root,
// by make:
//
//	go run ./scripts/measure NAME [flags]
//
// Its binary and bin/redline alone are enough on another machine. A page of
// which a run is invalid is printed and not written.
package main

import (
	"fmt"
	"os"
	"slices"
)

// measurements are all there are, with the page that each writes. prepare
// declares flags and gives what to do once they are read.
var measurements = []struct {
	name, page string
	prepare    func(*harness) func() error
}{
	{"agents", "docs/measured/SCALE.md", agents},
	{"accuracy", "docs/measured/ACCURACY.md", accuracy},
	{"busy", "docs/measured/BUSY.md", busy},
	{"fleet", "docs/measured/RATES.md", fleet},
	{"floor", "docs/measured/COST.md", floor},
	{"ledger", "docs/measured/GATEWAYS.md", ledger},
	{"images", "docs/measured/SCALE.md", images},
	{"sockets", "docs/measured/LIMIT.md", sockets},
	{"offered", "docs/measured/SCALE.md", offer},
	{"pace", "docs/measured/SCALE.md", measurePace},
	{"pack", "", packRuns},
	{"peers", "docs/measured/PEERS.md", peers},
	{"readme", "README.md", readme},
	{"real", "docs/measured/REAL-ENGINES.md", driveReal},
	{"realfire", "docs/measured/REAL-ENGINES.md", realFire},
	{"reliability", "docs/measured/RELIABILITY.md", reliability},
	{"scale", "docs/measured/SCALE.md", scale},
	{"scrape", "docs/measured/SCALE.md", scrape},
	{"screen", "docs/measured/SCALE.md", screen},
	{"soak", "docs/measured/RELIABILITY.md", soak},
	{"tune", "docs/measured/REAL-TUNE.md", tune},
	{"twin", "docs/measured/REAL-ENGINES.md", twin},
	{"workers", "docs/measured/SCALE.md", workers},
}

func main() {
	playRole(os.Args[1:])
	var names []string
	for _, m := range measurements {
		if len(os.Args) > 1 && os.Args[1] == m.name {
			h := newHarness(m.name, m.page)
			if err := h.run(m.prepare(h), os.Args[2:]); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", m.name, err)
				os.Exit(1)
			}
			return
		}
		names = append(names, m.name)
	}
	slices.Sort(names)
	fmt.Fprintln(os.Stderr, "usage: measure NAME [flags]; the names are", names)
	os.Exit(2)
}
