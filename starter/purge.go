package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/operate"
	"herald/internal/postgres"
	"herald/internal/terminal"
)

// minRetention is the shortest accepted age: a shorter age is probably a typing error.
const minRetention = time.Hour

func (a *app) purgeCommand() *cobra.Command {
	flags := purgeFlags{ages: make([]terminal.Age, len(purgeTables()))}
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Delete old rows of the outbox, and of what came of its events",
		Long: `Delete old rows, the oldest first, a thousand in a transaction. A table without an age
is not touched. An AGE is counted from when the row was written: 720h, 30d, 1d12h.

What goes, once it is old enough:
  --outbox            events that were processed and have ended; FAILED ones stay, since
                      somebody has to look at them
  --processed-events  the memory that an event was processed. It tells a
                      duplicate: an event whose id is written again after that is told
                      again. Keep it longer than any producer repeats itself
  --notifications     deliveries that are not PENDING, with their attempts and retries,
                      of events that have ended. "delivery retry" cannot reach them any
                      more, and "event retry" would send them again
  --receipts          what providers said of messages; the delivery keeps what became of
                      it. Texts that came in are never deleted: one that is sent again
                      would undo a later STOP
  --decisions         why somebody was told or was not, where nothing is PENDING and the
                      event has ended
  --actions           who did what through starter: kept for ever, unless it has an age
                      for itself here
  --source            instead of these, rows of one outbox of OUTBOX_SOURCES that are
                      sent, from its own table; "herald" is --outbox. Rows that are
                      pending or failed stay, and rows whose event is not acknowledged,
                      or still open. The age is counted from when the row was sent, or,
                      where its table does not say, written. A retention in the file
                      does the same every hour

It can be interrupted, and run next to everything else: run it again, and it continues
with the rest. Where anything would go, it wants --yes.`,
		Example: `  starter purge --older-than 30d --dry-run
  starter purge --older-than 30d --processed-events 365d --yes
  starter purge --outbox 720h --yes -o json
  starter purge --source herald --older-than 720h --dry-run`,
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			if flags.source != "" {
				return a.purgeSource(ctx, flags)
			}
			return a.purge(ctx, flags)
		}),
	}
	terminal.AgeFlag(cmd.Flags(), &flags.olderThan, "older-than", "`AGE` for each of the five tables without a separate age")
	for i, t := range purgeTables() {
		terminal.AgeFlag(cmd.Flags(), &flags.ages[i], t.flag, "`AGE` for "+string(t.table))
	}
	a.sourceFlag(cmd, &flags.source, "rows of this outbox alone, from its own table")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "count what would go, and delete nothing")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "delete what --dry-run counts")
	return cmd
}

// purgeFlag is a table that can be purged, and the flag that sets its age.
type purgeFlag struct {
	flag  string
	table postgres.PurgeTable
}

// purgeTables returns the tables in the order of purging.
func purgeTables() []purgeFlag {
	return []purgeFlag{
		{"outbox", postgres.PurgeOutbox}, {"processed-events", postgres.PurgeProcessed}, {"notifications", postgres.PurgeNotifications},
		{"receipts", postgres.PurgeReceipts}, {"decisions", postgres.PurgeDecisions}, {"actions", postgres.PurgeActions},
	}
}

type purgeFlags struct {
	olderThan   terminal.Age
	ages        []terminal.Age // in the order of purgeTables
	source      string
	dryRun, yes bool
}

// retention returns the age limit of a table or a source; it refuses less than minRetention.
func retention(table postgres.PurgeTable, age terminal.Age) (operate.Retention, error) {
	if age.Duration < minRetention {
		return operate.Retention{}, misused(fmt.Errorf("%s for %s: must be an age of at least 1h, such as 720h or 30d", age.Text, table))
	}
	return operate.Retention{Table: table, Age: age.Duration, Text: age.Text}, nil
}

