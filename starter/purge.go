package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		Short: "Delete old events, deliveries and their records",
		Long: `Delete old rows, the oldest first, a thousand in a transaction. It deletes only from tables
with an AGE, such as 720h, 30d or 1d12h. The age of a row counts from its creation, or from the
end of its event. Workers do the same every 15 minutes with RETENTION_EVENTS,
RETENTION_EVENT_IDS, RETENTION_NOTIFICATIONS, RETENTION_ACTIONS and RETENTION_PREFERENCES.

  --outbox            processed events that have ended. FAILED events stay: somebody has
                      to look at them
  --processed-events  the ids of processed events. If a producer writes a deleted id again,
                      Herald tells its recipients again. Keep the ids longer than any
                      producer repeats an event
  --notifications     deliveries of ended events that are not PENDING, with their attempts
                      and retries. Then "delivery retry" does not find them, and "event
                      retry" would send them again
  --receipts          receipts of providers. Deliveries keep their status. Incoming text
                      messages stay: a repeated START could undo a later STOP
  --decisions         decisions about recipients of ended events without PENDING deliveries
  --actions           operators' actions. They stay forever, unless this flag gives an age
  --preference-changes
                      changes of recipients' preferences, likewise. The preferences stay
  --source            instead of these, sent rows in the table of an outbox of
                      OUTBOX_SOURCES; "herald" is the same as --outbox. Pending and failed
                      rows stay, and rows whose event is open or not acknowledged. The age
                      counts from sending, or from creation if the table has no such time.
                      A retention in the file does the same every 15 minutes

You can interrupt it at any time. Run it again, and it continues. It deletes only with --yes.`,
		Example: `  starter purge --older-than 30d --dry-run
  starter purge --older-than 30d --processed-events 365d --yes
  starter purge --outbox 720h --yes -o json
  starter purge --source herald --older-than 720h --dry-run`,
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			plan, err := a.purgePlan(flags)
			if err != nil {
				return err
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
				tables, err := plan(o, ctx)
				if err != nil {
					return err
				}
				return a.purge(ctx, o, tables, flags)
			})
		}),
	}
	terminal.AgeFlag(cmd.Flags(), &flags.olderThan, "older-than", "`AGE` for each of the first five tables that has no flag")
	for i, t := range purgeTables() {
		terminal.AgeFlag(cmd.Flags(), &flags.ages[i], t.flag, "`AGE` for "+string(t.table))
	}
	a.sourceFlag(cmd, &flags.source, "only sent rows in the table of this outbox")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "count the rows, and delete nothing")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "delete the rows that --dry-run counts")
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
		{"receipts", postgres.PurgeReceipts}, {"decisions", postgres.PurgeDecisions},
		{"actions", postgres.PurgeActions}, {"preference-changes", postgres.PurgePreferences},
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
// except the records of who changed what.
func (f purgeFlags) retentions() (kept []operate.Retention, err error) {
	for i, t := range purgeTables() {
		age := f.ages[i]
		if age.Duration == 0 && t.table != postgres.PurgeActions && t.table != postgres.PurgePreferences {
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
		return nil, misused(errors.New("name an age: --older-than AGE, or --outbox, --processed-events, --notifications, --receipts, --decisions, --actions, --preference-changes AGE"))
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

// purgePlan returns the function that counts the old rows: of one outbox with --source, else of
// Herald's tables.
func (a *app) purgePlan(flags purgeFlags) (func(*operate.Operator, context.Context) ([]operate.PurgedTable, error), error) {
	if flags.source == "" {
		kept, err := flags.retentions()
		return func(o *operate.Operator, ctx context.Context) ([]operate.PurgedTable, error) {
			return o.PlanPurge(ctx, kept)
		}, err
	}
	kept, err := flags.sourceRetention()
	if err != nil {
		return nil, err
	}
	source, err := a.source(flags.source)
	return func(o *operate.Operator, ctx context.Context) ([]operate.PurgedTable, error) {
		return o.PlanSourcePurge(ctx, source, kept)
	}, err
}

// purge deletes the planned rows. With --dry-run it only prints their number.
func (a *app) purge(ctx context.Context, o *operate.Operator, tables []operate.PurgedTable, flags purgeFlags) error {
	view := purgeView{DryRun: flags.dryRun, Tables: tables}
	if flags.dryRun {
		return a.Print(view, view.print)
	}
	if total := view.matched(); total != "0" && !flags.yes {
		return misused(fmt.Errorf("nothing deleted: %s rows match; repeat with --yes to delete them", total))
	}
	set, stop := a.ProgressLine("")
	purgeErr := o.Purge(ctx, tables, func(t operate.PurgedTable) {
		set(fmt.Sprintf("%s: %s rows deleted …", t.Table, terminal.Grouped(t.Deleted)))
	})
	stop()
	if err := a.Print(view, view.print); err != nil || purgeErr == nil {
		return err
	}
	return advice.With(fmt.Errorf("stopped: %w", purgeErr), "run it again: it continues with the remaining rows")
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
