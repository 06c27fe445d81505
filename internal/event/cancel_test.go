package event_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
	"herald/internal/roomtest"
)

const byEvent2 = "cancelled by event evt-2"

// cancel writes evt-2, which cancels evt-1.
func cancel(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: "evt-2", Cancels: "evt-1"})
}

// Every reader sees a cancellation from its commit on: the planner of an event that comes
// later, the poller, the sweep and the operators.
func TestEveryReaderSeesACancellation(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	cancel(t, s)
	roomtest.EmitEvent(t, s, "evt-1")
	postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{ID: "evt-2", CreatedAt: time.Now().Add(-time.Hour)})

	require.Equal(t, "evt-2", roomtest.Must(planner.On(s).EventSetup(t.Context(), "evt-1"))(t).Event.CancelledBy)
	by, _, err := planner.On(s).Event(t.Context(), "evt-2")
	require.NoError(t, err)
	require.Equal(t, "evt-1", by.Cancels)
	require.Empty(t, by.CancelledBy)
	require.Equal(t, "evt-1", claimEvents(t, s, "a", 1)[0].Cancels)
	stuck, _, err := event.On(s).StuckEvents(t.Context(), "", notification.StuckScan{Age: time.Minute, To: time.Now(), Limit: 10})
	require.NoError(t, err)
	require.Equal(t, "evt-1", stuck[0].Cancels)
	require.Equal(t, "evt-2", roomtest.Must(event.On(s).EventState(t.Context(), "evt-1"))(t).CancelledBy)
	require.Equal(t, "evt-1", roomtest.Must(event.On(s).EventState(t.Context(), "evt-2"))(t).Cancels)
	require.Equal(t, "cancelled by event evt-2", roomtest.Must(attempt.On(s).DeliveryState(t.Context(), roomtest.Mail))(t).Withdrawn)
}

// An event that may cancel only some types cancels no event of another type, before or after that
// event comes.
func TestCancelsTypes(t *testing.T) {
	t.Parallel()

	for types, cancelled := range map[string]bool{"{RESERVATION_REQUESTED}": true, "{A,RESERVATION_REQUESTED}": true,
		"{OTHER}": false, "{}": false} {
		for name, plan := range map[string]func(*testing.T, *db.DB){"known": roomtest.PlanMail, "comes later": nil,
			"later mail": roomtest.PlanWaitedMail} {
			t.Run(types+" "+name, func(t *testing.T) {
				t.Parallel()

				s := roomtest.New(t)
				roomtest.AddRecipientOnce(t, s)
				if plan != nil {
					plan(t, s)
				}
				may := func() bool { return roomtest.Must(event.On(s).MayCancel(t.Context(), "evt-2", "evt-1"))(t) }
				postgrestest.Add(t, s.Pool, postgrestest.Event{ID: "evt-2", Type: "OTHER", Cancels: "evt-1"})
				require.True(t, may(), "null means every type")
				postgrestest.Exec(t, s, "UPDATE event_outbox SET cancels_types = $1::text::text[] WHERE event_id = 'evt-2'", types)
				require.Equal(t, cancelled && plan != nil, may(), "an unknown event is judged when it is planned")
				roomtest.EmitEvent(t, s, "evt-1")
				require.Equal(t, cancelled, may())
				require.Equal(t, cancelled, roomtest.Must(planner.On(s).EventSetup(t.Context(), "evt-1"))(t).Event.CancelledBy != "")
				require.Equal(t, cancelled, roomtest.Must(event.On(s).EventState(t.Context(), "evt-1"))(t).CancelledBy != "")
				require.Equal(t, cancelled,
					roomtest.Must(report.Reader{Pool: s.Pool}.EventDetail(t.Context(), "evt-1", 1, 1))(t).Outbox.CancelledBy != "")
				if plan == nil {
					return
				}
				attempt := roomtest.Must(attempt.On(s).BeginAttempts(t.Context(),
					notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Owner: "a", Lease: lease, First: true}))(t)[0]
				require.Equal(t, cancelled, attempt.Status == notification.Cancelled)
			})
		}
	}
}

