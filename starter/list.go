package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/explain"
	"herald/internal/postgres"
	"herald/internal/terminal"
)

// list describes a list that starter prints.
type list[T any] struct {
	name   string // the rows' key in JSON
	none   string // printed if there are no rows
	header []string
	cells  func(T) []string
	read   func(ctx context.Context, db *postgres.Store, args []string, limit int) ([]T, error)
}

// listCommand completes a command that prints a list.
func listCommand[T any](a *app, cmd *cobra.Command, l list[T]) *cobra.Command {
	var limit int
	terminal.LimitFlag(cmd.Flags(), &limit)
	cmd.RunE = a.within(commandTimeout, func(ctx context.Context, args []string) error {
		db, _, err := a.store(ctx)
		if err != nil {
			return err
		}
		rows, err := l.read(ctx, db, args, limit+1)
		if err != nil {
			return err
		}
		more := len(rows) > limit
		rows = rows[:min(limit, len(rows))]
		return a.Print(map[string]any{l.name: rows, "more": more}, func(w io.Writer) {
			if len(rows) == 0 {
				terminal.Row(w, l.none)
				return
			}
			terminal.List(w, l.header, rows, l.cells)
			if more {
				terminal.More(w)
			}
		})
	})
	return cmd
}

// showCommand completes a command that reads one thing by its id and prints it.
func showCommand[T any](a *app, cmd *cobra.Command, read func(explain.Explainer, context.Context, string) (T, error), print func(io.Writer, T)) *cobra.Command {
	cmd.Use, cmd.Args = "show ID", cobra.ExactArgs(1)
	cmd.RunE = a.within(commandTimeout, func(ctx context.Context, args []string) error {
		e, err := a.explainer(ctx)
		if err != nil {
			return err
		}
		found, err := read(e, ctx, args[0])
		return show(a, found, err, print)
	})
	return cmd
}

// show prints the result of a call that returned err.
func show[T any](a *app, found T, err error, print func(io.Writer, T)) error {
	if err != nil {
		return err
	}
	return a.Print(found, func(w io.Writer) { print(w, found) })
}
