package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

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
