package client

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"redline/internal/llm"
)

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFilesForConnections(t *testing.T) {
	for _, tc := range []struct {
		connections, each, limit int
		want                     string
	}{
		{896, 1, 1024, ""},
		{897, 1, 1024, "897 connections at a time need 1025 open files, but this process may have 1024: raise the limit with ulimit -n 1025, or lower the load"},
		{448, 2, 1024, ""},
		{500, 2, 1024, "500 connections at a time need 1128 open files, but this process may have 1024: raise the limit with ulimit -n 1128, or lower the load"},
		{4000, 1, 1024, "4000 connections at a time need 4128 open files, but this process may have 1024: no process may have more than 4096: lower the load, or share it among workers on several machines (--workers)"},
		{1_000_000, 1, 0, ""}, // the limit is not known
	} {
		if got := message(checkFiles(tc.connections, tc.each, tc.limit, 4096)); got != tc.want {
			t.Errorf("%d connections within %d files: %q, want %q", tc.connections, tc.limit, got, tc.want)
		}
	}
}

func TestPortsForConnections(t *testing.T) {
	shares := []share{{"10.0.0.1:80", 900}, {"10.0.0.2:80", 1100}}
	const want = "1100 connections at a time to 10.0.0.2:80 need as many source ports, but this machine has 1000: " +
		"widen net.ipv4.ip_local_port_range with sysctl, give the server more addresses, or lower the load"
	equal(t, "too many", message(checkPorts(shares, 1000)), want)
	equal(t, "just enough", message(checkPorts(shares, 1100)), "")
	equal(t, "not known", message(checkPorts(shares, 0)), "")
}

// TestSharesOfAddresses: connections spread over URLs, then over the addresses
// of each; what leads to one address adds up there.
func TestSharesOfAddresses(t *testing.T) {
	c := newClient(t, Spec{}, "http://10.0.0.1", "http://two", "http://10.0.0.1/v1", "unix:/run/e.sock")
	c.endpoints[1].use([]string{"10.0.0.2:80", "10.0.0.3:80"})
	equal(t, "shares", len(c.perAddress(1000)), 3)
	for i, want := range []share{{"10.0.0.1:80", 500}, {"10.0.0.2:80", 125}, {"10.0.0.3:80", 125}} {
		if got := c.perAddress(1000)[i]; got != want {
			t.Errorf("share %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestPortRanges(t *testing.T) {
	for text, want := range map[string]int{"32768\t60999\n": 28232, "1024 65535": 64512, "5 5": 1,
		"": 0, "1024": 0, "60999 32768": 0, "a b": 0, "1 b": 0, "-1 5": 0, "1 2 3": 0, "1 70000": 0} {
		if got := parsePortRange(text); got != want {
			t.Errorf("%q are %d ports, want %d", text, got, want)
		}
	}
}

func FuzzPortRange(f *testing.F) {
	f.Add("32768\t60999\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parsePortRange(text); n < 0 || n > 1<<16 {
			t.Errorf("%q are %d ports", text, n)
		}
	})
}

// TestShortage: a connection that this machine refuses is told from one that
// the server refuses, and counted.
func TestShortage(t *testing.T) {
	for _, tc := range []struct {
		err          error
		files, ports int64
		want         string
	}{
		{syscall.EMFILE, 1, 0, "this machine has no file descriptor left for a connection: raise ulimit -n or lower the load"},
		{syscall.EADDRNOTAVAIL, 0, 1, "this machine has no source port left for a connection to h:80: widen net.ipv4.ip_local_port_range or lower the load"},
		{errors.New("no luck"), 0, 0, "cannot connect to h:80: no luck"},
	} {
		c := newDialing(t, Spec{URLs: []string{"http://h"}}, func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", tc.err)}
		})
		_, fault := plainly(t, c, requestOf(true), nil)
		equal(t, "fault", fault, &llm.Fault{Outcome: llm.Connect, Message: tc.want})
		files, ports := c.Shortage()
		equal(t, "shortage", [2]int64{files, ports}, [2]int64{tc.files, tc.ports})
	}
}
