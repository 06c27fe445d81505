package inbox_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

var (
	staff11 = notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "11"}
)

// inboxRow is a row of notification. The zero value was sent over WEBSOCKET.
type inboxRow struct {
	who       notification.RecipientKey
	channel   notification.Channel
	status    notification.Status
	available int  // seconds after inboxStart; 0: null
	unbegun   bool // no attempt was begun
	textless  bool
	read      bool
}

// add inserts a row, and returns its id.
func (r inboxRow) add(t *testing.T, on interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, event string) int64 {
	t.Helper()
	who, channel, status := cmp.Or(r.who, roomtest.Staff10), cmp.Or(r.channel, notification.WebSocket), cmp.Or(r.status, notification.Sent)
	row := postgrestest.Delivery{
		ID: event + "-staff" + who.UserID + "-" + string(channel), EventID: event, EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1",
		UserType: who.UserType, UserID: who.UserID, Channel: channel, Title: "title of " + event, Status: status, CreatedAt: roomtest.InboxStart,
	}
	available := roomtest.InboxStart.Add(time.Duration(r.available) * time.Second)
	if r.available > 0 {
		row.AvailableAt = available
	}
	if !r.unbegun {
		row.Attempts = 1
	}
	if status == notification.Sent || status == notification.Delivered {
		row.SentAt = available
	}
	if status == notification.Delivered {
		row.DeliveredAt = roomtest.InboxStart
	}
	if r.read {
		row.ReadAt = roomtest.InboxStart
	}
	replaced := postgrestest.Expressions{}
	if r.textless {
		replaced = postgrestest.Expressions{"title": "NULL", "body": "NULL"}
	}
	return postgrestest.AddDelivery(t, on, row, replaced)
}

// A recipient sees only their own rows over WEBSOCKET whose first attempt has ended.
func TestInboxShows(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		row   inboxRow
		shown bool
	}{
		{name: "sent", row: inboxRow{available: 1}, shown: true},
		{name: "delivered", row: inboxRow{status: notification.Delivered, available: 1}, shown: true},
		{name: "failed", row: inboxRow{status: notification.Failed, available: 1}, shown: true},
		{name: "between two attempts", row: inboxRow{status: notification.Pending, available: 1}, shown: true},
		{name: "waits", row: inboxRow{status: notification.Pending, unbegun: true}},
		{name: "being sent", row: inboxRow{status: notification.Pending}},
		{name: "cancelled", row: inboxRow{status: notification.Cancelled}},
		{name: "cancelled after an attempt", row: inboxRow{status: notification.Cancelled, available: 1}},
		{name: "failed without an attempt", row: inboxRow{status: notification.Failed, unbegun: true}},
		{name: "without a text", row: inboxRow{status: notification.Failed, textless: true, available: 1}},
		{name: "over another channel", row: inboxRow{channel: notification.Email, available: 1}},
		{name: "somebody else's", row: inboxRow{who: staff11, available: 1}},
		{name: "another user type's with the same id",
			row: inboxRow{who: notification.RecipientKey{UserType: notification.Customer, UserID: "10"}, available: 1}},
	}
	s := postgrestest.New(t)
	var shown []string
	for _, tt := range tests {
		tt.row.add(t, s.Pool, tt.name)
		if tt.shown {
			shown = append(shown, tt.name)
		}
	}

	require.ElementsMatch(t, shown, roomtest.EventsOf(roomtest.InboxPage(t, s, notification.InboxFilter{})))
	require.ElementsMatch(t, shown, roomtest.EventsOf(roomtest.InboxAfter(t, s, notification.InboxPosition{})))
	require.ElementsMatch(t, shown,
		roomtest.EventsOf(roomtest.Must(inbox.On(s).InboxAfter(t.Context(), roomtest.Staff10, notification.InboxPosition{}, true, 100))(t).Items))
	require.Equal(t, len(shown), roomtest.Must(inbox.On(s).Unread(t.Context(), roomtest.Staff10))(t))
}

