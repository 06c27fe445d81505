package audit

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrFormUsed means that a form of the console was submitted before.
var ErrFormUsed = errors.New("the form was used before")

// RecordActions records that an actor ordered a command for each target. A form, if not empty, can
// be submitted once; then the error is [ErrFormUsed].
func (s Store) RecordActions(ctx context.Context, actor, command, detail, form string, targets []string) error {
	const query = `
		INSERT INTO operator_action (actor, command, target, detail)
		SELECT $1, $2, target, $3
		FROM   unnest($4::text[]) AS target`
	const once = `
		INSERT INTO operator_action (actor, command, target, detail, form)
		SELECT $1, $2, target, $3, $5
		FROM   unnest($4::text[]) AS target`

	const doing = "record who does it"
	if form == "" { // a role that is older than the column may not write it
		return s.Exec(ctx, doing, query, actor, command, detail, targets)
	}
	err := s.Exec(ctx, doing, once, actor, command, detail, targets, form)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.ConstraintName == "operator_action_form" {
		return ErrFormUsed
	}
	return err
}
