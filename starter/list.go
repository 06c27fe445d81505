package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/db"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/terminal"
)

// listing describes a list that starter prints.
type listing[T any] struct {
	name   string // the rows' key in JSON
	none   string // printed if there are no rows
	header []string
	cells  func(T) []string
	read   func(ctx context.Context, db *db.DB, args []string, from list.Place) (list.Page[T], error)
	pages  bool // add --after
}

// afterUsage is the help of --after.
const afterUsage = "continue after this `ID`, which an earlier call of the command printed when it stopped"

// listCommand completes a command that prints a list.
func listCommand[T any](a *app, cmd *cobra.Command, l listing[T]) *cobra.Command {
	var from list.Place
	terminal.LimitFlag(cmd.Flags(), &from.Limit)
	if l.pages {
		terminal.TextFlag(cmd.Flags(), &from.After, "after", afterUsage)
	}
	cmd.RunE = a.within(commandTimeout, func(ctx context.Context, args []string) error {
		db, _, err := a.store(ctx)
		if err != nil {
			return err
		}
		page, err := l.read(ctx, db, args, from)
		switch {
		case errors.Is(err, list.ErrNoPlace):
			return misused(fmt.Errorf("--after %s: %w", advice.Quote(from.After), err))
		case err != nil:
			return err
		}
		printed := map[string]any{l.name: page.Rows, "more": page.More}
		if page.Through != "" {
			printed["through"] = page.Through
		}
		return a.Print(printed, func(w io.Writer) { l.print(w, page) })
	})
	return cmd
}

func (l listing[T]) print(w io.Writer, page list.Page[T]) {
	if len(page.Rows) == 0 {
		terminal.Row(w, l.none)
	} else {
		terminal.List(w, l.header, page.Rows, l.cells)
	}
	next := ""
	if page.Through != "" {
		next = "--after " + advice.Quote(page.Through)
	}
	switch {
	case page.Partial:
		terminal.Row(w, fmt.Sprintf("… searched only %s rows: to search the next ones, add %s", terminal.Grouped(list.MaxSearched), next))
	case page.More:
		terminal.More(w, next)
	}
}

// showCommand completes a command that reads one thing by its id and prints it.
func showCommand[T any](
	a *app, cmd *cobra.Command, read func(explain.Explainer, context.Context, string) (T, error), print func(io.Writer, T),
) *cobra.Command {
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
