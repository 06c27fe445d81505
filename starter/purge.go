package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/postgres"
)

const (
	// minRetention is the least that rows are kept: less is a slip of the pen.
	minRetention = time.Hour
	// maxPurgeCount bounds the counting before a purge; it deletes more.
	maxPurgeCount = 100_000
)

func (a *app) purgeCommand() *cobra.Command {
	var flags purgeFlags
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Delete old rows of the outbox, and of what came of its events",
		Long: `Delete old rows, the oldest first, a thousand in a transaction. A table without an age
is not touched. An AGE is counted from when the row was written: 720h, 30d, 1d12h.

What goes, once it is old enough:
  --outbox            events that were processed and have ended; FAILED ones stay, since
                      somebody has to look at them
  --processed-events  the memory that an event was processed. It is what tells a
                      duplicate: an event whose id is written again after that is told
                      again. Keep it longer than any producer repeats itself
  --notifications     deliveries that are not PENDING, with their attempts and retries,
                      of events that have ended. "delivery retry" cannot reach them any
                      more, and "event retry" would send them again
  --decisions         why somebody was told or was not, where nothing is PENDING and the
                      event has ended
  --actions           who did what through starter: kept for ever, unless it has an age
                      of its own here

It can be interrupted, and run beside everything else: run it again, and it goes on
with the rest. Where anything would go, it wants --yes.`,
		Example: `  starter purge --older-than 30d --dry-run
  starter purge --older-than 30d --processed-events 365d --yes
  starter purge --outbox 720h --yes -o json`,
		Args: cobra.NoArgs,
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			return a.purge(ctx, flags)
		}),
	}
	cmd.Flags().Var(&flags.olderThan, "older-than", "`AGE` for each of the four tables that has none of its own")
	cmd.Flags().Var(&flags.outbox, "outbox", "`AGE` for event_outbox")
	cmd.Flags().Var(&flags.processed, "processed-events", "`AGE` for processed_event")
	cmd.Flags().Var(&flags.notifications, "notifications", "`AGE` for notification")
	cmd.Flags().Var(&flags.decisions, "decisions", "`AGE` for notification_decision")
	cmd.Flags().Var(&flags.actions, "actions", "`AGE` for operator_action, which --older-than leaves alone")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "count what would go, and delete nothing")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "delete what --dry-run counts")
	return cmd
}

type purgeFlags struct {
	olderThan, outbox, processed, notifications, decisions, actions console.Age
	dryRun, yes                                                     bool
}

// purgeView is what `starter purge` prints.
type purgeView struct {
	DryRun bool          `json:"dry_run"`
	Tables []purgedTable `json:"tables"`
}

// purgedTable is one table, before and after.
type purgedTable struct {
	Table     postgres.PurgeTable `json:"table"`
	OlderThan string              `json:"older_than"`
	Before    time.Time           `json:"before"`
	Matched   int                 `json:"matched"` // rows that may go
	More      bool                `json:"more"`    // there are more of them than were counted
	Deleted   int                 `json:"deleted"`
	age       time.Duration
}

// plan is the tables that the flags give an age.
func (f purgeFlags) plan() ([]purgedTable, error) {
	var tables []purgedTable
	for _, t := range []struct {
		table postgres.PurgeTable
		kept  console.Age
	}{
		{postgres.PurgeOutbox, cmp.Or(f.outbox, f.olderThan)}, {postgres.PurgeProcessed, cmp.Or(f.processed, f.olderThan)},
		{postgres.PurgeNotifications, cmp.Or(f.notifications, f.olderThan)}, {postgres.PurgeDecisions, cmp.Or(f.decisions, f.olderThan)},
		{postgres.PurgeActions, f.actions},
	} {
		if t.kept.Duration > 0 && t.kept.Duration < minRetention {
			return nil, fmt.Errorf("%s for %s: must be an age of at least 1h, such as 720h or 30d", t.kept.String(), t.table)
		}
		if t.kept.Duration > 0 {
			tables = append(tables, purgedTable{Table: t.table, OlderThan: t.kept.String(), age: t.kept.Duration})
		}
	}
	if len(tables) == 0 {
		return nil, errors.New("name an age: --older-than AGE, or --outbox, --processed-events, --notifications, --decisions, --actions AGE")
	}
	return tables, nil
}

