package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

// rowsBy returns "delivery_id status replaced_by" of all deliveries.
func rowsBy(t *testing.T, s *db.DB) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT concat_ws(' ', delivery_id, status, replaced_by) FROM notification ORDER BY delivery_id")
}

// Two keys get versions in random order, concurrently, and again after a crash. For each recipient
// and key, only the version with the highest seq that tells the recipient remains.
func TestNewestVersionRemains(t *testing.T) {
	t.Parallel()

	const versions, people = 40, 5
	s := postgrestest.New(t)
	channels := []notification.Channel{notification.Email, notification.Push}
	newest := map[string]string{} // by recipient and key
	var plans []func() error
	for n := range versions {
		key := fmt.Sprint("order-", n%2)
		event := roomtest.EmitVersion(t, s, n, key)
		var page []notification.DecidedRecipient
		for p := range people {
			if rand.IntN(3) > 0 {
				person := fmt.Sprint(p)
				page = append(page, roomtest.Version(event, person, channels[:1+rand.IntN(2)]...))
				newest[person+" "+key] = event.ID
			}
		}
		plan := func() error { return planner.On(s).SavePlan(t.Context(), event, page) }
		plans = append(plans, plan, plan)
	}
	rand.Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
	roomtest.SideBySide(t, len(plans), func(i int) error { return plans[i]() })

	remaining := map[string]string{}
	for _, row := range postgrestest.List(t, s,
		"SELECT DISTINCT concat_ws(' ', user_id, collapse_key, event_id) FROM notification WHERE replaced_by IS NULL") {
		var person, key, id string
		_, err := fmt.Sscan(row, &person, &key, &id)
		require.NoError(t, err)
		require.NotContains(t, remaining, person+" "+key)
		remaining[person+" "+key] = id
	}
	require.Equal(t, newest, remaining)
	require.Zero(t, postgrestest.Get[int](t, s, `
		SELECT count(*)
		FROM   notification n
		LEFT JOIN event_outbox o ON o.event_id = n.replaced_by
		WHERE  n.status <> CASE WHEN n.replaced_by IS NULL THEN 'PENDING' ELSE 'CANCELLED' END
		OR     n.last_error <> 'replaced by event ' || n.replaced_by
		OR     (n.replaced_by IS NOT NULL AND (o.seq <= n.collapse_seq OR o.collapse_key <> n.collapse_key))`))
	require.Equal(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'CANCELLED'"),
		postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_follow_up WHERE kind = 'REPLACED'"), "each workflow is told once")
}

// An event replaces only older events of its type and key, for the people that it tells, over
// all channels.
func TestReplaceOnlyOlderEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	other := roomtest.EmitVersion(t, s, 1, "other")
	old := roomtest.EmitVersion(t, s, 2, "order-7")
	roomtest.SaveVersion(t, s, other, roomtest.Version(other, "10", notification.Push))
	roomtest.SaveVersion(t, s, old, roomtest.Version(old, "10", notification.Push, notification.SMS),
		roomtest.Version(old, "11", notification.Push))
	event := roomtest.EmitVersion(t, s, 3, "order-7")
	roomtest.SaveVersion(t, s, event, roomtest.Version(event, "10", notification.Push), roomtest.Version(event, "12", notification.Push))

	require.Equal(t, []string{
		"v1-staff10-PUSH PENDING", "v2-staff10-PUSH CANCELLED v3", "v2-staff10-SMS CANCELLED v3", "v2-staff11-PUSH PENDING",
		"v3-staff10-PUSH PENDING", "v3-staff12-PUSH PENDING",
	}, rowsBy(t, s))
	require.Equal(t, "replaced by event v3", roomtest.Must(attempt.On(s).DeliveryState(t.Context(), "v2-staff10-SMS"))(t).Withdrawn)
	require.Equal(t, []string{"v2-staff11-PUSH"}, roomtest.IDsOf(roomtest.Must(attempt.On(s).Undelivered(t.Context(), "v2", 10))(t)))

	late := notification.Event{ID: "v4", Type: "ANOTHER", CollapseKey: "order-7"}
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: late.ID, Type: late.Type, CollapseKey: late.CollapseKey})
	roomtest.SaveVersion(t, s, late, roomtest.Version(late, "10", notification.Push))
	require.Contains(t, rowsBy(t, s), "v3-staff10-PUSH PENDING")
}

