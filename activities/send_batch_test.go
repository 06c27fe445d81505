package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// Each delivery is sent once, many at the same time, and recorded with its own answer.
func TestSendBatch(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 100), &mails{}
	a := batchActivities(attempt.On(s), over)

	got := must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t)

	require.Equal(t, 100, got.Sent)
	require.False(t, got.More)
	require.False(t, got.HasRemaining)
	require.ElementsMatch(t, ids(100), over.sent)
	require.LessOrEqual(t, over.most, inGroup)
	require.Equal(t, map[string]int{"SENT": 100}, deliveriesBy(t, s, "status"))
	require.Equal(t, map[string]int{"true": 100},
		deliveriesBy(t, s, "provider_message_id = 'sg-' || n.delivery_id AND a.attempt = 1 AND a.outcome = 'SENT'"))

	require.Zero(t, must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t).Sent)
	require.Equal(t, 100, over.calls())
}

// Each delivery has a separate outcome. After a permanent failure it is FAILED, with the reason.
// After a temporary failure it stays PENDING, and its next attempt is due at the provider's or the
// policy's time.
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
	a, start, m := batchActivities(attempt.On(s), over), time.Now().Truncate(time.Microsecond), newMeters()

	got := must(execute[activities.SendBatchResult](newEnv(a, m.handler()), a.SendBatch, batchIn(t, s)))(t)

	require.Equal(t, 15, got.Sent)
	require.Equal(t, 2, got.Failed)
	require.True(t, got.HasRemaining)
	require.False(t, got.More)
	require.Equal(t, 3, got.Retried)
	for id, want := range map[string]time.Duration{"d-2": 2 * time.Minute, "d-3": 30 * time.Second, "d-4": time.Minute} {
		next := get[time.Time](t, s, "SELECT next_attempt_at FROM notification WHERE delivery_id = $1", id)
		require.WithinRange(t, next, start.Add(want*4/5), time.Now().Add(want*6/5), id)
	}
	require.Equal(t, map[string]int{"SENT": 15, "PENDING": 3, "FAILED": 2}, deliveriesBy(t, s, "status"))
	require.Equal(t, "sendgrid refused: 400", get[string](t, s, "SELECT last_error FROM notification WHERE delivery_id = 'd-1'"))
	require.Equal(t, "template 3: no such key", get[string](t, s, "SELECT last_error FROM notification WHERE delivery_id = 'd-5'"))
	require.Equal(t, []string{"d-1", "d-5"}, deadLetters(t, s))
	require.Equal(t, "REFUSED,BUSY,AMBIGUOUS,ACCOUNT,ERROR",
		get[string](t, s, "SELECT string_agg(outcome, ',' ORDER BY delivery_id) FROM delivery_attempt WHERE outcome <> 'SENT'"))
	require.Equal(t, map[string]int64{
		"herald_attempts EMAIL SENT": 15, "herald_attempts EMAIL REFUSED": 1, "herald_attempts EMAIL BUSY": 1,
		"herald_attempts EMAIL AMBIGUOUS": 1,
		"herald_attempts EMAIL ACCOUNT":   1, "herald_attempts EMAIL ERROR": 1, "herald_deliveries EMAIL SENT": 15,
		"herald_deliveries EMAIL FAILED": 2,
	}, m.counted())
}

// If the channel is off, each delivery fails, as it does outside a batch. A best-effort channel has
// no second attempt and no dead letter.
func TestSendBatchOverOtherChannels(t *testing.T) {
	t.Parallel()

	t.Run("off", func(t *testing.T) {
		t.Parallel()

		s := withBatch(t, 3)
		a := &activities.Activities{Attempts: attempt.On(s), Batches: attempt.On(s),
			Off: map[notification.Channel]error{notification.Email: errors.New("SENDGRID_API_KEY is not set")}}
		require.Equal(t, 3, must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t).Failed)
		require.Equal(t, "NOT_CONFIGURED", get[string](t, s, "SELECT DISTINCT outcome FROM delivery_attempt"))
	})
	t.Run("best effort", func(t *testing.T) {
		t.Parallel()

		s := withBatch(t, 3)
		exec(t, s, "UPDATE notification SET channel = 'SLACK'")
		a := &activities.Activities{Attempts: attempt.On(s), Batches: attempt.On(s),
			Senders: map[notification.Channel]activities.Sender{notification.Slack: failing(map[string]error{"d-2": providerError(notification.Busy,
				429, 0)})}}
		in := batchIn(t, s)
		in.Channel, in.MaxAttempts = notification.Slack, 1
		require.Equal(t, activities.BatchProgress{Sent: 2, Failed: 1}, must(run[activities.SendBatchResult](a, a.SendBatch, in))(t).BatchProgress)
		require.Empty(t, deadLetters(t, s))
	})
}

