package inbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// socket is the delivery to staff 10 in the tests below.
const socket = "evt-1-staff10-WEBSOCKET"

// planSocket plans one delivery over WEBSOCKET, and returns its id.
func planSocket(t *testing.T, s *db.DB) (id int64) {
	t.Helper()
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.WebSocket)))
	return postgrestest.Get[int64](t, s, "SELECT id FROM notification")
}

func ofStaff10(id int64) notification.Acknowledgement {
	return notification.Acknowledgement{ID: id, RecipientKey: roomtest.Staff10}
}

func deliver(t *testing.T, s *db.DB, ids ...int64) {
	t.Helper()
	require.NoError(t, inbox.On(s).MarkDelivered(t.Context(), roomtest.Mapped(ids, ofStaff10)))
}

// times holds the times of one delivery.
type times struct{ Available, Sent, Delivered, Read *time.Time }

func timesOf(t *testing.T, s *db.DB, id int64) times {
	t.Helper()
	return roomtest.Must(db.One(t.Context(), s.Pool, "read times", pgx.RowToStructByPos[times],
		"SELECT available_at, sent_at, delivered_at, read_at FROM notification WHERE id = $1", id))(t)
}

// An acknowledgement and a reading turn every status into DELIVERED. Earlier values stay,
// and the second time changes nothing.
func TestArrivalInEachStatus(t *testing.T) {
	t.Parallel()

	ways := map[string]func(*testing.T, *db.DB, int64){
		"acknowledged": func(t *testing.T, s *db.DB, id int64) { deliver(t, s, id, id) },
		"read": func(t *testing.T, s *db.DB, id int64) {
			require.NoError(t, inbox.On(s).MarkRead(t.Context(), roomtest.Staff10, id))
		},
		"all read": func(t *testing.T, s *db.DB, id int64) {
			require.NoError(t, inbox.On(s).MarkAllRead(t.Context(), roomtest.Staff10, id))
		},
	}
	tests := []struct {
		name   string
		row    inboxRow
		not    []string
		placed time.Duration // the row's place after inboxStart; 0: it enters now
	}{
		{name: "sent", row: inboxRow{available: 5}, placed: 5 * time.Second},
		{name: "delivered", row: inboxRow{status: notification.Delivered, available: 5}, placed: 5 * time.Second},
		{name: "failed", row: inboxRow{status: notification.Failed, available: 5}, placed: 5 * time.Second},
		{name: "being sent", row: inboxRow{status: notification.Pending}, not: []string{"all read"}},
		{name: "cancelled after it was handed over", row: inboxRow{status: notification.Cancelled}, not: []string{"read", "all read"}},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for way, arrive := range ways {
				if slices.Contains(tt.not, way) {
					continue
				}
				postgrestest.Exec(t, s, "DELETE FROM notification")
				id := tt.row.add(t, s.Pool, "evt-1")
				arrive(t, s, id)

				got := roomtest.Delivery(t, s, socket)
				require.Equal(t, "DELIVERED", got.Status, way)
				require.Nil(t, got.Error, way)
				first := timesOf(t, s, id)
				require.Equal(t, way != "acknowledged", first.Read != nil, way)
				if tt.placed > 0 {
					require.Equal(t, roomtest.InboxStart.Add(tt.placed),
						roomtest.Must(inbox.On(s).InboxPositionOf(t.Context(), roomtest.Staff10, id))(t).AvailableAt.UTC(), way)
				} else {
					require.Greater(t, *first.Available, roomtest.InboxStart.Add(time.Hour), way)
				}
				arrive(t, s, id)
				require.Equal(t, first, timesOf(t, s, id), way)
			}
		})
	}
}

