package attempt_test

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
	"herald/internal/roomtest"
)

// mailsTo plans a mail of evt-1 to each of n members of restaurant 5, from staff 0 on. It
// returns the ids of the deliveries.
func mailsTo(t *testing.T, n int) (*db.DB, []string) {
	t.Helper()
	s := roomtest.New(t)
	roomtest.EmitEvent(t, s, "evt-1")
	postgrestest.Add(t, s.Pool, postgrestest.Route{EventType: "RESERVATION_REQUESTED"})
	var page []notification.DecidedRecipient
	var ids []string
	for i := range n {
		page = append(page, roomtest.Decided(fmt.Sprint(i), roomtest.Planned(notification.Email)))
		ids = append(ids, roomtest.StaffMail(i))
	}
	roomtest.SavePlan(t, s, page...)
	postgrestest.AddMany(t, s.Pool, n, postgrestest.Recipient{UserType: notification.RestaurantUser}, postgrestest.Expressions{
		"user_id": "i - 1", "name": "'name ' || i - 1", "email": "i - 1 || '@example.com'",
	})
	postgrestest.AddMany(t, s.Pool, n, postgrestest.Member{Role: "CHEF"}, postgrestest.Expressions{"user_id": "i - 1"})
	postgrestest.Exec(t, s, "UPDATE notification SET entity_type = 'RESTAURANT', entity_id = '5'")
	return s, ids
}

// A sender that only reads the statuses begins nothing.
func TestBeginAttemptsStatusOnly(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Pending, notification.Sent} {
		s := roomtest.New(t, roomtest.PlanMail)
		roomtest.SetStatus(t, s, roomtest.Mail, status)

		require.Equal(t, notification.Attempt{Status: status},
			roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, StatusOnly: true})[0])

		require.Zero(t, roomtest.Delivery(t, s, roomtest.Mail).Attempts)
	}
}

func TestBeginOneAttempt(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.AddRecipient(t, s, notification.RestaurantUser, "10")
	postgrestest.Exec(t, s, "UPDATE recipient SET name = 'Ada'")
	postgrestest.Exec(t, s, "UPDATE notification SET correlation_id = 'c-1', priority = 'HIGH'")

	before := postgrestest.Get[time.Time](t, s, "SELECT clock_timestamp()")
	attempt := roomtest.Begin(t, s, roomtest.Mail, 0)

	require.Positive(t, attempt.Message.NotificationID)
	require.True(t, attempt.Message.CreatedAt.Equal(postgrestest.Get[time.Time](t, s, "SELECT created_at FROM notification")))
	require.NotEmpty(t, attempt.Owner)
	attempt.Message.NotificationID, attempt.Message.CreatedAt, attempt.Owner = 0, time.Time{}, ""
	require.Equal(t, notification.Attempt{
		Status: notification.Pending, Number: 1, Tried: notification.Tried{Begun: 1},
		Message: notification.Message{
			Priority:   notification.High,
			DeliveryID: roomtest.Mail, EventID: "evt-1", EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1",
			UserType: notification.RestaurantUser, Audience: "restaurant", UserID: "10",
			Name: "Ada", Locale: "en", To: "to-EMAIL", Title: "title", Body: "body",
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

	s := roomtest.New(t, roomtest.PlanMail)
	counts := func(before int) [3]int {
		attempt := roomtest.Begin(t, s, roomtest.Mail, before)
		return [3]int{attempt.Number, attempt.Begun, attempt.Ended}
	}
	require.Equal(t, [3]int{1, 1, 0}, counts(0))
	roomtest.EndAttempt(t, s, 1, notification.OutcomeBusy, "sendgrid is busy: 429")
	require.Equal(t, [3]int{2, 2, 1}, counts(0)) // dies during the call
	require.Equal(t, [3]int{3, 3, 1}, counts(0))
	roomtest.EndAttempt(t, s, 3, notification.OutcomeRefused, "sendgrid refused: 400")
	roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Mail, notification.Failed, "sendgrid refused: 400"))(t)

	require.Equal(t, [3]int{4, 1, 0}, counts(3), "an operator's retry starts from nothing")
	roomtest.EndAttempt(t, s, 4, notification.OutcomeSent, "")
	require.Equal(t, roomtest.Row{Status: "SENT", Attempts: 4, Title: new("title"), Body: new("body"), Address: new("to-EMAIL"), Sent: true},
		roomtest.Delivery(t, s, roomtest.Mail))
	require.Equal(t, "BUSY,LOST,REFUSED,SENT", postgrestest.Get[string](t, s,
		"SELECT string_agg(outcome, ',' ORDER BY attempt) FROM delivery_attempt WHERE ended_at >= started_at"))
}

// A group begins the same attempts as its deliveries would alone. A batch leaves out
// deliveries that were attempted before.
func TestBeginAttempts(t *testing.T) {
	t.Parallel()

	for name, old := range map[string]string{"planned just now": "SELECT 1", "planned a while ago": roomtest.Past} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, ids := mailsTo(t, 5)
			postgrestest.Exec(t, s, old)
			for _, status := range []notification.Status{notification.Sent, notification.Failed, notification.Cancelled} {
				ids = append(ids, roomtest.StaffMail(len(ids)))
				roomtest.SavePlan(t, s, roomtest.Decided(fmt.Sprint(len(ids)-1), roomtest.Planned(notification.Email)))
				roomtest.SetStatus(t, s, ids[len(ids)-1], status)
			}
			require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{roomtest.Begin(t, s, ids[4], 0)}))
			alone := roomtest.Begin(t, s, ids[4], 0)
			require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{alone}))
			roomtest.Begin(t, s, ids[3], 0)

			attempts := roomtest.BeginBatch(t, s, append(ids, "evt-1-staff404-EMAIL"))

			alone.Owner = attempts[4].Owner
			require.Equal(t, alone, attempts[4])
			require.Positive(t, attempts[3].LeasedFor)
			attempts[3].LeasedFor = 0
			for i, status := range []notification.Status{
				notification.Pending, "", notification.Sent, notification.Failed, notification.Cancelled, "",
			} {
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
	unmoved := roomtest.Delivery(t, s, ids[0])
	attempts := roomtest.BeginBatch(t, s, ids)
	stale := attempts[1]
	stale.Owner = "a former owner"

	require.NoError(t, attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{attempts[0], stale}))

	require.Equal(t, unmoved, roomtest.Delivery(t, s, ids[0]))
	require.Equal(t, []string{ids[1]}, postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE attempt_owner IS NOT NULL"))
	require.Equal(t, 1, roomtest.BeginBatch(t, s, ids[:1])[0].Number)
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_attempt"))
}

