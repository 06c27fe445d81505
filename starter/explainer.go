package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/explain"
)

// explainer opens the database and, where it answers, Temporal; the caller calls
// done in the end.
func (a *app) explainer(ctx context.Context) (e explain.Explainer, done func(), err error) {
	if e.Store, _, err = a.store(ctx); err != nil {
		return e, nil, err
	}
	if e.Temporal, e.Unreachable = a.temporal(ctx); e.Unreachable != nil {
		e.Temporal = nil
		return e, e.Store.Close, nil
	}
	e.Namespace = a.namespace()
	return e, func() { e.Temporal.Close(); e.Store.Close() }, nil
}

// showCommand completes a command that shows what read finds by an id.
func showCommand[T any](a *app, cmd *cobra.Command, read func(explain.Explainer, context.Context, string) (T, error), print func(io.Writer, T)) *cobra.Command {
	cmd.Use, cmd.Args = "show ID", cobra.ExactArgs(1)
	cmd.RunE = a.within(commandTimeout, func(ctx context.Context, args []string) error {
		e, done, err := a.explainer(ctx)
		if err != nil {
			return err
		}
		defer done()
		found, err := read(e, ctx, args[0])
		if err != nil {
			return err
		}
		return a.Print(found, func(w io.Writer) { print(w, found) })
	})
	return cmd
}
