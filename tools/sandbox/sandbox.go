// Package sandbox replaces the providers of all channels, so that the real SDKs run on one machine, with
// faults on demand. It rejects the same requests as the providers, with the same errors. It sends nothing:
// its ledger records the messages that people would receive.
//
// The ledger holds addresses and texts, as evidence. Logs never do.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"herald/internal/notification"
)

// Config is the configuration of a sandbox.
type Config struct {
	Ledger string // path of the ledger; created if it does not exist, otherwise continued
	Local  bool   // accept callback URLs that only this machine or its network can reach

	Gateway  string // scheme and host for receipts, in place of PUBLIC_URL; empty: no receipts
	Key      string // path of the key that signs SendGrid's events; created if it does not exist; empty: a key in memory
	Receipts string // settings in JSON, as for PUT /receipts; empty: the defaults
}

// Server is the sandbox. It is safe for concurrent use.
type Server struct {
	ledger  *ledger
	faults  *faults
	courier *courier
	mux     *http.ServeMux
	local   bool
}

// New opens the ledger and returns a sandbox without faults, which sends receipts until Close.
// It returns an error for invalid settings, and for a ledger or key that it cannot read.
func New(cfg Config) (*Server, error) {
	if cfg.Ledger == "" {
		return nil, errors.New("sandbox: the path of the ledger is missing")
	}
	receipts := Receipts{}
	if cfg.Receipts != "" {
		var err error
		if receipts, err = parseReceipts(strings.NewReader(cfg.Receipts)); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	if gateway, err := url.Parse(cfg.Gateway); cfg.Gateway != "" && (err != nil || gateway.Host == "" || gateway.Path != "") {
		return nil, errors.New("sandbox: the gateway must be http or https with a host, such as http://127.0.0.1:8080")
	}
	key, err := openKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	ledger, err := openLedger(cfg.Ledger)
	if err != nil {
		return nil, err
	}
	s := &Server{
		ledger: ledger, faults: &faults{byChannel: map[notification.Channel]Fault{}},
		mux: http.NewServeMux(), local: cfg.Local,
	}
	s.courier = newCourier(strings.TrimSuffix(cfg.Gateway, "/"), key, receipts)
	s.route()
	return s, nil
}

func (s *Server) route() {
	for _, p := range providers {
		if p.route != "" {
			s.mux.Handle(p.route, s.provide(p))
		}
	}

	s.mux.HandleFunc("GET /{$}", s.page)
	s.mux.HandleFunc("GET /style.css", pageFile)
	s.mux.HandleFunc("GET /script.js", pageFile)
	s.mux.HandleFunc("GET /messages/{at}", s.message)
	s.mux.HandleFunc("GET /messages/{at}/mail", s.mail)
	s.mux.HandleFunc("GET /ledger", s.ledger.serve)
	s.mux.HandleFunc("GET /faults", s.faults.list)
	s.mux.Handle("PUT /faults/{channel}", s.faults.of(s.faults.set))
	s.mux.Handle("POST /faults/{channel}", http.NewCrossOriginProtection().Handler(s.faults.of(s.faults.press)))
	s.mux.Handle("DELETE /faults/{channel}", s.faults.of(s.faults.clear))
	s.mux.HandleFunc("DELETE /faults", s.faults.clearAll)
	s.mux.HandleFunc("GET /receipts", s.courier.show)
	s.mux.HandleFunc("PUT /receipts", s.courier.set)
	s.mux.HandleFunc("DELETE /receipts", s.courier.clear)
	s.mux.HandleFunc("GET /keys/sendgrid", s.showKey)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
}

// ServeHTTP answers as the provider that owns the path, or as the sandbox itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close stops the receipts and closes the ledger. The sandbox answers later requests with 500.
func (s *Server) Close() error {
	s.courier.close()
	return s.ledger.file.Close()
}

const (
	headerTimeout   = 10 * time.Second
	bodyTimeout     = 30 * time.Second
	writeTimeout    = maxLatency + time.Minute // starts after the header, so it includes the latency
	idleTimeout     = 3 * time.Minute          // longer than common clients keep a connection open to reuse it
	shutdownTimeout = 5 * time.Second
	headerLimit     = 64 << 10 // bytes
)

// Serve serves the listener until ctx ends, then closes it and returns nil. Requests that wait
// for a latency then end without a response. Serve finishes the other requests first.
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
