package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
	"herald/internal/postgres/report"
)

// The latest events are read from the end of an index, however many there are.
func TestLatestEventsByIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at)
		SELECT 'evt-' || i, 'T', 'ADMIN', '1', '{}', 'PROCESSED', now(), now() - (50000 - i) * interval '1 second'
		FROM   generate_series(1, 50000) i`)
	exec(t, s, "ANALYZE event_outbox")
	for name, ask := range map[string]func(*postgres.Store) error{
		"list": func(s *postgres.Store) error {
			_, err := report.Reader{Pool: s.Pool}.LatestEvents(t.Context(), report.EventFilter{}, 50)
			return err
		},
		"check": func(s *postgres.Store) error {
			_, err := report.Reader{Pool: s.Pool}.RecentTypes(t.Context(), 7*24*time.Hour, []string{notification.HeraldSource})
			return err
		},
	} {
		plan := plansOf(t, s, ask)[0]
		require.Contains(t, plan, "event_outbox_latest", name)
		require.NotContains(t, plan, "Seq Scan on event_outbox", name)
	}
}
