package main

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"herald/internal/notification"
	"herald/workflows"
)

// dialTemporal connects to the server that Herald's programs use.
func dialTemporal(ctx context.Context) (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, err
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return client.DialContext(ctx, options)
}

// endWorkflows ends what goes on for ever, the pollers of a worker that has died included.
func (in *installation) endWorkflows(ctx context.Context) error {
	temporal, err := dialTemporal(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()
	// The worker may not have come so far as to make these.
	_ = temporal.ScheduleClient().GetHandle(ctx, workflows.SweepID(in.name)).Delete(ctx)
	for _, id := range []string{workflows.FollowUpID(in.name), workflows.PollerID(in.name, notification.HeraldSource, 1)} {
		_ = temporal.TerminateWorkflow(ctx, id, "", "the benchmark has ended")
	}
	return nil
}
