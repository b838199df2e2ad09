package client

import "os"

// sourcePorts is how many connections this machine can have to one address, 0
// where it is not known.
func sourcePorts() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	return parsePortRange(string(text))
}
