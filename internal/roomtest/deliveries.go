package roomtest

import (
	"maps"
	"testing"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// Row holds the columns of a delivery that tests check.
type Row struct {
	Status                      string
	Attempts                    int
	Title, Body, Address, Error *string
	ProviderID                  *string
	Sent                        bool // sent_at is set
}

func Delivery(t *testing.T, s *db.DB, id string) Row {
	t.Helper()
	return Must(db.One(t.Context(), s.Pool, "read delivery", pgx.RowToStructByPos[Row], `
		SELECT status, attempt_count, title, body, recipient_address, last_error, provider_message_id, sent_at IS NOT NULL
		FROM   notification
		WHERE  delivery_id = $1`, id))(t)
}

// SetStatus sets a delivery's status, and the columns that belong to it.
func SetStatus(t *testing.T, s *db.DB, id string, status notification.Status) {
	t.Helper()
	postgrestest.Exec(t, s, `
		UPDATE notification
		SET    status = $2,
		       last_error = CASE WHEN $2 IN ('FAILED', 'CANCELLED') THEN 'before' END,
		       sent_at = CASE WHEN $2 IN ('SENT', 'DELIVERED') THEN now() END,
		       delivered_at = CASE WHEN $2 = 'DELIVERED' THEN now() END
		WHERE  delivery_id = $1`, id, string(status))
}

// Plant inserts n deliveries like a row in one statement: d1 to dn, about events e1 to en, to customers
// 1 to n. sql replaces columns with expressions of the number i.
func Plant(t *testing.T, s *db.DB, n int, row postgrestest.Delivery, sql postgrestest.Expressions) {
	t.Helper()
	columns := postgrestest.Expressions{"event_id": "'e' || i", "user_id": "i::text", "delivery_id": "'d' || i"}
	maps.Copy(columns, sql)
	postgrestest.AddMany(t, s.Pool, n, row, columns)
}
