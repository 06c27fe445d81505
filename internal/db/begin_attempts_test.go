package db_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// mailsTo plans a mail of evt-1 to each of n members of restaurant 5, from staff 0 on. It
// returns the ids of the deliveries.
func mailsTo(t *testing.T, n int) (*db.DB, []string) {
	t.Helper()
	s := newWith(t)
	emitEvent(t, s, "evt-1")
	postgrestest.Exec(t, s, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'EMAIL')")
	var page []notification.DecidedRecipient
	var ids []string
	for i := range n {
		page = append(page, decided(fmt.Sprint(i), planned(notification.Email)))
		ids = append(ids, staffMail(i))
	}
	savePlan(t, s, page...)
	postgrestest.Exec(t, s, `
		INSERT INTO recipient (user_type, user_id, name, email)
		SELECT user_type, user_id, 'name ' || user_id, user_id || '@example.com'
		FROM   notification`)
	postgrestest.Exec(t, s, `
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', '5', user_type, user_id, 'CHEF'
		FROM   notification`)
	postgrestest.Exec(t, s, "UPDATE notification SET entity_type = 'RESTAURANT', entity_id = '5'")
	return s, ids
}

func staffMail(i int) string { return fmt.Sprintf("evt-1-staff%d-EMAIL", i) }

// past moves the planning of deliveries to two minutes ago.
const past = "UPDATE notification SET created_at = now() - interval '2 minutes'"

func beginBatch(t *testing.T, s *db.DB, ids []string) []notification.Attempt {
	t.Helper()
	return beginAs(t, s, notification.Begin{DeliveryIDs: ids, First: true})
}

// A sender that only reads the statuses begins nothing.
func TestBeginAttemptsStatusOnly(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Pending, notification.Sent} {
		s := newWith(t, planMail)
		setStatus(t, s, mail, status)

		require.Equal(t, notification.Attempt{Status: status}, beginAs(t, s, notification.Begin{DeliveryIDs: []string{mail}, StatusOnly: true})[0])

		require.Zero(t, delivery(t, s, mail).Attempts)
	}
}

func TestBeginOneAttempt(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	addRecipient(t, s, notification.RestaurantUser, "10")
	postgrestest.Exec(t, s, "UPDATE recipient SET name = 'Ada'")
	postgrestest.Exec(t, s, "UPDATE notification SET correlation_id = 'c-1', priority = 'HIGH'")

	before := postgrestest.Get[time.Time](t, s, "SELECT clock_timestamp()")
	attempt := begin(t, s, mail, 0)

	require.Positive(t, attempt.Message.NotificationID)
	require.True(t, attempt.Message.CreatedAt.Equal(postgrestest.Get[time.Time](t, s, "SELECT created_at FROM notification")))
	require.NotEmpty(t, attempt.Owner)
	attempt.Message.NotificationID, attempt.Message.CreatedAt, attempt.Owner = 0, time.Time{}, ""
	require.Equal(t, notification.Attempt{
		Status: notification.Pending, Number: 1, Tried: notification.Tried{Begun: 1},
		Message: notification.Message{
			Priority:   notification.High,
			DeliveryID: mail, EventID: "evt-1", EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1", UserType: notification.RestaurantUser, Audience: "restaurant", UserID: "10",
			Name: "Ada", To: "to-EMAIL", Title: "title", Body: "body",
		},
	}, attempt)
	for _, at := range []string{"attempt_began", "attempt_until - interval '1 minute'"} {
		require.True(t, postgrestest.Get[bool](t, s, "SELECT "+at+" BETWEEN $1 AND clock_timestamp() FROM notification", before), at)
	}
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_attempt"), "the row is written when the attempt ends")
}

// Attempts are numbered over all runs. The policy limits the attempts of one run.
func TestAttemptsAreCounted(t *testing.T) {
	t.Parallel()

	s := newWith(t, planMail)
	counts := func(before int) [3]int {
		attempt := begin(t, s, mail, before)
		return [3]int{attempt.Number, attempt.Begun, attempt.Ended}
	}
	require.Equal(t, [3]int{1, 1, 0}, counts(0))
	endAttempt(t, s, 1, notification.OutcomeBusy, "sendgrid is busy: 429")
	require.Equal(t, [3]int{2, 2, 1}, counts(0)) // dies during the call
	require.Equal(t, [3]int{3, 3, 1}, counts(0))
	endAttempt(t, s, 3, notification.OutcomeRefused, "sendgrid refused: 400")
	must(attempt.On(s).GiveUp(t.Context(), mail, notification.Failed, "sendgrid refused: 400"))(t)

	require.Equal(t, [3]int{4, 1, 0}, counts(3), "an operator's retry starts from nothing")
	endAttempt(t, s, 4, notification.OutcomeSent, "")
	require.Equal(t, row{Status: "SENT", Attempts: 4, Title: ptr("title"), Body: ptr("body"), Address: ptr("to-EMAIL"), Sent: true}, delivery(t, s, mail))
	require.Equal(t, "BUSY,LOST,REFUSED,SENT", postgrestest.Get[string](t, s, "SELECT string_agg(outcome, ',' ORDER BY attempt) FROM delivery_attempt WHERE ended_at >= started_at"))
}

