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

// pausedSender is the error of an optional message whose sender is paused.
func pausedSender() error {
	since := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	return &notification.BackOffError{For: 5 * time.Minute, Paused: &notification.SenderState{
		Channel: notification.Email, Provider: "sendgrid", Sender: "news@example.com", Recipients: 3000, Complaints: 12, PausedAt: &since,
	}}
}

// While its sender is paused, a delivery waits in its workflow. It holds no slot and no lease, and uses up
// no attempt.
func TestSendWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{err: pausedSender()}
	result := must(send(t, db, mail, sendInput))(t)

	require.Equal(t, notification.Pending, result.Status)
	require.WithinRange(t, result.NotBefore, time.Now().Add(4*time.Minute), time.Now().Add(7*time.Minute))
	require.Contains(t, result.Wait, ": optional messages over EMAIL are paused since 2026-03-01 09:30:00.000Z: "+
		"12 complaints of 3000 recipients in seven days at sendgrid")
	require.Equal(t, 1, mail.calls)
	require.Len(t, db.released, 1)
	require.Empty(t, db.results)
}

// An attempt that an operator ordered tells its provider so.
func TestSendOrdered(t *testing.T) {
	t.Parallel()

	for _, ordered := range []bool{false, true} {
		in, mail := sendInput, accepting()
		in.Ordered = ordered
		must(send(t, due(1, 0), mail, in))(t)
		require.Equal(t, ordered, mail.message.Ordered)
	}
}

// While its sender is paused, a batch gives back its messages and waits as a whole.
func TestSendBatchWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	db := withBatch(t, 100)
	var asked atomic.Int64
	a := batchActivities(attempt.On(db), &mails{answer: func(context.Context, string) error {
		asked.Add(1)
		return pausedSender()
	}})

	_, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, db))

	requireFailureWithin(t, err, activities.SenderPaused, 4*time.Minute, 7*time.Minute)
	require.LessOrEqual(t, asked.Load(), int64(64), "one group")
	require.Equal(t, map[string]int{"PENDING": 100}, deliveriesBy(t, db, "status"))
	require.Zero(t, get[int](t, db, "SELECT count(*) FROM notification WHERE attempt_until > now() OR attempt_count > 0"))
}

// While its sender is paused, a digest waits, and no item has an attempt.
func TestSendDigestWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	db, mail := dueDigest(1, 0), &provider{err: pausedSender()}
	_, err := sendDigest(db, mail)

	requireFailureWithin(t, err, activities.SenderPaused, 4*time.Minute, 7*time.Minute)
	require.Equal(t, 1, mail.calls)
	require.Equal(t, db.items, db.released)
	require.Empty(t, db.results)
}

func requireFailureWithin(t *testing.T, err error, failureType string, from, to time.Duration) {
	t.Helper()
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, failureType, failed.Type())
	require.GreaterOrEqual(t, failed.NextRetryDelay(), from)
	require.LessOrEqual(t, failed.NextRetryDelay(), to)
}
