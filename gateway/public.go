package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"herald/internal/config"
	"herald/internal/web/inbox"
	"herald/internal/web/live"
	"herald/internal/web/receipts"
	"herald/internal/web/signin"
	"herald/internal/web/unsubscribe"
)

// Bounds of the public port, where anybody may connect. An open socket has the bounds of
// package live instead.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second // of a request, its body included
	writeTimeout  = time.Minute      // of its answer, from the end of its header on
	idleTimeout   = time.Minute      // between two requests
	headerLimit   = 16 << 10         // bytes; tokens have some 1 to 4 KiB
	// spareConnections are the connections that are no sockets. Connections that never send a
	// request do not keep others out.
	spareConnections = 12_000
	// drainTimeout bounds the wait for sockets when the process stops, and for the record of
	// what they acknowledged.
	drainTimeout = 10 * time.Second
	// finishTimeout bounds the wait for requests when the process stops.
	finishTimeout = 20 * time.Second
)

// public is the port for browsers.
type public struct {
	addr    string
	limit   int // connections at once; more wait until one ends
	share   perAddress
	handler http.Handler
	drain   func(context.Context) error // tells sockets to come back elsewhere, and ends them

	open atomic.Bool // it is started, and not about to stop
}

func newPublic(cfg config.Gateway, handler http.Handler, drain func(context.Context) error, metrics *metrics) *public {
	return &public{
		addr: cfg.HTTPAddr, limit: cfg.MaxSockets + spareConnections, handler: handler, drain: drain,
		share: perAddress{most: cfg.MaxPerAddress, refused: func() { metrics.refuse(oneAddress) }},
	}
}

var errNotOpen = errors.New("the public port is not open")

// ready reports whether a balancer should send requests here.
func (p *public) ready(context.Context) error {
	if !p.open.Load() {
		return errNotOpen
	}
	return nil
}

// serve answers until ctx ends. Then it is not ready any more, tells sockets to come back
// elsewhere, finishes requests, and returns.
func (p *public) serve(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.addr)
	if err != nil {
		return err
	}
	server := newServer(p.handler)
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		p.open.Store(false)
		slog.Info("gateway stops: sockets are told to come back elsewhere")
		p.stop(context.WithoutCancel(ctx), server)
	})
	slog.Info("gateway listens", "addr", listener.Addr().String())
	p.open.Store(true)
	p.share.Listener = listener
	err = server.Serve(netutil.LimitListener(&p.share, p.limit))
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err // it failed by itself
	}
	<-drained
	return nil
}

func (p *public) stop(ctx context.Context, server *http.Server) {
	draining, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := p.drain(draining); err != nil {
		slog.Warn("not all that sockets acknowledged is recorded; clients acknowledge it again", "error", err)
	}
	finishing, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	if err := server.Shutdown(finishing); err != nil {
		_ = server.Close()
	}
}

func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerLimit,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
}

// rooms are the parts that the gateway serves.
type rooms struct {
	from        origins
	gate        *signin.Gate
	api         *inbox.API
	hub         *live.Hub
	hooks       *receipts.Webhooks
	unsubscribe *unsubscribe.Page
	demo        *inbox.Demo // nil: nobody chooses who they are
}

// handler puts the rooms together.
func (r rooms) handler() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("/api/", r.from.guard(shared(r.gate.Required(r.api.Handler()))))
	routes.Handle("/api/session", r.from.guard(shared(r.api.Session())))
	routes.Handle("/ws", r.from.guard(http.HandlerFunc(r.socket)))
	routes.Handle("/webhooks/", r.from.guard(r.hooks.Handler()))
	// A link in a mail works from anywhere. Browsers send the origin null with the form of that
	// page, since the page sends no referrer.
	routes.Handle("/unsubscribe", r.unsubscribe)
	if r.demo != nil {
		routes.Handle("/demo/", r.from.guard(r.demo.Handler()))
	}
	routes.Handle("/", r.from.guard(inbox.Page(r.demo != nil)))
	return logged(routes)
}

// socket opens a socket for a recipient who is signed in. guard has checked the origin.
func (r rooms) socket(w http.ResponseWriter, request *http.Request) {
	who, err := r.gate.Socket(request)
	if err != nil {
		signin.Refuse(w, err)
		return
	}
	r.hub.Serve(w, request, who)
}
