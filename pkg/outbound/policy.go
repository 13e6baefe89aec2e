// Package outbound calls addresses that settings or clients name, without reaching networks that they must not reach.
package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"
)

// ErrForbidden means that an address is not one that the server calls.
var ErrForbidden = errors.New("the address is not allowed")

const (
	// callTimeout bounds one call, from the name's resolution to the end of the answer's head.
	callTimeout = 15 * time.Second
	// maxRedirects is how many redirects are followed.
	maxRedirects = 3
)

// Policy says which addresses may be called beyond the public ones.
type Policy struct {
	// AllowPrivate allows loopback, link-local and private addresses too, for receivers in one's own network.
	AllowPrivate bool
}

// CheckURL refuses what cannot be called whatever its name resolves to: other schemes, credentials in the URL, an
// address of a forbidden network. Names are looked up, and checked, when they are called.
func (p Policy) CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return fmt.Errorf("%w: it is no absolute URL", ErrForbidden)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: want http or https", ErrForbidden)
	case u.User != nil:
		return fmt.Errorf("%w: it holds credentials", ErrForbidden)
	case u.Fragment != "":
		return fmt.Errorf("%w: it has a fragment", ErrForbidden)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("%w: there is no port %s", ErrForbidden, port)
		}
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !p.AllowsAddress(ip) {
		return fmt.Errorf("%w: it is of a network that is not called", ErrForbidden)
	}
	return nil
}

// forbiddenNetworks are the networks that are never public, beyond those that netip knows by name (IANA
// special-purpose registries, RFC 6890).
var forbiddenNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers' own; some clouds have their metadata here
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),           // IPv4-compatible, deprecated
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated (RFC 2765)
	netip.MustParsePrefix("64:ff9b::/96"),    // the IPv4 Internet through NAT64: private addresses too
	netip.MustParsePrefix("64:ff9b:1::/48"),  // the same, locally
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), // Teredo and others that embed an IPv4 address
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("3fff::/20"), // documentation
	netip.MustParsePrefix("5f00::/16"), // segment routing, within one network
	netip.MustParsePrefix("fec0::/10"), // site-local, long deprecated, still routed by some
}

// hostNetworks are where clouds answer their machines about themselves: credentials, user data, health. They are no
// receivers, in one's own network neither. Link-local addresses, where most clouds do so, are none as a whole.
var hostNetworks = []netip.Prefix{
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure, a public address
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle
	netip.MustParsePrefix("161.26.0.0/16"),      // IBM
	netip.MustParsePrefix("166.8.0.0/14"),       // IBM
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),   // Google
	netip.MustParsePrefix("fd00:c1::/32"),       // Oracle
	netip.MustParsePrefix("fd00:42::/32"),       // Scaleway
}

// AllowsAddress reports whether an address may be called.
func (p Policy) AllowsAddress(ip netip.Addr) bool {
	ip = ip.WithZone("").Unmap()
	if ip.IsUnspecified() || ip.IsMulticast() || !ip.IsValid() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return false
	}
	if ip.IsLinkLocalUnicast() {
		return false
	}
	for _, n := range hostNetworks {
		if n.Contains(ip) {
			return false
		}
	}
	if p.AllowPrivate {
		return true
	}
	if ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() {
		return false
	}
	for _, n := range forbiddenNetworks {
		if n.Contains(ip) {
			return false
		}
	}
	return true
}

// NewTransport returns what connects to allowed addresses only, and waits for the head of an answer so long.
func (p Policy) NewTransport(headTimeout time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: callTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !p.AllowsAddress(to.Addr()) {
			return ErrForbidden
		}
		return nil
	}}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, addr)
		},
		TLSHandshakeTimeout:    callTimeout,
		ResponseHeaderTimeout:  headTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
	}
}

// NewClient returns a client that connects to allowed addresses only. The check is made on the address that is about
// to be connected to, after the name was resolved, so that neither a name that resolves to a private address, nor one
// that changes in between, nor a redirect gets by. It uses no proxy of the environment.
func (p Policy) NewClient() *http.Client {
	return &http.Client{
		Timeout:   callTimeout,
		Transport: p.NewTransport(callTimeout),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			req.Header.Del("Referer") // the address before may hold a secret
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			if req.Method != http.MethodPost {
				return http.ErrUseLastResponse // 301 to 303 would make a GET of it, which carries no event
			}
			return p.CheckURL(req.URL.String())
		},
	}
}
