package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// mailsTo plans a mail of evt-1 to each of n members of restaurant 5, staff 0 and so on, and
// returns the ids of the deliveries.
func mailsTo(t *testing.T, n int) (*postgres.Store, []string) {
	t.Helper()
	s := postgrestest.New(t)
	s.AddressHash = hashed
	emitEvent(t, s, "evt-1")
	exec(t, s, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'EMAIL')")
	var page []notification.DecidedRecipient
	var ids []string
	for i := range n {
		page = append(page, decided(fmt.Sprint(i), planned(notification.Email)))
		ids = append(ids, staffMail(i))
	}
	savePlan(t, s, page...)
	exec(t, s, `
		INSERT INTO recipient (user_type, user_id, name, email)
		SELECT user_type, user_id, 'name ' || user_id, user_id || '@example.com'
		FROM   notification`)
	exec(t, s, `
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', '5', user_type, user_id, 'CHEF'
		FROM   notification`)
	exec(t, s, "UPDATE notification SET entity_type = 'RESTAURANT', entity_id = '5'")
	return s, ids
}

func staffMail(i int) string { return fmt.Sprintf("evt-1-staff%d-EMAIL", i) }

// past makes deliveries ones that were planned more than a minute ago.
const past = "UPDATE notification SET created_at = now() - interval '2 minutes'"

func beginBatch(t *testing.T, s *postgres.Store, ids []string) []notification.Attempt {
	t.Helper()
	attempts, err := s.BeginAttempts(t.Context(), notification.BeginBatch{DeliveryIDs: ids, Batch: 3})
	require.NoError(t, err)
	require.Len(t, attempts, len(ids))
	return attempts
}

// A group begins what each of its deliveries would, had it begun alone.
func TestBeginAttempts(t *testing.T) {
	t.Parallel()

	for name, old := range map[string]string{"planned just now": "SELECT 1", "planned a while ago": past} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, ids := mailsTo(t, 5)
			exec(t, s, old)
			for _, status := range []notification.Status{notification.Sent, notification.Failed, notification.Cancelled} {
				ids = append(ids, staffMail(len(ids)))
				savePlan(t, s, decided(fmt.Sprint(len(ids)-1), planned(notification.Email)))
				setStatus(t, s, ids[len(ids)-1], status)
			}
			begin(t, s, ids[3], 0)
			alone := begin(t, s, ids[4], 0)
			exec(t, s, "DELETE FROM delivery_attempt WHERE delivery_id = $1", ids[4])
			exec(t, s, "UPDATE notification SET attempt_count = 0 WHERE delivery_id = $1", ids[4])

			attempts := beginBatch(t, s, append(ids, "evt-1-staff404-EMAIL"))

			require.Equal(t, alone, attempts[4])
			require.Equal(t, notification.Message{}, attempts[3].Message, "it had an attempt before")
			require.True(t, attempts[3].Due())
			for i, status := range []notification.Status{notification.Sent, notification.Failed, notification.Cancelled, ""} {
				require.Equal(t, notification.Attempt{Status: status}, attempts[5+i])
			}
			for i, attempt := range attempts[:3] {
				require.Equal(t, ids[i], attempt.Message.DeliveryID)
				require.Equal(t, [2]int{1, 1}, [2]int{attempt.Number, attempt.Begun})
			}
			require.Equal(t, []string{staffMail(0), staffMail(1), staffMail(2), staffMail(4)},
				list(t, s, "SELECT delivery_id FROM delivery_attempt WHERE batch = 3 AND attempt = 1 AND ended_at IS NULL ORDER BY delivery_id"))
			require.Equal(t, 5, get[int](t, s, "SELECT sum(attempt_count) FROM notification"))
		})
	}
}

// Of a group that was planned a while ago each delivery is judged for itself: what changed
// for one of them drops it alone, and it goes to the address of now.
func TestBeginAttemptsJudges(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 5)
	exec(t, s, past)
	exec(t, s, "UPDATE recipient SET email = 'new@example.com' WHERE user_id = '0'")
	exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '1'")
	exec(t, s, "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled) VALUES ('RESTAURANT_USER', '2', 'EMAIL', false)")
	exec(t, s, "INSERT INTO recipient_suppression (channel, address_hash, reason) VALUES ('EMAIL', $1, 'BOUNCE')", hashed("3@example.com"))
	exec(t, s, "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end) VALUES ('RESTAURANT_USER', '4', 'EMAIL', true, '00:00', '23:59:59.999999')")

	attempts := beginBatch(t, s, ids)

	require.Equal(t, "new@example.com", attempts[0].Message.To)
	require.Equal(t, ptr("new@example.com"), delivery(t, s, ids[0]).Address)
	for i, reason := range map[int]string{1: notification.NoLongerRecipient, 2: string(notification.DecisionUserDisabled), 3: string(notification.DecisionSuppressed)} {
		require.Equal(t, notification.Attempt{Status: notification.Cancelled, Verdict: notification.Verdict{Dropped: reason}}, attempts[i])
		got := delivery(t, s, ids[i])
		require.Equal(t, row{Status: "CANCELLED", Title: got.Title, Body: got.Body, Address: got.Address, Error: ptr(reason)}, got)
	}
	require.Equal(t, 1, attempts[4].Number, "a delivery that did not wait is not judged by quiet hours")
}

