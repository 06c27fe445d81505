package activities_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// inGroup is how many messages a batch begins at a time.
const inGroup = activities.BatchSends / activities.BatchesAtOnce

// withBatch is a database with n deliveries of evt-1 by mail, d-1 to d-n, planned just now.
func withBatch(t *testing.T, n int) *postgres.Store {
	t.Helper()
	s := installation(t)
	exec(t, s, `
		INSERT INTO recipient (user_type, user_id, email)
		SELECT 'CUSTOMER', i, i || '@example.com' FROM generate_series(1, $1::int) AS i`, n)
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body, recipient_address)
		SELECT 'evt-1', 'RESERVATION_REQUESTED', 'CUSTOMER', i, 'BROADCAST', '0', 'EMAIL', 'd-' || i, 'hello', 'Table for 4', i || '@example.com'
		FROM   generate_series(1, $1::int) AS i`, n)
	return s
}

// batchIn is the batch of all of them.
func batchIn(t *testing.T, s *postgres.Store) activities.SendBatchInput {
	t.Helper()
	return activities.SendBatchInput{
		EventID: "evt-1", Channel: notification.Email, Number: 7, AttemptPolicy: activities.AttemptPolicy{Timeout: 10 * time.Second, MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2},
		IDs: notification.IDRange{First: get[int64](t, s, "SELECT min(id) FROM notification"), Last: get[int64](t, s, "SELECT max(id) FROM notification")},
	}
}

// mails is a provider that many ask at once, and which answers by what it is told of a delivery.
type mails struct {
	answer func(ctx context.Context, deliveryID string) error // nil: it takes all

	mu       sync.Mutex
	sent     []string // in the order of the calls
	underWay int
	most     int // at once
}

func (m *mails) Send(ctx context.Context, message notification.Message) (notification.Answer, error) {
	m.mu.Lock()
	m.sent = append(m.sent, message.DeliveryID)
	m.underWay++
	m.most = max(m.most, m.underWay)
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.underWay--
	}()
	if m.answer != nil {
		if err := m.answer(ctx, message.DeliveryID); err != nil {
			return notification.Answer{}, err
		}
	}
	return notification.Answer{ProviderID: "sg-" + message.DeliveryID, Status: 202}, nil
}

func (m *mails) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.sent)
}

// failing answers by delivery, and takes the rest.
func failing(errs map[string]error) *mails {
	return &mails{answer: func(_ context.Context, id string) error { return errs[id] }}
}

// batchDatabase is what sending a batch needs of the database.
type batchDatabase interface {
	activities.AttemptStore
	activities.BatchStore
}

func batchActivities(db batchDatabase, over activities.Sender) *activities.Activities {
	return &activities.Activities{Attempts: db, Batches: db, Senders: map[notification.Channel]activities.Sender{notification.Email: over}}
}

func ids(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "d-" + strconv.Itoa(i+1)
	}
	return all
}

// deliveriesBy counts deliveries by something.
func deliveriesBy(t *testing.T, s *postgres.Store, what string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	rows, err := s.Pool.Query(t.Context(), "SELECT coalesce(("+what+")::text, ''), count(*) FROM notification n LEFT JOIN delivery_attempt a USING (delivery_id) GROUP BY 1")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var key string
		var count int
		require.NoError(t, rows.Scan(&key, &count))
		counts[key] = count
	}
	require.NoError(t, rows.Err())
	return counts
}

// deadLetters are the deliveries of which the queue of dead letters is to be told.
func deadLetters(t *testing.T, s *postgres.Store) []string {
	t.Helper()
	return get[[]string](t, s, "SELECT coalesce(array_agg(delivery_id ORDER BY delivery_id), '{}') FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'")
}
