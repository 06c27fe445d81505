package postgres

import (
	"context"
)

// RecordActions writes that an actor ordered a command for each of the targets.
func (s *Store) RecordActions(ctx context.Context, actor, command, detail string, targets []string) error {
	const query = `
		INSERT INTO operator_action (actor, command, target, detail)
		SELECT $1, $2, target, $3
		FROM   unnest($4::text[]) AS target`

	_, err := s.Pool.Exec(ctx, query, actor, command, detail, targets)
	return wrap(err, "record who does it")
}
