// Package channel is what the senders that speak HTTP share: how a provider is
// reached, how one exchange with it is bounded, and what its answer means. What
// is particular to one provider stands in that provider's package.
package channel

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// DefaultTimeout bounds one Send where its configuration says nothing. It is
// the default of the {CHANNEL}_TIMEOUT settings.
const DefaultTimeout = 10 * time.Second

// DefaultSlots is how many Sends one provider is expected to serve at a time
// where its configuration says nothing.
const DefaultSlots = 100

const (
	dialTimeout       = 5 * time.Second
	handshakeTimeout  = 5 * time.Second
	idleTimeout       = 90 * time.Second
	pingInterval      = 15 * time.Second // finds an HTTP/2 connection that died in silence
	pingTimeout       = 5 * time.Second
	headerLimit       = 64 << 10 // bytes
	keepAliveInterval = 30 * time.Second
)

// NewTransport returns the connections to one provider. They are kept alive,
// as many as there are slots (0: [DefaultSlots]), so that a busy sender does
// not open a new one for each message. Its errors may hold addresses; only an
// [Exchange] should see them.
func NewTransport(slots int) *http.Transport {
	slots = cmp.Or(slots, DefaultSlots)
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAliveInterval}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingInterval, PingTimeout: pingTimeout},
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           slots,
		MaxIdleConnsPerHost:    slots,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headerLimit,
	}
}

// ParseBaseURL reads the address of a provider, which is fallback where none
// is configured. Its error does not repeat the address, which may hold a
// password.
func ParseBaseURL(configured, fallback string) (*url.URL, error) {
	base, err := url.Parse(cmp.Or(configured, fallback))
	if err != nil || base.Host == "" || (base.Scheme != "https" && base.Scheme != "http") {
		return nil, fmt.Errorf("base URL is not of the form https://host")
	}
	return base, nil
}
