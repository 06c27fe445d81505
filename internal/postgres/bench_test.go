package postgres_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// BenchmarkAttempts measures the cost of beginning and ending attempts, alone and in
// groups. The deliveries were just planned, or are judged again, or a cap
// counts them.
//
//	go test ./internal/postgres -run '^$' -bench Attempts -benchtime 2000x
func BenchmarkAttempts(b *testing.B) {
	for _, planned := range []string{"just now", "a while ago", "just now, under a cap"} {
		for _, size := range []int{0, 16, 32, 100} {
			name := fmt.Sprintf("planned %s/groups of %d", planned, size)
			if size == 0 {
				name = fmt.Sprintf("planned %s/alone", planned)
			}
			b.Run(name, func(b *testing.B) { benchmarkAttempts(b, size, planned) })
		}
	}
}

func benchmarkAttempts(b *testing.B, size int, planned string) {
	s := postgrestest.New(b)
	s.AddressHash = hashed
	run := func(sql string, args ...any) {
		_, err := s.Pool.Exec(b.Context(), sql, args...)
		require.NoError(b, err)
	}
	run(`
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		VALUES ('evt-1', 'RESERVATION_REQUESTED', 'RESTAURANT', '5', '{}')`)
	run("INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'EMAIL')")
	run(`
		INSERT INTO recipient (user_type, user_id, name, email)
		SELECT 'CUSTOMER', i::text, 'name', i || '@example.com'
		FROM   generate_series(1, $1) AS i`, b.N)
	run(`
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, entity_type, entity_id, created_at)
		SELECT 'evt-1', 'RESERVATION_REQUESTED', 'CUSTOMER', i::text, 'EMAIL', 'd' || i, 'title', repeat('body ', 40), i || '@example.com', 'CUSTOMER', i::text,
		       now() + CASE WHEN $2 THEN interval '1 hour' ELSE interval '-1 hour' END
		FROM   generate_series(1, $1) AS i`, b.N, planned != "a while ago")
	if planned == "just now, under a cap" {
		run("INSERT INTO frequency_cap (channel_type, at_most, per) VALUES ('EMAIL', 1, '1 day')")
	}
	run("VACUUM ANALYZE")
	ids := make([]string, b.N)
	for i := range ids {
		ids[i] = fmt.Sprint("d", i+1)
	}

	b.ResetTimer()
	for next := 0; next < b.N; next += max(size, 1) {
		if size == 0 {
			attemptAlone(b, s, ids[next])
		} else {
			attemptGroup(b, s, ids[next:min(next+size, b.N)])
		}
	}
	b.StopTimer()
	var sent int
	require.NoError(b, s.Pool.QueryRow(b.Context(), "SELECT count(*) FROM notification WHERE status = 'SENT'").Scan(&sent))
	require.Equal(b, b.N, sent)
}

func attemptAlone(b *testing.B, s *postgres.Store, id string) {
	attemptAll(b, s, notification.Begin{DeliveryIDs: []string{id}})
}

func attemptGroup(b *testing.B, s *postgres.Store, ids []string) {
	attemptAll(b, s, notification.Begin{DeliveryIDs: ids, First: true})
}

func attemptAll(b *testing.B, s *postgres.Store, in notification.Begin) {
	in.Owner, in.Lease = "benchmark", time.Minute
	begun, err := s.BeginAttempts(b.Context(), in)
	require.NoError(b, err)
	results := make([]notification.AttemptResult, len(begun))
	for i, attempt := range begun {
		results[i] = notification.AttemptResult{
			DeliveryID: attempt.Message.DeliveryID, Number: attempt.Number, Owner: attempt.Owner, Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-" + attempt.Message.DeliveryID, Took: time.Millisecond,
		}
	}
	_, err = s.EndAttempts(b.Context(), results)
	require.NoError(b, err)
}

// BenchmarkProducers measures the cost of the hint to the poller for producers of events:
// 32 of them, each in a transaction per event. It runs without a trigger, with one that
// always notifies, and with the guarded one of the migrations.
//
//	go test ./internal/postgres -run '^$' -bench Producers -benchtime 5s
func BenchmarkProducers(b *testing.B) {
	triggers := []struct{ name, sql string }{
		{"none", "DROP TRIGGER event_outbox_notify ON event_outbox"},
		{"plain", `
			CREATE OR REPLACE FUNCTION notify_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
			    PERFORM pg_notify('event_outbox', '');
			    RETURN NULL;
			END;
			$$`},
		{"guarded", "SELECT"}, // unchanged
	}
	for _, trigger := range triggers {
		b.Run(trigger.name, func(b *testing.B) { benchmarkProducers(b, trigger.sql) })
	}
}

func benchmarkProducers(b *testing.B, trigger string) {
	const writers = 32
	s := postgrestest.New(b)
	_, err := s.Pool.Exec(b.Context(), trigger)
	require.NoError(b, err)
	config := s.Pool.Config()
	config.MaxConns = writers
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	defer pool.Close()
	listening := make(chan struct{}, 1)
	go s.ListenEvents(b.Context(), func() {
		select {
		case listening <- struct{}{}:
		default: // a wake-up is only a hint
		}
	})
	<-listening

	var written atomic.Int64
	b.SetParallelism((writers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(each *testing.PB) {
		for each.Next() {
			_, err := pool.Exec(b.Context(), `
				INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
				VALUES ($1, 'RESERVATION_REQUESTED', 'RESTAURANT', '5', '{"restaurantId": 5}')`, fmt.Sprintf("evt-%d", written.Add(1)))
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}
