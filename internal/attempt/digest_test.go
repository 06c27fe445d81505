package attempt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/channel/sms"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
	"herald/internal/template"
)

func items(first, last int) []string {
	var ids []string
	for n := first; n <= last; n++ {
		ids = append(ids, roomtest.Item(n))
	}
	return ids
}

// listedIn returns the items of an attempt.
func listedIn(begun roomtest.DigestAttempt) []string {
	return roomtest.Mapped(begun.Begun, func(item notification.Attempt) string { return item.Message.DeliveryID })
}

// ofDigest returns the deliveries of a digest, in order.
func ofDigest(t *testing.T, s *db.DB, id string) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE digest_id = $1 ORDER BY id", id)
}

// A digest lists only deliveries that wait for a digest of its kind.
func TestSealDigest(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(9))
	for i, other := range []notification.DigestKey{
		{UserType: notification.Customer, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"},
		{UserType: notification.RestaurantUser, UserID: "11", Channel: notification.Email, EventType: "REVIEW_POSTED"},
		{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.SMS, EventType: "REVIEW_POSTED"},
		{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_DELETED"},
	} {
		roomtest.AddItems(t, s.Pool, other, 20+i, 20+i, 10)
	}
	for n, status := range map[int]notification.Status{1: notification.Sent, 3: notification.Delivered, 5: notification.Failed,
		7: notification.Cancelled} {
		roomtest.SetStatus(t, s, roomtest.Item(n), status)
	}
	postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'IMMEDIATE' WHERE delivery_id = $1", roomtest.Item(9))
	want := []string{roomtest.Item(2), roomtest.Item(4), roomtest.Item(6), roomtest.Item(8)}

	none := notification.DigestKey{UserType: notification.Admin, UserID: "1", Channel: notification.Email, EventType: "REVIEW_POSTED"}
	require.Equal(t, notification.SealedDigest{Items: []string{}}, roomtest.Seal(t, s, "digest-0", none))
	require.Equal(t, notification.SealedDigest{Items: want}, roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails))
	require.Equal(t, want, ofDigest(t, s, "digest-1"))
	require.Equal(t, notification.SealedDigest{Items: want}, roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails), "a repeat")

	roomtest.SetStatus(t, s, roomtest.Item(4), notification.Cancelled)
	roomtest.AddItems(t, s.Pool, roomtest.ReviewMails, 10, 10, 10)
	require.Equal(t, []string{roomtest.Item(2), roomtest.Item(6), roomtest.Item(8), roomtest.Item(10)},
		roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails).Items, "the digest may change until it is sent")
}

// Items that a dead digest sealed are not lost with it.
func TestSealDigestTakesOver(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(2))
	roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails)
	roomtest.AddItems(t, s.Pool, roomtest.ReviewMails, 3, 3, 10)

	require.Equal(t, items(1, 3), roomtest.Seal(t, s, "digest-2", roomtest.ReviewMails).Items)

	require.Empty(t, roomtest.BeginDigest(t, s, "digest-1").Begun)
	require.Equal(t, items(1, 3), listedIn(roomtest.BeginDigest(t, s, "digest-2")))
}

// A digest lists the oldest hundred. The window of the others begins with the first of
// them.
func TestSealDigestIsFull(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(130))
	postgrestest.Exec(t, s,
		"UPDATE notification SET created_at = '2026-11-21T10:00:00Z'::timestamptz + interval '1 second' * substring(event_id from 5)::int")

	first := roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails)
	require.Equal(t, items(1, 100), first.Items)
	require.Equal(t, time.Date(2026, 11, 21, 10, 5+1, 41, 0, time.UTC), first.Next)
	require.Equal(t, first, roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails), "a repeat")

	roomtest.Must(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", notification.Cancelled, "why"))(t)
	require.Equal(t, notification.SealedDigest{Items: items(101, 130)}, roomtest.Seal(t, s, "digest-2", roomtest.ReviewMails))
}

// In a digest with a time of day, the rest has the times that planning gave it. With ReadyOnly, a
// digest lists nothing that is due later.
func TestSealDigestAtATime(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(3))
	postgrestest.Exec(t, s, "UPDATE notification SET send_after = now() - interval '1 hour' WHERE event_id = 'evt-2'")
	later := postgrestest.Get[time.Time](t, s,
		"UPDATE notification SET send_after = now() + interval '1 hour' WHERE event_id = 'evt-3' RETURNING send_after")
	postgrestest.Exec(t, s, "UPDATE notification SET send_after = now() + interval '2 hours' WHERE event_id = 'evt-1'")
	seal := func(id string, readyOnly bool) notification.SealedDigest {
		return roomtest.SealFor(t, s, notification.Sealing{DigestID: id, Key: roomtest.ReviewMails,
			Window: notification.DigestWindow{Timed: true, ReadyOnly: readyOnly}})
	}

	sealed := seal("digest-1", true)
	require.Equal(t, []string{roomtest.Item(2)}, sealed.Items)
	require.WithinDuration(t, later, sealed.Next, 0)
	require.Equal(t, sealed, seal("digest-1", true), "a repeat")

	roomtest.SetStatus(t, s, roomtest.Item(2), notification.Sent)
	require.Empty(t, seal("digest-2", true).Items)
	require.Equal(t, notification.SealedDigest{Items: []string{roomtest.Item(1), roomtest.Item(3)}}, seal("digest-2", false))
}

