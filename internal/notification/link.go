package notification

import (
	"net"
	"net/url"
	"strings"
)

// maxLink is in bytes.
const maxLink = 2048

// IsLink reports whether a notification may lead to an address: https, http to this machine, or a
// path on the page's host. Browsers read a backslash as a slash, so it could name another host.
func IsLink(address string) bool {
	if len(address) > maxLink || strings.ContainsAny(address, "\\ ") {
		return false
	}
	u, err := url.Parse(address) // it refuses control characters, which browsers would skip
	switch {
	case err != nil || u.User != nil:
		return false
	case u.Scheme == "https":
		return u.Hostname() != ""
	case u.Scheme == "http":
		return u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	default:
		return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//")
	}
}