// retentions returns the age limit of each table that has one. --older-than is for all tables
// except actions.
func (f purgeFlags) retentions() (kept []operate.Retention, err error) {
	for i, t := range purgeTables() {
		age := f.ages[i]
		if age.Duration == 0 && t.table != postgres.PurgeActions {
			age = f.olderThan
		}
		if age.Duration == 0 {
			continue
		}
		r, err := retention(t.table, age)
		if err != nil {
			return nil, err
		}
		kept = append(kept, r)
	}
	if len(kept) == 0 {
		return nil, misused(errors.New("name an age: --older-than AGE, or --outbox, --processed-events, --notifications, --receipts, --decisions, --actions AGE"))
	}
	return kept, nil
}

// sourceRetention returns the age limit of the source in --source.
func (f purgeFlags) sourceRetention() (operate.Retention, error) {
	for i, t := range purgeTables() {
		if f.ages[i].Duration != 0 {
			return operate.Retention{}, misused(fmt.Errorf("--%s is for %s; --source goes with --older-than alone", t.flag, t.table))
		}
	}
	if f.olderThan.Duration == 0 {
		return operate.Retention{}, misused(errors.New("name an age: --source " + f.source + " --older-than AGE"))
	}
	return retention(postgres.PurgeTable(f.source), f.olderThan)
}

// purgeView is the output of `starter purge`.
type purgeView struct {
	DryRun bool                  `json:"dry_run"`
	Tables []operate.PurgedTable `json:"tables"`
}

func (a *app) purge(ctx context.Context, flags purgeFlags) error {
	kept, err := flags.retentions()
	if err != nil {
		return err
	}
	return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
		tables, err := o.PlanPurge(ctx, kept)
		if err != nil {
			return err
		}
		return a.purgePlanned(ctx, o, tables, flags)
	})
}

// purgeSource deletes the finished rows of one outbox.
func (a *app) purgeSource(ctx context.Context, flags purgeFlags) error {
	kept, err := flags.sourceRetention()
	if err != nil {
		return err
	}
	source, err := a.source(flags.source)
	if err != nil {
		return err
	}
	return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
		tables, err := o.PlanSourcePurge(ctx, source, kept)
		if err != nil {
			return err
		}
		return a.purgePlanned(ctx, o, tables, flags)
	})
}

// purgePlanned deletes the planned rows. With --dry-run it only prints their number.
func (a *app) purgePlanned(ctx context.Context, o *operate.Operator, tables []operate.PurgedTable, flags purgeFlags) error {
	view := purgeView{DryRun: flags.dryRun, Tables: tables}
	if flags.dryRun {
		return a.Print(view, view.print)
	}
	if total := view.matched(); total != "0" && !flags.yes {
		return misused(fmt.Errorf("%s rows would go, and nothing was deleted: to delete them add --yes, to look first --dry-run", total))
	}
	var line atomic.Value
	line.Store("")
	stop := a.Progress(func() string { return line.Load().(string) })
	purgeErr := o.Purge(ctx, tables, func(t operate.PurgedTable) {
		line.Store(fmt.Sprintf("%s: %s rows deleted …", t.Table, terminal.Grouped(t.Deleted)))
	})
	stop()
	if err := a.Print(view, view.print); err != nil {
		return err
	}
	if purgeErr != nil {
		return advice.With(fmt.Errorf("stopped: %w", purgeErr), "what was deleted is gone; run it again, and it continues with the rest")
	}
	return nil
}

// matched returns the number of rows that match, such as "more than 100,000".
func (v purgeView) matched() string {
	total, more := 0, ""
	for _, t := range v.Tables {
		total += t.Matched
		if t.More {
			more = "more than "
		}
	}
	return more + terminal.Grouped(total)
}

func (v purgeView) print(w io.Writer) {
	terminal.Row(w, "TABLE", "OLDER THAN", "BEFORE", "OLD ROWS", "DELETED")
	for _, t := range v.Tables {
		matched, deleted := terminal.Grouped(t.Matched), terminal.Grouped(t.Deleted)
		if t.More {
			matched = "more than " + matched
		}
		if v.DryRun {
			deleted = "-"
		}
		terminal.Row(w, t.Table, t.OlderThan, terminal.Clock(&t.Before), matched, deleted)
	}
}
