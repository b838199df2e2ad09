package client

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// spareFiles are the open files that are no connections of the load: the run
// directory's, those of telemetry, and what the system keeps open.
const spareFiles = 128

// shortage counts connections that this machine, not the server, refused.
type shortage struct{ files, ports atomic.Int64 }

// Shortage says how many connections could not be opened because this machine
// had no file descriptor or no source port left.
func (c *Client) Shortage() (files, ports int64) {
	return c.shortage.files.Load(), c.shortage.ports.Load()
}

// Room raises the limit on open files as far as it may be and reports, before
// a run, why this machine could not hold so many connections at a time, each
// of which takes so many files: two where the server is in this process.
func (c *Client) Room(connections, filesEach int) error {
	if err := checkFiles(connections, filesEach, FileLimit(), kernelFileLimit()); err != nil {
		return err
	}
	return checkPorts(c.perAddress(connections), sourcePorts())
}

// MaxConnections is about how many connections Room allows, each of which takes
// so many files.
func (c *Client) MaxConnections(filesEach int) int {
	most := 1 << 20
	if limit := FileLimit(); limit > 0 {
		most = max(limit-spareFiles, 1) / filesEach
	}
	for most > 1 && checkPorts(c.perAddress(most), sourcePorts()) != nil {
		most -= most/10 + 1
	}
	return max(most, 1)
}

// kernelFileLimit is how many files the kernel lets any process open.
func kernelFileLimit() int {
	content, _ := os.ReadFile("/proc/sys/fs/nr_open")
	if n, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
		return n
	}
	return 1 << 20 // the usual one
}

func checkFiles(connections, each, limit, kernel int) error {
	need := connections*each + spareFiles
	if limit == 0 || need <= limit {
		return nil
	}
	cure := fmt.Sprintf("raise the limit with ulimit -n %d, or lower the load", need)
	if need > kernel {
		cure = fmt.Sprintf("no process may have more than %d: lower the load, or share it among workers on several machines (--workers)", kernel)
	}
	return fmt.Errorf("%d connections at a time need %d open files, but this process may have %d: %s", connections, need, limit, cure)
}

// share is how many connections go to one address.
type share struct {
	addr string
	n    int
}

// perAddress spreads connections over what is dialed; URLs that lead to one
// address share its ports.
func (c *Client) perAddress(connections int) []share {
	var list []share
	at := map[string]int{}
	for _, ep := range c.endpoints {
		if ep.network != "tcp" {
			continue
		}
		n := ceil(ceil(connections, len(c.endpoints)), len(ep.peers))
		for _, peer := range ep.peers {
			if _, ok := at[peer.addr]; !ok {
				at[peer.addr] = len(list)
				list = append(list, share{addr: peer.addr})
			}
			list[at[peer.addr]].n += n
		}
	}
	return list
}

func ceil(a, b int) int { return (a + b - 1) / b }

func checkPorts(shares []share, ports int) error {
	for _, s := range shares {
		if ports > 0 && s.n > ports {
			return fmt.Errorf("%d connections at a time to %s need as many source ports, but this machine has %d: widen net.ipv4.ip_local_port_range with sysctl, give the server more addresses, or lower the load", s.n, s.addr, ports)
		}
	}
	return nil
}

// parsePortRange reads the first and last source port and gives how many there
// are, 0 for what cannot be read.
func parsePortRange(text string) int {
	fields := strings.Fields(text)
	if len(fields) != 2 {
		return 0
	}
	first, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil {
		return 0
	}
	last, err := strconv.ParseUint(fields[1], 10, 16)
	if err != nil || last < first {
		return 0
	}
	return int(last - first + 1)
}
