package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

const mail = "evt-1-staff10-EMAIL"

// withMail has one delivery of evt-1, to staff 10 by mail, that is pending.
func withMail(t *testing.T) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	savePlan(t, s, decided("10", planned(notification.Email)))
	return s
}

// setStatus brings a delivery to a status, with what belongs to it.
func setStatus(t *testing.T, s *postgres.Store, id string, status notification.Status) {
	t.Helper()
	exec(t, s, `
		UPDATE notification
		SET    status = $2,
		       last_error = CASE WHEN $2 IN ('FAILED', 'CANCELLED') THEN 'before' END,
		       sent_at = CASE WHEN $2 IN ('SENT', 'DELIVERED') THEN now() END,
		       delivered_at = CASE WHEN $2 = 'DELIVERED' THEN now() END
		WHERE  delivery_id = $1`, id, string(status))
}

func begin(t *testing.T, s *postgres.Store, id string, before int) notification.Attempt {
	t.Helper()
	attempt, err := s.BeginAttempt(t.Context(), notification.Begin{DeliveryID: id, Before: before})
	require.NoError(t, err)
	return attempt
}

// endAttempt ends an attempt at the mail.
func endAttempt(t *testing.T, s *postgres.Store, number int, outcome notification.AttemptOutcome, detail string) {
	t.Helper()
	endAs(t, s, notification.AttemptResult{DeliveryID: mail, Number: number, Outcome: outcome, Detail: detail})
}

// endAs ends an attempt and returns how old its event is.
func endAs(t *testing.T, s *postgres.Store, result notification.AttemptResult) time.Duration {
	t.Helper()
	recorded, err := s.EndAttempt(t.Context(), result)
	require.NoError(t, err)
	require.Empty(t, recorded.DeadTokensKept)
	return recorded.Age
}

// Who only looks begins nothing.
func TestBeginAttemptLooks(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Pending, notification.Sent} {
		s := withMail(t)
		setStatus(t, s, mail, status)

		attempt, err := s.BeginAttempt(t.Context(), notification.Begin{DeliveryID: mail, Look: true})

		require.NoError(t, err)
		require.Equal(t, notification.Attempt{Status: status}, attempt)
		require.Zero(t, delivery(t, s, mail).Attempts)
	}
}

// Beside an attempt that may be under way none is begun by whom wants to be alone.
func TestBeginAttemptAlone(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		sql      string // after the first attempt was begun
		underWay bool
	}{
		{name: "it was just begun", sql: "SELECT 1", underWay: true},
		{name: "just begun, and planned a while ago", sql: "UPDATE notification SET created_at = now() - interval '1 hour'", underWay: true},
		{name: "it ended", sql: "UPDATE delivery_attempt SET ended_at = now(), outcome = 'BUSY'"},
		{name: "it must have died", sql: "UPDATE delivery_attempt SET started_at = now() - interval '31 seconds'"},
		{name: "it failed, and is to be sent again", sql: "UPDATE delivery_attempt SET ended_at = now(), outcome = 'REFUSED'; UPDATE notification SET status = 'FAILED', last_error = 'no'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s, alone := withMail(t), notification.Begin{DeliveryID: mail, Alone: 30 * time.Second}
			exec(t, s, "INSERT INTO recipient (user_type, user_id, email, active) VALUES ('RESTAURANT_USER', '10', 'a@example.com', true) ON CONFLICT DO NOTHING")
			first, err := s.BeginAttempt(t.Context(), alone)
			require.NoError(t, err)
			require.False(t, first.UnderWay)
			require.Equal(t, 1, first.Number)
			exec(t, s, tt.sql)

			second, err := s.BeginAttempt(t.Context(), alone)

			require.NoError(t, err)
			require.Equal(t, tt.underWay, second.UnderWay)
			require.Equal(t, map[bool]int{true: 1, false: 2}[tt.underWay], delivery(t, s, mail).Attempts)
			require.Equal(t, delivery(t, s, mail).Attempts+1, begin(t, s, mail, 0).Number, "who does not ask to be alone is not held up")
		})
	}
}

func TestBeginAttempt(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	addRecipient(t, s, notification.RestaurantUser, "10")
	exec(t, s, "UPDATE recipient SET name = 'Ada'")
	exec(t, s, "UPDATE notification SET correlation_id = 'c-1'")

	attempt := begin(t, s, mail, 0)

	require.Positive(t, attempt.Message.NotificationID)
	require.True(t, attempt.Message.CreatedAt.Equal(get[time.Time](t, s, "SELECT created_at FROM notification")))
	attempt.Message.NotificationID, attempt.Message.CreatedAt = 0, time.Time{}
	require.Equal(t, notification.Attempt{
		Status: notification.Pending, Number: 1, Tried: notification.Tried{Begun: 1},
		Message: notification.Message{
			DeliveryID: mail, EventID: "evt-1", EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1", UserType: notification.RestaurantUser, Audience: "restaurant", UserID: "10",
			Name: "Ada", To: "to-EMAIL", Title: "title", Body: "body",
		},
	}, attempt)
	require.True(t, get[bool](t, s, "SELECT ended_at IS NULL AND outcome IS NULL FROM delivery_attempt WHERE attempt = 1"))
}