// A group begins the same attempts as its deliveries would alone. A batch leaves out
// deliveries that were attempted before.
func TestBeginAttempts(t *testing.T) {
	t.Parallel()

	for name, old := range map[string]string{"planned just now": "SELECT 1", "planned a while ago": past} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, ids := mailsTo(t, 5)
			postgrestest.Exec(t, s, old)
			for _, status := range []notification.Status{notification.Sent, notification.Failed, notification.Cancelled} {
				ids = append(ids, staffMail(len(ids)))
				savePlan(t, s, decided(fmt.Sprint(len(ids)-1), planned(notification.Email)))
				setStatus(t, s, ids[len(ids)-1], status)
			}
			require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{begin(t, s, ids[4], 0)}))
			alone := begin(t, s, ids[4], 0)
			require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{alone}))
			begin(t, s, ids[3], 0)

			attempts := beginBatch(t, s, append(ids, "evt-1-staff404-EMAIL"))

			alone.Owner = attempts[4].Owner
			require.Equal(t, alone, attempts[4])
			require.Positive(t, attempts[3].LeasedFor)
			attempts[3].LeasedFor = 0
			for i, status := range []notification.Status{notification.Pending, "", notification.Sent, notification.Failed, notification.Cancelled, ""} {
				if i != 1 {
					require.Equal(t, notification.Attempt{Status: status}, attempts[3+i])
				}
			}
			for i, attempt := range attempts[:3] {
				require.Equal(t, ids[i], attempt.Message.DeliveryID)
				require.Equal(t, [2]int{1, 1}, [2]int{attempt.Number, attempt.Begun})
			}
			require.Equal(t, 5, postgrestest.Get[int](t, s, "SELECT sum(attempt_count) FROM notification"))
			require.Equal(t, 5, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE attempt_until > now()"))
		})
	}
}

// An attempt that is given back does not count.
func TestReleaseAttempts(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	unmoved := delivery(t, s, ids[0])
	attempts := beginBatch(t, s, ids)
	stale := attempts[1]
	stale.Owner = "a former owner"

	require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{attempts[0], stale}))

	require.Equal(t, unmoved, delivery(t, s, ids[0]))
	require.Equal(t, []string{ids[1]}, postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE attempt_owner IS NOT NULL"))
	require.Equal(t, 1, beginBatch(t, s, ids[:1])[0].Number)
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
}

// A lease that ran out is a lost attempt. The next sender records it, once. If the old
// process still lives, its result counts, and the lease of the next attempt stays.
func TestLostAttempt(t *testing.T) {
	t.Parallel()

	const outcomes = "SELECT string_agg(outcome, ',' ORDER BY attempt) FROM delivery_attempt"
	s := newWith(t, planMail)
	slow := begin(t, s, mail, 0)
	require.Equal(t, notification.Attempt{Status: notification.Pending, LeasedFor: time.Minute},
		atMost(time.Minute, beginAs(t, s, notification.Begin{DeliveryIDs: []string{mail}})[0]))
	next := begin(t, s, mail, 0)
	require.Equal(t, [2]int{2, 1}, [2]int{next.Number, next.Crashed})
	require.Equal(t, "LOST", postgrestest.Get[string](t, s, outcomes))

	must(attempt.On(s).EndAttempts(t.Context(), []notification.AttemptResult{{DeliveryID: mail, Number: 1, Owner: slow.Owner, Outcome: notification.OutcomeBusy, Detail: "busy"}}))(t)
	require.Equal(t, "BUSY", postgrestest.Get[string](t, s, outcomes))
	require.Equal(t, next.Owner, postgrestest.Get[string](t, s, "SELECT attempt_owner FROM notification"))

	endAttempt(t, s, 2, notification.OutcomeSent, "")
	require.Equal(t, "BUSY,SENT", postgrestest.Get[string](t, s, outcomes))
	require.Equal(t, "SENT", delivery(t, s, mail).Status)
}

// atMost returns an attempt with its lease rounded up to the longest possible lease.
func atMost(longest time.Duration, a notification.Attempt) notification.Attempt {
	if a.LeasedFor > 0 && a.LeasedFor < longest {
		a.LeasedFor = longest
	}
	return a
}

