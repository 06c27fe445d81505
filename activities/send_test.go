package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
)

// deliveries is a DeliveryStore with one delivery, d1.
type deliveries struct {
	attempt  notification.Attempt // what the next BeginAttempt finds
	beginErr error
	hang     func(ctx context.Context) // in BeginAttempt, until its context ends
	endErr   error
	age      time.Duration // of the event, when its message is recorded as sent

	asked   notification.Begin // as BeginAttempt was told
	begun   int
	results []notification.AttemptResult
	status  notification.Status // after GiveUp
	reason  string
	letter  notification.DeadLetter
}

func (d *deliveries) BeginAttempt(ctx context.Context, in notification.Begin) (notification.Attempt, error) {
	d.asked = in
	if d.hang != nil {
		d.hang(ctx)
		return notification.Attempt{}, ctx.Err()
	}
	if d.beginErr != nil || !d.attempt.Due() || d.attempt.Held() {
		return notification.Attempt{Status: d.attempt.Status, Verdict: d.attempt.Verdict}, d.beginErr
	}
	d.begun++
	return d.attempt, nil
}

func (d *deliveries) EndAttempt(ctx context.Context, result notification.AttemptResult) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	d.results = append(d.results, result)
	if d.endErr != nil || result.Outcome != notification.OutcomeSent {
		return 0, d.endErr
	}
	d.attempt.Status = notification.Sent
	return d.age, nil
}

func (d *deliveries) GiveUp(_ context.Context, _ string, status notification.Status, reason string) (notification.Status, error) {
	d.reason = reason
	if d.status == "" {
		d.status = status
	}
	return d.status, d.beginErr
}

func (d *deliveries) Failure(context.Context, string) (notification.DeadLetter, error) {
	return d.letter, d.endErr
}

// due is the n-th attempt of a run, after ended ones that the provider failed; the
// others crashed.
func due(n, ended int) *deliveries {
	return &deliveries{attempt: notification.Attempt{
		Status: notification.Pending, Number: n, Tried: notification.Tried{Begun: n, Ended: ended, Crashed: n - 1 - ended},
		Message: notification.Message{DeliveryID: "d1", To: "ada@example.com", Title: "hello", Body: "Table for 4"},
	}}
}

// provider answers as it is told and counts.
type provider struct {
	receipt notification.Receipt
	err     error
	calls   int
	during  func(ctx context.Context) // runs in the call
}

func (p *provider) Send(ctx context.Context, _ notification.Message) (notification.Receipt, error) {
	p.calls++
	if p.during != nil {
		p.during(ctx)
	}
	return p.receipt, p.err
}

var sendInput = activities.SendInput{DeliveryID: "d1", Channel: notification.Email, AttemptPolicy: activities.AttemptPolicy{Timeout: time.Minute, MaxAttempts: 3}}

func send(t *testing.T, db *deliveries, mail activities.Sender, in activities.SendInput) (activities.SendResult, error) {
	t.Helper()
	a := &activities.Activities{Deliveries: db, Senders: map[notification.Channel]activities.Sender{notification.Email: mail}}
	return run[activities.SendResult](a, a.Send, in)
}

// run runs one activity as a worker does.
func run[Result any](a *activities.Activities, activity, in any) (Result, error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	var result Result
	value, err := env.ExecuteActivity(activity, in)
	if err != nil || !value.HasValue() {
		return result, err
	}
	return result, value.Get(&result)
}

// requireFailure asserts what Temporal makes of an error, and that it holds
// nothing personal. A delay is jittered: never by more than a fifth.
func requireFailure(t *testing.T, err error, wantType string, permanent bool, delay time.Duration) {
	t.Helper()
	var failure *temporal.ApplicationError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, wantType, failure.Type())
	require.Equal(t, permanent, failure.NonRetryable())
	require.InDelta(t, delay, failure.NextRetryDelay(), float64(delay)/5)
	require.NotContains(t, err.Error(), "ada@example.com")
	require.NotContains(t, err.Error(), "Table for 4")
}

func TestSendAccepted(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{receipt: notification.Receipt{ProviderID: "sg-1", Status: 202, DeadDevices: []string{"old"}}}
	in := sendInput
	in.AttemptsBefore = 7

	result, err := send(t, db, mail, in)

	require.NoError(t, err)
	require.Equal(t, activities.SendResult{Status: notification.Sent}, result)
	require.Equal(t, notification.Begin{DeliveryID: "d1", Before: 7}, db.asked)
	require.Equal(t, []notification.AttemptResult{{
		DeliveryID: "d1", Number: 1, Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", DeadDevices: []string{"old"},
	}}, db.results)

	again, err := send(t, db, mail, in) // Temporal repeats what it did not hear of
	require.NoError(t, err)
	require.Equal(t, result, again)
	require.Equal(t, 1, mail.calls)
}

