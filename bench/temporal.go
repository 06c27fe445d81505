package main

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"herald/workflows"
)

// unschedule deletes the schedule that the worker made.
func (in *installation) unschedule(ctx context.Context) error {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return err
	}
	defer temporal.Close()
	_ = temporal.ScheduleClient().GetHandle(ctx, workflows.SweepID(in.name)).Delete(ctx) // the worker may not have come so far
	return nil
}
