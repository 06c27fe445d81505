package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// check is one thing that a ready worker needs.
type check struct {
	name string
	run  func(context.Context) error
}

// checkTimeout bounds each answer of /readyz.
const checkTimeout = 3 * time.Second

// healthHandler serves /healthz, which says that the process runs, and /readyz,
// which says that what it needs answers: 200, or 503 with the names of what does
// not; and /metrics.
func healthHandler(checks []check, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		status, answer := http.StatusOK, map[string]string{}
		for _, c := range checks {
			answer[c.name] = "ok"
			if err := c.run(ctx); err != nil {
				status, answer[c.name] = http.StatusServiceUnavailable, err.Error()
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	})
	mux.Handle("GET /metrics", metrics)
	return mux
}

// serve answers on addr until ctx ends.
func serve(ctx context.Context, addr string, handler http.Handler) error {
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	defer stop()
	slog.Info("health endpoints and metrics", "addr", addr)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