func TestSendOnlyWhatIsDue(t *testing.T) {
	t.Parallel()

	for status, wantCalls := range map[notification.Status]int{
		notification.Pending: 1, notification.Failed: 1, notification.Sent: 0, notification.Delivered: 0, notification.Cancelled: 0,
	} {
		db, mail := due(1, 0), &provider{}
		db.attempt.Status = status
		result, err := send(t, db, mail, sendInput)
		require.NoError(t, err)
		require.Equal(t, wantCalls, mail.calls, status)
		require.Equal(t, wantCalls, db.begun, status)
		if wantCalls == 0 {
			require.Equal(t, activities.SendResult{Status: status}, result)
		}
	}
}

func TestSendFailure(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name      string
		err       error
		wantType  string
		permanent bool
		delay     time.Duration
		outcome   notification.AttemptOutcome
		status    int
		detail    string
	}{
		{"refused", providerError(notification.Refused, 400, 0), "Refused", true, 0, notification.OutcomeRefused, 400, "sendgrid refused: 400"},
		{"refused, wrapped by the sender", fmt.Errorf("email: %w", providerError(notification.Refused, 400, 0)), "Refused", true, 0, notification.OutcomeRefused, 400, ""},
		{"busy", providerError(notification.Busy, 429, 0), "Busy", false, 0, notification.OutcomeBusy, 429, "sendgrid is busy: 429"},
		{"busy for an hour", providerError(notification.Busy, 429, time.Hour), "Busy", false, time.Hour, notification.OutcomeBusy, 429, ""},
		{"our account", providerError(notification.Account, 401, 0), "Account", false, time.Minute, notification.OutcomeAccount, 401, "sendgrid rejected our account: 401"},
		{"our account, in a hurry", providerError(notification.Account, 403, time.Second), "Account", false, time.Minute, notification.OutcomeAccount, 403, ""},
		{"our account, patiently", providerError(notification.Account, 403, time.Hour), "Account", false, time.Hour, notification.OutcomeAccount, 403, ""},
		{"no clear answer", providerError(notification.Ambiguous, 503, 0), "Ambiguous", false, 0, notification.OutcomeAmbiguous, 503, "sendgrid gave no clear answer: 503"},
		{"no answer", providerError(notification.Ambiguous, 0, 0), "Ambiguous", false, 0, notification.OutcomeAmbiguous, 0, "sendgrid gave no clear answer"},
		{"not the provider's doing", errors.New("a bug"), "", false, 0, notification.OutcomeError, 0, "a bug"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := due(1, 0)
			_, err := send(t, db, &provider{err: tt.err, receipt: notification.Receipt{DeadDevices: []string{"old"}}}, sendInput)

			requireFailure(t, err, tt.wantType, tt.permanent, tt.delay)
			require.Len(t, db.results, 1)
			got := db.results[0]
			require.Equal(t, tt.outcome, got.Outcome)
			require.Equal(t, tt.status, got.ProviderStatus)
			require.Equal(t, []string{"old"}, got.DeadDevices)
			require.NotEmpty(t, got.Detail)
			if tt.detail != "" {
				require.Equal(t, tt.detail, got.Detail)
			}
		})
	}
}

func providerError(class notification.FailureClass, status int, retryAfter time.Duration) error {
	return &notification.ProviderError{Provider: "sendgrid", Class: class, Status: status, RetryAfter: retryAfter}
}

// The provider's failures use up the attempts; an attempt that died with its
// process does not.
func TestSendAttemptsExhausted(t *testing.T) {
	t.Parallel()

	busy := providerError(notification.Busy, 429, time.Hour)
	tests := []struct {
		name         string
		begun, ended int
		err          error
		wantType     string
		permanent    bool
		delay        time.Duration
		calls        int
	}{
		{"first of three", 1, 0, busy, "Busy", false, time.Hour, 1},
		{"second of three", 2, 1, busy, "Busy", false, time.Hour, 1},
		{"third of three", 3, 2, busy, activities.AttemptsExhausted, true, 0, 1},
		{"third, after crashes", 7, 2, busy, activities.AttemptsExhausted, true, 0, 1},
		{"second, after crashes", 7, 1, busy, "Busy", false, time.Hour, 1},
		{"third, and a bug of ours", 3, 2, errors.New("a bug"), "", false, 0, 1},
		{"refused at the third", 3, 2, providerError(notification.Refused, 400, 0), "Refused", true, 0, 1},
		{"after ten crashes", 11, 0, nil, activities.AttemptsExhausted, true, 0, 0},
		{"after ten crashes and two failures", 13, 2, nil, activities.AttemptsExhausted, true, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db, mail := due(tt.begun, tt.ended), &provider{err: tt.err}
			_, err := send(t, db, mail, sendInput)
			requireFailure(t, err, tt.wantType, tt.permanent, tt.delay)
			require.Equal(t, tt.calls, mail.calls)
			require.Len(t, db.results, 1, "it is ended, whatever it was")
		})
	}
}

