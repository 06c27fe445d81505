package environment

import (
	"net"
	"net/url"
	"strings"
)

// Encrypted refuses an address at another host unless its traffic is encrypted, or
// AllowCleartext is set. remedy names a setting that encrypts it.
func (r *Reader) Encrypted(key string, ok bool, remedy string) {
	if !ok && !r.AllowCleartext {
		r.Refuse(key, "is another host's and not encrypted: it needs "+remedy+", or ALLOW_CLEARTEXT=true")
	}
}

// ProviderURL is [Reader.URL] for the address of a provider, and refuses clear text
// to another host. on reports whether the provider's channel is on.
func (r *Reader) ProviderURL(key, value string, on bool) string {
	host := hostOf(value)
	value = r.URL(key, value)
	r.Encrypted(key, strings.HasPrefix(value, "https:") || IsLocal(host), "https://")
	if on {
		r.useProvider(key, host, true)
	}
	return value
}

// ProviderHosts returns the hosts that a provider may be at, in lower case. Its channel
// needs no credentials, so nobody is known to use it while the setting is not set.
func (r *Reader) ProviderHosts(key string, hosts []string) []string {
	cleaned := make([]string, len(hosts))
	value, _ := r.LookupEnv(key)
	for i, host := range hosts {
		cleaned[i] = strings.ToLower(strings.TrimSpace(host))
		if !IsHost(cleaned[i]) {
			r.Refuse(key, "must be hosts, or host:port, with commas between them")
		}
		r.useProvider(key, hostOf("//"+cleaned[i]), value != "")
	}
	return cleaned
}

// remoteProvider is a setting that names a provider on another machine.
type remoteProvider struct {
	key  string
	used bool // false: the channel is on by default, and nobody configured it
}

func (r *Reader) useProvider(key, host string, used bool) {
	if !IsLocal(host) {
		r.remote = append(r.remote, remoteProvider{key, used})
	}
}

// RemoteProvider says which setting names a provider on another machine, by its default
// too; "" if all providers are on this one. Call it when the settings of all providers
// are read.
func (r *Reader) RemoteProvider() string {
	if len(r.remote) == 0 {
		return ""
	}
	return r.describeRemote(r.remote[0].key)
}

// PublicURL is [Reader.URL] for Herald's own address, which providers call. It refuses
// clear text unless it and all providers in use are on this machine. Call it when
// the settings of all providers are read.
func (r *Reader) PublicURL(key, value string) string {
	host := hostOf(value)
	value = r.URL(key, value)
	if strings.HasPrefix(value, "https:") {
		return value
	}
	if !IsLocal(host) {
		r.Refuse(key, "must be https: it is not on this machine")
	}
	for _, provider := range r.remote {
		if provider.used {
			r.Refuse(key, "must be https: "+r.describeRemote(provider.key))
		}
	}
	return value
}

// describeRemote says that a setting names another machine, perhaps by its default.
func (r *Reader) describeRemote(key string) string {
	if value, _ := r.LookupEnv(key); value != "" {
		return "the provider of " + key + " is not on this machine"
	}
	return key + " is not set, so the provider is not on this machine"
}

// hostOf returns the host of a URL, or for any other text one that is not local.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	return u.Hostname()
}

// IsLocal reports whether a host is this machine: a loopback address, or the path of a
// Unix socket.
func IsLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || ip != nil && ip.IsLoopback()
}
