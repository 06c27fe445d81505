package channel

import (
	"net"
	"net/http"
	"time"
)

const (
	dialTimeout       = 5 * time.Second
	handshakeTimeout  = 5 * time.Second
	idleTimeout       = 90 * time.Second
	pingInterval      = 15 * time.Second // finds an HTTP/2 connection that died in silence
	pingTimeout       = 5 * time.Second
	headerLimit       = 64 << 10 // bytes
	keepAliveInterval = 30 * time.Second
)

// NewTransport returns the connections to one provider. They are kept alive, as
// many as there are slots, so that a busy sender does not open a new one for each
// message. Its errors may hold addresses; only an [Exchange] should see them.
func NewTransport(slots int) *http.Transport {
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
