package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// RunScripts runs scripts of several statements each, in their order and in one
// transaction. They read the settings, whose names have a dot in them, with
// current_setting.
func (s *Store) RunScripts(ctx context.Context, scripts []string, settings map[string]string) error {
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
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
	})
	if err != nil {
		return fmt.Errorf("run scripts: %w", err)
	}
	return nil
}
