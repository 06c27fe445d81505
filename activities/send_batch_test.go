package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
)

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

func batchActivities(db activities.BatchStore, over activities.Sender) *activities.Activities {
	return &activities.Activities{Batches: db, Senders: map[notification.Channel]activities.Sender{notification.Email: over}}
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

// Each delivery is sent once, many at the same time, and recorded with its own answer.
func TestSendBatch(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 100), &mails{}
	a := batchActivities(s, over)

	got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	require.Equal(t, 100, got.Sent)
	require.False(t, got.More)
	require.False(t, got.Left)
	require.ElementsMatch(t, ids(100), over.sent)
	require.LessOrEqual(t, over.most, 32)
	require.Equal(t, map[string]int{"SENT": 100}, deliveriesBy(t, s, "status"))
	require.Equal(t, map[string]int{"true": 100}, deliveriesBy(t, s, "provider_message_id = 'sg-' || n.delivery_id AND a.batch = 7 AND a.attempt = 1 AND a.outcome = 'SENT'"))

	again, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))
	require.NoError(t, err)
	require.Zero(t, again.Sent)
	require.Equal(t, 100, over.calls())
}

// Each outcome is a delivery's own: what failed for good is FAILED, with its reason; what
// failed for now is left PENDING, and is due when its provider or the policy says.
func TestSendBatchOutcomes(t *testing.T) {
	t.Parallel()

	s := withBatch(t, 20)
	exec(t, s, "UPDATE notification SET body = NULL, title = NULL, last_error = 'template 3: no such key' WHERE delivery_id = 'd-5'")
	over := failing(map[string]error{
		"d-1": providerError(notification.Refused, 400, 0),
		"d-2": providerError(notification.Busy, 429, 2*time.Minute),
		"d-3": providerError(notification.Ambiguous, 503, 0),
		"d-4": providerError(notification.Account, 401, 0),
	})
	a, start := batchActivities(s, over), time.Now()

	got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	require.Equal(t, 15, got.Sent)
	require.Equal(t, 2, got.Failed)
	require.True(t, got.Left)
	require.False(t, got.More)
	require.Len(t, got.Later, 3)
	for id, want := range map[string]time.Duration{"d-2": 2 * time.Minute, "d-3": 30 * time.Second, "d-4": time.Minute} {
		require.InDelta(t, want, got.Later[id].Sub(start), float64(want)/5+float64(10*time.Second), id)
	}
	require.Equal(t, map[string]int{"SENT": 15, "PENDING": 3, "FAILED": 2}, deliveriesBy(t, s, "status"))
	require.Equal(t, "sendgrid refused: 400", get[string](t, s, "SELECT last_error FROM notification WHERE delivery_id = 'd-1'"))
	require.Equal(t, "template 3: no such key", get[string](t, s, "SELECT last_error FROM notification WHERE delivery_id = 'd-5'"))
	require.Equal(t, []string{"d-1", "d-5"}, deadLetters(t, s))
	require.Equal(t, "REFUSED,BUSY,AMBIGUOUS,ACCOUNT,ERROR", get[string](t, s, "SELECT string_agg(outcome, ',' ORDER BY delivery_id) FROM delivery_attempt WHERE outcome <> 'SENT'"))
}

// deadLetters are the deliveries of which the queue of dead letters is to be told.
func deadLetters(t *testing.T, s *postgres.Store) []string {
	t.Helper()
	return get[[]string](t, s, "SELECT coalesce(array_agg(delivery_id ORDER BY delivery_id), '{}') FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'")
}

