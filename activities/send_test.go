package activities_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// deliveries is an AttemptStore and a DeliveryStore with one delivery, d1.
type deliveries struct {
	attempt    notification.Attempt // the result of the next BeginAttempts
	beginErr   error
	hang       func(ctx context.Context) // runs in BeginAttempts
	leasedFor  time.Duration             // another sender has the lease for this time
	inDigest   bool                      // its digest sends it
	notBegun   bool                      // it became due after BeginAttempts
	endErr     error
	age        time.Duration // the event's age when its message is recorded as sent
	waited     time.Duration // the time from planning until then
	tokensKept string

	asked    notification.Begin // the input of BeginAttempts, without the owner
	begun    int
	results  []notification.AttemptResult
	released []notification.Attempt
	status   notification.Status // after GiveUp

	rescheduled []time.Time
	reason      string
}

func (d *deliveries) BeginAttempts(ctx context.Context, in notification.Begin) ([]notification.Attempt, error) {
	d.asked, d.asked.Owner = in, ""
	if d.hang != nil {
		d.hang(ctx)
		return nil, d.beginErr
	}
	if d.leasedFor > 0 {
		return []notification.Attempt{{Status: d.attempt.Status, LeasedFor: d.leasedFor}}, nil
	}
	if d.inDigest {
		return []notification.Attempt{{Status: d.attempt.Status, InDigest: true}}, nil
	}
	if d.beginErr != nil || d.notBegun || in.StatusOnly || !d.attempt.Due() || d.attempt.Held() {
		return []notification.Attempt{{Status: d.attempt.Status, SentBy: d.attempt.SentBy, Verdict: d.attempt.Verdict}}, d.beginErr
	}
	d.begun++
	return []notification.Attempt{d.attempt}, nil
}

func (d *deliveries) ReleaseAttempts(_ context.Context, attempts []notification.Attempt) error {
	d.released = append(d.released, attempts...)
	return nil
}

func (d *deliveries) EndAttempts(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.results = append(d.results, results...)
	recorded := make([]notification.RecordedAttempt, len(results))
	for i, result := range results {
		recorded[i].DeadTokensKept = d.tokensKept
		if d.endErr == nil && result.Outcome == notification.OutcomeSent {
			d.attempt.Status, d.attempt.SentBy = notification.Sent, result.SentBy()
			recorded[i].Age, recorded[i].Waited = d.age, d.waited
		}
	}
	return recorded, d.endErr
}

func (d *deliveries) Reschedule(_ context.Context, _ string, until time.Time) error {
	d.rescheduled = append(d.rescheduled, until)
	return d.beginErr
}

func (d *deliveries) GiveUp(_ context.Context, _ string, status notification.Status, reason string) (notification.Status, error) {
	d.reason = reason
	if d.status == "" {
		d.status = status
	}
	return d.status, d.beginErr
}

// due is the n-th attempt of a run. The provider failed `ended` earlier attempts; the
// others crashed.
func due(n, ended int) *deliveries {
	return &deliveries{attempt: notification.Attempt{
		Status: notification.Pending, Number: n, Tried: notification.Tried{Begun: n, Ended: ended, Crashed: n - 1 - ended},
		Message: notification.Message{DeliveryID: "d1", To: "ada@example.com", Title: "hello", Body: "Table for 4"},
	}}
}

var sendInput = activities.SendInput{
	DeliveryID: "d1", Channel: notification.Email, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3},
}

// mailer sends e-mail without a rate limit.
func mailer(db activities.AttemptStore, mail activities.Sender) *activities.Activities {
	return &activities.Activities{Attempts: db, Senders: map[notification.Channel]activities.Sender{notification.Email: mail}}
}

func send(t *testing.T, db *deliveries, mail activities.Sender, in activities.SendInput) (activities.SendResult, error) {
	t.Helper()
	a := mailer(db, mail)
	return run[activities.SendResult](a, a.Send, in)
}

func TestSendAccepted(t *testing.T) {
	t.Parallel()

	db, mail, in := due(1, 0), accepting(), sendInput
	in.AttemptsBefore = 7

	result := must(send(t, db, mail, in))(t)

	require.Equal(t, activities.SendResult{Status: notification.Sent, SentBy: notification.SentBy{ProviderMessageID: "sg-1"}}, result)
	require.Equal(t, notification.Begin{DeliveryIDs: []string{"d1"}, Before: 7, Lease: sendInput.Timeout + activities.AttemptOverhead},
		db.asked)
	require.Equal(t, result, must(send(t, db, mail, in))(t), "if Temporal lost the result, a repeat returns the same result")
	require.Equal(t, 1, mail.calls)
}

