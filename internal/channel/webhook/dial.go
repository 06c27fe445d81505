package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// errPrivate means that a host has an address that is not public.
var errPrivate = errors.New("not a public address")

// newTransport returns a transport to public addresses, and to hosts on this machine that rules list. It
// checks the address of each connection, after the last look-up of the host's name. It
// uses no proxy, because a proxy looks names up itself.
func newTransport(rules channel.WebhookRules, slots int, resolver *net.Resolver) *http.Transport {
	wire := channel.NewTransport(slots)
	plain, public := channel.NewDialer(), channel.NewDialer()
	public.Resolver, public.Control = resolver, requirePublic
	wire.Proxy = nil
	wire.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, err := net.SplitHostPort(address); err == nil && environment.IsLocal(host) && rules.Lists(address) {
			return plain.DialContext(ctx, network, address)
		}
		return public.DialContext(ctx, network, address)
	}
	return wire
}

// requirePublic is a [net.Dialer.Control]. address is the address to connect to.
func requirePublic(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(to.Addr()) {
		return errPrivate
	}
	return nil
}

// inner are networks of IPv4 that netip does not name: "this" network, carriers, protocol
// assignments, benchmarks, and reserved addresses with broadcast.
var inner = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
}

// The addresses of IPv6 that are public: global unicast, without tunnels into IPv4.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	tunnels       = []netip.Prefix{netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2002::/16")}
)

func isPublic(address netip.Addr) bool {
	if address.Is6() {
		return globalUnicast.Contains(address) && !contains(tunnels, address) // 4in6 is outside, too
	}
	return address.IsGlobalUnicast() && !address.IsPrivate() && !contains(inner, address)
}

func contains(prefixes []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}