// In a group that was planned a while ago, the rules judge each delivery separately. A
// change for one delivery drops only that one. Deliveries go to the current address.
func TestBeginAttemptsJudgesEachDelivery(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 5)
	postgrestest.Exec(t, s, past)
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'new@example.com' WHERE user_id = '0'")
	postgrestest.Exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '1'")
	postgrestest.Exec(t, s, "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled) VALUES ('RESTAURANT_USER', '2', 'EMAIL', false)")
	postgrestest.Exec(t, s, "INSERT INTO recipient_suppression (channel, address_hash, reason) VALUES ('EMAIL', $1, 'BOUNCE')", hashed("3@example.com"))
	postgrestest.Exec(t, s, "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end) VALUES ('RESTAURANT_USER', '4', 'EMAIL', true, '00:00', '23:59:59.999999')")

	attempts := beginBatch(t, s, ids)

	require.Equal(t, "new@example.com", attempts[0].Message.To)
	require.Equal(t, ptr("new@example.com"), delivery(t, s, ids[0]).Address)
	for i, reason := range map[int]string{1: notification.NoLongerRecipient, 2: string(notification.DecisionUserDisabled), 3: string(notification.DecisionSuppressed), 4: "QUIET_HOURS"} {
		require.Equal(t, notification.Attempt{Status: notification.Cancelled, Verdict: notification.Verdict{Dropped: reason}}, attempts[i])
		got := delivery(t, s, ids[i])
		require.Equal(t, row{Status: "CANCELLED", Title: got.Title, Body: got.Body, Address: got.Address, Error: ptr(reason)}, got)
	}
}

// If the rules cannot be asked, no attempt begins, and nothing changes.
func TestBeginAttemptsFailsWithoutRules(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	postgrestest.Exec(t, s, past+" WHERE delivery_id = $1", ids[1])
	postgrestest.Exec(t, s, "DROP TABLE recipient_suppression")

	require.ErrorContains(t, errOf(attempt.On(s).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: ids, Owner: "me", Lease: time.Minute, First: true})), "begin attempts")
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE attempt_owner IS NULL AND attempt_count = 0 AND status = 'PENDING'"))
}

// deafConn drops the next answer of the server, once.
type deafConn struct {
	net.Conn
	deaf *atomic.Bool
}

func (c deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.deaf.CompareAndSwap(true, false) {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// If leases are taken but the answer is lost, the leases are given back: no call has begun, so nothing
// counts as an attempt, and nothing as a crash of this one.
func TestBeginAttemptsGivesLeasesBack(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 3)
	var deaf atomic.Bool
	config := s.Pool.Config()
	config.MaxConns = 1
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return deafConn{conn, &deaf}, err
	}
	pool := must(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	store := &db.DB{Pool: pool}
	begin := func(owner string, ids ...string) error {
		return errOf(attempt.On(store).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: ids, Owner: owner, Lease: time.Hour}))
	}
	require.NoError(t, begin("another", ids[0])) // prepares the statement
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_count = 1, attempt_owner = 'dead', attempt_began = now() - interval '1 hour', attempt_until = now() - interval '1 minute' WHERE delivery_id = $1", ids[2])

	for range 12 {
		deaf.Store(true)
		require.ErrorContains(t, begin("me", ids...), "begin attempts")
	}

	require.Equal(t, []string{ids[0] + " another 1", ids[1] + "  0", ids[2] + "  1"},
		postgrestest.List(t, s, "SELECT format('%s %s %s', delivery_id, attempt_owner, attempt_count) FROM notification ORDER BY id"))
	require.Equal(t, []string{ids[2] + " 1 LOST"}, postgrestest.List(t, s, "SELECT concat_ws(' ', delivery_id, attempt, outcome) FROM delivery_attempt"), "only the process that died lost an attempt")
}

// The run of an operator's retry sends the delivery.
func TestBeginAttemptsSkipsRetriedDeliveries(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	must(attempt.On(s).Reopen(t.Context(), notification.Reopened{DeliveryID: ids[0], RunID: "run-1", Address: "to-EMAIL", KeepText: true}))(t)

	attempts := beginBatch(t, s, ids)

	require.Equal(t, notification.Attempt{Status: notification.Pending}, attempts[0])
	require.Equal(t, 1, attempts[1].Number)
}

// Executions of one batch at the same time, in any order, begin each delivery once.
func TestBeginAttemptsBeginsEachDeliveryOnce(t *testing.T) {
	t.Parallel()

	const deliveries = 60
	s, ids := mailsTo(t, deliveries)
	begun := make([][]notification.Attempt, 4)
	sideBySide(t, len(begun), func(n int) (err error) {
		mine := slices.Concat(ids[n*10:], ids[:n*10])
		begun[n], err = attempt.On(s).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: mine, Owner: fmt.Sprint(n), Lease: time.Minute, First: true})
		return err
	})
	var got []string
	for _, attempt := range slices.Concat(begun...) {
		if attempt.Number > 0 {
			got = append(got, attempt.Message.DeliveryID)
		}
	}
	require.ElementsMatch(t, ids, got)
}

// A group needs as many statements as one delivery, judged or not.
func TestBeginAttemptsNeedsFewStatements(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 500)
	postgrestest.Exec(t, s, "UPDATE notification SET recipient_address = user_id || '@example.com'")
	listening, asked := heard(t, s)
	listening.AddressHash = hashed
	questions := func(ids []string) int {
		asked.heard = nil
		beginBatch(t, listening, ids)
		return len(asked.heard)
	}
	require.Equal(t, 1, questions(ids[:250]))
	postgrestest.Exec(t, s, past)
	one := questions(ids[499:])
	require.Equal(t, one, questions(ids[250:499]))
	require.Equal(t, 3, one, "take the leases; read the facts, and the suppressed addresses")
	require.Equal(t, 500, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE attempt_count = 1"))
}
