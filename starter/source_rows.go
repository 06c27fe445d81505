package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/outboxes"
	"herald/internal/postgres"
)

// anySource is the source with a name, Herald's own included.
func (a *app) anySource(name string) (outboxes.Source, error) {
	named, err := a.sourcesNamed(name)
	if err != nil {
		return outboxes.Source{}, err
	}
	return named[0], nil
}

func (a *app) sourceRowsCommand() *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "rows NAME",
		Short: "List the rows of an outbox that were refused, that tell nobody, or that cannot be marked",
		Long: `List the rows of an outbox that Herald keeps in mind, in the order of their keys:

  WAITING   the topic refused the row, and gets it again
  FAILED    the row was given up; "starter source retry" begins it again
  UNMARKED  the row was sent, and its own table refuses the mark
  UNTOLD    the topic has the row or gets it, and no people can be told by it

All other rows are in their own table alone.`,
		Example:           "  starter source rows orders\n  starter source rows orders -o json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: console.CompleteOne(a.completeSources()),
		RunE: a.within(commandTimeout, func(ctx context.Context, args []string) error {
			return a.sourceRows(ctx, args[0], after, limit)
		}),
	}
	console.TextFlag(cmd.Flags(), &after, "after", "begin behind the row with this key")
	console.LimitFlag(cmd.Flags(), &limit)
	return cmd
}

func (a *app) sourceRows(ctx context.Context, name, after string, limit int) error {
	source, err := a.anySource(name)
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.SourceRows(ctx, source.Name, after, limit)
	if err != nil {
		return err
	}
	return a.Print(map[string]any{"rows": append([]postgres.SourceRow{}, rows...)}, func(w io.Writer) {
		cells := make([][]string, len(rows))
		for i, row := range rows {
			problem := row.Error
			if problem == "" {
				problem = row.PeopleError
			}
			cells[i] = []string{row.Key, row.State, fmt.Sprint(row.Refusals), console.Clock(row.NextAttemptAt), console.Printable(problem)}
		}
		console.List(w, []string{"KEY", "STATE", "REFUSED", "NEXT ATTEMPT", "ERROR"}, cells)
	})
}

func (a *app) sourceRetryCommand() *cobra.Command {
	var dryRun, all bool
	cmd := &cobra.Command{
		Use:   "retry NAME [KEY...]",
		Short: "Begin failed rows of an outbox again",
		Long: `Begin rows of an outbox again that were given up: those with the keys, or all of them
with --all. Each becomes pending in its own table, and is sent by the next look of the
poller. "starter source rows" lists the keys.`,
		Example:           "  starter source retry wallet 7 9\n  starter source retry orders --all --dry-run",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: console.CompleteOne(a.completeSources()),
		RunE: a.within(0, func(ctx context.Context, args []string) error {
			if all == (len(args) > 1) {
				return misused(fmt.Errorf("name keys, or --all"))
			}
			return a.retrySource(ctx, args[0], args[1:], dryRun)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "all rows that have failed")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say how many rows would begin again, and change nothing")
	return cmd
}

func (a *app) retrySource(ctx context.Context, name string, keys []string, dryRun bool) error {
	source, err := a.anySource(name)
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
	result, err := o.RetrySource(ctx, source, keys, dryRun)
	if err != nil {
		return err
	}
	printed := a.Print(result, func(w io.Writer) {
		if dryRun {
			console.Row(w, "would begin again", result.Matched)
		} else {
			console.Row(w, "begun again", result.Retried)
		}
		for _, key := range result.Skipped {
			console.Row(w, "has not failed", key)
		}
	})
	if printed == nil && len(result.Skipped) > 0 {
		return fmt.Errorf("%d of the rows have not failed: see `starter source rows %s`", len(result.Skipped), source.Name)
	}
	return printed
}
