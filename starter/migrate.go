package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

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
	down := &cobra.Command{
		Use:     "down",
		Short:   "Take back the newest migration, with the data in its tables",
		Example: "  starter migrate down",
		Args:    cobra.NoArgs,
		RunE:    a.migrate(a.migrateDown),
	}
	status := &cobra.Command{
		Use:     "status",
		Short:   "Show which migrations are applied",
		Example: "  starter migrate status -o json",
		Args:    cobra.NoArgs,
		RunE:    a.migrate(a.migrateStatus),
	}
	return group("migrate", "Apply or take back the embedded migrations", up, down, status)
}

func (a *app) migrate(f func(context.Context, *postgres.Migrator) error) func(*cobra.Command, []string) error {
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
		defer a.progress(migrator.Doing)() // an index on a table of millions takes its time
		return f(ctx, migrator)
	})
}

func (a *app) migrateUp(ctx context.Context, m *postgres.Migrator) error {
	names, err := m.Up(ctx)
	if err != nil {
		return err
	}
	return a.print(map[string][]string{"applied": names}, func(w io.Writer) {
		for _, name := range names {
			row(w, "applied", name)
		}
		if len(names) == 0 {
			row(w, "nothing to apply: the schema is up to date")
		}
	})
}

func (a *app) migrateDown(ctx context.Context, m *postgres.Migrator) error {
	name, err := m.Down(ctx)
	if err != nil {
		return err
	}
	return a.print(map[string]string{"taken_back": name}, func(w io.Writer) {
		if name == "" {
			row(w, "nothing to take back: no migration is applied")
			return
		}
		row(w, "took back", name)
	})
}

func (a *app) migrateStatus(ctx context.Context, m *postgres.Migrator) error {
	statuses, err := m.Status(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(statuses, func(s postgres.MigrationStatus) bool { return !s.Applied }) {
		a.note("warning: the schema is not that of this build; run `starter migrate up`")
	}
	return a.print(statuses, func(w io.Writer) {
		row(w, "MIGRATION", "STATE")
		for _, s := range statuses {
			state := "missing"
			if s.Applied {
				state = "applied"
			}
			row(w, s.Name, state)
		}
	})
}
