package client

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Lookup finds the addresses of a host, the preferred first.
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

func (o Options) lookup() Lookup {
	if o.Lookup != nil || o.Dial != nil {
		return o.Lookup
	}
	return func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
}

// resolveLimit bounds the look at one host's addresses.
const resolveLimit = 5 * time.Second

// Resolve finds the addresses of every host once, so that the load neither
// waits for a name server nor leaves the choice to it: those that accept
// connections are used in turn from then on. It gives the ones that do not. A
// host without any keeps its name, and the first request says what is wrong.
// It must not be called while requests are sent.
func (c *Client) Resolve(ctx context.Context) (dead []string) {
	if c.lookup == nil {
		return nil
	}
	for _, ep := range c.endpoints {
		if ep.network != "tcp" || ep.proxy != nil {
			continue
		}
		host, port, err := net.SplitHostPort(ep.addr)
		if _, no := netip.ParseAddr(host); err != nil || no == nil {
			continue
		}
		dead = append(dead, c.resolveAddresses(ctx, ep, host, port)...)
	}
	return dead
}

// resolveAddresses gives an endpoint the addresses of its host.
func (c *Client) resolveAddresses(ctx context.Context, ep *endpoint, host, port string) (dead []string) {
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	found, err := c.lookup(ctx, host)
	if err != nil || len(found) == 0 {
		return nil
	}
	var addrs []string
	for _, ip := range found {
		addrs = append(addrs, net.JoinHostPort(ip.Unmap().String(), port))
	}
	alive := []bool{true}
	if len(addrs) > 1 {
		alive = probe(ctx, ep, addrs)
	}
	first := slices.Index(alive, true)
	if first < 0 {
		return nil
	}
	var used []string
	for i, ip := range found {
		switch {
		case ip.Unmap().Is4() != found[first].Unmap().Is4():
			// A server has an address of each family as a rule: using both
			// would count it twice.
		case alive[i]:
			used = append(used, addrs[i])
		default:
			dead = append(dead, addrs[i])
		}
	}
	ep.use(used)
	return dead
}

// probe reports which addresses accept a connection.
func probe(ctx context.Context, ep *endpoint, addrs []string) []bool {
	alive := make([]bool, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() {
			if conn, err := ep.dial(ctx, ep.network, addr); err == nil {
				alive[i] = true
				_ = conn.Close()
			}
		})
	}
	all.Wait()
	return alive
}

// use makes an endpoint dial these addresses in turn.
func (ep *endpoint) use(addrs []string) {
	for i, addr := range addrs {
		if i == 0 {
			ep.addr = addr
			continue
		}
		ep.peers = append(ep.peers, &endpoint{url: ep.url, network: ep.network, addr: addr, server: ep.server,
			host: ep.host, path: ep.path, whole: ep.whole, head: ep.head, plain: ep.plain, tls: ep.tls, dial: ep.dial})
	}
}

// nth takes the URLs in turn, and the addresses of each in turn.
func (c *Client) nth(n uint64) *endpoint {
	urls := uint64(len(c.endpoints))
	peers := c.endpoints[n%urls].peers
	return peers[n/urls%uint64(len(peers))]
}

// Addresses lists what is dialed, in the order in which it is used.
func (c *Client) Addresses() []string {
	var list []string
	for _, ep := range c.endpoints {
		for _, peer := range ep.peers {
			list = append(list, peer.addr)
		}
	}
	return list
}
