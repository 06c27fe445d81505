package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/terminal"
	"herald/migrations"
)

func migrateCommand(a *app) *cobra.Command {
	up := &cobra.Command{
		Use:     "up",
		Short:   "Apply every migration that is missing",
		Example: "  starter migrate up",
		RunE:    a.migrate((*migration).up),
	}
	var yes bool
	down := &cobra.Command{
		Use:   "down",
		Short: "Revert the newest migration, and delete the data in its tables",
		Long: `Revert the newest migration, and delete the data in its tables and columns. Without --yes
it names the migration and changes nothing.`,
		Example: "  starter migrate down\n  starter migrate down --yes",
		RunE:    a.migrate(func(m *migration, ctx context.Context) error { return m.down(ctx, yes) }),
	}
	down.Flags().BoolVar(&yes, "yes", false, "revert it, and delete its data")
	status := &cobra.Command{
		Use:     "status",
		Short:   "Show which migrations are applied",
		Example: "  starter migrate status -o json",
		RunE:    a.migrate((*migration).status),
	}
	return group("migrate", "Apply or revert the embedded migrations", up, down, status)
}

// migration holds the state of a command that shows or changes the migrations.
type migration struct {
	*app
	db       *db.DB
	migrator *migrate.Migrator
	statuses []migrate.Status // before the command
}

func (a *app) migrate(f func(m *migration, ctx context.Context) error) func(*cobra.Command, []string) error {
	return a.within(0, func(ctx context.Context, _ []string) error {
		db, _, err := a.open(ctx)
		if err != nil {
			return err
		}
		migrator, err := migrate.New(ctx, db.Pool, migrations.FS)
		if err != nil {
			return err
		}
		defer func() { _ = migrator.Close() }()
		statuses, err := migrator.Status(ctx)
		if err != nil {
			return err
		}
		defer a.Progress(migrator.Doing)() // an index on millions of rows takes long
		return f(&migration{a, db, migrator, statuses}, ctx)
	})
}

// names returns the applied migrations, or the missing migrations.
func (m *migration) names(applied bool) []string {
	var names []string
	for _, s := range m.statuses {
		if s.Applied == applied {
			names = append(names, s.Name)
		}
	}
	return names
}

func (m *migration) up(ctx context.Context) error {
	recorded, err := m.record(ctx, m.names(false))
	if err != nil {
		return err
	}
	names, err := m.migrator.Up(ctx)
	if err != nil {
		return err
	}
	if !recorded { // before, the schema had no table for the record
		if _, err := m.record(ctx, names); err != nil {
			return err
		}
	}
	prepared := append([]string{}, m.migrator.Prepared()...)
	return m.Print(map[string][]string{"prepared": prepared, "applied": names}, func(w io.Writer) {
		for _, done := range prepared {
			terminal.Row(w, done)
		}
		switch {
		case len(names) == 0:
			terminal.Row(w, "nothing to apply: the schema is up to date")
		case len(m.names(true)) == 0:
			terminal.Row(w, fmt.Sprintf("created Herald's tables with %d migrations", len(names)))
		default:
			for _, name := range names {
				terminal.Row(w, "applied", name)
			}
		}
	})
}

// record records which migrations are applied or reverted, and reports whether the schema
// already has a table for this.
func (m *migration) record(ctx context.Context, names []string) (bool, error) {
	recordable, err := m.migrator.RecordsActions(ctx)
	if err != nil || !recordable {
		return false, err
	}
	return true, m.app.record(ctx, m.db, "", names...)
}

func (m *migration) down(ctx context.Context, yes bool) error {
	if applied := m.names(true); len(applied) > 0 {
		newest := applied[len(applied)-1]
		if !yes {
			return misused(fmt.Errorf("nothing changed: this would revert %s and delete the data in its tables and columns; repeat with --yes to "+
				"do it",
				newest))
		}
		if _, err := m.record(ctx, []string{newest}); err != nil {
			return err
		}
	}
	name, err := m.migrator.Down(ctx)
	if err != nil {
		return err
	}
	return m.Print(map[string]string{"taken_back": name}, func(w io.Writer) {
		if name == "" {
			terminal.Row(w, "nothing to revert: no migration is applied")
			return
		}
		terminal.Row(w, "reverted", name)
	})
}

func (m *migration) status(context.Context) error {
	if len(m.names(false)) > 0 {
		m.Note("warning: the schema differs from this build's; run `starter migrate up`")
	}
	return m.Print(m.statuses, func(w io.Writer) {
		terminal.Row(w, "MIGRATION", "STATE")
		for _, s := range m.statuses {
			state := "missing"
			if s.Applied {
				state = "applied"
			}
			terminal.Row(w, s.Name, state)
		}
	})
}