func TestInboxItem(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	id := inboxRow{available: 5, read: true}.add(t, s.Pool, "evt-1")
	postgrestest.Exec(t, s, "UPDATE notification SET url = '/orders/7'")

	require.Equal(t, []notification.InboxItem{{
		Frame: notification.Frame{
			Type: "notification", DeliveryID: "evt-1-staff10-WEBSOCKET", NotificationID: notification.JSONInt(id), EventID: "evt-1",
			EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1",
			UserType: notification.RestaurantUser, UserID: "10", Title: "title of evt-1", Body: "body", URL: "/orders/7",
			CreatedAt: roomtest.InboxStart,
		},
		AvailableAt: roomtest.InboxStart.Add(5 * time.Second), ReadAt: &roomtest.InboxStart,
	}}, roomtest.InboxPage(t, s, notification.InboxFilter{}))
	require.Empty(t, roomtest.InboxPage(t, s, notification.InboxFilter{Unread: true}))
}

// Pages follow the order in which the first attempts ended, and then the order of ids. So a
// row that waited has an old id, but is new.
func TestInboxPages(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	inboxRow{available: 90}.add(t, s.Pool, "waited")
	inboxRow{available: 10}.add(t, s.Pool, "older")
	for i := range 3 {
		inboxRow{available: 20, read: i == 1}.add(t, s.Pool, fmt.Sprintf("at once %d", i))
	}
	inboxRow{available: 30, read: true}.add(t, s.Pool, "last id")
	order := []string{"waited", "last id", "at once 2", "at once 1", "at once 0", "older"}

	var pages [][]string
	var all []string
	var before int64
	for {
		page := roomtest.InboxPage(t, s, notification.InboxFilter{Before: before, Limit: 2})
		if len(page) == 0 {
			break
		}
		pages, all = append(pages, roomtest.EventsOf(page)), append(all, roomtest.EventsOf(page)...)
		before = int64(page[len(page)-1].NotificationID)
	}
	require.Len(t, pages, 3)
	require.Equal(t, order, all)

	unread := roomtest.InboxPage(t, s, notification.InboxFilter{Unread: true, Limit: 2})
	require.Equal(t, []string{"waited", "at once 2"}, roomtest.EventsOf(unread))
	require.Equal(t, []string{"at once 0", "older"},
		roomtest.EventsOf(roomtest.InboxPage(t, s, notification.InboxFilter{Unread: true, Before: int64(unread[1].NotificationID)})))

	var after []string
	for _, item := range roomtest.InboxAfter(t, s, roomtest.InboxPage(t, s, notification.InboxFilter{})[4].Position()) {
		after = append([]string{item.EventID}, after...)
	}
	require.Equal(t, order[:4], after)

	from := roomtest.Must(inbox.On(s).UnreadPosition(t.Context(), roomtest.Staff10, 2))(t)
	newest := roomtest.Must(inbox.On(s).InboxAfter(t.Context(), roomtest.Staff10, from, true, 100))(t)
	require.Equal(t, []string{"at once 2", "waited"}, roomtest.EventsOf(newest.Items), "the newest rows, the oldest of them first")
}

// A long transaction makes its row visible after later ones. A reader who asks from a
// slightly earlier position finds it.
func TestInboxAfterFindsLateCommits(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	slow := roomtest.Must(s.Pool.Begin(t.Context()))(t)
	defer func() { _ = slow.Rollback(context.Background()) }()
	inboxRow{available: 10}.add(t, slow, "slow")
	inboxRow{available: 11}.add(t, s.Pool, "quick")
	had := roomtest.InboxAfter(t, s, notification.InboxPosition{})
	require.Equal(t, []string{"quick"}, roomtest.EventsOf(had))

	require.NoError(t, slow.Commit(t.Context()))

	require.Empty(t, roomtest.InboxAfter(t, s, had[0].Position()))
	back := had[0].Position()
	back.AvailableAt = back.AvailableAt.Add(-time.Minute)
	require.Equal(t, []string{"slow", "quick"}, roomtest.EventsOf(roomtest.InboxAfter(t, s, back)))
}