// A lease that ran out is a lost attempt. The next sender records it, once. If the old
// process still lives, its result counts, and the lease of the next attempt stays.
func TestLostAttempt(t *testing.T) {
	t.Parallel()

	const outcomes = "SELECT string_agg(outcome, ',' ORDER BY attempt) FROM delivery_attempt"
	s := roomtest.New(t, roomtest.PlanMail)
	slow := roomtest.Begin(t, s, roomtest.Mail, 0)
	require.Equal(t, notification.Attempt{Status: notification.Pending, LeasedFor: time.Minute},
		atMost(time.Minute, roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0]))
	next := roomtest.Begin(t, s, roomtest.Mail, 0)
	require.Equal(t, [2]int{2, 1}, [2]int{next.Number, next.Crashed})
	require.Equal(t, "LOST", postgrestest.Get[string](t, s, outcomes))

	roomtest.Must(attempt.On(s).EndAttempts(t.Context(), []notification.AttemptResult{
		{DeliveryID: roomtest.Mail, Number: 1, Owner: slow.Owner, Outcome: notification.OutcomeBusy, Detail: "busy"},
	}))(t)
	require.Equal(t, "BUSY", postgrestest.Get[string](t, s, outcomes))
	require.Equal(t, next.Owner, postgrestest.Get[string](t, s, "SELECT attempt_owner FROM notification"))

	roomtest.EndAttempt(t, s, 2, notification.OutcomeSent, "")
	require.Equal(t, "BUSY,SENT", postgrestest.Get[string](t, s, outcomes))
	require.Equal(t, "SENT", roomtest.Delivery(t, s, roomtest.Mail).Status)
}

// atMost returns an attempt with its lease rounded up to the longest possible lease.
func atMost(longest time.Duration, a notification.Attempt) notification.Attempt {
	if a.LeasedFor > 0 && a.LeasedFor < longest {
		a.LeasedFor = longest
	}
	return a
}

// In a group that was planned a while ago, the rules evaluate each delivery separately. A
// change for one delivery drops only that one. Deliveries go to the current address.
func TestBeginAttemptsJudgesEachDelivery(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 5)
	postgrestest.Exec(t, s, roomtest.Past)
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'new@example.com' WHERE user_id = '0'")
	postgrestest.Exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '1'")
	postgrestest.Add(t, s.Pool,
		postgrestest.Preference{UserID: "2", Off: true}, postgrestest.Suppression{AddressHash: roomtest.Hashed("3@example.com")},
		postgrestest.Preference{UserID: "4", QuietStart: "00:00", QuietEnd: "23:59:59.999999"})

	attempts := roomtest.BeginBatch(t, s, ids)

	require.Equal(t, "new@example.com", attempts[0].Message.To)
	require.Equal(t, new("new@example.com"), roomtest.Delivery(t, s, ids[0]).Address)
	for i, reason := range map[int]string{
		1: notification.NoLongerRecipient, 2: string(notification.DecisionUserDisabled),
		3: string(notification.DecisionSuppressed), 4: "QUIET_HOURS",
	} {
		require.Equal(t, notification.Attempt{Status: notification.Cancelled, Verdict: notification.Verdict{Dropped: reason}}, attempts[i])
		got := roomtest.Delivery(t, s, ids[i])
		require.Equal(t, roomtest.Row{Status: "CANCELLED", Title: got.Title, Body: got.Body, Address: got.Address, Error: new(reason)}, got)
	}
}