// A channel that is off fails each delivery, as it does those that are sent alone, and a
// best-effort channel has no second attempt and no dead letter.
func TestSendBatchOverOtherChannels(t *testing.T) {
	t.Parallel()

	t.Run("off", func(t *testing.T) {
		t.Parallel()

		s := withBatch(t, 3)
		a := &activities.Activities{Batches: s, Off: map[notification.Channel]error{notification.Email: errors.New("SENDGRID_API_KEY is not set")}}
		got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))
		require.NoError(t, err)
		require.Equal(t, 3, got.Failed)
		require.True(t, notification.IsNotConfigured(get[string](t, s, "SELECT last_error FROM notification WHERE status = 'FAILED' LIMIT 1")))
	})
	t.Run("best effort", func(t *testing.T) {
		t.Parallel()

		s := withBatch(t, 3)
		exec(t, s, "UPDATE notification SET channel = 'SLACK'")
		a := &activities.Activities{Batches: s, Senders: map[notification.Channel]activities.Sender{notification.Slack: failing(map[string]error{"d-2": providerError(notification.Busy, 429, 0)})}}
		in := batchIn(t, s)
		in.Channel, in.MaxAttempts = notification.Slack, 1
		got, err := run[activities.SendBatchResult](a, a.SendBatch, in)
		require.NoError(t, err)
		require.Equal(t, activities.BatchProgress{Sent: 2, Failed: 1}, got.BatchProgress)
		require.Empty(t, deadLetters(t, s))
	})
}

// What was attempted, cancelled or is dropped by the rules is not sent, and only the first of
// these is left for a workflow of its own.
func TestSendBatchLeavesOut(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 6), &mails{}
	exec(t, s, "UPDATE notification SET attempt_count = 1 WHERE delivery_id = 'd-1'")
	exec(t, s, "INSERT INTO delivery_attempt (delivery_id, attempt) VALUES ('d-1', 1)")
	exec(t, s, "UPDATE notification SET status = 'CANCELLED' WHERE delivery_id = 'd-2'")
	exec(t, s, "UPDATE notification SET created_at = now() - interval '2 minutes' WHERE delivery_id IN ('d-3', 'd-4')")
	exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '3'")
	a := batchActivities(s, over)

	got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	require.ElementsMatch(t, []string{"d-4", "d-5", "d-6"}, over.sent)
	require.Equal(t, 3, got.Sent)
	require.True(t, got.Left)
	require.Equal(t, "no longer a recipient", get[string](t, s, "SELECT last_error FROM notification WHERE delivery_id = 'd-3' AND status = 'CANCELLED'"))
}

// A delivery that is cancelled while others are sent is not sent, unless its group has begun.
func TestSendBatchHeedsCancelledDeliveries(t *testing.T) {
	t.Parallel()

	s := withBatch(t, 100)
	over := &mails{}
	var once sync.Once
	over.answer = func(context.Context, string) error {
		once.Do(func() { exec(t, s, "UPDATE notification SET status = 'CANCELLED' WHERE attempt_count = 0") })
		return nil
	}
	a := batchActivities(s, over)

	got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	require.LessOrEqual(t, got.Sent, 48) // two groups, and one that had just begun
	require.Equal(t, map[string]int{"SENT": got.Sent, "CANCELLED": 100 - got.Sent}, deliveriesBy(t, s, "status"))
	require.Equal(t, got.Sent, over.calls())
}

// A batch that is stopped begins no more, and its calls end as they would.
func TestSendBatchStops(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		cancel bool // otherwise its worker stops
	}{{name: "cancelled", cancel: true}, {name: "its worker stops"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := withBatch(t, 200)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop, once := make(chan struct{}), sync.Once{}
			over := &mails{answer: func(ctx context.Context, _ string) error {
				once.Do(func() {
					if tt.cancel {
						cancel()
					} else {
						close(stop)
					}
				})
				return ctx.Err() // the call goes on
			}}
			a := batchActivities(s, over)
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			env.SetWorkerStopChannel(stop)
			env.RegisterActivity(a)

			value, err := env.ExecuteActivity(a.SendBatch, batchIn(t, s))

			require.NoError(t, err)
			var got activities.SendBatchResult
			require.NoError(t, value.Get(&got))
			require.True(t, got.More)
			require.Equal(t, over.calls(), got.Sent)
			require.LessOrEqual(t, got.Sent, 48)
			require.Equal(t, map[string]int{"SENT": got.Sent, "PENDING": 200 - got.Sent}, deliveriesBy(t, s, "status"))
		})
	}
}

// flaky is a database that goes away.
type flaky struct {
	*postgres.Store
	mu         sync.Mutex
	begins     int // that still work
	endsFail   bool
	unrecorded []notification.AttemptResult
}

