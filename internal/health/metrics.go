package health

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"herald/internal/version"
)

// scrapesAtOnce bounds the readers; more are refused.
const scrapesAtOnce = 4

// NewRegistry returns metrics of this process alone, with those of its build and of Go:
// nothing is global.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	build := version.Read()
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "herald_build_info",
		Help:        "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go},
	}, func() float64 { return 1 }))
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// MetricsPage shows all metrics as Prometheus reads them.
func MetricsPage(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
		MaxRequestsInFlight: scrapesAtOnce,
	})
}
