package environment

import (
	"net"
	"net/url"
	"strings"
)

// Encrypted refuses an address at another host unless its traffic is encrypted, or
// AllowCleartext is set. remedy is what encrypts it.
func (r *Reader) Encrypted(key string, ok bool, remedy string) {
	if !ok && !r.AllowCleartext {
		r.Refuse(key, "is another host's and not encrypted: it needs "+remedy+", or ALLOW_CLEARTEXT=true")
	}
}

// ProviderURL is [Reader.URL] for the address of a provider, and refuses clear text
// to another host. on says whether the provider's channel is on.
func (r *Reader) ProviderURL(key, value string, on bool) string {
	host := hostOf(value)
	value = r.URL(key, value)
	r.Encrypted(key, strings.HasPrefix(value, "https:") || IsLocal(host), "https://")
	if on {
		r.useProvider(host)
	}
	return value
}

// ProviderHosts returns the hosts that a provider may be at, in lower case.
func (r *Reader) ProviderHosts(key string, hosts []string) []string {
	cleaned := make([]string, len(hosts))
	for i, host := range hosts {
		cleaned[i] = strings.ToLower(strings.TrimSpace(host))
		if !IsHost(cleaned[i]) {
			r.Refuse(key, "must be hosts, or host:port, with commas between them")
		}
		r.useProvider(hostOf("//" + cleaned[i]))
	}
	return cleaned
}

func (r *Reader) useProvider(host string) { r.remote = r.remote || !IsLocal(host) }

// LocalProviders says whether all providers in use are on this machine. Call it when the
// settings of all of them are read.
func (r *Reader) LocalProviders() bool { return !r.remote }

// PublicURL is [Reader.URL] for Herald's own address, which providers call. It refuses
// clear text unless it and all providers are on this machine. Call it when
// the settings of all providers are read.
func (r *Reader) PublicURL(key, value string) string {
	host := hostOf(value)
	value = r.URL(key, value)
	if !strings.HasPrefix(value, "https:") && (r.remote || !IsLocal(host)) {
		r.Refuse(key, "must be https, unless it and all providers are on this machine")
	}
	return value
}

// hostOf returns the host of a URL, or for any other text one that is not local.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	return u.Hostname()
}

// IsLocal says whether a host is this machine: a loopback address, or the path of a
// Unix socket.
func IsLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || ip != nil && ip.IsLoopback()
}