var errAway = errors.New("database out of reach")

func (f *flaky) BeginAttempts(ctx context.Context, in notification.BeginBatch) ([]notification.Attempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begins--; f.begins < 0 {
		return nil, errAway
	}
	return f.Store.BeginAttempts(ctx, in)
}

func (f *flaky) EndAttempts(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.endsFail {
		f.unrecorded = append(f.unrecorded, results...)
		return nil, errAway
	}
	return f.Store.EndAttempts(ctx, results)
}

// What was sent and could not be recorded is returned, without tokens; nothing more is begun,
// and once it is recorded the rest goes on.
func TestSendBatchUnrecorded(t *testing.T) {
	t.Parallel()

	db := &flaky{Store: withBatch(t, 100), begins: 1000, endsFail: true}
	over := &mails{}
	a := batchActivities(db, over)
	in := batchIn(t, db.Store)

	got, err := run[activities.SendBatchResult](a, a.SendBatch, in)

	require.NoError(t, err)
	require.True(t, got.More)
	require.Len(t, got.Unrecorded, over.calls())
	require.LessOrEqual(t, over.calls(), 48)
	for _, result := range got.Unrecorded {
		require.Empty(t, result.DeadDevices)
		require.NotContains(t, fmt.Sprintf("%+v", result), "example.com")
	}

	db.endsFail = false
	_, err = run[any](a, a.RecordBatch, activities.RecordBatchInput{Channel: notification.Email, Results: got.Unrecorded})
	require.NoError(t, err)
	rest, err := run[activities.SendBatchResult](a, a.SendBatch, in)
	require.NoError(t, err)
	require.Equal(t, 100, got.Sent+rest.Sent)
	require.ElementsMatch(t, ids(100), over.sent)
	require.Equal(t, map[string]int{"SENT": 100}, deliveriesBy(t, db.Store, "status"))
}

// Where attempts cannot be begun, the activity fails with all recorded that was sent, and
// Temporal repeats it.
func TestSendBatchWithoutADatabase(t *testing.T) {
	t.Parallel()

	db := &flaky{Store: withBatch(t, 100), begins: 3}
	over := failing(map[string]error{"d-1": providerError(notification.Busy, 429, 0)})
	a := batchActivities(db, over)

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	var told activities.BatchProgress // to the next execution
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) { require.NoError(t, details.Get(&told)) })

	_, err := env.ExecuteActivity(a.SendBatch, batchIn(t, db.Store))

	require.ErrorContains(t, err, errAway.Error())
	require.Equal(t, 47, told.Sent)
	require.Contains(t, told.Later, "d-1")
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.False(t, failed.NonRetryable())
	require.Equal(t, 48, over.calls())
	require.Equal(t, map[string]int{"SENT": 47, "PENDING": 53}, deliveriesBy(t, db.Store, "status"))
}

// An execution goes on with what the one before it has told, and heartbeats.
func TestSendBatchGoesOn(t *testing.T) {
	t.Parallel()

	s := withBatch(t, 20)
	due := time.Now().Add(time.Minute).UTC().Truncate(time.Millisecond)
	exec(t, s, "UPDATE notification SET attempt_count = 1 WHERE delivery_id IN ('d-1', 'd-2')")
	over, beats := &mails{}, make(chan activities.BatchProgress, 100)
	over.answer = func(ctx context.Context, id string) error {
		if id != "d-3" {
			return nil
		}
		select {
		case <-beats: // the call takes until it has told how far it is
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a := batchActivities(s, over)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	env.SetHeartbeatDetails(activities.BatchProgress{Sent: 5, Later: map[string]time.Time{"d-1": due}})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var told activities.BatchProgress
		if details.Get(&told) == nil {
			beats <- told
		}
	})

	value, err := env.ExecuteActivity(a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	var got activities.SendBatchResult
	require.NoError(t, value.Get(&got))
	require.Equal(t, activities.BatchProgress{Sent: 23, Later: map[string]time.Time{"d-1": due}}, got.BatchProgress)
	require.True(t, got.Left)
	require.False(t, slices.Contains(over.sent, "d-1"))
}