// The position of a notification in flight is the start of its attempts. A row that waited
// for a week is not a week old to a client that just got it.
func TestInboxPositionOf(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	ended := inboxRow{available: 7}.add(t, s.Pool, "ended")
	under := inboxRow{status: notification.Pending}.add(t, s.Pool, "under way")
	postgrestest.Add(t, s.Pool,
		postgrestest.Attempt{DeliveryID: "under way-staff10-WEBSOCKET", StartedAt: roomtest.InboxStart.Add(9 * time.Second)})
	for id, seconds := range map[int64]time.Duration{ended: 7, under: 9} {
		position := roomtest.Must(inbox.On(s).InboxPositionOf(t.Context(), roomtest.Staff10, id))(t)
		require.Equal(t, id, position.ID)
		require.Equal(t, roomtest.InboxStart.Add(seconds*time.Second), position.AvailableAt.UTC())
	}
}

// A recipient who names another person's notification gets "no such notification", and changes
// nothing.
func TestInboxRefusesNotificationsOfOthers(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	others := inboxRow{who: staff11, available: 1}.add(t, s.Pool, "evt-1")
	mine := inboxRow{available: 1}.add(t, s.Pool, "evt-2")
	mail := inboxRow{channel: notification.Email, available: 1}.add(t, s.Pool, "evt-3")
	waits := inboxRow{status: notification.Pending, unbegun: true}.add(t, s.Pool, "evt-4")
	cancelled := inboxRow{status: notification.Cancelled, available: 1}.add(t, s.Pool, "evt-5")
	before := postgrestest.List(t, s, "SELECT n::text FROM notification n WHERE id <> $1 ORDER BY id", mine)
	tests := []struct {
		name string
		of   func(id int64) error
		of3  []int64 // with the other's, the mail and an unknown id
	}{
		{name: "before", of: func(id int64) error {
			return roomtest.ErrOf(inbox.On(s).InboxPage(ctx, roomtest.Staff10, notification.InboxFilter{Before: id, Limit: 1}))
		}},
		{name: "position", of: func(id int64) error { return roomtest.ErrOf(inbox.On(s).InboxPositionOf(ctx, roomtest.Staff10, id)) }},
		{name: "read", of: func(id int64) error { return inbox.On(s).MarkRead(ctx, roomtest.Staff10, id) }, of3: []int64{waits, cancelled}},
		{name: "read all", of: func(id int64) error { return inbox.On(s).MarkAllRead(ctx, roomtest.Staff10, id) }},
	}
	for _, tt := range tests {
		for _, id := range append(tt.of3, others, mail, 404) {
			require.ErrorIs(t, tt.of(id), notification.ErrNoNotification, "%s %d", tt.name, id)
		}
	}
	deliver(t, s, others, mail, waits, 404)
	require.NoError(t, inbox.On(s).MarkAllRead(ctx, roomtest.Staff10, mine))
	require.Equal(t, before, postgrestest.List(t, s, "SELECT n::text FROM notification n WHERE id <> $1 ORDER BY id", mine))
}

// A page is limited to the bytes that a gateway can take, but has at least one
// notification. No notification is lost between two pages.
func TestInboxPagesAreBounded(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.PlantInbox(t, s, 30, postgrestest.Expressions{"body": "repeat('<', 65536)"})
	checked := func(page notification.InboxPage, err error) notification.InboxPage {
		require.NoError(t, err)
		require.LessOrEqual(t, len(roomtest.Must(json.Marshal(page.Items))(t)), notification.InboxPageBytes)
		require.NotEmpty(t, page.Items)
		return page
	}

	var down, up []string
	for page := (notification.InboxPage{More: true}); page.More; {
		filter := notification.InboxFilter{Limit: 100}
		if len(page.Items) > 0 {
			filter.Before = int64(page.Items[len(page.Items)-1].NotificationID)
		}
		page = checked(inbox.On(s).InboxPage(t.Context(), roomtest.Staff10, filter))
		down = append(down, roomtest.EventsOf(page.Items)...)
	}
	for page := (notification.InboxPage{More: true}); page.More; {
		var after notification.InboxPosition
		if len(page.Items) > 0 {
			after = page.Items[len(page.Items)-1].Position()
		}
		page = checked(inbox.On(s).InboxAfter(t.Context(), roomtest.Staff10, after, true, 100))
		up = append(up, roomtest.EventsOf(page.Items)...)
	}
	require.Len(t, up, 30)
	slices.Reverse(down)
	require.Equal(t, up, down)
}

