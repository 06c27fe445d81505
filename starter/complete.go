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

// completeEventTypes offers the types that something is configured for.
func (a *app) completeEventTypes() cobra.CompletionFunc {
	return a.completeIDs(report.Reader.EventTypes)
}

// completeUserTypes offers the beginnings of recipients: RESTAURANT_USER/.
func (a *app) completeUserTypes() cobra.CompletionFunc {
	complete := a.completeIDs(report.Reader.RecipientPrefixes)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		offered, directive := complete(cmd, args, typed)
		return offered, directive | cobra.ShellCompDirectiveNoSpace
	}
}

func (a *app) completeIDs(read func(report.Reader, context.Context, string, int) ([]string, error)) cobra.CompletionFunc {
	return console.CompleteIDs(func(ctx context.Context, typed string, limit int) ([]string, error) {
		db, _, err := a.open(ctx)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		return read(report.Reader{Pool: db.Pool}, ctx, typed, limit)
	})
}
