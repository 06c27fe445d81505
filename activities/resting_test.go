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
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/template"
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

// news is a provider whose mails come from news@example.com.
type news struct{ activities.Sender }

func (news) From() string { return "news@example.com" }

// pausedNews returns circuits of a process whose sender was paused some time ago.
func pausedNews(t *testing.T, s *db.DB, ago time.Duration) *limit.Circuits {
	t.Helper()
	postgrestest.Exec(t, s, `INSERT INTO sender_state (channel, provider, sender, recipients, complaints, paused_at)
		VALUES ('EMAIL', 'sendgrid', 'news@example.com', 3000, 12, $1)`, time.Now().Add(-ago))
	circuits := limit.NewCircuits(limit.On(s))
	circuits.Use(notification.Email, limit.NewFailover(circuits, &limit.Provider{Name: "sendgrid", Sender: news{}}))
	circuits.Read(t.Context())
	return circuits
}

// While its sender is paused, a delivery waits in its workflow, until it expires at the latest. It takes no
// token, holds no lease, and uses up no attempt.
func TestSendWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	const minute, hour, day = time.Minute, time.Hour, 24 * time.Hour
	for _, tt := range []struct {
		ago, expires    time.Duration
		soonest, latest time.Duration
	}{
		{ago: minute, soonest: 5 * minute, latest: 6 * minute},
		{ago: 20 * day, soonest: 2 * day, latest: 2*day + 10*hour},
		{ago: 20 * day, expires: 7 * day, soonest: 2 * day, latest: 2*day + 10*hour},
		{ago: 20 * day, expires: hour, soonest: hour, latest: hour},
	} {
		db, mail, from := due(1, 0), accepting(), &tokens{}
		db.attempt.Message.Optional = true
		if tt.expires > 0 {
			db.attempt.Message.SendBy = time.Now().Add(tt.expires)
		}
		a := mailer(db, mail)
		a.Pace, a.Circuits = paced(from, 2), pausedNews(t, postgrestest.New(t), tt.ago)
		begun := time.Now()
		result := must(run[activities.SendResult](a, a.Send, sendInput))(t)

		require.Equal(t, notification.Pending, result.Status)
		require.WithinRange(t, result.NotBefore, begun.Add(tt.soonest-time.Second), time.Now().Add(tt.latest+time.Second))
		require.Contains(t, result.Wait, ": optional messages over EMAIL are paused since ")
		require.Contains(t, result.Wait, ": 12 complaints of 3000 recipients in seven days at sendgrid")
		require.Zero(t, mail.calls)
		require.Empty(t, from.wanted)
		require.Len(t, db.released, 1)
		require.Empty(t, db.results)
	}
}

// While their sender is paused, mandatory messages and messages that an operator ordered are sent.
func TestSendMandatoryWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	circuits := pausedNews(t, postgrestest.New(t), time.Hour)
	for _, optional := range []bool{false, true} {
		db, mail, in := due(1, 0), accepting(), sendInput
		db.attempt.Message.Optional, in.Ordered = optional, optional
		a := mailer(db, mail)
		a.Circuits = circuits
		require.Equal(t, notification.Sent, must(run[activities.SendResult](a, a.Send, in))(t).Status)
		require.Equal(t, 1, mail.calls)
	}
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

// While its sender is paused, a batch gives back its messages and waits as a whole. It takes no tokens.
func TestSendBatchWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	db, over, from := withBatch(t, 100), &mails{}, &tokens{}
	a := batchActivities(attempt.On(db), over)
	a.Pace, a.Circuits = paced(from, 1000), pausedNews(t, db, 10*time.Hour)

	_, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, db))

	requireFailureWithin(t, err, activities.SenderPaused, time.Hour, 73*time.Minute)
	require.Zero(t, over.calls())
	require.Empty(t, from.wanted)
	require.Equal(t, map[string]int{"PENDING": 100}, deliveriesBy(t, db, "status"))
	require.Zero(t, get[int](t, db, "SELECT count(*) FROM notification WHERE attempt_until > now() OR attempt_count > 0"))
}

// While its sender is paused, a digest waits, and no item has an attempt.
func TestSendDigestWhileTheSenderIsPaused(t *testing.T) {
	t.Parallel()

	db, mail, from := dueDigest(1, 0), &provider{}, &tokens{}
	for i := range db.items {
		db.items[i].Message.Optional = true
	}
	a := &activities.Activities{
		Digests: db, Attempts: db, DigestText: template.Engine{}.Digest, Circuits: pausedNews(t, postgrestest.New(t), 10*time.Hour),
		Senders: map[notification.Channel]activities.Sender{notification.Email: mail}, Pace: paced(from, 2),
	}
	in := activities.SendDigestInput{
		DigestID: "digest-1", Key: reviewMails, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3},
	}
	_, err := run[activities.SendDigestResult](a, a.SendDigest, in)

	requireFailureWithin(t, err, activities.SenderPaused, time.Hour, 73*time.Minute)
	require.Zero(t, mail.calls)
	require.Empty(t, from.wanted)
	require.Equal(t, db.items, db.released)
	require.Empty(t, db.results)

	in.SkipQuiet = true // an operator sends it now
	must(run[activities.SendDigestResult](a, a.SendDigest, in))(t)
	require.Equal(t, 1, mail.calls)
}

func requireFailureWithin(t *testing.T, err error, failureType string, from, to time.Duration) {
	t.Helper()
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, failureType, failed.Type())
	require.GreaterOrEqual(t, failed.NextRetryDelay(), from)
	require.LessOrEqual(t, failed.NextRetryDelay(), to)
}
