package roomtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Plant inserts n deliveries in one statement: by default e-mails d1 to dn, about events e1 to en, to
// customers 1 to n. sql replaces columns with expressions of the number i.
func Plant(t *testing.T, s *db.DB, n int, sql map[string]string) {
	t.Helper()
	columns := map[string]string{
		"event_id": "'e' || i", "event_type": "'T'", "user_type": "'CUSTOMER'", "user_id": "i::text", "channel": "'EMAIL'", "delivery_id": "'d' || i", "title": "'title'", "body": "'body'",
	}
	maps.Copy(columns, sql)
	names := slices.Sorted(maps.Keys(columns))
	values := Mapped(names, func(name string) string { return columns[name] })
	postgrestest.Exec(t, s, fmt.Sprintf("INSERT INTO notification (%s) SELECT %s FROM generate_series(1, %d) AS i", strings.Join(names, ", "), strings.Join(values, ", "), n))
}