// withEvent returns a store with evt-1 for staff 10 over all channels, and for staff 11
// over WEBSOCKET. Two channels have not sent it. It also has evt-2 for staff 10.
func withEvent(t *testing.T) (s *db.DB, id int64) {
	t.Helper()
	s = postgrestest.New(t)
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.WebSocket), roomtest.Planned(notification.Email),
		roomtest.Planned(notification.Push), roomtest.Planned(notification.SMS), roomtest.Planned(notification.Slack)),
		roomtest.Decided("11", roomtest.Planned(notification.WebSocket)))
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'SENT', attempt_count = 1, sent_at = now(), available_at = now()")
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'PENDING', sent_at = NULL WHERE channel = 'PUSH'")
	postgrestest.Exec(t, s, "UPDATE notification SET status = 'FAILED', last_error = 'why' WHERE channel = 'SLACK'")
	inboxRow{available: 1}.add(t, s.Pool, "evt-2")
	return s, postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", socket)
}

// Reading one notification reads all notifications of its event, but does not mean that a
// mail arrived. Notifications of others, of other events, and unsent ones stay unread.
func TestReadingReadsTheEvent(t *testing.T) {
	t.Parallel()

	ways := map[string]func(s *db.DB, ctx context.Context, id int64) error{
		"read": func(s *db.DB, ctx context.Context, id int64) error {
			return inbox.On(s).MarkRead(ctx, roomtest.Staff10, id)
		},
		"all": func(s *db.DB, ctx context.Context, id int64) error {
			return inbox.On(s).MarkAllRead(ctx, roomtest.Staff10, id)
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, id := withEvent(t)
			postgrestest.Exec(t, s, "UPDATE notification SET escalates = true WHERE user_id = '10' AND channel IN ('PUSH', 'SMS') OR user_id = '11'")
			if name == "all" {
				postgrestest.Exec(t, s, "UPDATE notification SET available_at = now() + interval '1 hour' WHERE event_id = 'evt-2'")
			}

			require.NoError(t, way(s, t.Context(), id))

			require.Equal(t, []string{"EMAIL SENT", "SMS SENT", "WEBSOCKET DELIVERED"},
				postgrestest.List(t, s, "SELECT channel || ' ' || status FROM notification WHERE read_at IS NOT NULL ORDER BY channel"))
			require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE delivered_at IS NOT NULL"))
			require.Equal(t, []string{"ESCALATION evt-1-staff10-PUSH", "ESCALATION evt-1-staff10-SMS"}, roomtest.FollowUpsOf(t, s),
				"also for a delivery in flight")

			require.NoError(t, way(s, t.Context(), id))
			require.Len(t, roomtest.FollowUpsOf(t, s), 2, "a repeat adds no follow-up")
		})
	}
}

// An acknowledgement wakes the escalation that waits for it, once. Otherwise it wakes
// nothing.
func TestAcknowledgementWakesTheEscalation(t *testing.T) {
	t.Parallel()

	s, id := withEvent(t)
	deliver(t, s, id)
	require.Empty(t, roomtest.FollowUpsOf(t, s))

	s, id = withEvent(t)
	postgrestest.Exec(t, s, "UPDATE notification SET escalates = true")
	deliver(t, s, id)
	deliver(t, s, id)
	require.Equal(t, []string{"ESCALATION " + socket}, roomtest.FollowUpsOf(t, s))
}

// Receipts, acknowledgements and readers notify the listener for follow-ups.
func TestFollowUpsNotifyTheListener(t *testing.T) {
	t.Parallel()

	s, id := withEvent(t)
	postgrestest.Exec(t, s, "UPDATE notification SET escalates = true")
	wakes := roomtest.Listen(t, escalation.On(s).ListenFollowUps)
	roomtest.AwaitWake(t, wakes) // for rows from before it listened
	for _, tell := range []func(){
		func() { roomtest.Record(t, s, roomtest.Delivered("r-1")) },
		func() { deliver(t, s, id) },
		func() { require.NoError(t, inbox.On(s).MarkRead(t.Context(), roomtest.Staff10, id)) },
	} {
		tell()
		roomtest.AwaitWake(t, wakes)
	}
}
