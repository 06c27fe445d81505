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
	pingInterval      = 15 * time.Second // detects a silently dead HTTP/2 connection
	pingTimeout       = 5 * time.Second
	headerLimit       = 64 << 10 // bytes
	keepAliveInterval = 30 * time.Second
)

// NewTransport returns a transport to one provider. It keeps one idle connection per slot, so that a busy
// sender does not open a connection per message. Its errors may contain addresses, so only an [Exchange]
// may see them.
func NewTransport(slots int) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            NewDialer().DialContext,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingInterval, PingTimeout: pingTimeout},
		TLSHandshakeTimeout:    handshakeTimeout,
		MaxIdleConns:           slots,
		MaxIdleConnsPerHost:    slots,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: headerLimit,
	}
}

// NewDialer returns the dialer of [NewTransport].
func NewDialer() *net.Dialer { return &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAliveInterval} }
