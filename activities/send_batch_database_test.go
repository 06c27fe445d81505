package activities_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
)

// flaky is a database that fails.
type flaky struct {
	attempt.Store
	mu         sync.Mutex
	begins     int    // the number of BeginAttempts before it fails
	failing    func() // if set, called before BeginAttempts fails
	endsFail   bool
	unrecorded []notification.AttemptResult
}

var errAway = errors.New("database out of reach")

func (f *flaky) BeginAttempts(ctx context.Context, in notification.Begin) ([]notification.Attempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begins--; f.begins < 0 {
		if f.failing != nil {
			f.failing()
		}
		return nil, errAway
	}
	return attempt.On(f.DB).BeginAttempts(ctx, in)
}

func (f *flaky) EndAttempts(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.endsFail {
		f.unrecorded = append(f.unrecorded, results...)
		return nil, errAway
	}
	return attempt.On(f.DB).EndAttempts(ctx, results)
}

// A batch returns sent messages that could not be recorded, without device tokens, and begins no
// further group. Once they are recorded, the next execution sends the other messages.
func TestSendBatchUnrecorded(t *testing.T) {
	t.Parallel()

	db := &flaky{Store: attempt.On(withBatch(t, 100)), begins: 1000, endsFail: true}
	over := &mails{}
	a := batchActivities(db, over)
	in := batchIn(t, db.DB)

	got := must(run[activities.SendBatchResult](a, a.SendBatch, in))(t)

	require.True(t, got.More)
	require.Len(t, got.Unrecorded, over.calls())
	require.LessOrEqual(t, over.calls(), inGroup)
	for _, result := range got.Unrecorded {
		require.Empty(t, result.DeadDevices)
		require.NotContains(t, fmt.Sprintf("%+v", result), "example.com")
	}

	db.endsFail = false
	must(run[any](a, a.RecordBatch, activities.RecordBatchInput{Channel: notification.Email, Results: got.Unrecorded}))(t)
	require.Equal(t, 100, got.Sent+must(run[activities.SendBatchResult](a, a.SendBatch, in))(t).Sent)
	require.ElementsMatch(t, ids(100), over.sent)
	require.Equal(t, map[string]int{"SENT": 100}, deliveriesBy(t, db.DB, "status"))
}

// If attempts cannot begin, the activity fails after it has recorded all sent messages, and
// Temporal repeats it.
func TestSendBatchWithoutADatabase(t *testing.T) {
	t.Parallel()

	db := &flaky{Store: attempt.On(withBatch(t, 100)), begins: 1}
	over := failing(map[string]error{"d-1": providerError(notification.Busy, 429, 0)})
	a := batchActivities(db, over)

	env := newEnv(a)
	var told activities.BatchProgress // the last heartbeat
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) { require.NoError(t, details.Get(&told)) })

	_, err := env.ExecuteActivity(a.SendBatch, batchIn(t, db.DB))

	require.ErrorContains(t, err, errAway.Error())
	require.Equal(t, inGroup-1, told.Sent)
	require.Equal(t, 1, told.Retried)
	requireFailure(t, err, "", false, 0)
	require.Equal(t, inGroup, over.calls())
	require.Equal(t, map[string]int{"SENT": inGroup - 1, "PENDING": 101 - inGroup}, deliveriesBy(t, db.DB, "status"))
}

// If the last group's attempts cannot begin and the batch is cancelled meanwhile, the activity fails.
// It does not report the batch as complete.
func TestSendBatchCancelledWithoutADatabase(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db := &flaky{Store: attempt.On(withBatch(t, 20)), begins: 0, failing: cancel}
	a := batchActivities(db, &mails{})
	env := newEnv(a)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})

	_, err := env.ExecuteActivity(a.SendBatch, batchIn(t, db.DB))

	require.ErrorContains(t, err, errAway.Error())
	requireFailure(t, err, "", false, 0)
}

// inGroup is the number of messages in a group.
const inGroup = activities.BatchSends / activities.BatchesAtOnce

// withBatch returns a database with n new e-mail deliveries of evt-1: d-1 to d-n.
func withBatch(t *testing.T, n int) *db.DB {
	t.Helper()
	s := installation(t)
	postgrestest.AddMany(t, s.Pool, n, postgrestest.Recipient{}, postgrestest.Expressions{"user_id": "i", "email": "i || '@example.com'"})
	postgrestest.AddMany(t, s.Pool, n, postgrestest.Delivery{
		EventType: "RESERVATION_REQUESTED", EntityType: "BROADCAST", EntityID: "0", Title: "hello", Body: "Table for 4",
	}, postgrestest.Expressions{"user_id": "i", "delivery_id": "'d-' || i", "recipient_address": "i || '@example.com'"})
	return s
}

