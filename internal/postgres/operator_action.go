package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// OperatorAction is a row of operator_action: who ordered what.
type OperatorAction struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Command string    `json:"command"`
	Target  string    `json:"target"`
	Detail  string    `json:"detail"`
}

// RecordActions writes that an actor ordered a command for each of the targets.
func (s *Store) RecordActions(ctx context.Context, actor, command, detail string, targets []string) error {
	const query = `
		INSERT INTO operator_action (actor, command, target, detail)
		SELECT $1, $2, target, $3
		FROM   unnest($4::text[]) AS target`

	if _, err := s.Pool.Exec(ctx, query, actor, command, detail, targets); err != nil {
		return fmt.Errorf("record who does it: %w", err)
	}
	return nil
}

// RecordsActions says whether the schema has a place for what operators do.
func (s *Store) RecordsActions(ctx context.Context) (bool, error) {
	var there bool
	if err := s.Pool.QueryRow(ctx, "SELECT to_regclass('operator_action') IS NOT NULL").Scan(&there); err != nil {
		return false, fmt.Errorf("look for operator_action: %w", err)
	}
	return there, nil
}

// ActionFilter says which actions are meant. A zero field is no condition.
type ActionFilter struct {
	Target, Actor, Command string
	Since                  time.Time // when ordered, at the earliest
}

// OperatorActions reads the latest actions that filter names, up to limit of
// them, the newest first.
func (s *Store) OperatorActions(ctx context.Context, filter ActionFilter, limit int) ([]OperatorAction, error) {
	const query = `
		SELECT id, at, actor, command, target, detail
		FROM   operator_action
		WHERE  ($1::text IS NULL OR target = $1)
		AND    ($2::text IS NULL OR actor = $2)
		AND    ($3::text IS NULL OR command = $3)
		AND    ($4::timestamptz IS NULL OR at >= $4)
		ORDER BY id DESC
		LIMIT  $5`

	rows, err := s.Pool.Query(ctx, query, optional(filter.Target), optional(filter.Actor), optional(filter.Command), optional(filter.Since), limit)
	if err != nil {
		return nil, fmt.Errorf("read what operators did: %w", err)
	}
	actions, err := pgx.CollectRows(rows, pgx.RowToStructByName[OperatorAction])
	if err != nil {
		return nil, fmt.Errorf("read what operators did: %w", err)
	}
	return actions, nil
}