func (a *app) purge(ctx context.Context, flags purgeFlags) error {
	tables, err := flags.plan()
	if err != nil {
		return misused(err)
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	view := purgeView{DryRun: flags.dryRun, Tables: tables}
	total, counted, err := view.count(ctx, db)
	if err != nil {
		return err
	}
	if flags.dryRun {
		return a.Print(view, view.write)
	}
	if total > 0 && !flags.yes {
		return misused(fmt.Errorf("%s rows would go, and nothing was deleted: to delete them add --yes, to look first --dry-run", counted))
	}
	if err := a.recordPurge(ctx, db, tables); err != nil {
		return err
	}
	deleteErr := a.deleteOld(ctx, db, &view)
	if err := a.Print(view, view.write); err != nil {
		return err
	}
	if deleteErr != nil {
		return advice.With(fmt.Errorf("stopped: %w", deleteErr), "what was deleted is gone; run it again, and it goes on with the rest")
	}
	return nil
}

// recordPurge writes down whose rows go.
func (a *app) recordPurge(ctx context.Context, db *postgres.Store, tables []purgedTable) error {
	var names []string
	for _, t := range tables {
		if t.Matched > 0 {
			names = append(names, string(t.Table))
		}
	}
	return a.record(ctx, db, a.called.flags, names...)
}

// count counts what may go, and returns how many that is, in words as well.
func (v *purgeView) count(ctx context.Context, db *postgres.Store) (total int, counted string, err error) {
	now, err := db.Now(ctx)
	if err != nil {
		return 0, "", err
	}
	more := ""
	for i := range v.Tables {
		t := &v.Tables[i]
		t.Before = now.Add(-t.age)
		found, err := db.CountPurgeable(ctx, t.Table, t.Before, maxPurgeCount+1)
		if err != nil {
			return 0, "", err
		}
		if t.Matched = min(found, maxPurgeCount); found > maxPurgeCount {
			t.More, more = true, "more than "
		}
		total += t.Matched
	}
	return total, more + console.Grouped(total), nil
}

// deleteOld deletes what was counted, and what there is beyond it.
func (a *app) deleteOld(ctx context.Context, db *postgres.Store, view *purgeView) error {
	for i := range view.Tables {
		t := &view.Tables[i]
		var deleted atomic.Int64
		stop := a.Progress(func() string {
			return fmt.Sprintf("%s: %s rows deleted …", t.Table, console.Grouped(int(deleted.Load())))
		})
		err := t.deleteOld(ctx, db, &deleted)
		stop()
		if t.Deleted = int(deleted.Load()); err != nil {
			return err
		}
	}
	return nil
}

func (t *purgedTable) deleteOld(ctx context.Context, db *postgres.Store, deleted *atomic.Int64) error {
	var from *time.Time
	for {
		batch, err := db.PurgeNext(ctx, t.Table, t.Before, from)
		if err != nil || batch.Deleted == 0 {
			return err
		}
		deleted.Add(int64(batch.Deleted))
		from = batch.Through
	}
}

func (v purgeView) write(w io.Writer) {
	console.Row(w, "TABLE", "OLDER THAN", "BEFORE", "OLD ROWS", "DELETED")
	for _, t := range v.Tables {
		matched, deleted := console.Grouped(t.Matched), console.Grouped(t.Deleted)
		if t.More {
			matched = "more than " + matched
		}
		if v.DryRun {
			deleted = "-"
		}
		console.Row(w, t.Table, t.OlderThan, console.Clock(&t.Before), matched, deleted)
	}
}
