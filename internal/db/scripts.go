package db

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// RunScripts runs scripts in one transaction, as [DB.Change] does.
func (s *DB) RunScripts(
	ctx context.Context, scripts []string, settings map[string]string, confirm func(ctx context.Context, changed map[string]int) error,
) error {
	return s.Change(ctx, func(tx pgx.Tx) error { return RunScripts(ctx, tx, scripts, settings) }, confirm)
}

// RunScripts runs scripts of several statements each, in order. They read the settings, whose names
// contain a dot, with current_setting.
func RunScripts(ctx context.Context, tx pgx.Tx, scripts []string, settings map[string]string) error {
	for name, value := range settings {
		if _, err := tx.Exec(ctx, "SELECT set_config($1, $2, true)", name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	for i, script := range scripts {
		if _, err := tx.Exec(ctx, script); err != nil {
			return fmt.Errorf("script %d: %w", i+1, err)
		}
	}
	return nil
}

// Change calls write in a transaction. Before the commit, it calls confirm with the number of changed or
// deleted rows, by table. An error of confirm rolls everything back.
func (s *DB) Change(
	ctx context.Context, write func(tx pgx.Tx) error, confirm func(ctx context.Context, changed map[string]int) error,
) error {
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		before, err := changedRows(ctx, tx)
		if err != nil {
			return err
		}
		if err := write(tx); err != nil {
			return err
		}
		changed, err := changedRows(ctx, tx)
		if err != nil {
			return err
		}
		for table, count := range before {
			if changed[table] -= count; changed[table] == 0 {
				delete(changed, table)
			}
		}
		return confirm(ctx, changed)
	})
	return Wrap(err, "run scripts")
}

// changedRows counts the rows that this session has changed or deleted, by table. It may
// also count rows of earlier transactions, until the server has recorded them.
func changedRows(ctx context.Context, tx pgx.Tx) (map[string]int, error) {
	const query = `
		SELECT relname, n_tup_upd + n_tup_del
		FROM   pg_stat_xact_user_tables
		WHERE  n_tup_upd + n_tup_del > 0`

	counts := map[string]int{}
	var table string
	var count int
	err := Each(ctx, tx, "count changed rows", []any{&table, &count}, func() { counts[table] += count }, query)
	return counts, err
}
