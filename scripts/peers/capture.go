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
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"redline/scripts/truth"
)

// capture notes when requests reached the server, by the kernel's stamp
// on the loopback packets: the one witness of a request's start that belongs
// to no client. It takes CAP_NET_RAW.
type capture struct {
	socket int
	done   sync.WaitGroup
	stop   chan struct{}
	sent   map[string][]int64 // by the client's address: ns of the real-time clock
}

// snapshot is how much of a packet is looked at: both heads and the beginning
// of what it carries.
const snapshot = 256

// generation is how a request for tokens begins; tools ask for other things
// too.
var generation = []byte("POST /v1/chat/completions ")

// listen begins to note what comes to the port of the URL.
func listen(url string) (*capture, error) {
	port, err := strconv.ParseUint(url[strings.LastIndexByte(url, ':')+1:], 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", url, err)
	}
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(swapped(unix.ETH_P_IP)))
	if err != nil {
		return nil, fmt.Errorf("packet socket (it takes CAP_NET_RAW): %w", err)
	}
	if err := prepareSocket(socket, uint32(port)); err != nil {
		unix.Close(socket)
		return nil, err
	}
	c := &capture{socket: socket, stop: make(chan struct{}), sent: map[string][]int64{}}
	c.done.Go(c.read)
	return c, nil
}

func swapped(v uint16) uint16 { return v<<8 | v>>8 }

func prepareSocket(socket int, port uint32) error {
	loopback, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	filter := dataTo(port)
	return errors.Join(
		unix.SetsockoptSockFprog(socket, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
		unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}),
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: swapped(unix.ETH_P_IP), Ifindex: loopback.Index}))
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
	for {
		select {
		case <-c.stop:
			return
		default:
		}
		n, cn, _, _, err := unix.Recvmsg(c.socket, packet, control, 0)
		if err != nil {
			continue // nothing came for a while
		}
		if client, at := clientOf(packet[:n]), stampOf(control[:cn]); client != "" && at != 0 {
			c.sent[client] = append(c.sent[client], at)
		}
	}
}

// close ends the capture and gives what came from each client address.
func (c *capture) close() map[string][]int64 {
	close(c.stop)
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
	if !bytes.HasPrefix(data, generation) {
		return ""
	}
	ip := netip.AddrFrom4([4]byte(packet[12:16]))
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(segment)).String()
}

func stampOf(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			return int64(binary.NativeEndian.Uint64(m.Data))*int64(time.Second) + int64(binary.NativeEndian.Uint64(m.Data[8:]))
		}
	}
	return 0
}

// starts gives each answer's request the time when its first byte reached the
// server: the first request on its connection since the answer before. What
// was not seen is absent.
func starts(lines []truth.Line, sent map[string][]int64) map[string]int64 {
	onConn := map[string][]truth.Line{}
	for _, l := range lines {
		if len(l.Before) > 0 {
			onConn[l.Conn] = append(onConn[l.Conn], l)
		}
	}
	found := map[string]int64{}
	for conn, served := range onConn {
		slices.SortFunc(served, func(a, b truth.Line) int { return int(a.Before[0] - b.Before[0]) })
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
