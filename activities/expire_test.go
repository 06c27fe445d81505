package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/limit"
	"herald/internal/notification"
)

// A message that expires while it waits for its token is not sent. The result has the reason, so the
// workflow counts the end.
func TestSendExpiredAtItsTurn(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	db.attempt.Message.SendBy = time.Now()

	got := must(sendLimited(t, db, mail, &tokens{}))(t)

	require.Equal(t, activities.SendResult{Status: notification.Pending, Dropped: string(notification.DecisionExpired)}, got)
	require.Zero(t, mail.calls)
	require.Empty(t, db.results)
	require.Len(t, db.released, 1)
	require.Equal(t, string(notification.DecisionExpired), db.released[0].Dropped)
}

// A call to the provider ends when the message expires. Even after the last attempt the delivery
// does not fail, so there is no dead letter and no escalation.
func TestSendExpiresDuringTheCall(t *testing.T) {
	t.Parallel()

	db := due(3, 2)
	db.attempt.Message.SendBy = time.Now().Add(50 * time.Millisecond)
	slow := &provider{
		during: func(ctx context.Context) { <-ctx.Done() }, err: &notification.ProviderError{Provider: "sendgrid", Class: notification.Ambiguous},
	}

	_, err := send(t, db, slow, sendInput)

	requireFailure(t, err, string(notification.Ambiguous), false, time.Millisecond)
	require.Len(t, db.results, 1)
	require.Equal(t, notification.OutcomeAmbiguous, db.results[0].Outcome)
}

// A digest expires with its first item, so that it never lists an expired item.
func TestSendDigestExpiresWithItsFirstItem(t *testing.T) {
	t.Parallel()

	soon, later := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	for _, limits := range [][]time.Time{{soon, later}, {later, soon}, {{}, soon}, {soon, {}}} {
		db, mail := dueDigest(1, 0), &provider{}
		db.items[0].Message.SendBy, db.items[1].Message.SendBy = limits[0], limits[1]

		must(sendDigest(db, mail))(t)

		require.Equal(t, soon, mail.message.SendBy)
	}
}

// expiring grants tokens once all deliveries with a limit have expired.
type expiring struct {
	*db.DB
	t *testing.T
}

func (e expiring) TakeTokens(_ context.Context, in limit.Wanted) (limit.Taken, error) {
	require.Eventually(e.t, func() bool {
		return get[bool](e.t, e.DB, "SELECT coalesce(bool_and(expires_at < clock_timestamp()), true) FROM notification")
	}, time.Minute, 10*time.Millisecond)
	return limit.Taken{Granted: in.Most}, nil
}

// A batch sends the messages that have not expired when their tokens come.
func TestSendBatchDropsExpiredDeliveries(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 6), &mails{}
	exec(t, s, "UPDATE notification SET expires_at = now() - interval '1 hour' WHERE delivery_id = 'd-1'")
	exec(t, s, "UPDATE notification SET expires_at = now() + interval '1 second' WHERE delivery_id IN ('d-2', 'd-3')")
	a := batchActivities(attempt.On(s), over)
	a.Pace = paced(expiring{s, t}, 20)

	got := must(run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s)))(t)

	require.Equal(t, 3, got.Sent)
	require.False(t, got.HasRemaining)
	require.ElementsMatch(t, []string{"d-4", "d-5", "d-6"}, over.sent)
	require.Equal(t, 3, get[int](t, s,
		"SELECT count(*) FROM notification WHERE status = 'CANCELLED' AND last_error = 'EXPIRED' AND attempt_count = 0 AND attempt_owner IS "+
			"NULL"))
	require.Equal(t, 3, get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
}

// Planning computes the expiry by the database's clock, not by the worker's clock.
func TestPlanExpiryByTheDatabasesClock(t *testing.T) {
	t.Parallel()

	for by, want := range map[time.Duration]notification.Decision{
		time.Hour: notification.DecisionExpired, -time.Hour: notification.DecisionSelected,
	} {
		db := reservation()
		db.rules.Now, db.rules.Event.ExpiresAt = time.Now().Add(by), time.Now().Add(by/2)

		must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource}))(t)

		require.Equal(t, want, db.decided[0].Decisions[notification.Email])
	}
}