// The result names who took the message, also if an earlier attempt sent it, or the record failed.
func TestSendNamesTheProvider(t *testing.T) {
	t.Parallel()

	want := notification.SentBy{Provider: "sendgrid", ProviderMessageID: "p1"}
	for _, endErr := range []error{nil, errors.New("database out of reach")} {
		db, mail := due(1, 0), &provider{receipt: notification.Answer{Provider: "sendgrid", ProviderID: "p1", Status: 202}}
		db.endErr = endErr
		result := must(send(t, db, mail, sendInput))(t)
		require.Equal(t, want, result.SentBy)
		require.Equal(t, endErr != nil, result.Unrecorded != nil)
	}
	db := due(1, 0)
	db.attempt.Status, db.attempt.SentBy = notification.Sent, want
	require.Equal(t, want, must(send(t, db, &provider{}, sendInput))(t).SentBy)
}

func TestSendOnlyDueDeliveries(t *testing.T) {
	t.Parallel()

	for status, wantCalls := range map[notification.Status]int{
		notification.Pending: 1, notification.Failed: 1, notification.Sent: 0, notification.Delivered: 0, notification.Cancelled: 0,
	} {
		db, mail := due(1, 0), &provider{}
		db.attempt.Status = status
		result := must(send(t, db, mail, sendInput))(t)
		require.Equal(t, wantCalls, mail.calls, status)
		require.Equal(t, wantCalls, db.begun, status)
		if wantCalls == 0 {
			require.Equal(t, activities.SendResult{Status: status}, result)
		}
	}
}

// An item of a digest is left to its digest.
func TestSendLeavesAnItemToItsDigest(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	db.inDigest = true
	require.Equal(t, activities.SendResult{Status: notification.Pending, InDigest: true}, must(send(t, db, mail, sendInput))(t))
	require.Zero(t, mail.calls)
}

// If the delivery becomes due between the attempt and the look at its row, Temporal repeats the attempt.
func TestSendOfADeliveryThatJustBecameDue(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	db.notBegun = true
	_, err := send(t, db, mail, sendInput)
	requireFailure(t, err, activities.AttemptLost, false, time.Second)
}

// Reschedule stores an operator's time, and returns what the row says then. It sends nothing.
func TestReschedule(t *testing.T) {
	t.Parallel()

	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		found notification.Attempt
		want  activities.SendResult
	}{
		{found: notification.Attempt{Status: notification.Pending}, want: activities.SendResult{Status: notification.Pending, NotSent: true}},
		{found: notification.Attempt{Status: notification.Pending, Verdict: notification.Verdict{NotBefore: until, Wait: "w"}},
			want: activities.SendResult{Status: notification.Pending, NotBefore: until, Wait: "w"}},
		{found: notification.Attempt{Status: notification.Sent, SentBy: notification.SentBy{Provider: "sendgrid"}},
			want: activities.SendResult{Status: notification.Sent, SentBy: notification.SentBy{Provider: "sendgrid"}}},
	} {
		db := &deliveries{attempt: tt.found}
		a := &activities.Activities{Attempts: db, Deliveries: db}

		require.Equal(t, tt.want,
			must(run[activities.SendResult](a, a.Reschedule, activities.RescheduleInput{DeliveryID: "d1", Until: until}))(t))
		require.Equal(t, []time.Time{until}, db.rescheduled)
		require.True(t, db.asked.StatusOnly)
	}
}

func TestSendWithoutRow(t *testing.T) {
	t.Parallel()

	mail := &provider{}
	_, err := send(t, &deliveries{}, mail, sendInput)
	requireFailure(t, err, activities.NoSuchRow, true, 0)
	require.Zero(t, mail.calls)
}

// A slow begin of the attempt does not shorten the provider's time-out.
func TestSendLimitsTheTimeToBegin(t *testing.T) {
	t.Parallel()

	db, mail, bound := due(1, 0), &provider{}, time.Duration(0)
	db.hang = func(ctx context.Context) {
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		bound = time.Until(deadline)
	}
	db.beginErr = errors.New("canceling statement")
	_, _ = send(t, db, mail, sendInput)
	require.LessOrEqual(t, bound, 5*time.Second)
	require.Zero(t, mail.calls)
}