// A sent delivery stays sent, and is replaced. A delivery that is being sent is cancelled, and still
// becomes SENT if the provider accepts it. No other attempt begins, unless an operator's order
// overrides the replacement.
func TestReplaceDuringAnAttempt(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.AddRecipientOnce(t, s)
	old := roomtest.EmitVersion(t, s, 1, "order-7")
	roomtest.SaveVersion(t, s, old, roomtest.Version(old, "10", notification.Email, notification.SMS))
	roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{"v1-staff10-EMAIL"}})
	roomtest.SetStatus(t, s, "v1-staff10-SMS", notification.Sent)
	event := roomtest.EmitVersion(t, s, 2, "order-7")
	roomtest.SaveVersion(t, s, event, roomtest.Version(event, "10", notification.Slack))

	require.Equal(t, []string{"v1-staff10-EMAIL CANCELLED v2", "v1-staff10-SMS SENT v2", "v2-staff10-SLACK PENDING"}, rowsBy(t, s))
	roomtest.SetStatus(t, s, "v1-staff10-EMAIL", notification.Pending)
	for _, in := range []notification.Begin{{}, {SkipQuiet: true}, {Ordered: true}} {
		roomtest.RunOut(t, s)
		in.DeliveryIDs = []string{"v1-staff10-EMAIL"}
		attempt := roomtest.BeginAs(t, s, in)[0]
		require.Equal(t, "replaced by event v2", attempt.Dropped)
		require.Equal(t, notification.Cancelled, attempt.Status)
		roomtest.SetStatus(t, s, "v1-staff10-EMAIL", notification.Pending)
	}
	require.Empty(t,
		roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{"v1-staff10-EMAIL"}, Ordered: true, Again: true})[0].Dropped)
}

// The delivery that throttles the newest event stays: the recipient gets it instead.
func TestReplaceKeepsThrottlingDeliveries(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	old := roomtest.EmitVersion(t, s, 1, "order-7")
	roomtest.SaveVersion(t, s, old, roomtest.Version(old, "10", notification.Email, notification.Push))
	event := roomtest.EmitVersion(t, s, 2, "order-7")
	throttled := roomtest.Version(event, "10", notification.Push)
	throttled.Decisions[notification.Email] = notification.DecisionThrottled
	throttled.ThrottledBy = map[notification.Channel]string{notification.Email: "v1-staff10-EMAIL"}
	roomtest.SaveVersion(t, s, event, throttled)
	require.Equal(t, []string{"v1-staff10-EMAIL PENDING", "v1-staff10-PUSH CANCELLED v2", "v2-staff10-PUSH PENDING"}, rowsBy(t, s))

	event = roomtest.EmitVersion(t, s, 3, "order-7")
	roomtest.SaveVersion(t, s, event, roomtest.Version(event, "10", notification.Email))
	require.Equal(t, []string{"v1-staff10-EMAIL CANCELLED v3", "v1-staff10-PUSH CANCELLED v2", "v2-staff10-PUSH CANCELLED v3",
		"v3-staff10-EMAIL PENDING"}, rowsBy(t, s))
}

