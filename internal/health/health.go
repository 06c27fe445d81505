// Package health serves the operators' port: it reports whether the process runs and is ready, and
// its metrics.
package health

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"herald/internal/config/version"
)

// The limits of the health endpoints. They stop clients that are slow or send a body.
const (
	readTimeout  = 5 * time.Second
	writeTimeout = 10 * time.Second
	idleTimeout  = time.Minute
	headerLimit  = 16 << 10 // bytes
	stopGrace    = 3 * time.Second
)

// Handler serves /healthz, /readyz and /metrics. /healthz succeeds while the process runs. /readyz
// reports whether everything that the process needs answers.
func Handler(needs []Need, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.Handle("GET /readyz", newReadiness(needs))
	mux.Handle("GET /metrics", metrics)
	return mux
}

func newServer(addr string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr: addr, Handler: handler,
		ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerLimit,
	}
}

// Serve serves addr until ctx ends.
func Serve(ctx context.Context, addr string, handler http.Handler) error {
	server := newServer(addr, handler)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	defer stop()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	slog.Info("health endpoints and metrics", "addr", listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// scrapesAtOnce limits the concurrent readers of the metrics; further readers are refused.
const scrapesAtOnce = 4

// NewRegistry returns a registry with the metrics of the build, of Go and of the process. Herald
// does not use the global registry.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := version.Read()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "herald_build_info",
		Help:        "Always 1; the labels name the build.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go},
	}, func() float64 { return 1 }))
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// MetricsPage serves all metrics in Prometheus's format.
func MetricsPage(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
		MaxRequestsInFlight: scrapesAtOnce,
	})
}
