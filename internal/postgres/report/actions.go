package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Action is a row of operator_action: who ordered what.
type Action struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`   // what they said of themselves
	DBUser  string    `json:"db_user"` // the role that was logged in to the database; empty: not recorded
	Command string    `json:"command"`
	Target  string    `json:"target"`
	Detail  string    `json:"detail"`
}

// ActionFilter selects actions. A zero field is no condition. A target that is a delivery
// selects what the commands of `starter event` did to its event as well.
type ActionFilter struct {
	Target, Actor, Command string
	Since                  time.Time // when ordered, at the earliest
}

// Actions reads the latest actions that the filter selects, up to limit of them, the
// newest first.
func (r Reader) Actions(ctx context.Context, filter ActionFilter, limit int) ([]Action, error) {
	const query = `
		SELECT id, at, actor, coalesce(db_user, '') AS db_user, command, target, detail
		FROM   operator_action
		WHERE  ($1::text IS NULL OR target = $1
		    OR  target = (SELECT n.event_id FROM notification n WHERE n.delivery_id = $1) AND starts_with(command, 'event '))
		AND    ($2::text IS NULL OR actor = $2)
		AND    ($3::text IS NULL OR command = $3)
		AND    ($4::timestamptz IS NULL OR at >= $4)
		ORDER BY id DESC
		LIMIT  $5`

	return list(ctx, r, "what operators did", pgx.RowToStructByName[Action], query,
		optional(filter.Target), optional(filter.Actor), optional(filter.Command), optional(filter.Since), limit)
}