// batchIn returns the input for a batch of all deliveries.
func batchIn(t *testing.T, s *db.DB) activities.SendBatchInput {
	t.Helper()
	return activities.SendBatchInput{
		EventID: "evt-1", Channel: notification.Email, Number: 7, AttemptPolicy: activities.AttemptPolicy{Timeout: 10 * time.Second,
			MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2},
		IDs: notification.IDRange{First: get[int64](t, s, "SELECT min(id) FROM notification"),
			Last: get[int64](t, s, "SELECT max(id) FROM notification")},
	}
}

// mails is a provider for concurrent calls, with a test's answer for each delivery.
type mails struct {
	answer func(ctx context.Context, deliveryID string) error // nil: accepts all messages

	mu       sync.Mutex
	sent     []string // in the order of the calls
	underWay int
	most     int // the highest number of concurrent calls
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

// failing fails the given deliveries, and accepts all others.
func failing(errs map[string]error) *mails {
	return &mails{answer: func(_ context.Context, id string) error { return errs[id] }}
}

// batchDatabase is the part of the database that sending a batch needs.
type batchDatabase interface {
	activities.AttemptStore
	activities.BatchStore
}

func batchActivities(db batchDatabase, over activities.Sender) *activities.Activities {
	a := mailer(db, over)
	a.Batches = db
	return a
}

func ids(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "d-" + strconv.Itoa(i+1)
	}
	return all
}

// deliveriesBy counts deliveries by an SQL expression.
func deliveriesBy(t *testing.T, s *db.DB, what string) map[string]int {
	t.Helper()
	return get[map[string]int](t, s,
		"SELECT coalesce(jsonb_object_agg(key, count), '{}') FROM (SELECT coalesce(("+what+")::text, '') AS key, count(*) FROM "+
			"notification n LEFT JOIN delivery_attempt a USING (delivery_id) GROUP BY 1) AS counts")
}

// deadLetters returns the deliveries with a waiting dead letter.
func deadLetters(t *testing.T, s *db.DB) []string {
	t.Helper()
	return get[[]string](t, s,
		"SELECT coalesce(array_agg(delivery_id ORDER BY delivery_id), '{}') FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'")
}

// scarce gives out a limited number of tokens.
type scarce struct {
	tokens int
	err    error // the error after the last token
}

func (s *scarce) TakeTokens(_ context.Context, in limit.Wanted) (limit.Taken, error) {
	granted := min(in.Most, s.tokens)
	s.tokens -= granted
	if granted == 0 {
		return limit.Taken{}, s.err
	}
	return limit.Taken{Granted: granted}, nil
}

// A batch sends as many messages as the channel's rate limit allows. If no more tokens come, the
// other deliveries do not change, and Temporal retries the activity.
func TestSendBatchTakesTurns(t *testing.T) {
	t.Parallel()

	away := errors.New("connection refused")
	for tokens, want := range map[int]int{0: 0, 21: 21, 100: 50} {
		s, over := withBatch(t, 50), &mails{}
		a := batchActivities(attempt.On(s), over)
		a.Pace = paced(&scarce{tokens: tokens, err: away}, 20)

		got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

		if want < 50 {
			require.ErrorContains(t, err, away.Error())
			requireFailure(t, err, "", false, 0)
		} else {
			require.NoError(t, err)
			require.Equal(t, 50, got.Sent)
		}
		require.Equal(t, want, over.calls())
		require.LessOrEqual(t, over.most, 20, "a group holds the attempts of one second")
		require.Equal(t, want, deliveriesBy(t, s, "n.status || ' ' || n.attempt_count")["SENT 1"])
		require.Equal(t, 50-want, deliveriesBy(t, s, "n.status || ' ' || n.attempt_count")["PENDING 0"], "no other attempt began")
	}
}

// A batch uses tokens even if they are in the past, because the database is slow. No delivery leaves
// the batch.
func TestSendBatchUsesPastTurns(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 50), &mails{}
	a := batchActivities(attempt.On(s), over)
	a.Pace = paced(&tokens{in: -time.Second}, 20)

	got := must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t)

	require.Equal(t, activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 50}}, got)
}

// After a late single message, a batch rests between its groups.
func TestSendBatchRestsAfterALateMessage(t *testing.T) {
	t.Parallel()

	const rest = 300 * time.Millisecond
	s := withBatch(t, inGroup+1)
	var mu sync.Mutex
	var calls []time.Time // the first is the call for the single message
	a := batchActivities(attempt.On(s), &mails{answer: func(context.Context, string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, time.Now())
		return nil
	}})
	single := due(1, 0)
	single.waited = time.Second
	a.Attempts = single

	must(run[activities.SendResult](a, a.SendFirst, sendInput))(t)
	a.Attempts = attempt.On(s)
	require.Equal(t, inGroup+1, must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t).Sent)
	require.GreaterOrEqual(t, calls[1+inGroup].Sub(calls[inGroup]), rest)
}
