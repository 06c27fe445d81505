package main

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/outboxes/dialects"
)

func (a *app) migrateSourceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate NAME",
		Short: "Create the indexes that the table of another outbox lacks",
		Long: `Create the indexes that the table of another outbox lacks for its dialect, one after
the other, without locking its writers out. It changes nothing else of the table, and
needs a role that owns it. What was interrupted is begun anew.`,
		Example:           "  starter source migrate orders",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: console.CompleteOne(a.completeSources()),
		RunE:              a.within(0, func(ctx context.Context, args []string) error { return a.migrateSource(ctx, args[0]) }),
	}
}

func (a *app) migrateSource(ctx context.Context, name string) error {
	named, err := a.others([]string{name})
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	o, err := a.operator(db, nil)
	if err != nil {
		return err
	}
	var doing atomic.Value
	doing.Store("looking at " + named[0].Table)
	stop := a.Progress(func() string { return doing.Load().(string) })
	created, err := o.MigrateSource(ctx, named[0], func(i dialects.Index) { doing.Store("creating " + i.Name) })
	stop()
	if err != nil {
		return err
	}
	return a.Print(map[string]any{"created": append([]dialects.Index{}, created...)}, func(w io.Writer) {
		for _, index := range created {
			console.Row(w, "created", index.Name)
		}
		if len(created) == 0 {
			console.Row(w, "nothing to create: "+named[0].Table+" has its indexes")
		}
	})
}