// Gateways that record the same acknowledgements at once, each in a different order, do not
// deadlock.
func TestMarkDeliveredDoesNotDeadlock(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var ids []int64
	for i := range 200 {
		ids = append(ids, inboxRow{available: 1}.add(t, s.Pool, fmt.Sprintf("evt-%d", i)))
	}
	roomtest.SideBySide(t, 16, func(i int) error {
		if i%2 == 1 {
			return inbox.On(s).MarkAllRead(t.Context(), roomtest.Staff10, ids[len(ids)-1])
		}
		all := roomtest.Mapped(ids, ofStaff10)
		if i%4 == 0 {
			slices.Reverse(all)
		}
		return inbox.On(s).MarkDelivered(t.Context(), all)
	})
	require.Equal(t, len(ids),
		postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'DELIVERED' AND read_at IS NOT NULL"))
}

// "Read all" covers what the client has seen, and nothing newer.
func TestMarkAllRead(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	waited := inboxRow{available: 90}.add(t, s.Pool, "waited")
	first := inboxRow{available: 1}.add(t, s.Pool, "first")
	roomtest.PlantInbox(t, s, 2500, postgrestest.Expressions{"available_at": "'2026-11-22 08:00:02Z'"})
	last := postgrestest.Get[int64](t, s, "SELECT max(id) FROM notification")
	count := roomtest.Must(inbox.On(s).Unread(t.Context(), roomtest.Staff10))(t)
	require.Equal(t, notification.MaxUnread, count, "the count stops at the limit")

	require.NoError(t, inbox.On(s).MarkAllRead(t.Context(), roomtest.Staff10, first))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE read_at IS NOT NULL"))
	require.NoError(t, inbox.On(s).MarkAllRead(t.Context(), roomtest.Staff10, last))
	require.Equal(t, []string{"waited"}, roomtest.EventsOf(roomtest.InboxPage(t, s, notification.InboxFilter{Unread: true})))
	require.NoError(t, inbox.On(s).MarkAllRead(t.Context(), roomtest.Staff10, waited))
	require.Empty(t, roomtest.InboxPage(t, s, notification.InboxFilter{Unread: true}))
}

func TestActiveRecipients(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.AddRecipient(t, s, notification.RestaurantUser, "10")
	roomtest.AddRecipient(t, s, notification.RestaurantUser, "11")
	postgrestest.Exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '11'")
	unknown := notification.RecipientKey{UserType: notification.Customer, UserID: "10"}

	active := roomtest.Must(inbox.On(s).ActiveRecipients(t.Context(),
		[]notification.RecipientKey{staff11, roomtest.Staff10, unknown, roomtest.Staff10}))(t)
	require.Equal(t, []notification.RecipientKey{roomtest.Staff10}, active)

	s = roomtest.InForeignDirectory(t)
	waiter := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: roomtest.Ada}
	guests := []notification.RecipientKey{{UserType: notification.Customer, UserID: "7"},
		{UserType: notification.Customer, UserID: "8"}} // the second is not active
	active = roomtest.Must(inbox.On(s).ActiveRecipients(t.Context(), append(guests, waiter)))(t)
	require.ElementsMatch(t, []notification.RecipientKey{waiter, guests[0]}, active)
	postgrestest.Exec(t, s, "DELETE FROM channel_user_type WHERE user_type = 'CUSTOMER'")
	postgrestest.Exec(t, s, "DELETE FROM user_type WHERE user_type = 'CUSTOMER'")
	active = roomtest.Must(inbox.On(s).ActiveRecipients(t.Context(), append(guests, waiter)))(t)
	require.Equal(t, []notification.RecipientKey{waiter}, active)
}

// A row enters the inbox when its first attempt ends, however it ends, and keeps its place.
func TestAvailableAt(t *testing.T) {
	t.Parallel()

	ended := func(outcome notification.AttemptOutcome) func(*testing.T, *db.DB) {
		return func(t *testing.T, s *db.DB) {
			attempt := roomtest.Begin(t, s, socket, 0)
			roomtest.EndAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: attempt.Number, Outcome: outcome, Detail: "why"})
		}
	}
	crashed := func(t *testing.T, s *db.DB) { roomtest.Begin(t, s, socket, 0) }
	gaveUp := func(status notification.Status) func(*testing.T, *db.DB) {
		return func(t *testing.T, s *db.DB) {
			roomtest.Must(attempt.On(s).GiveUp(t.Context(), socket, status, "why"))(t)
		}
	}
	reopened := func(plan notification.Reopened) func(*testing.T, *db.DB) {
		return func(t *testing.T, s *db.DB) {
			plan.DeliveryID, plan.RunID, plan.KeepText = socket, "run-1", true
			roomtest.Reopen(t, s, plan)
		}
	}
	type steps = []func(*testing.T, *db.DB)
	const sent, refused = notification.OutcomeSent, notification.OutcomeRefused
	tomorrow := time.Now().Add(24 * time.Hour)
	tests := []struct {
		name string
		by   steps
		at   int // the step that sets it, from 1; 0: none, or a step undoes it
	}{
		{name: "planned"},
		{name: "sent", by: steps{ended(sent)}, at: 1},
		{name: "refused, and given up", by: steps{ended(refused), gaveUp(notification.Failed)}, at: 1},
		{name: "best effort without a clear answer", by: steps{ended(notification.OutcomeAmbiguous), gaveUp(notification.Failed)}, at: 1},
		{name: "sent at the second attempt", by: steps{ended(notification.OutcomeBusy), ended(sent)}, at: 1},
		{name: "crashed", by: steps{crashed}},
		{name: "crashed, then sent", by: steps{crashed, ended(sent)}, at: 2},
		{name: "sent, and recorded again", by: steps{ended(sent), func(t *testing.T, s *db.DB) {
			roomtest.EndAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: 1, Outcome: notification.OutcomeSent})
		}}, at: 1},
		{name: "crashed until given up", by: steps{crashed, crashed, gaveUp(notification.Failed)}, at: 3},
		{name: "given up without an attempt", by: steps{gaveUp(notification.Failed)}},
		{name: "cancelled", by: steps{crashed, gaveUp(notification.Cancelled)}},
		{name: "retried at once", by: steps{ended(refused), gaveUp(notification.Failed), reopened(notification.Reopened{})}, at: 1},
		{name: "retried for later",
			by: steps{ended(refused), gaveUp(notification.Failed), reopened(notification.Reopened{SendAfter: &tomorrow})}},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			id := planSocket(t, s)
			var want *time.Time
			for i, step := range tt.by {
				step(t, s)
				if i+1 == tt.at {
					want = timesOf(t, s, id).Available
					require.NotNil(t, want)
				}
			}
			require.Equal(t, want, timesOf(t, s, id).Available)
		})
	}
}

// If all attempts at a digest died, its items enter the inbox when it is given up.
func TestAvailableAtOfDigests(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(2))
	roomtest.BeginDigest(t, s, "digest-1") // its process dies
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(available_at) FROM notification"))
	roomtest.Must(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", notification.Failed, "why"))(t)
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(available_at) FROM notification"))
}