// No attempt begins for a cancelled event. The only exception is an order of an operator
// who knew of the cancellation.
func TestBeginAttemptOfACancelledEvent(t *testing.T) {
	t.Parallel()

	for name, plan := range map[string]func(*testing.T, *db.DB){"planned now": roomtest.PlanMail, "waited": roomtest.PlanWaitedMail} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := roomtest.New(t, plan)
			roomtest.AddRecipientOnce(t, s)
			cancel(t, s)
			for _, in := range []notification.Begin{{First: true}, {}, {SkipQuiet: true}, {Ordered: true}} {
				in.DeliveryIDs = []string{roomtest.Mail}
				attempt := roomtest.BeginAs(t, s, in)[0]
				require.Equal(t, byEvent2, attempt.Dropped)
				require.Equal(t, notification.Cancelled, attempt.Status)
				roomtest.SetStatus(t, s, roomtest.Mail, notification.Pending)
			}
			require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_attempt"))

			attempt := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Ordered: true, Again: true})[0]
			require.Empty(t, attempt.Dropped)
			require.Equal(t, 1, attempt.Number)
		})
	}
}

// An item of a digest is cancelled, alone or with its event, unless it has ended. While its digest is
// with the provider, its workflow waits for the result.
func TestCancelAnItemOfADigest(t *testing.T) {
	t.Parallel()

	const sent, delivered, cancelled = notification.Sent, notification.Delivered, notification.Cancelled
	type step = func(t *testing.T, s *db.DB)
	sends := func(t *testing.T, s *db.DB) { roomtest.BeginDigest(t, s, "digest-1") }
	failsOnce := func(t *testing.T, s *db.DB) {
		roomtest.EndDigest(t, s, roomtest.BeginDigest(t, s, "digest-1"), roomtest.DigestBusy)
	}
	becomes := func(status notification.Status) step {
		return func(t *testing.T, s *db.DB) { roomtest.SetStatus(t, s, roomtest.Item(1), status) }
	}
	sendsAlone := func(t *testing.T, s *db.DB) {
		postgrestest.Exec(t, s, "UPDATE notification SET digest_id = NULL")
		roomtest.Begin(t, s, roomtest.Item(1), 0)
	}
	alone := func(t *testing.T, s *db.DB) {
		roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Item(1), cancelled, byEvent2))(t)
	}
	fails := func(t *testing.T, s *db.DB) {
		roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Item(1), notification.Failed, "why"))(t)
	}
	withItsEvent := func(t *testing.T, s *db.DB) {
		require.NoError(t,
			roomtest.ErrOfTwo(event.On(s).CancelPart(t.Context(), notification.Part{EventID: "evt-1", Lane: roomtest.LaterMailLane}, byEvent2, 10)))
	}
	tests := []struct {
		name   string
		before []step
		by     []step
		want   notification.Status
	}{
		{name: "sealed", by: []step{alone, withItsEvent}, want: cancelled},
		{name: "being sent", before: []step{sends}, by: []step{withItsEvent}, want: cancelled},
		{name: "being sent, alone", before: []step{sends}, by: []step{alone}, want: notification.Pending},
		{name: "being sent, and failed by its workflow", before: []step{sends}, by: []step{fails}, want: notification.Failed},
		{name: "between two attempts", before: []step{failsOnce}, by: []step{alone, withItsEvent}, want: cancelled},
		{name: "at the second attempt", before: []step{failsOnce, sends}, by: []step{withItsEvent}, want: cancelled},
		{name: "at the second attempt, alone", before: []step{failsOnce, sends}, by: []step{alone}, want: notification.Pending},
		{name: "after an attempt died", before: []step{sends, roomtest.RunOut}, by: []step{alone, withItsEvent}, want: cancelled},
		{name: "being sent by itself", before: []step{sendsAlone}, by: []step{alone, withItsEvent}, want: cancelled},
		{name: "sent", before: []step{becomes(sent)}, by: []step{alone, withItsEvent}, want: sent},
		{name: "delivered", before: []step{becomes(delivered)}, by: []step{alone, withItsEvent}, want: delivered},
		{name: "failed", before: []step{becomes(notification.Failed)}, by: []step{withItsEvent}, want: notification.Failed},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		for _, cancel := range tt.by {
			t.Run(tt.name, func(t *testing.T) {
				roomtest.Empty(t, s)
				roomtest.SealItems(2)(t, s)
				for _, step := range append(tt.before, cancel) {
					step(t, s)
				}

				got := roomtest.Delivery(t, s, roomtest.Item(1))
				require.Equal(t, string(tt.want), got.Status)
				require.Equal(t, tt.want == cancelled, got.Error != nil && *got.Error == byEvent2)
				require.NotEqual(t, "CANCELLED", roomtest.Delivery(t, s, roomtest.Item(2)).Status, "the item belongs to another event")
			})
		}
	}
}

