package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// Of an event with 30,000 deliveries, no statement of planning and of handing out reads
// more than the few rows that it is about, whatever the table looked like when the
// statistics were made.
func TestBroadcastIsReadByPages(t *testing.T) {
	t.Parallel()

	const few = 300 // blocks; the table alone has more than a thousand
	group := []string{"d25000", "d25001", "d25002", "d25003", "d25004"}
	part := notification.Part{EventID: event1.ID, Lane: mails, IDs: notification.IDRange{First: 25_000, Last: 25_010}}
	plan := func(s *postgres.Store) error {
		return s.SavePlan(t.Context(), event1, []notification.DecidedRecipient{decided("new", planned(notification.Email))})
	}
	tests := []struct {
		name string
		ask  func(s *postgres.Store) error
	}{
		{name: "plan", ask: plan},
		{name: "plan again", ask: plan},
		{name: "what is to be made", ask: func(s *postgres.Store) error { _, err := s.Undelivered(t.Context(), event1.ID, 10); return err }},
		{name: "what is to be made of another", ask: func(s *postgres.Store) error { _, err := s.Undelivered(t.Context(), "evt-9", 10); return err }},
		{name: "lanes", ask: func(s *postgres.Store) error { _, err := s.Lanes(t.Context(), event1.ID); return err }},
		{name: "next deliveries", ask: func(s *postgres.Store) error {
			_, err := s.NextDeliveries(t.Context(), event1.ID, mails, 25_000, "", 10)
			return err
		}},
		{name: "deliveries of a page", ask: func(s *postgres.Store) error {
			_, _, err := s.LaneDeliveries(t.Context(), part, notification.Pending, 10)
			return err
		}},
		{name: "is anything left of a batch", ask: func(s *postgres.Store) error {
			_, err := s.BatchLeft(t.Context(), event1.ID, notification.Email, part.IDs)
			return err
		}},
		{name: "failures of a batch", ask: func(s *postgres.Store) error {
			_, _, err := s.ClaimFailed(t.Context(), part, 1000, 10)
			return err
		}},
		{name: "reopen what failed", ask: func(s *postgres.Store) error { return s.ReopenFailed(t.Context(), part) }},
		{name: "cancel a part", ask: func(s *postgres.Store) error {
			_, _, err := s.CancelPart(t.Context(), notification.Part{EventID: event1.ID, Lane: mails}, notification.CancelledInTemporal, 5)
			return err
		}},
		{name: "deliveries of a batch", ask: func(s *postgres.Store) error {
			_, err := s.BatchDeliveries(t.Context(), event1.ID, notification.Email, notification.IDRange{First: 25_000, Last: 25_010})
			return err
		}},
		{name: "begin and end a group", ask: func(s *postgres.Store) error {
			beginBatch(t, s, group)
			endGroup(t, s, sentAt(1, group...))
			return nil
		}},
	}
	const broadcast = `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, strategy, priority, created_at, sent_at)
		SELECT $1, 'T', 'RESTAURANT_USER', 'u' || i, 'EMAIL', $2::text || i, 'title', repeat('body', 50), $3::text, 'IMMEDIATE', 'NORMAL', now() - interval '1 hour', CASE $3 WHEN 'SENT' THEN now() END
		FROM   generate_series(1, 30000) AS i`
	for _, statistics := range []string{"of the broadcast", "of an empty table", "of one that was sent"} {
		t.Run("statistics "+statistics, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			exec(t, s, "ALTER TABLE notification SET (autovacuum_enabled = false)") // they stay as they are
			if statistics == "of one that was sent" {
				exec(t, s, broadcast, "evt-8", "before", "SENT")
			}
			exec(t, s, "VACUUM ANALYZE notification")
			exec(t, s, broadcast, event1.ID, "d", "PENDING")
			if statistics == "of the broadcast" {
				exec(t, s, "VACUUM ANALYZE notification")
			}
			exec(t, s, `
				INSERT INTO recipient (user_type, user_id, email)
				SELECT 'RESTAURANT_USER', 'u' || i, 'u' || i || '@example.com'
				FROM   generate_series(1, 30000) AS i`)
			listening, asked := heard(t, s)
			for _, tt := range tests {
				asked.heard = nil
				require.NoError(t, tt.ask(listening), tt.name)
				require.NotEmpty(t, asked.heard, tt.name)
				for _, statement := range asked.heard {
					if statement.SQL == "begin" || statement.SQL == "commit" {
						continue
					}
					require.Less(t, blocksOf(t, s, statement), few, "%s: %s", tt.name, statement.SQL)
				}
			}
		})
	}
}

// blocksOf is how many blocks the database touches for a statement, which changes nothing.
func blocksOf(t *testing.T, s *postgres.Store, statement pgx.TraceQueryStartData) int {
	t.Helper()
	var plans []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	require.NoError(t, tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+statement.SQL, statement.Args...).Scan(&plans), statement.SQL)
	return plans[0].Plan.Hit + plans[0].Plan.Read
}