// A batch does not send deliveries that were attempted, cancelled, or dropped by the rules. Only
// attempted deliveries get a separate workflow.
func TestSendBatchSkipsDeliveries(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 6), &mails{}
	exec(t, s, "UPDATE notification SET attempt_count = 1, attempt_owner = 'another', attempt_began = now(), attempt_until = now() "+
		"WHERE delivery_id = 'd-1'")
	exec(t, s, "UPDATE notification SET status = 'CANCELLED' WHERE delivery_id = 'd-2'")
	exec(t, s, "UPDATE notification SET created_at = now() - interval '2 minutes' WHERE delivery_id IN ('d-3', 'd-4')")
	exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '3'")
	a, m := batchActivities(attempt.On(s), over), newMeters()

	got := must(execute[activities.SendBatchResult](newEnv(a, m.handler()), a.SendBatch, batchIn(t, s)))(t)

	require.ElementsMatch(t, []string{"d-4", "d-5", "d-6"}, over.sent)
	require.Equal(t, 3, got.Sent)
	require.True(t, got.HasRemaining)
	require.EqualValues(t, 1, m.counted()["herald_deliveries EMAIL CANCELLED"])
	require.Equal(t, notification.NoLongerRecipient,
		get[string](t, s, "SELECT last_error FROM notification WHERE delivery_id = 'd-3' AND status = 'CANCELLED'"))
}

// A late batch checks quiet hours, too. It drops a delivery as CANCELLED, or leaves it to a
// separate workflow, with the end of the quiet hours in its row.
func TestSendBatchInQuietHours(t *testing.T) {
	t.Parallel()

	for action, want := range map[string]map[string]int{"DROP": {"SENT": 1, "CANCELLED": 2}, "DEFER": {"SENT": 1, "PENDING": 2}} {
		s, over := withBatch(t, 3), &mails{}
		exec(t, s, "UPDATE notification SET created_at = now() - interval '2 minutes'")
		exec(t, s, "UPDATE event_type_channel_routing SET quiet_hours_action = $1 WHERE channel_type = 'EMAIL'", action)
		postgrestest.AddMany(t, s.Pool, 2,
			postgrestest.Preference{UserType: notification.Customer, QuietStart: "00:00", QuietEnd: "23:59:59.999999"},
			postgrestest.Expressions{"user_id": "i"})
		a := batchActivities(attempt.On(s), over)
		in := batchIn(t, s)

		got := must(run[activities.SendBatchResult](a, a.SendBatch, in))(t)

		require.Equal(t, []string{"d-3"}, over.sent)
		require.Equal(t, action == "DEFER", got.HasRemaining)
		require.Equal(t, want, deliveriesBy(t, s, "status"))
		again := must(attempt.On(s).BatchDeliveries(t.Context(), "evt-1", notification.Email, in.IDs))(t)
		require.Empty(t, again, "no execution of the batch sends them")
		part := notification.Part{EventID: "evt-1", Lane: notification.Lane{Channel: notification.Email}, IDs: in.IDs}
		waiting, _, err := attempt.On(s).LaneDeliveries(t.Context(), part, notification.Pending, 100)
		require.NoError(t, err)
		for _, each := range waiting {
			require.True(t, each.Later, "its workflow waits")
		}
	}
}

// Even if many deliveries fail, the result of the batch stays small: the rows store the times of
// the next attempts.
func TestSendBatchReturnsASmallResult(t *testing.T) {
	t.Parallel()

	const most = 700
	s := withBatch(t, most)
	a := batchActivities(attempt.On(s), &mails{answer: func(context.Context, string) error {
		return providerError(notification.Busy, 429, 0)
	}})
	in := batchIn(t, s)

	got := must(run[activities.SendBatchResult](a, a.SendBatch, in))(t)

	require.Less(t, len(must(json.Marshal(got))(t)), 1000)
	require.Equal(t, most, get[int](t, s, "SELECT count(*) FROM notification WHERE next_attempt_at > now()")+get[int](t, s,
		"SELECT count(*) FROM notification WHERE attempt_count = 0"))
}

// A batch does not send deliveries that are cancelled before their group begins.
func TestSendBatchSkipsCancelledDeliveries(t *testing.T) {
	t.Parallel()

	s := withBatch(t, 100)
	over := &mails{}
	var once sync.Once
	over.answer = func(context.Context, string) error {
		once.Do(func() { exec(t, s, "UPDATE notification SET status = 'CANCELLED' WHERE attempt_count = 0") })
		return nil
	}
	a := batchActivities(attempt.On(s), over)

	got := must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t)

	require.LessOrEqual(t, got.Sent, inGroup) // two groups and a group that has just begun
	require.Equal(t, map[string]int{"SENT": got.Sent, "CANCELLED": 100 - got.Sent}, deliveriesBy(t, s, "status"))
	require.Equal(t, got.Sent, over.calls())
}