// within returns a limit of bytes for the texts of a digest's items.
func within(limit int) func(notification.Digest, []notification.DigestItem) bool {
	return func(_ notification.Digest, items []notification.DigestItem) bool {
		sum := 0
		for _, item := range items {
			sum += len(item.Title) + len(item.Body)
		}
		return sum <= limit
	}
}

// A digest lists as many items as fit. One item is listed even if it does not fit.
func TestSealDigestBySize(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name  string
		sizes []int
		want  int
	}{
		{name: "all fit", sizes: []int{400, 400, 400}, want: 3},
		{name: "the last item does not fit", sizes: []int{400, 400, 402}, want: 2},
		{name: "a large item ends the digest", sizes: []int{400, 1000, 400}, want: 1},
		{name: "the first item is too long", sizes: []int{5000, 10}, want: 1},
		{name: "one item, which is too long", sizes: []int{5000}, want: 1},
		{name: "more than a text has", sizes: []int{40_000, 40_000, 10}, want: 1},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			for i, size := range tt.sizes {
				roomtest.AddItems(t, s.Pool, roomtest.ReviewMails, i+1, i+1, size)
			}

			sealed := roomtest.SealFor(t, s, notification.Sealing{DigestID: "digest-1", Key: roomtest.ReviewMails, Fits: within(1200)})

			require.Len(t, sealed.Items, tt.want)
			require.Equal(t, tt.want == len(tt.sizes), sealed.Next.IsZero())
			require.Equal(t, sealed.Items, ofDigest(t, s, "digest-1"))
		})
	}
}

