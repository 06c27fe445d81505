package postgres_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/postgres/postgrestest"
)

// BenchmarkProducers measures what the hint to the poller costs those who write
// events: 32 of them, each in a transaction per event, without a trigger, with
// one that always notifies, and with the guarded one of the migrations.
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
		{"guarded", "SELECT"}, // as it is
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
		default: // a hint
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