func TestSendAfterNineCrashes(t *testing.T) {
	t.Parallel()

	mail := &provider{}
	_, err := send(t, due(10, 0), mail, sendInput)
	require.NoError(t, err)
	require.Equal(t, 1, mail.calls)
}

// To send again would be a duplicate: what could not be written down is handed
// to the workflow, without the tokens.
func TestSendUnrecorded(t *testing.T) {
	t.Parallel()

	db := due(2, 1)
	db.endErr = errors.New("connection reset")
	result, err := send(t, db, &provider{receipt: notification.Receipt{ProviderID: "sg-1", Status: 202, DeadDevices: []string{"old"}}}, sendInput)

	require.NoError(t, err)
	want := notification.AttemptResult{DeliveryID: "d1", Number: 2, Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1"}
	require.Equal(t, activities.SendResult{Status: notification.Sent, Unrecorded: &want}, result)

	db.endErr = nil
	a := &activities.Activities{Deliveries: db}
	_, err = run[any](a, a.RecordSent, *result.Unrecorded)
	require.NoError(t, err)
	require.Equal(t, want, db.results[len(db.results)-1])
}

func TestSendFailureUnrecorded(t *testing.T) {
	t.Parallel()

	db := due(1, 0)
	db.endErr = errors.New("connection reset")
	_, err := send(t, db, &provider{err: providerError(notification.Busy, 429, time.Hour)}, sendInput)
	requireFailure(t, err, "Busy", false, time.Hour)
}

// The outcome is written down even when the activity was cancelled in the call.
func TestSendCancelledInTheCall(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	db := due(1, 0)
	mail := &provider{during: func(ctx context.Context) {
		cancel()
		<-ctx.Done()
	}}
	result, err := sendWithin(ctx, db, mail, sendInput)
	require.NoError(t, err)
	require.Equal(t, notification.Sent, result.Status)
	require.Len(t, db.results, 1)
}

func TestSendTimeout(t *testing.T) {
	t.Parallel()

	in := sendInput
	in.Timeout = time.Nanosecond
	var cause error
	mail := &provider{err: providerError(notification.Ambiguous, 0, 0), during: func(ctx context.Context) {
		<-ctx.Done()
		cause = ctx.Err()
	}}
	_, err := send(t, due(1, 0), mail, in)
	requireFailure(t, err, "Ambiguous", false, 0)
	require.ErrorIs(t, cause, context.DeadlineExceeded)
}

func TestSendNotConfigured(t *testing.T) {
	t.Parallel()

	db := due(1, 0)
	in := sendInput
	in.Channel = notification.SMS
	_, err := send(t, db, &provider{}, in)
	requireFailure(t, err, activities.ChannelNotConfigured, true, 0)
	require.Equal(t, notification.OutcomeError, db.results[0].Outcome)
	require.Equal(t, "SMS has no credentials on this worker", db.results[0].Detail)
}

func TestSendProblem(t *testing.T) {
	t.Parallel()

	db, mail := due(1, 0), &provider{}
	db.attempt.Status, db.attempt.Problem = notification.Failed, "template T/EMAIL/en: no key pax"
	_, err := send(t, db, mail, sendInput)
	requireFailure(t, err, activities.NoText, true, 0)
	require.Zero(t, mail.calls)
	require.Equal(t, "template T/EMAIL/en: no key pax", db.results[0].Detail)
}

func TestSendWithoutDatabase(t *testing.T) {
	t.Parallel()

	mail := &provider{}
	_, err := send(t, &deliveries{beginErr: fmt.Errorf("read: %w", notification.ErrNoDelivery)}, mail, sendInput)
	requireFailure(t, err, activities.NoSuchRow, true, 0)
	_, err = send(t, &deliveries{beginErr: errors.New("connection reset")}, mail, sendInput)
	requireFailure(t, err, "", false, 0)
	require.Zero(t, mail.calls)
}
