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
	"herald/internal/inbox"
	"herald/internal/ingest"
	"herald/internal/receipts"
	"herald/internal/web/link"
	"herald/internal/web/live"
	"herald/internal/web/problem"
	"herald/internal/web/signin"
)

// Limits of the public port, which is open to anybody. For open WebSockets the limits of package
// live apply instead.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second // for reading a request with its body
	writeTimeout  = time.Minute      // for writing the answer, from the end of the request's header
	idleTimeout   = time.Minute      // between two requests of a connection
	headerLimit   = 16 << 10         // bytes; tokens have about 1 to 4 KiB
	// spareConnections is the number of connections for everything except WebSockets. It is large,
	// so that connections that never send a request do not block other clients.
	spareConnections = 12_000
	// drainTimeout limits the time to close the WebSockets and to store their acknowledgements
	// when the process stops.
	drainTimeout = 10 * time.Second
	// finishTimeout limits the wait for requests in flight when the process stops.
	finishTimeout = 20 * time.Second
)

// public is the port for browsers.
type public struct {
	addr    string
	limit   int // maximum number of open connections; further connections wait
	share   perAddress
	handler http.Handler
	drain   func(context.Context) error // tells WebSocket clients to connect to another gateway, and closes the sockets

	open atomic.Bool // the server has started and is not stopping
}

func newPublic(cfg config.Gateway, handler http.Handler, drain func(context.Context) error, metrics *metrics) *public {
	return &public{
		addr: cfg.HTTPAddr, limit: cfg.MaxSockets + spareConnections, handler: handler, drain: drain,
		share: perAddress{most: cfg.MaxPerAddress, refused: func() { metrics.refuse(oneAddress) }},
	}
}

var errNotOpen = errors.New("the public port is not open")

// ready returns nil if a load balancer may send requests to this gateway.
func (p *public) ready(context.Context) error {
	if !p.open.Load() {
		return errNotOpen
	}
	return nil
}

// serve answers requests until ctx ends. Then it is no longer ready, drains the WebSockets,
// finishes the requests in flight, and returns.
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
		slog.Info("gateway stopping: clients of sockets connect to another gateway")
		p.stop(context.WithoutCancel(ctx), server)
	})
	slog.Info("gateway listens", "addr", listener.Addr().String())
	p.open.Store(true)
	p.share.Listener = listener
	err = server.Serve(netutil.LimitListener(&p.share, p.limit))
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return err // the server failed before ctx ended
	}
	<-drained
	return nil
}

func (p *public) stop(ctx context.Context, server *http.Server) {
	draining, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := p.drain(draining); err != nil {
		slog.Warn("some acknowledgements of sockets are not recorded; the clients repeat them", "error", err)
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
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerLimit,
		ErrorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
}

// rooms holds the services of the public port.
type rooms struct {
	from    origins
	gate    *signin.Gate
	api     *inbox.API
	hub     *live.Hub
	hooks   *receipts.Webhooks
	links   *link.Pages
	ingest  *ingest.Endpoint // nil if INGEST_AUDIENCE is not set
	demo    *inbox.Demo      // nil if GATEWAY_DEMO is off
	pushKey string
}

// handler routes requests to the rooms.
func (r rooms) handler() http.Handler {
	routes := http.NewServeMux()
	routes.Handle("/api/", r.from.guard(shared(r.gate.Required(r.api.Handler()))))
	if r.ingest != nil {
		routes.Handle("/api/events", r.from.guard(shared(r.ingest)))
	}
	routes.Handle("/api/session", r.from.guard(shared(r.api.Session())))
	routes.Handle("/ws", r.from.guard(http.HandlerFunc(r.socket)))
	routes.Handle("/webhooks/", r.from.guard(r.hooks.Handler()))
	// A link in a message works from any origin, so guard does not apply here. Browsers send the
	// origin null with a page's form, because the page has the policy no-referrer.
	routes.Handle("/unsubscribe", r.links.Unsubscribe())
	routes.Handle("/preferences", r.links.Choose())
	routes.Handle("/mute", r.links.Mute())
	if r.demo != nil {
		routes.Handle("/demo/", r.from.guard(r.demo.Handler()))
	}
	routes.Handle("/", r.from.guard(inbox.Page{Demo: r.demo != nil, PushKey: r.pushKey}.Handler()))
	return logged(routes)
}

// socket opens a WebSocket for a signed-in recipient. guard has checked the origin.
func (r rooms) socket(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if request.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		problem.Write(w, http.StatusMethodNotAllowed, "this path takes GET")
		return
	}
	who, err := r.gate.Socket(request)
	if err != nil {
		signin.Refuse(w, err)
		return
	}
	r.hub.Serve(w, request, who)
}
