package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/postgres"
	"herald/migrations"
)

func (a *app) migrateCommand() *cobra.Command {
	up := &cobra.Command{
		Use:     "up",
		Short:   "Apply every migration that is missing",
		Example: "  starter migrate up",
		Args:    cobra.NoArgs,
		RunE:    a.migrate(a.migrateUp),
	}
	var yes bool
	down := &cobra.Command{
		Use:   "down",
		Short: "Take back the newest migration, with the data in its tables",
		Long: `Take back the newest migration, with the data in its tables and columns. Without --yes
it says what would go, and takes nothing back.`,
		Example: "  starter migrate down\n  starter migrate down --yes",
		Args:    cobra.NoArgs,
		RunE: a.migrate(func(ctx context.Context, db *postgres.Store, m *postgres.Migrator) error {
			return a.migrateDown(ctx, db, m, yes)
		}),
	}
	down.Flags().BoolVar(&yes, "yes", false, "take it back, with its data")
	status := &cobra.Command{
		Use:     "status",
		Short:   "Show which migrations are applied",
		Example: "  starter migrate status -o json",
		Args:    cobra.NoArgs,
		RunE:    a.migrate(a.migrateStatus),
	}
	return group("migrate", "Apply or take back the embedded migrations", up, down, status)
}

func (a *app) migrate(f func(context.Context, *postgres.Store, *postgres.Migrator) error) func(*cobra.Command, []string) error {
	return a.within(0, func(ctx context.Context, _ []string) error {
		db, _, err := a.store(ctx)
		if err != nil {
			return err
		}
		defer db.Close()
		migrator, err := db.NewMigrator(migrations.FS)
		if err != nil {
			return err
		}
		defer func() { _ = migrator.Close() }()
		defer a.Progress(migrator.Doing)() // an index on a table of millions takes its time
		return f(ctx, db, migrator)
	})
}

func (a *app) migrateUp(ctx context.Context, db *postgres.Store, m *postgres.Migrator) error {
	missing, err := migrationsThat(ctx, m, func(s postgres.MigrationStatus) bool { return !s.Applied })
	if err != nil {
		return err
	}
	recorded, err := a.recordMigration(ctx, db, missing)
	if err != nil {
		return err
	}
	names, err := m.Up(ctx)
	if err != nil {
		return err
	}
	if !recorded { // there was no place for it
		if _, err := a.recordMigration(ctx, db, names); err != nil {
			return err
		}
	}
	return a.Print(map[string][]string{"applied": names}, func(w io.Writer) {
		for _, name := range names {
			console.Row(w, "applied", name)
		}
		if len(names) == 0 {
			console.Row(w, "nothing to apply: the schema is up to date")
		}
	})
}

// recordMigration writes down which migrations are applied or taken back, and
// says whether the schema has a place for that.
func (a *app) recordMigration(ctx context.Context, db *postgres.Store, names []string) (bool, error) {
	there, err := db.RecordsActions(ctx)
	if err != nil || !there || len(names) == 0 {
		return there, err
	}
	return true, a.record(ctx, db, "", names...)
}

func migrationsThat(ctx context.Context, m *postgres.Migrator, meant func(postgres.MigrationStatus) bool) ([]string, error) {
	statuses, err := m.Status(ctx)
	var names []string
	for _, s := range statuses {
		if meant(s) {
			names = append(names, s.Name)
		}
	}
	return names, err
}

func (a *app) migrateDown(ctx context.Context, db *postgres.Store, m *postgres.Migrator, yes bool) error {
	applied, err := migrationsThat(ctx, m, func(s postgres.MigrationStatus) bool { return s.Applied })
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		newest := applied[len(applied)-1]
		if !yes {
			return a.refuseDown(ctx, db, newest)
		}
		if _, err := a.recordMigration(ctx, db, []string{newest}); err != nil {
			return err
		}
	}
	name, err := m.Down(ctx)
	if err != nil {
		return err
	}
	return a.Print(map[string]string{"taken_back": name}, func(w io.Writer) {
		if name == "" {
			console.Row(w, "nothing to take back: no migration is applied")
			return
		}
		console.Row(w, "took back", name)
	})
}

// refuseDown says what would go with a migration.
func (a *app) refuseDown(ctx context.Context, db *postgres.Store, name string) error {
	source, err := migrations.FS.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	losses, err := lossesOf(ctx, db, string(source))
	if err != nil {
		return err
	}
	with := "no data goes with it"
	if len(losses) > 0 {
		with = "with it would go " + strings.Join(losses, ", ")
	}
	return misused(fmt.Errorf("%s would be taken back, and was not; %s: to do it add --yes", name, with))
}

func (a *app) migrateStatus(ctx context.Context, _ *postgres.Store, m *postgres.Migrator) error {
	statuses, err := m.Status(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(statuses, func(s postgres.MigrationStatus) bool { return !s.Applied }) {
		a.Note("warning: the schema is not that of this build; run `starter migrate up`")
	}
	return a.Print(statuses, func(w io.Writer) {
		console.Row(w, "MIGRATION", "STATE")
		for _, s := range statuses {
			state := "missing"
			if s.Applied {
				state = "applied"
			}
			console.Row(w, s.Name, state)
		}
	})
}
