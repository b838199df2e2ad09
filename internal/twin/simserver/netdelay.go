package simserver

import (
	"net"
	"sync"
	"time"
)

// farListener makes every client far away: what the server writes arrives so
// much later. The way in is the handler's to wait for.
type farListener struct {
	net.Listener
	delay   time.Duration
	ongoing *sync.WaitGroup
}

func (l farListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	far := &farConn{Conn: c, delay: l.delay, news: newBell()}
	l.ongoing.Go(far.carry)
	return far, nil
}

// farConn carries writes over a distance: in order, each so long after it was
// made. There is no bound on what is under way.
type farConn struct {
	net.Conn
	delay time.Duration
	news  bell // something was added to the queue, or the end

	mu     sync.Mutex
	queue  []parcel
	closed bool
	failed error
}

// parcel is what one write holds, and when it arrives.
type parcel struct {
	due  time.Time
	data []byte
}

// NetConn is the connection beneath.
func (c *farConn) NetConn() net.Conn { return c.Conn }

func (c *farConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.failed != nil:
		return 0, c.failed
	}
	c.queue = append(c.queue, parcel{time.Now().Add(c.delay), append([]byte(nil), p...)})
	c.news.ring()
	return len(p), nil
}

// Close lets what is under way arrive first, as a network does. Reading ends
// at once, so that whoever waits for the client's next word is let go.
func (c *farConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.news.ring()
	err := c.Conn.SetReadDeadline(time.Unix(1, 0))
	if err == nil {
		err = c.Conn.SetWriteDeadline(time.Now().Add(c.delay + lastWait))
	}
	if err != nil {
		return c.Conn.Close()
	}
	return nil
}

// lastWait is how long a client that does not read can hold back the end.
const lastWait = time.Second

// take gives the next parcel, and whether there will be none any more.
func (c *farConn) take() (p parcel, some, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return parcel{}, false, c.closed
	}
	p, c.queue = c.queue[0], c.queue[1:]
	return p, true, false
}

// carry delivers until the connection is closed and all has arrived.
func (c *farConn) carry() {
	for {
		p, some, over := c.take()
		switch {
		case over:
			c.Conn.Close()
			return
		case !some:
			<-c.news
			continue
		}
		time.Sleep(time.Until(p.due))
		if _, err := c.Conn.Write(p.data); err != nil {
			c.mu.Lock()
			c.failed, c.queue = err, nil
			c.mu.Unlock()
		}
	}
}
