package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// socket is the delivery to staff 10 in the tests below.
const socket = "evt-1-staff10-WEBSOCKET"

// planSocket plans one delivery over WEBSOCKET, and returns its id.
func planSocket(t *testing.T, s *postgres.Store) (id int64) {
	t.Helper()
	savePlan(t, s, decided("10", planned(notification.WebSocket)))
	return postgrestest.Get[int64](t, s, "SELECT id FROM notification")
}

func deliver(t *testing.T, s *postgres.Store, ids ...int64) {
	t.Helper()
	var all []notification.Acknowledgement
	for _, id := range ids {
		all = append(all, notification.Acknowledgement{ID: id, RecipientKey: staff10})
	}
	require.NoError(t, gatewayOf(s).MarkDelivered(t.Context(), all))
}

// times holds the times of one delivery.
type times struct{ Available, Sent, Delivered, Read *time.Time }

func timesOf(t *testing.T, s *postgres.Store, id int64) (of times) {
	t.Helper()
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT available_at, sent_at, delivered_at, read_at FROM notification WHERE id = $1", id).
		Scan(&of.Available, &of.Sent, &of.Delivered, &of.Read))
	return of
}

// An acknowledgement and a reading turn every status into DELIVERED. Earlier values stay,
// and the second time changes nothing.
func TestArrivalInEachStatus(t *testing.T) {
	t.Parallel()

	ways := map[string]func(*testing.T, *postgres.Store, int64){
		"acknowledged": func(t *testing.T, s *postgres.Store, id int64) { deliver(t, s, id, id) },
		"read": func(t *testing.T, s *postgres.Store, id int64) {
			require.NoError(t, gatewayOf(s).MarkRead(t.Context(), staff10, id))
		},
		"all read": func(t *testing.T, s *postgres.Store, id int64) {
			require.NoError(t, gatewayOf(s).MarkAllRead(t.Context(), staff10, id))
		},
	}
	tests := []struct {
		name   string
		row    inboxRow
		not    []string
		placed time.Duration // it keeps this place, after inboxStart; 0: it enters now
	}{
		{name: "sent", row: inboxRow{available: 5}, placed: 5 * time.Second},
		{name: "delivered", row: inboxRow{status: notification.Delivered, available: 5}, placed: 5 * time.Second},
		{name: "sent by an older release", row: inboxRow{sent: 5}, placed: 5 * time.Second},
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

				got := delivery(t, s, socket)
				require.Equal(t, "DELIVERED", got.Status, way)
				require.Nil(t, got.Error, way)
				first := timesOf(t, s, id)
				require.Equal(t, way != "acknowledged", first.Read != nil, way)
				if tt.placed > 0 {
					require.Equal(t, inboxStart.Add(tt.placed), must(gatewayOf(s).InboxPositionOf(t.Context(), staff10, id))(t).AvailableAt.UTC(), way)
				} else {
					require.Greater(t, *first.Available, inboxStart.Add(time.Hour), way)
				}
				arrive(t, s, id)
				require.Equal(t, first, timesOf(t, s, id), way)
			}
		})
	}
}

// A client may be quicker than the worker that records the sending. Neither overwrites the
// other's data.
func TestAcknowledgedBeforeItIsRecorded(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		outcome notification.AttemptOutcome
		aged    bool // the age metric counts it
	}{
		{name: "sent", outcome: notification.OutcomeSent, aged: true},
		{name: "without a clear answer", outcome: notification.OutcomeAmbiguous},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := newWith(t)
			id := planSocket(t, s)
			emitEvent(t, s, "evt-1")
			begin(t, s, socket, 0)
			deliver(t, s, id)
			before := timesOf(t, s, id)

			age := endAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: 1, Outcome: tt.outcome, ProviderID: "p-1"})

			require.Equal(t, tt.aged, age > 0)
			require.Equal(t, before, timesOf(t, s, id))
			got := delivery(t, s, socket)
			require.Equal(t, "DELIVERED", got.Status)
			require.Equal(t, tt.aged, got.ProviderID != nil)
			require.Equal(t, string(tt.outcome), postgrestest.Get[string](t, s, "SELECT outcome FROM delivery_attempt"))
			for _, status := range []notification.Status{notification.Failed, notification.Cancelled} {
				require.Equal(t, notification.Delivered, must(s.GiveUp(t.Context(), socket, status, "why"))(t))
			}
		})
	}
}

