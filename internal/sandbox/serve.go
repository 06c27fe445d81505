package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout   = 10 * time.Second
	bodyTimeout     = 30 * time.Second
	writeTimeout    = maxLatency + time.Minute // counted from the end of the header, so it includes a latency
	idleTimeout     = 3 * time.Minute          // longer than common clients have, which may reuse a connection until then
	shutdownTimeout = 5 * time.Second
	headerLimit     = 64 << 10 // bytes
)

// Serve serves the listener until ctx ends, then closes it and returns nil. Requests
// that wait for a latency then end without a response; all others are finished first.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerLimit,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()

	select {
	case err := <-failed:
		return fmt.Errorf("sandbox: serve: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("sandbox: shut down: %w", errors.Join(err, server.Close()))
	}
	return nil
}
