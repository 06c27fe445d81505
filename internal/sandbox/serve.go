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
	writeTimeout    = maxLatency + time.Minute // counted from the end of the header, so a latency is within it
	idleTimeout     = 3 * time.Minute          // above that of common clients, lest we close what they are about to use
	shutdownTimeout = 5 * time.Second
	headerLimit     = 64 << 10 // bytes
)

// Serve answers what comes in through listener until ctx ends, and closes it.
// Requests that wait for a latency then end without an answer; all others are
// finished first. It returns nil when ctx ended it.
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
