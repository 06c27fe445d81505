package activities_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// firstSender sends by e-mail, which has no rate limit.
func firstSender(db activities.AttemptStore, mail activities.Sender) *activities.Activities {
	return &activities.Activities{
		Attempts: db, Senders: map[notification.Channel]activities.Sender{notification.Email: mail},
	}
}

func TestSendFirst(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	a := firstSender(db, mail)

	result, err := run[activities.SendResult](a, a.SendFirst, sendInput)

	require.NoError(t, err)
	require.Equal(t, activities.SendResult{Status: notification.Sent}, result)
	require.Equal(t, notification.Begin{DeliveryIDs: []string{"d1"}, Lease: sendInput.Timeout + activities.AttemptOverhead}, db.asked)
	require.Equal(t, 1, mail.calls)
}

// Who only looks sends nothing.
func TestSendFirstLooks(t *testing.T) {
	t.Parallel()

	db, mail, in := due(1, 0), &provider{}, sendInput
	in.Look = true
	a := firstSender(db, mail)

	result, err := run[activities.SendResult](a, a.SendFirst, in)

	require.NoError(t, err)
	require.Equal(t, activities.SendResult{Status: notification.Pending, Full: true}, result)
	require.True(t, db.asked.Look)
	require.Zero(t, mail.calls)
}

// Run again in a task that was lost, it waits until the lease of the run before has ended.
func TestSendFirstBesideItself(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	db.leasedFor = time.Minute
	a := firstSender(db, mail)

	_, err := run[activities.SendResult](a, a.SendFirst, sendInput)

	requireFailure(t, err, activities.AttemptLost, false, time.Minute)
	require.Zero(t, mail.calls)
}

// A channel with a limit, by the settings of the worker that sends, is the limit's.
func TestSendFirstOfAChannelWithALimit(t *testing.T) {
	t.Parallel()

	db := due(1, 0)
	a := firstSender(db, &provider{})
	a.RateLimits = map[notification.Channel]float64{notification.Email: 1}

	result, err := run[activities.SendResult](a, a.SendFirst, sendInput)

	require.NoError(t, err)
	require.Equal(t, activities.SendResult{Status: notification.Pending, Full: true}, result)
	require.Zero(t, db.begun)
}

// crowd is a provider that answers when it is told to, and a store for it.
type crowd struct {
	deliveries
	calls   chan struct{} // has an element for each call that has begun
	release chan struct{}
}

func (c *crowd) BeginAttempts(context.Context, notification.Begin) ([]notification.Attempt, error) {
	return []notification.Attempt{due(1, 0).attempt}, nil
}

func (c *crowd) EndAttempts(context.Context, []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	return make([]notification.RecordedAttempt, 1), nil
}

func (c *crowd) Send(context.Context, notification.Message) (notification.Answer, error) {
	c.calls <- struct{}{}
	<-c.release
	return notification.Answer{}, nil
}

// While a provider hangs, no more workflow tasks wait for it than there are first attempts.
// Those of Send count: what they leave behind is a backlog, which Temporal orders.
func TestSendFirstLeavesABacklogToSend(t *testing.T) {
	t.Parallel()

	c := &crowd{calls: make(chan struct{}), release: make(chan struct{})}
	a := firstSender(c, c)
	var hanging sync.WaitGroup
	for i := range activities.FirstAttempts {
		hanging.Go(func() {
			activity := a.SendFirst
			if i%2 == 0 {
				activity = a.Send
			}
			_, _ = run[activities.SendResult](a, activity, sendInput)
		})
		<-c.calls
	}

	result, err := run[activities.SendResult](a, a.SendFirst, sendInput)
	require.NoError(t, err)
	require.True(t, result.Full)

	close(c.release)
	hanging.Wait()
	go func() { <-c.calls }()
	result, err = run[activities.SendResult](a, a.SendFirst, sendInput)
	require.NoError(t, err)
	require.Equal(t, notification.Sent, result.Status)
}
