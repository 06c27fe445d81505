package main

import (
	"context"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/postgres/report"
)

// completeDeliveries and completeEvents offer the ids of the latest ones.
func (a *app) completeDeliveries() cobra.CompletionFunc {
	return a.completeIDs(report.Reader.DeliveryIDs)
}

func (a *app) completeEvents() cobra.CompletionFunc {
	return a.completeIDs(report.Reader.EventIDs)
}

// completeEventFlag offers the ids of the latest events for --event.
func (a *app) completeEventFlag(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("event", a.completeEvents()) // it fails only for a flag that does not exist
}

func (a *app) completeIDs(read func(report.Reader, context.Context, string, int) ([]string, error)) cobra.CompletionFunc {
	return console.CompleteIDs(func(ctx context.Context, typed string, limit int) ([]string, error) {
		db, _, err := a.store(ctx)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		return read(report.Reader{Pool: db.Pool}, ctx, typed, limit)
	})
}