// operations are all that can happen to a delivery; each returns the status that
// it reports, if it does.
var operations = map[string]func(t *testing.T, s *postgres.Store, id string) notification.Status{
	"read": func(t *testing.T, s *postgres.Store, id string) notification.Status {
		state, err := s.DeliveryState(t.Context(), id)
		require.NoError(t, err)
		return state.Status
	},
	"begin": func(t *testing.T, s *postgres.Store, id string) notification.Status {
		attempt := begin(t, s, id, 0)
		require.Equal(t, attempt.Due(), attempt.Number == 1, "only what is due is counted")
		return attempt.Status
	},
	"fail":      giveUp(notification.Failed),
	"cancel":    giveUp(notification.Cancelled),
	"sent":      endedAs(notification.OutcomeSent),
	"refused":   endedAs(notification.OutcomeRefused),
	"ambiguous": endedAs(notification.OutcomeAmbiguous),
}

func giveUp(status notification.Status) func(t *testing.T, s *postgres.Store, id string) notification.Status {
	return func(t *testing.T, s *postgres.Store, id string) notification.Status {
		now, err := s.GiveUp(t.Context(), id, status, "why")
		require.NoError(t, err)
		return now
	}
}

// endedAs ends an attempt that was begun before the delivery got its status.
func endedAs(outcome notification.AttemptOutcome) func(t *testing.T, s *postgres.Store, id string) notification.Status {
	return func(t *testing.T, s *postgres.Store, id string) notification.Status {
		exec(t, s, "INSERT INTO delivery_attempt (delivery_id, attempt) VALUES ($1, 1)", id)
		endAs(t, s, notification.AttemptResult{DeliveryID: id, Number: 1, Outcome: outcome, Detail: "why"})
		return ""
	}
}

// Every status, and what each operation makes of it: a status only climbs.
func TestDeliveryStates(t *testing.T) {
	t.Parallel()

	const pending, sent, delivered, failed, cancelled = notification.Pending, notification.Sent, notification.Delivered, notification.Failed, notification.Cancelled
	statuses := []notification.Status{pending, sent, delivered, failed, cancelled}
	same := map[notification.Status]notification.Status{}
	tests := []struct {
		operation string
		changes   map[notification.Status]notification.Status // the others stay
		explains  []notification.Status                       // where it writes last_error
	}{
		{operation: "read", changes: same},
		{operation: "begin", changes: same},
		{operation: "fail", changes: map[notification.Status]notification.Status{pending: failed}, explains: []notification.Status{pending, failed}},
		{operation: "cancel", changes: map[notification.Status]notification.Status{pending: cancelled, failed: cancelled}, explains: []notification.Status{pending, failed}},
		// A provider that had it before it could be cancelled has it for good.
		{operation: "sent", changes: map[notification.Status]notification.Status{pending: sent, failed: sent, cancelled: sent}, explains: []notification.Status{pending, failed, cancelled, delivered}},
		{operation: "refused", changes: same, explains: []notification.Status{pending, failed}},
		{operation: "ambiguous", changes: same, explains: []notification.Status{pending, failed}},
	}
	require.Len(t, tests, len(operations))
	s := postgrestest.New(t)
	for _, tt := range tests {
		for _, before := range statuses {
			id := notification.DeliveryID("evt-1", "staff", tt.operation+string(before), notification.Email)
			savePlan(t, s, decided(tt.operation+string(before), planned(notification.Email)))
			setStatus(t, s, id, before)
			wantError := delivery(t, s, id).Error
			if slices.Contains(tt.explains, before) {
				wantError = ptr("why")
			}
			after, changes := tt.changes[before]
			if !changes {
				after = before
			}

			reported := operations[tt.operation](t, s, id)

			got := delivery(t, s, id)
			require.Equal(t, string(after), got.Status, "%s of %s", tt.operation, before)
			require.Contains(t, []notification.Status{after, ""}, reported, "%s of %s", tt.operation, before)
			require.Equal(t, wantError, got.Error, "%s of %s", tt.operation, before)
			require.Equal(t, after == sent || after == delivered, got.Sent, "%s of %s", tt.operation, before)
		}
	}
}

