//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// capture notes when requests reached the server, by the kernel's stamp on the
// loopback packets: the one witness of a request's start that belongs to no
// client, and that is not late where the server is. It takes CAP_NET_RAW.
type capture struct {
	socket int
	done   sync.WaitGroup
	stop   atomic.Bool
	sent   map[string][]int64 // by the client's address: ns of the real-time clock
}

// snapshot is how much of a packet is looked at: both heads and the beginning
// of what it carries.
const snapshot = 256

// listen begins to note what comes to the port of the URL.
func listen(url string) (*capture, error) {
	address, err := netip.ParseAddrPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		return nil, err
	}
	const swapped = unix.ETH_P_IP >> 8 // in the network's byte order: its low byte is 0
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, swapped)
	if err != nil {
		return nil, fmt.Errorf("packet socket (it takes CAP_NET_RAW): %w", err)
	}
	c := &capture{socket: socket, sent: map[string][]int64{}}
	filter := dataTo(uint32(address.Port()))
	loopback, err := net.InterfaceByName("lo")
	if err == nil {
		err = errors.Join(
			unix.SetsockoptSockFprog(socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
			unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
			unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}),
			unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: swapped, Ifindex: loopback.Index}))
	}
	if err != nil {
		unix.Close(socket)
		return nil, err
	}
	c.done.Go(c.read)
	return c, nil
}

// dataTo is a filter for TCP segments to a port that carry data: those with
// the push flag. Bare acknowledgements, one for every token, stay in the
// kernel.
func dataTo(port uint32) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 9},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.IPPROTO_TCP, Jf: 6},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 0},
		{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: 2},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: port, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_IND, K: 13},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 8, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: snapshot},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
}

func (c *capture) read() {
	packet, control := make([]byte, snapshot), make([]byte, 128)
	for !c.stop.Load() {
		n, cn, _, _, err := unix.Recvmsg(c.socket, packet, control, 0)
		if err != nil {
			continue // nothing came for a while
		}
		messages, _ := unix.ParseSocketControlMessage(control[:cn])
		for _, m := range messages {
			if client := clientOf(packet[:n]); client != "" && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
				at := int64(binary.NativeEndian.Uint64(m.Data))*int64(time.Second) + int64(binary.NativeEndian.Uint64(m.Data[8:]))
				c.sent[client] = append(c.sent[client], at)
			}
		}
	}
}

// close ends the capture and gives what came from each client address.
func (c *capture) close() map[string][]int64 {
	c.stop.Store(true)
	c.done.Wait()
	unix.Close(c.socket)
	return c.sent
}

// clientOf gives the source of an IPv4 packet that begins a request for
// tokens, "" for any other.
func clientOf(packet []byte) string {
	if len(packet) < 20 {
		return ""
	}
	segment := packet[min(len(packet), int(packet[0]&0xf)*4):]
	if len(segment) < 20 {
		return ""
	}
	data := segment[min(len(segment), int(segment[12]>>4)*4):]
	if !bytes.HasPrefix(data, []byte("POST /v1/chat/completions ")) {
		return ""
	}
	ip := netip.AddrFrom4([4]byte(packet[12:16]))
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(segment)).String()
}

// starts gives each answer's request the time when its first byte reached the
// server: the first request on its connection since the answer before. What
// was not seen is absent.
func starts(truth []reply, sent map[string][]int64) map[string]int64 {
	onConn := map[string][]reply{}
	for _, l := range truth {
		if len(l.Before) > 0 {
			onConn[l.Conn] = append(onConn[l.Conn], l)
		}
	}
	found := map[string]int64{}
	for conn, served := range onConn {
		slices.SortFunc(served, func(a, b reply) int { return int(a.Before[0] - b.Before[0]) })
		times := sent[conn]
		slices.Sort(times)
		after := int64(0)
		for _, l := range served {
			if i, _ := slices.BinarySearch(times, after+1); i < len(times) && times[i] < l.Before[0] {
				found[l.ID] = times[i]
			}
			after = l.Before[len(l.Before)-1]
		}
	}
	return found
}
