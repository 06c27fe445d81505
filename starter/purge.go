package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/operate"
	"herald/internal/purge"
	"herald/internal/terminal"
)

// minRetention is the shortest accepted age: a shorter age is probably a typing error.
const minRetention = time.Hour

func purgeCommand(a *app) *cobra.Command {
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
  --source            only the sent rows in the table of an outbox of
                      OUTBOX_SOURCES; "herald" is the same as --outbox. Pending and failed
                      rows stay, also rows whose event is open or not acknowledged. The age
                      counts from sending, or from creation if the table has no such time.
                      A retention in the file does the same every 15 minutes

You can interrupt it at any time. Run it again, and it continues. It deletes only with --yes.`,
		Example: `  starter purge --older-than 30d --dry-run
  starter purge --older-than 30d --processed-events 365d --yes
  starter purge --outbox 720h --yes -o json
  starter purge --source herald --older-than 720h --dry-run`,
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			kept, err := retentions(a, flags)
			if err != nil {
				return err
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error { return a.purge(ctx, o, kept, flags) })
		}),
	}
	terminal.AgeFlag(cmd.Flags(), &flags.olderThan, "older-than", "`AGE` for each of the first five tables that has no flag")
	for i, t := range purgeTables() {
		terminal.AgeFlag(cmd.Flags(), &flags.ages[i], t.flag, "`AGE` for "+string(t.table))
	}
	sourceFlag(a, cmd, &flags.source, "only sent rows in the table of this outbox")
	flags.register(cmd, "delete")
	return cmd
}

// purgeFlag is a table that can be purged, and the flag that sets its age.
type purgeFlag struct {
	flag  string
	table purge.Table
}

// purgeTables returns the tables in the order of purging.
func purgeTables() []purgeFlag {
	return []purgeFlag{
		{"outbox", purge.Outbox}, {"processed-events", purge.Processed}, {"notifications", purge.Notifications},
		{"receipts", purge.Receipts}, {"decisions", purge.Decisions},
		{"actions", purge.Actions}, {"preference-changes", purge.Preferences},
	}
}

type purgeFlags struct {
	confirmation
	olderThan terminal.Age
	ages      []terminal.Age // in the order of purgeTables
	source    string
}

// retention returns the age limit of a table or a source; it refuses less than minRetention.
func retention(table purge.Table, age terminal.Age) (operate.Retention, error) {
	if age.Duration < minRetention {
		return operate.Retention{}, misused(fmt.Errorf("%s for %s: must be an age of at least 1h, such as 720h or 30d", age.Text, table))
	}
	return operate.Retention{Table: table, Age: age.Duration, Text: age.Text}, nil
}

// retentions returns the age limit of each table that has one, or of the outbox in --source.
// --older-than is for all tables except the records of who changed what.
func retentions(a *app, f purgeFlags) (kept []operate.Retention, err error) {
	if f.source != "" {
		return sourceRetention(a, f)
	}
	for i, t := range purgeTables() {
		age := f.ages[i]
		if age.Duration == 0 && t.table != purge.Actions && t.table != purge.Preferences {
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
		return nil, misused(errors.New("name an age: --older-than AGE, or --outbox, --processed-events, --notifications, --receipts, " +
			"--decisions, --actions, --preference-changes AGE"))
	}
	return kept, nil
}

// sourceRetention returns the age limit of the source in --source.
func sourceRetention(a *app, f purgeFlags) ([]operate.Retention, error) {
	for i, t := range purgeTables() {
		if f.ages[i].Duration != 0 {
			return nil, misused(fmt.Errorf("--%s is for %s; with --source, only --older-than sets the age", t.flag, t.table))
		}
	}
	if f.olderThan.Duration == 0 {
		return nil, misused(errors.New("name an age: --source " + f.source + " --older-than AGE"))
	}
	source, err := a.source(f.source)
	if err != nil {
		return nil, err
	}
	if source.IsHerald() { // these settings may lack the topic that events wait for
		kept, err := retention(purge.Outbox, f.olderThan)
		return []operate.Retention{kept}, err
	}
	kept, err := retention(purge.Table(source.Name), f.olderThan)
	kept.Source = &source
	return []operate.Retention{kept}, err
}

// purgeView is the output of `starter purge`.
type purgeView struct {
	DryRun bool                  `json:"dry_run"`
	Tables []operate.PurgedTable `json:"tables"`
}

// purge deletes the old rows. With --dry-run it only prints their number.
func (a *app) purge(ctx context.Context, o *operate.Operator, kept []operate.Retention, flags purgeFlags) error {
	tables, err := o.PlanPurge(ctx, kept)
	if err != nil {
		return err
	}
	view := purgeView{DryRun: flags.dryRun, Tables: tables}
	return confirmed(a, flags.confirmation, rowChange[purgeView]{
		verb: "delete", done: "deleted", plan: view, rows: view.matched(), idle: view.matched() == "0", print: printPurged,
		do: func(set func(string)) (purgeView, error) {
			return view, o.Purge(ctx, tables, func(t operate.PurgedTable) {
				set(fmt.Sprintf("%s: %s rows deleted …", t.Table, terminal.Grouped(t.Deleted)))
			})
		},
	})
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

func printPurged(w io.Writer, v purgeView) {
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