func TestNoSuchDelivery(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	for name, of := range map[string]func(id string) error{
		"begin":       func(id string) error { _, err := s.BeginAttempt(ctx, notification.Begin{DeliveryID: id}); return err },
		"state":       func(id string) error { _, err := s.DeliveryState(ctx, id); return err },
		"give up":     func(id string) error { _, err := s.GiveUp(ctx, id, notification.Failed, "why"); return err },
		"failure":     func(id string) error { _, err := s.Failure(ctx, id); return err },
		"quiet check": func(id string) error { _, err := s.QuietCheck(ctx, id); return err },
		"digest":      func(id string) error { _, err := s.DigestPlace(ctx, id); return err },
		"reopening":   func(id string) error { _, err := s.Reopening(ctx, id); return err },
		"reopen": func(id string) error {
			_, err := s.Reopen(ctx, notification.Reopened{DeliveryID: id, RunID: "run-1"})
			return err
		},
	} {
		require.ErrorIs(t, of("d404"), notification.ErrNoDelivery, name)
	}
}

// Attempts are numbered over all runs; what the policy limits is counted in one.
func TestAttemptsAreCounted(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	counts := func(before int) [3]int {
		attempt := begin(t, s, mail, before)
		return [3]int{attempt.Number, attempt.Begun, attempt.Ended}
	}
	require.Equal(t, [3]int{1, 1, 0}, counts(0))
	endAttempt(t, s, 1, notification.OutcomeBusy, "sendgrid is busy: 429")
	require.Equal(t, [3]int{2, 2, 1}, counts(0)) // dies in mid-call
	require.Equal(t, [3]int{3, 3, 1}, counts(0))
	endAttempt(t, s, 3, notification.OutcomeRefused, "sendgrid refused: 400")
	_, err := s.GiveUp(t.Context(), mail, notification.Failed, "sendgrid refused: 400")
	require.NoError(t, err)

	require.Equal(t, [3]int{4, 1, 0}, counts(3), "an operator's retry starts from nothing")
	endAttempt(t, s, 4, notification.OutcomeSent, "")
	require.Equal(t, row{Status: "SENT", Attempts: 4, Title: ptr("title"), Body: ptr("body"), Address: ptr("to-EMAIL"), Sent: true}, delivery(t, s, mail))
	require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM delivery_attempt WHERE ended_at IS NULL"))
}