// Gateways that record the same acknowledgements at once, each in a different order, do not
// deadlock.
func TestAcknowledgedOnSeveralGateways(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var ids []int64
	for i := range 200 {
		ids = append(ids, inboxRow{available: 1}.add(t, s.Pool, fmt.Sprintf("evt-%d", i)))
	}
	var gateways errgroup.Group
	for i := range 8 {
		gateways.Go(func() error {
			var all []notification.Acknowledgement
			for _, id := range ids {
				all = append(all, notification.Acknowledgement{ID: id, RecipientKey: staff10})
			}
			if i%2 == 0 {
				slices.Reverse(all)
			}
			return gatewayOf(s).MarkDelivered(t.Context(), all)
		})
		gateways.Go(func() error { return gatewayOf(s).MarkAllRead(t.Context(), staff10, ids[len(ids)-1]) })
	}
	require.NoError(t, gateways.Wait())
	require.Equal(t, len(ids), postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'DELIVERED' AND read_at IS NOT NULL"))
}

// "Read all" covers what the client has seen, and nothing newer.
func TestMarkAllRead(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	waited := inboxRow{available: 90}.add(t, s.Pool, "waited")
	first := inboxRow{available: 1}.add(t, s.Pool, "first")
	postgrestest.Exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, attempt_count, available_at, sent_at)
		SELECT 'many-' || i, 'T', 'RESTAURANT_USER', '10', 'WEBSOCKET', 'many-' || i, 'title', 'body', 'SENT', 1, $1, $1
		FROM   generate_series(1, 2500) AS i`, inboxStart.Add(2*time.Second))
	last := postgrestest.Get[int64](t, s, "SELECT max(id) FROM notification")
	count := must(gatewayOf(s).Unread(t.Context(), staff10))(t)
	require.Equal(t, notification.MaxUnread, count, "counting ends there")

	require.NoError(t, gatewayOf(s).MarkAllRead(t.Context(), staff10, first))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE read_at IS NOT NULL"))
	require.NoError(t, gatewayOf(s).MarkAllRead(t.Context(), staff10, last))
	require.Equal(t, []string{"waited"}, events(inboxPage(t, s, notification.InboxFilter{Unread: true})))
	require.NoError(t, gatewayOf(s).MarkAllRead(t.Context(), staff10, waited))
	require.Empty(t, inboxPage(t, s, notification.InboxFilter{Unread: true}))
}

func TestActiveRecipients(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	addRecipient(t, s, notification.RestaurantUser, "10")
	addRecipient(t, s, notification.RestaurantUser, "11")
	postgrestest.Exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '11'")
	unknown := notification.RecipientKey{UserType: notification.Customer, UserID: "10"}

	active := must(gatewayOf(s).ActiveRecipients(t.Context(), []notification.RecipientKey{staff11, staff10, unknown, staff10}))(t)
	require.Equal(t, []notification.RecipientKey{staff10}, active)

	s = inForeignDirectory(t)
	waiter := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: ada}
	guests := []notification.RecipientKey{{UserType: notification.Customer, UserID: "7"}, {UserType: notification.Customer, UserID: "8"}} // the second is not active
	active = must(gatewayOf(s).ActiveRecipients(t.Context(), append(guests, waiter)))(t)
	require.ElementsMatch(t, []notification.RecipientKey{waiter, guests[0]}, active)
	postgrestest.Exec(t, s, "DELETE FROM channel_user_type WHERE user_type = 'CUSTOMER'")
	postgrestest.Exec(t, s, "DELETE FROM user_type WHERE user_type = 'CUSTOMER'")
	active = must(gatewayOf(s).ActiveRecipients(t.Context(), append(guests, waiter)))(t)
	require.Equal(t, []notification.RecipientKey{waiter}, active)
}

// A row enters the inbox when its first attempt ends, however it ends, and keeps its place.
func TestAvailableAt(t *testing.T) {
	t.Parallel()

	ended := func(outcome notification.AttemptOutcome) func(*testing.T, *postgres.Store) {
		return func(t *testing.T, s *postgres.Store) {
			attempt := begin(t, s, socket, 0)
			endAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: attempt.Number, Outcome: outcome, Detail: "why"})
		}
	}
	crashed := func(t *testing.T, s *postgres.Store) { begin(t, s, socket, 0) }
	gaveUp := func(status notification.Status) func(*testing.T, *postgres.Store) {
		return func(t *testing.T, s *postgres.Store) {
			must(s.GiveUp(t.Context(), socket, status, "why"))(t)
		}
	}
	reopened := func(plan notification.Reopened) func(*testing.T, *postgres.Store) {
		return func(t *testing.T, s *postgres.Store) {
			plan.DeliveryID, plan.RunID, plan.KeepText = socket, "run-1", true
			reopen(t, s, plan)
		}
	}
	tomorrow := time.Now().Add(24 * time.Hour)
	tests := []struct {
		name string
		by   []func(*testing.T, *postgres.Store)
		at   int // the step that sets it, from 1; 0: none, or a step undoes it
	}{
		{name: "planned"},
		{name: "sent", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeSent)}, at: 1},
		{name: "refused, and given up", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeRefused), gaveUp(notification.Failed)}, at: 1},
		{name: "no clear answer of a best effort", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeAmbiguous), gaveUp(notification.Failed)}, at: 1},
		{name: "sent at the second attempt", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeBusy), ended(notification.OutcomeSent)}, at: 1},
		{name: "crashed", by: []func(*testing.T, *postgres.Store){crashed}},
		{name: "crashed, then sent", by: []func(*testing.T, *postgres.Store){crashed, ended(notification.OutcomeSent)}, at: 2},
		{name: "sent, and recorded again", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeSent), func(t *testing.T, s *postgres.Store) {
			endAs(t, s, notification.AttemptResult{DeliveryID: socket, Number: 1, Outcome: notification.OutcomeSent})
		}}, at: 1},
		{name: "crashed until given up", by: []func(*testing.T, *postgres.Store){crashed, crashed, gaveUp(notification.Failed)}, at: 3},
		{name: "given up without an attempt", by: []func(*testing.T, *postgres.Store){gaveUp(notification.Failed)}},
		{name: "cancelled", by: []func(*testing.T, *postgres.Store){crashed, gaveUp(notification.Cancelled)}},
		{name: "retried at once", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeRefused), gaveUp(notification.Failed), reopened(notification.Reopened{})}, at: 1},
		{name: "retried for later", by: []func(*testing.T, *postgres.Store){ended(notification.OutcomeRefused), gaveUp(notification.Failed), reopened(notification.Reopened{SendAfter: &tomorrow})}},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			empty(t, s)
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

// Each item of a digest also enters the inbox then.
func TestAvailableAtOfDigests(t *testing.T) {
	t.Parallel()

	const available = "SELECT count(DISTINCT available_at) || ' of ' || count(available_at) FROM notification"
	s := newWith(t, sealItems(3))
	attempt := beginDigest(t, s, "digest-1")
	require.Equal(t, "0 of 0", postgrestest.Get[string](t, s, available))
	endDigest(t, s, attempt, digestBusy)
	require.Equal(t, "1 of 3", postgrestest.Get[string](t, s, available))
	endDigest(t, s, beginDigest(t, s, "digest-1"), digestAccepted)
	require.Equal(t, "1 of 3", postgrestest.Get[string](t, s, available))

	s = newWith(t, sealItems(2))
	beginDigest(t, s, "digest-1") // its process dies
	must(s.GiveUpDigest(t.Context(), "digest-1", notification.Failed, "why"))(t)
	require.Equal(t, "1 of 2", postgrestest.Get[string](t, s, available))
}