// Nothing follows a replaced delivery, and the workflow that waits is told. If the delivery that
// follows is planned at the same moment, it is replaced too.
func TestReplaceEndsEscalation(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "ORDER_STATUS", Channel: notification.Push},
		postgrestest.Route{EventType: "ORDER_STATUS", Channel: notification.SMS},
		postgrestest.Escalation{EventType: "ORDER_STATUS", From: notification.Push, After: 5 * time.Minute})
	old := roomtest.EmitVersion(t, s, 1, "order-7")
	roomtest.SaveVersion(t, s, old, roomtest.Version(old, "10", notification.Push), roomtest.Version(old, "11", notification.Push))
	roomtest.SetStatus(t, s, "v1-staff10-PUSH", notification.Sent)
	event := roomtest.EmitVersion(t, s, 2, "order-7")

	escalate := func(userID string) (asked bool, err error) {
		key := notification.EscalationKey{DeliveryID: "v1-staff" + userID + "-PUSH", To: notification.SMS}
		_, err = escalation.On(s).Follow(t.Context(), key, func(now notification.Escalating) *notification.DecidedRecipient {
			if asked = !now.Ended; !asked {
				return nil
			}
			follower := roomtest.Version(old, userID, notification.SMS)
			return &follower
		})
		return asked, err
	}
	tx := roomtest.Must(s.Pool.Begin(t.Context()))(t)
	_, err := tx.Exec(t.Context(), "SELECT FROM notification WHERE delivery_id = 'v1-staff11-PUSH' FOR UPDATE")
	require.NoError(t, err)
	var group errgroup.Group
	group.Go(func() error { return roomtest.ErrOf(escalate("11")) })
	roomtest.AwaitLock(t, s)
	group.Go(func() error {
		return planner.On(s).SavePlan(t.Context(), event,
			[]notification.DecidedRecipient{roomtest.Version(event, "10", notification.Push), roomtest.Version(event, "11", notification.Push)})
	})
	require.Eventually(t, func() bool {
		return postgrestest.Get[int](t, s,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 2
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, group.Wait())

	require.Equal(t, []string{
		"v1-staff10-PUSH SENT v2", "v1-staff11-PUSH CANCELLED v2", "v1-staff11-SMS CANCELLED v2", "v2-staff10-PUSH PENDING",
		"v2-staff11-PUSH PENDING",
	}, rowsBy(t, s))
	require.Equal(t,
		[]string{"ESCALATION v1-staff10-PUSH", "ESCALATION v1-staff11-PUSH", "REPLACED v1-staff11-PUSH", "REPLACED v1-staff11-SMS"},
		postgrestest.List(t, s, "SELECT kind || ' ' || delivery_id FROM delivery_follow_up ORDER BY 1"))
	require.False(t, roomtest.Must(escalate("10"))(t))
}

// The inbox contains only the newest version, wherever the older versions are.
func TestInboxHasTheNewestVersion(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var ids []int64
	for n := 1; n <= 6; n++ {
		key := fmt.Sprint("order-", n%2)
		event := roomtest.EmitVersion(t, s, n, key)
		roomtest.SaveVersion(t, s, event, roomtest.Version(event, "10", notification.WebSocket))
		postgrestest.Exec(t, s,
			"UPDATE notification SET status = 'SENT', attempt_count = 1, sent_at = now(), available_at = $2::timestamptz + "+
				"$3 * interval '1 second' WHERE event_id = $1", event.ID, roomtest.InboxStart, n)
		ids = append(ids, postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE event_id = $1", event.ID))
	}

	shown := roomtest.InboxPage(t, s, notification.InboxFilter{})
	require.Equal(t, []string{"v6", "v5"}, roomtest.EventsOf(shown))
	require.Equal(t, "order-0", shown[0].CollapseKey)
	require.Equal(t, "order-0", shown[0].Frame.CollapseKey)
	require.Equal(t, []string{"v5", "v6"}, roomtest.EventsOf(roomtest.InboxAfter(t, s, notification.InboxPosition{})))
	require.Equal(t, 2, roomtest.Must(inbox.On(s).Unread(t.Context(), roomtest.Staff10))(t))
	require.Equal(t, []string{"v5"}, roomtest.EventsOf(roomtest.InboxPage(t, s, notification.InboxFilter{Before: ids[5]})))
	require.Empty(t, roomtest.InboxPage(t, s, notification.InboxFilter{Before: ids[0]}), "a page may continue after a replaced notification")
	require.NoError(t, inbox.On(s).MarkAllRead(t.Context(), roomtest.Staff10, ids[5]))
	require.Zero(t, roomtest.Must(inbox.On(s).Unread(t.Context(), roomtest.Staff10))(t))
	require.True(t, slices.IsSorted(ids))
}
