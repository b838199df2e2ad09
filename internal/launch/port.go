package launch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// Ports are looked for below those that systems hand out to clients, so that
// none is lost to a passing connection between two starts.
const firstPort, lastPort = 18000, 28000

const host = "127.0.0.1"

// FreePorts finds n ports in a row on which nothing is served, and gives the
// first.
func FreePorts(n int) (int, error) {
	begin := rand.IntN(lastPort - firstPort)
	for i := range lastPort - firstPort {
		first := firstPort + (begin+i)%(lastPort-firstPort)
		if free(first, n) {
			return first, nil
		}
	}
	return 0, errors.New("no free port was found")
}

func free(first, n int) bool {
	for i := range n {
		if checkPort(first+i) != nil {
			return false
		}
	}
	return true
}

// waitForPort is checkPort, with patience: a process that is being started at this
// moment has this program's sockets too until it runs its own program, so that a
// port whose look has just ended may seem taken.
func waitForPort(port int) (err error) {
	for range 10 {
		if err = checkPort(port); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// checkPort says why a server could not serve on a port of this machine.
func checkPort(port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("port %d cannot be served on (%w): another program may have it; stop that, or give another server.port", port, err)
	}
	return l.Close()
}
