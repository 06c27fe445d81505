package attempt

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Unended returns the number of attempts that began since a time, and whose lease is over without an end:
// the process died, or the end was lost. It returns the delivery ids of the first ones, up to limit.
func (s Store) Unended(ctx context.Context, since time.Time, limit int) (count int, ids []string, err error) {
	const query = `
		SELECT delivery_id, count(*) OVER () AS all_of_them
		FROM   notification
		WHERE  status = 'PENDING'
		AND    attempt_began >= @since
		AND    attempt_until < clock_timestamp()
		ORDER BY id
		LIMIT  @limit`

	type row struct {
		DeliveryID string
		AllOfThem  int
	}
	rows, err := db.Collect(ctx, s.Pool, "look for attempts without an end", db.ByName[row](), query,
		pgx.NamedArgs{"since": since, "limit": limit})
	for _, row := range rows {
		count, ids = row.AllOfThem, append(ids, row.DeliveryID)
	}
	return count, ids, err
}