// The rendered text of each digest fits into a message of its channel, whatever its template adds, and
// all items are in some digest.
func TestSealDigestByItsText(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		channel     notification.Channel
		count       int
		size        int
		title, body string // of the template; empty: the shipped one
	}{
		"the shipped template of a text message": {notification.SMS, 85, 14, "", ""},
		"a wordy template of a text message": {notification.SMS, 100, 30, "x",
			`Dear {{.recipient.name}}, {{range .Items}}a new review came in, {{.title}}, which says: {{.body}}. {{end}}`},
		"a template that doubles":              {notification.SMS, 40, 100, "x", `{{range .Items}}{{.body}}{{.body}}{{.body}}{{end}}`},
		"a push":                               {notification.Push, 100, 60, "", ""},
		"a push whose characters JSON escapes": {notification.Push, 100, 20, "x", `{{range .Items}}{{.title}}<<<>>>&&&{{end}}`},
		"a mail of many words": {notification.Email, 100, 400, "x",
			`{{range .Items}}<table><tr><td>` + strings.Repeat("x", 500) + `{{.title}}</td></tr></table>{{end}}`},
		"a post with a long title": {notification.Slack, 100, 20, `{{range .Items}}{{.title}} {{end}}`, "x"},
		"a webhook whose characters JSON escapes": {notification.Webhook, 100, 400, "x",
			`{{range .Items}}` + strings.Repeat("<", 600) + `{{end}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, key := postgrestest.New(t), roomtest.ReviewMails
			key.Channel = tt.channel
			postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10",
				Name: strings.Repeat("Ada ", 20)})
			if tt.title != "" {
				postgrestest.Add(t, s.Pool, postgrestest.Template{EventType: "REVIEW_POSTED.digest", Channel: tt.channel, Title: tt.title,
					Body: tt.body})
			}
			roomtest.AddItems(t, s.Pool, key, 1, tt.count, tt.size)
			write := func(digest notification.Digest, items []notification.DigestItem) (notification.Text, error) {
				return template.Engine{}.Digest(digest.Templates, key.EventType, key.Channel,
					notification.Recipient{Name: digest.Recipient.Name, Locale: digest.Recipient.Locale}, items)
			}
			fits := func(digest notification.Digest, items []notification.DigestItem) bool {
				text, err := write(digest, items)
				return err == nil && key.Channel.Carries("digest-1", text)
			}
			var sent []string
			for n := 1; len(sent) < tt.count; n++ {
				id := fmt.Sprint("digest-", n)
				sealed := roomtest.SealFor(t, s, notification.Sealing{DigestID: id, Key: key, Fits: fits})
				require.NotEmpty(t, sealed.Items)
				require.Equal(t, sealed, roomtest.SealFor(t, s, notification.Sealing{DigestID: id, Key: key, Fits: fits}), "a repeat")
				digest := roomtest.Must(attempt.On(s).ReadDigest(t.Context(), id, key))(t)
				rows := roomtest.Must(db.Collect(t.Context(), s.Pool, "", pgx.RowToStructByNameLax[notification.DigestItem],
					"SELECT delivery_id, event_id, title, body, created_at FROM notification WHERE digest_id = $1 ORDER BY id", id))(t)
				require.Len(t, rows, len(sealed.Items))
				text := roomtest.Must(write(digest, rows))(t)
				require.True(t, key.Channel.Carries(id, text), "%d characters", len(text.Body))
				if tt.channel == notification.SMS {
					_, flaw := sms.Ready(notification.Message{To: "+41791234567", Body: text.Body})
					require.Empty(t, flaw)
				}
				require.Equal(t, len(sent)+len(sealed.Items) == tt.count, sealed.Next.IsZero())
				sent = append(sent, sealed.Items...)
				postgrestest.Exec(t, s, "UPDATE notification SET status = 'SENT', sent_at = now(), attempt_count = 1 WHERE digest_id = $1", id)
			}
			require.Len(t, sent, tt.count)
		})
	}
}

// Sealed items stay sealed, even if older ones commit later.
func TestSealDigestKeepsSealedItems(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name             string
		channel          notification.Channel
		late, size, held int // a digest holds so many items of this size
	}{
		{name: "by size", channel: notification.SMS, late: 1, size: 1000, held: 1},
		{name: "by number", channel: notification.Email, late: 5, size: 10, held: 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s, key := postgrestest.New(t), roomtest.ReviewMails
			key.Channel = tt.channel
			late := postgrestest.OpenTx(t, s, "SELECT 1")
			roomtest.AddItems(t, late, key, 1, tt.late, tt.size)
			roomtest.AddItems(t, s.Pool, key, tt.late+1, tt.late+tt.held, tt.size)
			in := notification.Sealing{DigestID: "digest-1", Key: key, Fits: within(1200)}
			want := roomtest.SealFor(t, s, in).Items
			require.Len(t, want, tt.held)

			require.NoError(t, late.Commit(t.Context()))

			sealed := roomtest.SealFor(t, s, in)
			require.Equal(t, want, sealed.Items)
			require.Equal(t, want, ofDigest(t, s, "digest-1"))
			require.False(t, sealed.Next.IsZero(), "the others are left for the next digest")
		})
	}
}

func TestDigestPlace(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(1))
	place := func() notification.DigestPlace {
		return roomtest.Must(attempt.On(s).DigestPlace(t.Context(), roomtest.Item(1)))(t)
	}
	want := notification.DigestPlace{Status: notification.Pending, Key: roomtest.ReviewMails, Who: "staff", Priority: notification.Normal,
		Window: 5 * time.Minute}
	require.Equal(t, want, place(), "without a separate rule")

	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "REVIEW_POSTED", Strategy: notification.Aggregate, DigestWindow: 90 * time.Second})
	postgrestest.Exec(t, s, "UPDATE notification SET priority = 'HIGH'")
	want.Window, want.Priority = 90*time.Second, notification.High
	require.Equal(t, want, place())

	for _, status := range []notification.Status{notification.Sent, notification.Delivered, notification.Cancelled, notification.Failed} {
		roomtest.SetStatus(t, s, roomtest.Item(1), status)
		want.Status, want.Problem = status, ""
		if status == notification.Failed {
			want.Problem = "before"
		}
		require.Equal(t, want, place())
	}
}

// An INSERT replaces the English digest texts that Herald ships, once. Then the row belongs
// to the installation.
func TestInsertReplacesShippedTemplates(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_template WHERE shipped"))
	const insert = "INSERT INTO notification_template (event_type, channel, title, body) VALUES ('digest', 'EMAIL', 'ours', 'ours')"
	postgrestest.Exec(t, s, insert)
	require.Equal(t, "ours", postgrestest.Get[string](t, s,
		"SELECT title FROM notification_template WHERE event_type = 'digest' AND channel = 'EMAIL' AND locale = 'en'"))
	require.ErrorContains(t, roomtest.ErrOf(s.Pool.Exec(t.Context(), insert)), "duplicate key")
	postgrestest.Exec(t, s, "UPDATE notification_template SET title = 'ours' WHERE channel = '*'")
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_template WHERE shipped"))
}