// Cancelling a part does not change the rest of the event.
func TestCancelPart(t *testing.T) {
	t.Parallel()

	s := roomtest.LargeEvent(t)
	id := func(n int) int64 {
		return postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", roomtest.StaffMail(n))
	}
	cancelled := func(part notification.Part, limit int) []string {
		_, next, err := event.On(s).CancelPart(t.Context(), part, notification.CancelledInTemporal, limit)
		require.NoError(t, err)
		require.Equal(t, limit == 1, next > 0)
		return postgrestest.List(t, s,
			"SELECT user_id FROM notification WHERE last_error = 'cancelled in Temporal' AND status = 'CANCELLED' ORDER BY id")
	}
	batch := notification.Part{EventID: "evt-1", Lane: roomtest.MailLane, IDs: notification.IDRange{First: id(0), Last: id(6)}}

	require.Equal(t, []string{"4"}, cancelled(batch, 1))
	require.Equal(t, []string{"4", "6"}, cancelled(batch, 10))
	require.Equal(t, []string{"4", "6"}, cancelled(batch, 10))
	require.Equal(t, []string{"4", "6", "8"}, cancelled(notification.Part{EventID: "evt-1", Lane: roomtest.MailLane}, 10))
	require.Equal(t, []string{"1", "4", "5", "6", "7", "8", "9"},
		cancelled(notification.Part{EventID: "evt-1", Lane: roomtest.LaterMailLane}, 10))
}

// A delivery of a cancelled event gets the cancellation as its reason, whatever ends it.
func TestEveryEndNamesTheCancellingEvent(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.SaveOf(t, s, "evt-1", roomtest.ToCustomer("evt-1", "1"))
	cancel(t, s)

	roomtest.Must(attempt.On(s).GiveUp(t.Context(), roomtest.Mail, notification.Cancelled, "cancelled"))(t)
	roomtest.Must(event.On(s).FinishEvent(t.Context(), notification.EventEnd{EventID: "evt-1", Outcome: notification.EventCancelled}))(t)

	require.Equal(t, []string{byEvent2, byEvent2}, postgrestest.List(t, s, "SELECT last_error FROM notification WHERE status = 'CANCELLED'"))
}

// Finding the event that cancels another one uses an index, even before the database has
// statistics of the column.
func TestCancellerIsFoundByIndex(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	roomtest.EmitMany(t, s, 20_000)

	plan := postgrestest.List(t, s, "EXPLAIN SELECT "+db.Canceller+" FROM notification n WHERE n.delivery_id = '"+roomtest.Mail+"'")

	require.Contains(t, strings.Join(plan, "\n"), "event_outbox_cancels")
	require.NotContains(t, strings.Join(plan, "\n"), "Seq Scan")
}
