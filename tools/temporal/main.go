// Command temporal is the local Temporal server: all services and the Web UI in
// one process, storing in Postgres. It is for development and tests, and listens
// on loopback only; production uses Temporal Cloud or a cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/server/common/log"
)

// Settings holds the server's ports and its database.
type Settings struct {
	Port             int    // of the frontend; history, matching and worker use the next three
	UIPort           int    // of the Web UI
	Postgres         string // host:port
	PostgresPassword string // empty: none
	Fair             bool   // fairness keys take turns
}

const (
	postgresUser       = "herald"              // it may create databases
	database           = "temporal"            // of the workflows
	visibilityDatabase = "temporal_visibility" // of the search attributes
	namespace          = "default"             // registered at the start
)

func main() {
	var s Settings
	flag.IntVar(&s.Port, "port", 7233, "frontend port; the services behind it take the next three")
	flag.IntVar(&s.UIPort, "ui-port", 8233, "Web UI port")
	flag.StringVar(&s.Postgres, "postgres", "127.0.0.1:5432", "Postgres host:port")
	flag.BoolVar(&s.Fair, "fair", true, "let fairness keys take turns; false is a server's default")
	check := flag.Bool("check", false, "ask a running server whether it is ready, and exit 0 if it is")
	flag.Parse()
	s.PostgresPassword = os.Getenv("PGPASSWORD")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	do := serve
	if *check {
		do = ready
	}
	if err := do(ctx, s); err != nil {
		slog.Error("temporal", "error", err)
		os.Exit(1)
	}
}

// serve runs the server until ctx ends, then stops it gracefully.
func serve(ctx context.Context, s Settings) error {
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Stdout: true, Level: "warn"}))

	if err := migrate(ctx, s); err != nil {
		return err
	}
	server, err := newServer(s, logger)
	if err != nil {
		return fmt.Errorf("assemble server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	defer func() { _ = server.Stop() }()

	if err := registerNamespace(ctx, s); err != nil {
		return err
	}
	ui := newUI(s)
	defer ui.Stop()
	go func() { _ = ui.Start() }() // ends the process itself if the port is taken

	slog.Info("temporal is ready", "frontend", frontend(s), "ui", fmt.Sprintf("http://%s:%d", host, s.UIPort))
	<-ctx.Done()
	return nil
}

// eventually repeats try until it succeeds, or until limit has passed. Then it returns the last
// error.
func eventually(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()

	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
