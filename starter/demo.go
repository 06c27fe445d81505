package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/example"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres"
)

const (
	// settleTimeout bounds the wait for the example's deliveries, none of which is retried.
	settleTimeout = 90 * time.Second
	// demoTimeout leaves time to look at what came of them.
	demoTimeout = settleTimeout + time.Minute
)

func (a *app) demoCommand() *cobra.Command {
	var sandboxURL string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Write the example events, and check that each delivery ends as the rules say",
		Long: `Write the example events, show their deliveries as they change, and end with a table of
what reached whom. It fails unless every delivery ended as the rules say, and the
sandbox's ledger agrees. It needs the example directory (starter seed), a running
poller, and a worker whose providers are the sandbox. It can be repeated.`,
		Example: "  starter demo --sandbox-url http://127.0.0.1:9090",
		Args:    cobra.NoArgs,
		RunE: a.within(demoTimeout, func(ctx context.Context, _ []string) error {
			return a.demo(ctx, sandboxURL)
		}),
	}
	cmd.Flags().StringVar(&sandboxURL, "sandbox-url", "http://127.0.0.1:9090", "where the sandbox is: scheme and host")
	return cmd
}

// demo is one run of the example.
type demo struct {
	app      *app
	db       *postgres.Store
	temporal client.Client
	ledger   ledgerClient
	run      string // part of the ids of its events
	events   []example.Event
}

func (a *app) demo(ctx context.Context, sandboxURL string) error {
	if err := checkBaseURL(sandboxURL); err != nil {
		return misused(fmt.Errorf("--sandbox-url: %w", err))
	}
	events, err := example.Events()
	if err != nil {
		return err
	}
	db, cfg, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	temporal, err := a.temporal(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()

	d := &demo{app: a, db: db, temporal: temporal, ledger: ledgerClient{sandboxURL}, run: uuid.NewString()[:8], events: events}
	if err := d.ready(ctx, cfg.TaskQueuePrefix); err != nil {
		return err
	}
	return d.play(ctx)
}

// ready fails where the demo could only wait for nothing.
func (d *demo) ready(ctx context.Context, prefix string) error {
	state, err := operate.ReadPollers(ctx, &launch.Launcher{Client: d.temporal, Prefix: prefix}, 0)
	if err != nil {
		return err
	}
	switch {
	case len(state.Pollers) == 0:
		return advice.With(errors.New("no outbox poller is running"), "run `starter poller start`")
	case state.Workers == 0:
		return advice.With(fmt.Errorf("no worker polls the task queue %s", state.TaskQueue), "start a worker")
	}
	if err := d.ledger.reachable(ctx); err != nil {
		return &unreachableError{"the sandbox", "start it with `starter sandbox`, and name it with --sandbox-url", err}
	}
	return nil
}

// play writes the events, waits for them and judges what came of them.
func (d *demo) play(ctx context.Context) error {
	written := make([]notification.Event, len(d.events))
	for i, event := range d.events {
		written[i] = event.InRun(d.run)
	}
	if err := d.app.record(ctx, d.db, fmt.Sprintf("%d events of the example", len(written)), "demo-"+d.run); err != nil {
		return err
	}
	began := time.Now().Add(-time.Minute) // the sandbox may have another clock
	if err := d.db.InsertEvents(ctx, written); err != nil {
		return err
	}
	if d.app.Format == console.Table {
		d.app.line("%d events written, demo-%s-…; their deliveries:", len(written), d.run)
	}
	reports, watchErr := d.watch(ctx)
	if watchErr != nil && ctx.Err() != nil {
		return watchErr
	}
	result, err := d.judge(ctx, reports, began)
	if err != nil {
		return errors.Join(watchErr, err)
	}
	if err := d.app.Print(result, result.print); err != nil {
		return err
	}
	if watchErr != nil || len(result.Deviations) > 0 {
		return advice.With(errors.Join(watchErr, fmt.Errorf("%d deviations from what the rules say", len(result.Deviations))),
			"look at an event with `starter event show ID`, and at the worker's log")
	}
	return nil
}
