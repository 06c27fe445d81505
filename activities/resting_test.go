package activities_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/notification"
)

// While all providers rest, an attempt waits for a while. Then Herald gives it back, and it does
// not count.
func TestSendWhileAllRest(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{err: notification.ErrBackOff}
	_, err := send(t, db, mail, sendInput)

	requireFailure(t, err, activities.ProvidersRest, false, time.Second)
	require.Greater(t, mail.calls, 1)
	require.Equal(t, []notification.Attempt{due(1, 0).attempt}, db.released)
	require.Empty(t, db.results)
}

// The next attempt comes when the rest ends, or after a minute: an operator may end the rest.
func TestRetryAfterRest(t *testing.T) {
	t.Parallel()

	for rest, retry := range map[time.Duration]time.Duration{
		0: time.Second, 20 * time.Second: 20 * time.Second, 5 * time.Minute: time.Minute,
	} {
		t.Run(rest.String(), func(t *testing.T) {
			t.Parallel()

			_, err := send(t, due(1, 0), &provider{err: &notification.BackOffError{For: rest}}, sendInput)
			requireFailure(t, err, activities.ProvidersRest, false, retry)
		})
	}
}

// A waiting attempt is made as soon as a provider works again.
func TestSendAfterRest(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{err: notification.ErrBackOff}
	mail.during = func(context.Context) {
		if mail.calls == 3 {
			mail.err = nil
		}
	}
	require.Equal(t, activities.SendResult{Status: notification.Sent}, must(send(t, db, mail, sendInput))(t))
	require.Empty(t, db.released)
	require.Len(t, db.results, 1)
}

// A message whose destination alone takes nothing holds no slot, and comes back when the destination
// wants it.
func TestSendWhileTheDestinationRests(t *testing.T) {
	t.Parallel()

	for rest, retry := range map[time.Duration]time.Duration{
		0: time.Second, 20 * time.Second: 20 * time.Second, 90 * time.Second: 90 * time.Second,
	} {
		t.Run(rest.String(), func(t *testing.T) {
			t.Parallel()

			db, hook := due(1, 0), &provider{err: &notification.BackOffError{For: rest, Alone: true}}
			_, err := send(t, db, hook, sendInput)

			var failed *temporal.ApplicationError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, activities.ProvidersRest, failed.Type())
			require.GreaterOrEqual(t, failed.NextRetryDelay(), retry*4/5)
			require.LessOrEqual(t, failed.NextRetryDelay(), retry*6/5)
			require.Equal(t, 1, hook.calls)
			require.Len(t, db.released, 1)
			require.Empty(t, db.results)
		})
	}
}

// A batch leaves a message whose destination rests to a separate workflow, and sends the others.
func TestSendBatchWhileADestinationRests(t *testing.T) {
	t.Parallel()

	db := withBatch(t, 100)
	var sent atomic.Int64
	a := batchActivities(attempt.On(db), &mails{answer: func(context.Context, string) error {
		if sent.Add(1)%10 == 0 {
			return &notification.BackOffError{For: time.Minute, Alone: true}
		}
		return nil
	}})

	result := must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, db)))(t)

	require.Equal(t, 90, result.Sent)
	require.False(t, result.More)
	require.True(t, result.HasRemaining)
	require.Equal(t, map[string]int{"SENT": 90, "PENDING": 10}, deliveriesBy(t, db, "status"))
	require.Zero(t, get[int](t, db, "SELECT count(*) FROM notification WHERE attempt_until > now()"))
	require.Equal(t, 90, get[int](t, db, "SELECT count(*) FROM delivery_attempt"))
}

// If a digest waits, no item has an attempt.
func TestSendDigestWhileAllRest(t *testing.T) {
	t.Parallel()

	db, mail := dueDigest(1, 0), &provider{err: notification.ErrBackOff}
	_, err := sendDigest(db, mail)

	requireFailure(t, err, activities.ProvidersRest, false, time.Second)
	require.Equal(t, db.items, db.released)
	require.Empty(t, db.results)
}

// A batch gives back messages that no provider takes, and Temporal repeats it.
func TestSendBatchWhileAllRest(t *testing.T) {
	t.Parallel()

	db := withBatch(t, 100)
	var sent atomic.Int64
	over := &mails{answer: func(context.Context, string) error {
		if sent.Add(1) > 10 {
			return notification.ErrBackOff
		}
		return nil
	}}
	a := batchActivities(attempt.On(db), over)

	_, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, db))

	requireFailure(t, err, activities.ProvidersRest, false, time.Second)
	require.Equal(t, map[string]int{"SENT": 10, "PENDING": 90}, deliveriesBy(t, db, "status"))
	require.Equal(t, 10, get[int](t, db, "SELECT count(*) FROM delivery_attempt"))

	over.answer = nil
	require.Equal(t, 90, must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, db)))(t).Sent)
	require.Equal(t, map[string]int{"SENT": 100}, deliveriesBy(t, db, "status"))
}