// If the rules cannot be asked, no attempt begins, and nothing changes.
func TestBeginAttemptsFailsWithoutRules(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	postgrestest.Exec(t, s, roomtest.Past+" WHERE delivery_id = $1", ids[1])
	postgrestest.Exec(t, s, "DROP TABLE recipient_suppression")

	require.ErrorContains(t, roomtest.ErrOf(attempt.On(s).BeginAttempts(t.Context(),
		notification.Begin{DeliveryIDs: ids, Owner: "me", Lease: time.Minute, First: true})), "begin attempts")
	require.Equal(t, 2, postgrestest.Get[int](t, s,
		"SELECT count(*) FROM notification WHERE attempt_owner IS NULL AND attempt_count = 0 AND status = 'PENDING'"))
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
	pool := roomtest.Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	store := &db.DB{Pool: pool}
	begin := func(owner string, ids ...string) error {
		return roomtest.ErrOf(attempt.On(store).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: ids, Owner: owner, Lease: time.Hour}))
	}
	require.NoError(t, begin("another", ids[0])) // prepares the statement
	postgrestest.Exec(t, s,
		"UPDATE notification SET attempt_count = 1, attempt_owner = 'dead', attempt_began = now() - interval '1 hour', "+
			"attempt_until = now() - interval '1 minute' WHERE delivery_id = $1", ids[2])

	for range 12 {
		deaf.Store(true)
		require.ErrorContains(t, begin("me", ids...), "begin attempts")
	}

	require.Equal(t, []string{ids[0] + " another 1", ids[1] + "  0", ids[2] + "  1"},
		postgrestest.List(t, s, "SELECT format('%s %s %s', delivery_id, attempt_owner, attempt_count) FROM notification ORDER BY id"))
	require.Equal(t, []string{ids[2] + " 1 LOST"},
		postgrestest.List(t, s,
			"SELECT concat_ws(' ', delivery_id, attempt, outcome) FROM delivery_attempt"), "only the process that died lost an attempt")
}

// The run of an operator's retry sends the delivery.
func TestBeginAttemptsSkipsRetriedDeliveries(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 2)
	roomtest.Must(attempt.On(s).Reopen(t.Context(),
		notification.Reopened{DeliveryID: ids[0], RunID: "run-1", Address: "to-EMAIL", KeepText: true}))(t)

	attempts := roomtest.BeginBatch(t, s, ids)

	require.Equal(t, notification.Attempt{Status: notification.Pending}, attempts[0])
	require.Equal(t, 1, attempts[1].Number)
}

// Executions of one batch at the same time, in any order, begin each delivery once.
func TestBeginAttemptsBeginsEachDeliveryOnce(t *testing.T) {
	t.Parallel()

	const deliveries = 60
	s, ids := mailsTo(t, deliveries)
	begun := make([][]notification.Attempt, 4)
	roomtest.SideBySide(t, len(begun), func(n int) (err error) {
		mine := slices.Concat(ids[n*10:], ids[:n*10])
		begun[n], err = attempt.On(s).BeginAttempts(t.Context(),
			notification.Begin{DeliveryIDs: mine, Owner: fmt.Sprint(n), Lease: time.Minute, First: true})
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

// A group needs as many statements as one delivery, evaluated or not.
func TestBeginAttemptsNeedsFewStatements(t *testing.T) {
	t.Parallel()

	s, ids := mailsTo(t, 500)
	postgrestest.Exec(t, s, "UPDATE notification SET recipient_address = user_id || '@example.com'")
	listening, asked := roomtest.Heard(t, s)
	listening.AddressHash = roomtest.Hashed
	questions := func(ids []string) int {
		asked.All = nil
		roomtest.BeginBatch(t, listening, ids)
		return len(asked.All)
	}
	require.Equal(t, 1, questions(ids[:250]))
	postgrestest.Exec(t, s, roomtest.Past)
	one := questions(ids[499:])
	require.Equal(t, one, questions(ids[250:499]))
	require.Equal(t, 3, one, "take the leases; read the facts, and the suppressed addresses")
	require.Equal(t, 500, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE attempt_count = 1"))
}