// A stopped batch begins no more attempts, and its calls end normally.
func TestSendBatchStops(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		cancel bool // true: the batch is cancelled; false: its worker stops
	}{{name: "cancelled", cancel: true}, {name: "worker stops"}}
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
				return ctx.Err() // a cancelled call would return this error
			}}
			a := batchActivities(attempt.On(s), over)
			env := newEnv(a)
			env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
			env.SetWorkerStopChannel(stop)

			got := must(execute[activities.SendBatchResult](env, a.SendBatch, batchIn(t, s)))(t)

			require.True(t, got.More)
			require.Equal(t, over.calls(), got.Sent)
			require.LessOrEqual(t, got.Sent, inGroup)
			require.Equal(t, map[string]int{"SENT": got.Sent, "PENDING": 200 - got.Sent}, deliveriesBy(t, s, "status"))
		})
	}
}

// A batch is cancelled while its last group is with the provider: by its workflow, by an operator who
// pauses or resets the activity, or by the end of the worker's stop timeout. It still reports the
// deliveries that need a separate workflow.
func TestSendBatchCancelledInItsLastGroup(t *testing.T) {
	t.Parallel()

	s := withBatch(t, 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := &mails{answer: func(_ context.Context, id string) error {
		cancel()
		if id == "d-1" {
			return providerError(notification.Busy, 429, 0)
		}
		return nil
	}}
	a := batchActivities(attempt.On(s), over)
	env := newEnv(a)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})

	got := must(execute[activities.SendBatchResult](env, a.SendBatch, batchIn(t, s)))(t)

	require.Equal(t, activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 19, Retried: 1}, HasRemaining: true}, got)
}

// An execution sends heartbeats, and continues from the progress of the execution before it.
func TestSendBatchContinues(t *testing.T) {
	t.Parallel()

	s := withBatch(t, 20)
	exec(t, s, "UPDATE notification SET attempt_count = 1 WHERE delivery_id IN ('d-1', 'd-2')")
	over, beats := &mails{}, make(chan activities.BatchProgress, 100)
	over.answer = func(ctx context.Context, id string) error {
		if id != "d-3" {
			return nil
		}
		select {
		case <-beats: // the call lasts until the batch has sent a heartbeat
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a := batchActivities(attempt.On(s), over)
	env := newEnv(a)
	env.SetHeartbeatDetails(activities.BatchProgress{Sent: 5, Retried: 2})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var told activities.BatchProgress
		if details.Get(&told) == nil {
			beats <- told
		}
	})

	got := must(execute[activities.SendBatchResult](env, a.SendBatch, batchIn(t, s)))(t)

	require.Equal(t, activities.BatchProgress{Sent: 23, Retried: 2}, got.BatchProgress)
	require.True(t, got.HasRemaining)
	require.False(t, slices.Contains(over.sent, "d-1"))
}

// frozen is a database whose answer finds the process frozen for longer than the leases are safe.
type frozen struct {
	deliveries []string
	ended      []notification.AttemptResult
}

func (f *frozen) BatchDeliveries(context.Context, string, notification.Channel, notification.IDRange) ([]string, error) {
	return f.deliveries, nil
}

func (*frozen) HasRemainingRows(context.Context, string, notification.Channel, notification.IDRange) (bool, error) {
	return true, nil
}

func (*frozen) BeginAttempts(_ context.Context, in notification.Begin) (begun []notification.Attempt, err error) {
	for _, id := range in.DeliveryIDs {
		message := notification.Message{DeliveryID: id, Title: "hello", Body: "you"}
		begun = append(begun, notification.Attempt{Number: 1, Owner: in.Owner, Message: message})
	}
	time.Sleep(activities.AttemptOverhead)
	return begun, nil
}

func (*frozen) ReleaseAttempts(context.Context, []notification.Attempt) error { return nil }

func (f *frozen) EndAttempts(_ context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	f.ended = append(f.ended, results...)
	return make([]notification.RecordedAttempt, len(results)), nil
}

// A process that was frozen between the leases and the calls sends nothing: another process may have
// sent the messages meanwhile.
func TestSendBatchOfAFrozenProcess(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		db, over := &frozen{deliveries: ids(3)}, &mails{}
		a := batchActivities(db, over)
		policy := activities.AttemptPolicy{Timeout: 10 * time.Second, MaxAttempts: 3}
		in := activities.SendBatchInput{EventID: "evt-1", Channel: notification.Email, AttemptPolicy: policy}

		require.Zero(t, must(run[activities.SendBatchResult](a, a.SendBatch, in))(t).Sent)

		require.Zero(t, over.calls())
		require.Len(t, db.ended, 3)
		for _, result := range db.ended {
			require.Contains(t, result.Detail, "too little time was left")
		}
	})
}