// Where the rules cannot be asked, what was begun without them is sent all the same, and the
// rest is as it was.
func TestBeginAttemptsInPart(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	exec(t, s, past+" WHERE delivery_id = $1", ids[1])
	exec(t, s, "DROP TABLE recipient_suppression")

	attempts := beginBatch(t, s, ids)

	require.Equal(t, 1, attempts[0].Number)
	require.Zero(t, attempts[1].Number)
	require.Equal(t, 0, delivery(t, s, ids[1]).Attempts)
	_, err := s.BeginAttempts(t.Context(), notification.BeginBatch{DeliveryIDs: ids[1:], Batch: 3})
	require.ErrorContains(t, err, "begin attempts")
}

// What an operator retries has a run of its own, which sends it.
func TestBeginAttemptsOfARetriedDelivery(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	_, err := s.Reopen(t.Context(), notification.Reopened{DeliveryID: ids[0], RunID: "run-1", Address: "to-EMAIL", KeepText: true})
	require.NoError(t, err)

	attempts := beginBatch(t, s, ids)

	require.Equal(t, notification.Attempt{Status: notification.Pending}, attempts[0])
	require.Equal(t, 1, attempts[1].Number)
}

// A delivery that an operator retries at that moment is left to the retry, which the batch
// cannot see yet.
func TestBeginAttemptsBesideARetry(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 1)
	exec(t, s, "UPDATE notification SET status = 'CANCELLED', last_error = 'an operator'")
	retry := openTx(t, s, "INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) VALUES ($1, 'run-1', false, 'CANCELLED')", ids[0])
	_, err := retry.Exec(t.Context(), "UPDATE notification SET status = 'PENDING', last_error = NULL")
	require.NoError(t, err)
	begun := make(chan []notification.Attempt, 1)
	var batch errgroup.Group
	batch.Go(func() error {
		attempts, err := s.BeginAttempts(t.Context(), notification.BeginBatch{DeliveryIDs: ids, Batch: 1})
		begun <- attempts
		return err
	})
	require.Eventually(t, func() bool {
		return len(begun) > 0 || get[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	}, time.Minute, 10*time.Millisecond)

	require.NoError(t, retry.Commit(t.Context()))

	require.NoError(t, batch.Wait())
	require.Zero(t, (<-begun)[0].Number)
}

// Where another event takes theirs back, no delivery is begun, however new it is.
func TestBeginAttemptsOfACancelledEvent(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	cancel(t, s)

	for i, attempt := range beginBatch(t, s, ids) {
		require.Contains(t, attempt.Dropped, notification.CancelledByEvent)
		require.Equal(t, "CANCELLED", delivery(t, s, ids[i]).Status)
	}
}

// Two executions of one batch begin each delivery once, whichever order they take.
func TestBeginAttemptsTwice(t *testing.T) {
	t.Parallel()

	const deliveries = 60
	s, ids := mailsTo(t, deliveries)
	var group errgroup.Group
	begun := make([][]notification.Attempt, 4)
	for n := range begun {
		mine := append([]string{}, ids[n*10:]...)
		mine = append(mine, ids[:n*10]...)
		group.Go(func() (err error) {
			begun[n], err = s.BeginAttempts(t.Context(), notification.BeginBatch{DeliveryIDs: mine, Batch: n})
			return err
		})
	}
	require.NoError(t, group.Wait())
	var got []string
	for _, attempts := range begun {
		for _, attempt := range attempts {
			if attempt.Number > 0 {
				got = append(got, attempt.Message.DeliveryID)
			}
		}
	}
	require.ElementsMatch(t, ids, got)
	require.Equal(t, deliveries, get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
}

// A group asks as often as one delivery does, whether it is judged or not.
func TestBeginAttemptsAsksOnce(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 500)
	listening, asked := heard(t, s)
	listening.AddressHash = hashed
	questions := func(ids []string) int {
		asked.heard = nil
		beginBatch(t, listening, ids)
		return len(asked.heard)
	}
	require.Equal(t, 1, questions(ids[:250]))
	exec(t, s, past)
	one := questions(ids[499:])
	require.Equal(t, one, questions(ids[250:499]))
	require.Equal(t, 4, one, "begin what is new; read the facts, and the suppressed addresses; begin what is allowed")
	require.Equal(t, 500, get[int](t, s, "SELECT count(*) FROM notification WHERE attempt_count = 1"))
}
