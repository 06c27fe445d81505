package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Escalation is what follows a delivery, or may, and what that one follows itself.
type Escalation struct {
	Escalates  bool                         `json:"escalates"`           // a row of event_type_escalation held for it as it was planned
	To         notification.Channel         `json:"to,omitempty"`        // by that row; empty: none, or the row is gone
	Until      notification.EscalationUntil `json:"until,omitempty"`     // what it waits for
	FollowedBy string                       `json:"followed_by"`         // a delivery; empty: none
	From       string                       `json:"follows" db:"origin"` // the delivery that it follows; empty: its event planned it
}

// Escalation reads what follows a delivery. The zero value: nothing, and it follows none.
func (r Reader) Escalation(ctx context.Context, deliveryID string) (Escalation, error) {
	const query = `
		SELECT n.escalates, coalesce(x.to_channel, '') AS "to", coalesce(x.until, '') AS until,
		       coalesce(f.delivery_id, '') AS followed_by, coalesce(n.escalated_from, '') AS origin
		FROM   notification n
		LEFT JOIN event_type_escalation x ON n.escalates AND x.event_type = n.event_type AND x.from_channel = n.channel
		LEFT JOIN notification f ON f.event_id = n.event_id AND f.user_type = n.user_type AND f.user_id = n.user_id AND f.escalated_from = n.delivery_id
		WHERE  n.delivery_id = $1
		LIMIT  1`

	rows, _ := r.Pool.Query(ctx, query, deliveryID) // CollectOneRow returns its error
	found, err := pgx.CollectOneRow(rows, pgx.RowToStructByName[Escalation])
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Escalation{}, fmt.Errorf("read escalation: %w", err)
	}
	return found, nil
}
