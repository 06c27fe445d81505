package environment

import (
	"net"
	"net/url"
	"strings"
)

// Encrypted refuses an address unless ok or AllowCleartext is set. ok means that the traffic is
// encrypted or stays on this machine. remedy names a setting that encrypts the traffic.
func (r *Reader) Encrypted(key string, ok bool, remedy string) {
	if !ok && !r.AllowCleartext {
		r.Refuse(key, "leads to another host without encryption: it needs "+remedy+", or ALLOW_CLEARTEXT=true")
	}
}

// ProviderURL does the same as [Reader.ServerURL] for a provider's URL. on reports whether the
// provider's channel is on.
func (r *Reader) ProviderURL(key, value string, on bool) string {
	host := hostOf(value)
	value = r.ServerURL(key, value)
	if on {
		r.useProvider(key, host, true)
	}
	return value
}

// ServerURL does the same as [Reader.URL], and refuses clear text to another host.
func (r *Reader) ServerURL(key, value string) string {
	host := hostOf(value)
	value = r.URL(key, value)
	r.Encrypted(key, strings.HasPrefix(value, "https:") || IsLocal(host), "https://")
	return value
}

// UseProvider notes the host of a provider whose address is not an HTTP URL.
func (r *Reader) UseProvider(key, host string) { r.useProvider(key, host, true) }

// ProviderHosts returns a provider's permitted hosts, in lower case. The channel needs no
// credentials, so it counts as used only if the setting is set.
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
	used bool // false if the channel is on only by default
}

func (r *Reader) useProvider(key, host string, used bool) {
	if !IsLocal(host) {
		r.remote = append(r.remote, remoteProvider{key, used})
	}
}

// RemoteProvider returns a text that names a setting, or a default, with a provider on another
// machine; "" if all providers are on this machine. Call it after reading all providers' settings.
func (r *Reader) RemoteProvider() string {
	if len(r.remote) == 0 {
		return ""
	}
	return r.describeRemote(r.remote[0].key)
}

// PublicURL does the same as [Reader.URL] for Herald's URL, which providers call. It refuses clear
// text unless Herald and all used providers are on this machine. Call it after reading all
// providers' settings.
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

// describeRemote says that a setting, or its default, names another machine.
func (r *Reader) describeRemote(key string) string {
	if value, _ := r.LookupEnv(key); value != "" {
		return "the provider of " + key + " is not on this machine"
	}
	return key + " is not set, so the provider is not on this machine"
}

// hostOf returns the host of a URL, or "?", which is not local, for an invalid URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	return u.Hostname()
}

// IsLocal reports whether a host is this machine: a loopback address, or a Unix socket's path.
func IsLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || ip != nil && ip.IsLoopback()
}
