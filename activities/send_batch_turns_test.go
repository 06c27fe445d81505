package activities_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// scarce gives out no more turns than it has.
type scarce struct {
	turns int
	err   error // once it has none
}

func (s *scarce) TakeTurns(_ context.Context, in notification.TurnsWanted) (notification.Turns, error) {
	granted := min(in.Most, s.turns)
	s.turns -= granted
	if granted == 0 {
		return notification.Turns{}, s.err
	}
	return notification.Turns{Granted: granted}, nil
}

// A batch sends as many as the rate limit of its channel lets it. Where no more turns come,
// the rest is as it was, and Temporal repeats the activity.
func TestSendBatchTakesTurns(t *testing.T) {
	t.Parallel()

	away := errors.New("connection refused")
	for turns, want := range map[int]int{0: 0, 21: 21, 100: 50} {
		s, over := withBatch(t, 50), &mails{}
		a := batchActivities(s, over)
		a.Turns, a.RateLimits = &scarce{turns: turns, err: away}, map[notification.Channel]float64{notification.Email: 20}

		got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

		if want < 50 {
			require.ErrorContains(t, err, away.Error())
			var failed *temporal.ApplicationError
			require.ErrorAs(t, err, &failed)
			require.False(t, failed.NonRetryable())
		} else {
			require.NoError(t, err)
			require.Equal(t, 50, got.Sent)
		}
		require.Equal(t, want, over.calls())
		require.LessOrEqual(t, over.most, 20, "the attempts of a second")
		requireSent(t, s, want, 50)
	}
}

// Turns that a slow database lets pass are turns all the same: the attempts were begun before,
// and no delivery leaves the batch.
func TestSendBatchKeepsTogether(t *testing.T) {
	t.Parallel()

	s, over := withBatch(t, 50), &mails{}
	a := batchActivities(s, over)
	a.Turns, a.RateLimits = &turns{in: -time.Second}, map[notification.Channel]float64{notification.Email: 20}

	got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	require.Equal(t, activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 50}}, got)
}

// requireSent checks that some of all deliveries are sent, and that no attempt at another
// was begun.
func requireSent(t *testing.T, s *postgres.Store, some, all int) {
	t.Helper()
	require.Equal(t, some, get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'SENT'"))
	require.Equal(t, all-some, get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'PENDING' AND attempt_count = 0"))
}

// What a batch does is counted as what single sends do.
func TestSendBatchMetrics(t *testing.T) {
	t.Parallel()

	s, m := withBatch(t, 10), newMeters()
	exec(t, s, "UPDATE notification SET created_at = now() - interval '2 minutes' WHERE delivery_id = 'd-3'")
	exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '3'")
	a := batchActivities(s, failing(map[string]error{"d-1": providerError(notification.Refused, 400, 0), "d-2": providerError(notification.Busy, 429, 0)}))

	require.NoError(t, measure(m, a, a.SendBatch, batchIn(t, s)))

	require.Equal(t, map[string]int64{
		"herald_attempts EMAIL SENT": 7, "herald_attempts EMAIL REFUSED": 1, "herald_attempts EMAIL BUSY": 1,
		"herald_deliveries EMAIL SENT": 7, "herald_deliveries EMAIL FAILED": 1, "herald_deliveries EMAIL CANCELLED": 1,
	}, m.counted())
}

// After a single message that was late, a batch rests between its groups.
func TestSendBatchLetsSinglesPass(t *testing.T) {
	t.Parallel()

	const rest = 300 * time.Millisecond
	s := withBatch(t, inGroup+1)
	var mu sync.Mutex
	var calls []time.Time // that of the single message first
	a := batchActivities(s, &mails{answer: func(context.Context, string) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, time.Now())
		return nil
	}})
	single := due(1, 0)
	single.waited = time.Second
	a.Attempts = single

	_, err := run[activities.SendResult](a, a.SendFirst, sendInput)
	require.NoError(t, err)
	a.Attempts = s
	got, err := run[activities.SendBatchResult](a, a.SendBatch, batchIn(t, s))

	require.NoError(t, err)
	require.Equal(t, inGroup+1, got.Sent)
	require.GreaterOrEqual(t, calls[1+inGroup].Sub(calls[inGroup]), rest)
}