// If a delivery may not be sent, or has to wait, no attempt is used up. The workflow gets the
// reason.
func TestSendDropsOrDefers(t *testing.T) {
	t.Parallel()

	until := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	tests := map[notification.Verdict]activities.SendResult{
		{Dropped: string(notification.DecisionQuietHours)}: {Status: notification.Pending, Dropped: string(notification.DecisionQuietHours)},
		{Dropped: notification.NoLongerRecipient}:          {Status: notification.Pending, Dropped: notification.NoLongerRecipient},
		{Dropped: "USER_DISABLED"}:                         {Status: notification.Pending, Dropped: "USER_DISABLED"},
		{NotBefore: until, Wait: "08:00 UTC: quiet hours"}: {Status: notification.Pending, NotBefore: until, Wait: "08:00 UTC: quiet hours"},
	}
	for verdict, want := range tests {
		db, mail := due(1, 0), &provider{}
		db.attempt.Verdict = verdict
		in := sendInput
		in.Ordered, in.Again = true, true

		require.Equal(t, want, must(send(t, db, mail, in))(t))
		require.Equal(t,
			notification.Begin{DeliveryIDs: []string{"d1"}, Ordered: true, Again: true, Lease: sendInput.Timeout + activities.AttemptOverhead},
			db.asked)
		require.Zero(t, mail.calls)
		require.Zero(t, db.begun)
		require.Empty(t, db.results)
	}
}

// While another sender has the delivery's lease nothing is sent, and no attempt is used up.
func TestSendSkipsALeasedDelivery(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	db.leasedFor = 10 * time.Second

	_, err := send(t, db, mail, sendInput)

	requireFailure(t, err, activities.AttemptLost, false, db.leasedFor)
	require.Zero(t, mail.calls)
	require.Empty(t, db.results)
}

// SendFirst makes an attempt, or leaves the delivery to Send: under a rate limit
// of this worker, or while all providers rest. If its task was lost, the second run waits until the
// first run's lease expires.
func TestSendFirst(t *testing.T) {
	t.Parallel()

	left := activities.SendResult{Status: notification.Pending, NotSent: true}
	tests := []struct {
		name     string
		rate     float64
		leased   time.Duration
		paused   bool
		err      error // of the provider
		want     activities.SendResult
		calls    int
		released int
	}{
		{name: "sent", want: activities.SendResult{Status: notification.Sent}, calls: 1},
		{name: "a rate limit", rate: 1, want: left},
		{name: "all providers rest", err: notification.ErrBackOff, want: left, calls: 1, released: 1},
		{name: "the sender is paused", paused: true, want: left, released: 1},
		{name: "first run in flight", leased: time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db, mail := due(1, 0), &provider{err: tt.err}
			a := mailer(db, mail)
			db.leasedFor, a.Pace = tt.leased, paced(nil, tt.rate)
			if db.attempt.Message.Optional = tt.paused; tt.paused {
				a.Circuits = pausedNews(t, postgrestest.New(t), time.Minute)
			}

			got, err := run[activities.SendResult](a, a.SendFirst, sendInput)

			if tt.leased > 0 {
				requireFailure(t, err, activities.AttemptLost, false, tt.leased)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.calls, mail.calls)
			require.Len(t, db.released, tt.released)
			if tt.rate == 0 {
				require.Equal(t, notification.Begin{DeliveryIDs: []string{"d1"}, Lease: sendInput.Timeout + activities.AttemptOverhead}, db.asked)
			} else {
				require.Zero(t, db.asked)
			}
		})
	}
}

// crowd is a provider that answers when the test allows it, and an AttemptStore.
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

// If FirstAttempts sends are in flight, because the provider hangs, SendFirst leaves a delivery to
// Send. Attempts of Send count, too.
func TestSendFirstLeavesABacklogToSend(t *testing.T) {
	t.Parallel()

	c := &crowd{calls: make(chan struct{}), release: make(chan struct{})}
	a := mailer(c, c)
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

	result := must(run[activities.SendResult](a, a.SendFirst, sendInput))(t)
	require.True(t, result.NotSent)

	close(c.release)
	hanging.Wait()
	go func() { <-c.calls }()
	result = must(run[activities.SendResult](a, a.SendFirst, sendInput))(t)
	require.Equal(t, notification.Sent, result.Status)
}