func TestBeginAttemptSideBySide(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	numbers := make([]int, 4)
	var group errgroup.Group
	for i := range numbers {
		group.Go(func() error {
			attempt, err := s.BeginAttempt(t.Context(), notification.Begin{DeliveryID: mail})
			numbers[i] = attempt.Number
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.ElementsMatch(t, []int{1, 2, 3, 4}, numbers)
	require.Equal(t, 4, delivery(t, s, mail).Attempts)
}

func TestEndAttempt(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	begin(t, s, mail, 0)
	refused := notification.AttemptResult{DeliveryID: mail, Number: 1, Outcome: notification.OutcomeAccount, ProviderStatus: 401, Detail: "sendgrid rejected our account: 401"}
	endAs(t, s, refused)
	begin(t, s, mail, 0)
	accepted := notification.AttemptResult{DeliveryID: mail, Number: 2, Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1", Took: 40 * time.Millisecond}
	endAs(t, s, accepted)

	require.Equal(t, row{Status: "SENT", Attempts: 2, Title: ptr("title"), Body: ptr("body"), Address: ptr("to-EMAIL"), ProviderID: ptr("sg-1"), Sent: true}, delivery(t, s, mail))
	var outcomes [2]string
	for i := range outcomes {
		outcomes[i] = get[string](t, s, `
			SELECT concat_ws(' ', outcome, provider_status, detail, took)
			FROM   delivery_attempt
			WHERE  attempt = $1 AND ended_at >= started_at`, i+1)
	}
	require.Equal(t, [2]string{"ACCOUNT 401 sendgrid rejected our account: 401", "SENT 202 00:00:00.04"}, outcomes)
}

// The age of the event, of what is sent as soon as it can be: seven hours.
func TestEndAttemptMeasures(t *testing.T) {
	t.Parallel()

	const sent = notification.OutcomeSent
	tests := []struct {
		name     string
		sql      string // makes it a case of its own
		outcome  notification.AttemptOutcome
		measured bool
	}{
		{name: "at once", outcome: sent, measured: true},
		{name: "not sent", outcome: notification.OutcomeBusy},
		{name: "delayed", sql: "UPDATE notification SET strategy = 'DELAYED'", outcome: sent},
		{name: "deferred by quiet hours", sql: "UPDATE notification SET send_after = now()", outcome: sent},
		{name: "in a digest", sql: "UPDATE notification SET strategy = 'AGGREGATE'", outcome: sent},
		{name: "made once more", sql: "INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) SELECT delivery_id, 'r', false, 'FAILED' FROM notification", outcome: sent},
		{name: "of an event that is no longer there", sql: "DELETE FROM event_outbox", outcome: sent},
		{name: "of an event from the future", sql: "UPDATE event_outbox SET created_at = now() + interval '1 hour'", outcome: sent},
		{name: "sent before", sql: "UPDATE notification SET status = 'SENT', sent_at = now()", outcome: sent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := withMail(t)
			emitEvent(t, s, "evt-1")
			exec(t, s, "UPDATE event_outbox SET created_at = now() - interval '7 hours'")
			begin(t, s, mail, 0)
			if tt.sql != "" {
				exec(t, s, tt.sql)
			}
			result := notification.AttemptResult{DeliveryID: mail, Number: 1, Outcome: tt.outcome, Detail: "why"}

			age := endAs(t, s, result)

			require.Equal(t, tt.measured, age.Truncate(time.Hour) == 7*time.Hour, age)
			require.Equal(t, tt.measured, age != 0, age)
			require.Zero(t, endAs(t, s, result), "it is measured once")
		})
	}
}

// A result that is written twice, the second time late, changes nothing then.
func TestEndAttemptRepeated(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	begin(t, s, mail, 0)
	endAttempt(t, s, 1, notification.OutcomeBusy, "first")
	begin(t, s, mail, 0)
	endAttempt(t, s, 2, notification.OutcomeRefused, "second")
	_, err := s.GiveUp(t.Context(), mail, notification.Failed, "given up")
	require.NoError(t, err)

	endAttempt(t, s, 1, notification.OutcomeBusy, "first, repeated")

	require.Equal(t, ptr("given up"), delivery(t, s, mail).Error)
	require.Equal(t, "first", get[string](t, s, "SELECT detail FROM delivery_attempt WHERE attempt = 1"))
}

func TestEndAttemptSwitchesDeadDevicesOff(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	addRecipient(t, s, notification.RestaurantUser, "10")
	addRecipient(t, s, notification.RestaurantUser, "11")
	exec(t, s, `
		INSERT INTO recipient_device (user_type, user_id, token)
		VALUES ('RESTAURANT_USER', '10', 'good'), ('RESTAURANT_USER', '10', 'dead'), ('RESTAURANT_USER', '11', 'dead')`)
	savePlan(t, s, decided("10", planned(notification.Push)))
	const push = "evt-1-staff10-PUSH"

	require.Equal(t, []string{"dead", "good"}, begin(t, s, push, 0).Message.Devices)
	endAs(t, s, notification.AttemptResult{DeliveryID: push, Number: 1, Outcome: notification.OutcomeAmbiguous, Detail: "fcm", DeadDevices: []string{"dead"}})

	require.Equal(t, []string{"good"}, begin(t, s, push, 0).Message.Devices)
	require.True(t, get[bool](t, s, "SELECT active FROM recipient_device WHERE user_id = '11'"), "the device is somebody else's too")
	exec(t, s, `
		INSERT INTO recipient_device (user_type, user_id, token)
		SELECT 'RESTAURANT_USER', '10', 'device-' || i FROM generate_series(1, 30) AS i`)
	require.Len(t, begin(t, s, push, 0).Message.Devices, 20)
}

// What could not be rendered says why at each attempt, and can never be sent.
func TestBeginAttemptOfAProblem(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	broken := planned(notification.Email)
	broken.Problem = "template T/EMAIL/en: no key pax"
	savePlan(t, s, decided("10", broken))

	for number := 1; number <= 2; number++ {
		attempt := begin(t, s, mail, 0)
		require.Equal(t, broken.Problem, attempt.Problem)
		require.Empty(t, attempt.Message.Body)
		endAttempt(t, s, number, notification.OutcomeError, attempt.Problem)
	}
	require.Equal(t, row{Status: "FAILED", Attempts: 2, Address: ptr("to-EMAIL"), Error: ptr(broken.Problem)}, delivery(t, s, mail))
}

func TestFailure(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	begin(t, s, mail, 0)
	endAttempt(t, s, 1, notification.OutcomeRefused, "sendgrid refused: 400")
	_, err := s.GiveUp(t.Context(), mail, notification.Failed, "sendgrid refused: 400")
	require.NoError(t, err)
	exec(t, s, "UPDATE notification SET correlation_id = 'c-1'")

	letter, err := s.Failure(t.Context(), mail)
	require.NoError(t, err)
	require.False(t, letter.FailedAt.IsZero())
	letter.FailedAt = time.Time{}
	require.Equal(t, notification.DeadLetter{
		DeliveryID: mail, EventID: "evt-1", CorrelationID: "c-1", Channel: notification.Email, UserType: notification.RestaurantUser, UserID: "10",
		Reason: "sendgrid refused: 400", Attempts: 1,
	}, letter)
}
