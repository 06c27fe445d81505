package db_test

import (
	"fmt"
	"strconv"
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
	"herald/internal/template"
)

var reviewMails = notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}

// addItem adds deliveries of evt-i that wait for a digest of a kind. The text has $7 bytes,
// half of them in the title and half in the body.
const addItem = `
	INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, strategy)
	SELECT 'evt-' || i, $4, $1, $2, $3, 'evt-' || i || '-staff' || $2 || '-' || $3, repeat('t', $7 / 2), repeat('b', $7 / 2), 'to-' || i, 'AGGREGATE'
	FROM   generate_series($5::int, $6) AS i
	ORDER BY i`

// addItems adds the deliveries of evt-first to evt-last.
func addItems(t *testing.T, s *db.DB, key notification.DigestKey, first, last, size int) {
	t.Helper()
	postgrestest.Exec(t, s, addItem, key.UserType, key.UserID, key.Channel, key.EventType, first, last, size)
}

// item returns the delivery of evt-n to staff 10 by mail.
func item(n int) string { return "evt-" + strconv.Itoa(n) + "-staff10-EMAIL" }

func items(first, last int) []string {
	var ids []string
	for n := first; n <= last; n++ {
		ids = append(ids, item(n))
	}
	return ids
}

// waitingItems plans n deliveries that wait for a digest of review mails.
func waitingItems(n int) func(*testing.T, *db.DB) {
	return func(t *testing.T, s *db.DB) {
		t.Helper()
		postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Email: "to-10"})
		addItems(t, s, reviewMails, 1, n, 10)
	}
}

func seal(t *testing.T, s *db.DB, id string, key notification.DigestKey) notification.SealedDigest {
	t.Helper()
	return sealFor(t, s, notification.Sealing{DigestID: id, Key: key})
}

// sealFor seals a digest with a window of five minutes, of any size unless the order has a limit.
func sealFor(t *testing.T, s *db.DB, in notification.Sealing) notification.SealedDigest {
	t.Helper()
	in.Window.Length = 5 * time.Minute
	if in.Fits == nil {
		in.Fits = func(notification.Digest, []notification.DigestItem) bool { return true }
	}
	return must(attempt.On(s).SealDigest(t.Context(), in))(t)
}

// digestAttempt is an attempt at a digest, as the activity makes it.
type digestAttempt struct {
	notification.Digest
	begun []notification.Attempt
}

// message returns the last item's message.
func (a digestAttempt) message() notification.Message { return a.begun[len(a.begun)-1].Message }

func beginDigest(t *testing.T, s *db.DB, id string, of ...notification.DigestKey) digestAttempt {
	t.Helper()
	runOut(t, s)
	ids := must(attempt.On(s).DigestItems(t.Context(), id))(t)
	var begun digestAttempt
	for _, item := range beginAs(t, s, notification.Begin{DeliveryIDs: ids, DigestID: id}) {
		if item.Number > 0 {
			begun.begun = append(begun.begun, item)
		}
	}
	begun.Digest = must(attempt.On(s).ReadDigest(t.Context(), id, append(of, reviewMails)[0]))(t)
	return begun
}

// listedIn returns the items of an attempt.
func listedIn(begun digestAttempt) []string {
	return mapped(begun.begun, func(item notification.Attempt) string { return item.Message.DeliveryID })
}

// ofDigest returns the deliveries of a digest, in order.
func ofDigest(t *testing.T, s *db.DB, id string) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT delivery_id FROM notification WHERE digest_id = $1 ORDER BY id", id)
}

// A digest lists only deliveries that wait for a digest of its kind.
func TestSealDigest(t *testing.T) {
	t.Parallel()

	s := newWith(t, waitingItems(9))
	for i, other := range []notification.DigestKey{
		{UserType: notification.Customer, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"},
		{UserType: notification.RestaurantUser, UserID: "11", Channel: notification.Email, EventType: "REVIEW_POSTED"},
		{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.SMS, EventType: "REVIEW_POSTED"},
		{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_DELETED"},
	} {
		addItems(t, s, other, 20+i, 20+i, 10)
	}
	for n, status := range map[int]notification.Status{1: notification.Sent, 3: notification.Delivered, 5: notification.Failed, 7: notification.Cancelled} {
		setStatus(t, s, item(n), status)
	}
	postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'IMMEDIATE' WHERE delivery_id = $1", item(9))
	want := []string{item(2), item(4), item(6), item(8)}

	none := notification.DigestKey{UserType: notification.Admin, UserID: "1", Channel: notification.Email, EventType: "REVIEW_POSTED"}
	require.Equal(t, notification.SealedDigest{Items: []string{}}, seal(t, s, "digest-0", none))
	require.Equal(t, notification.SealedDigest{Items: want}, seal(t, s, "digest-1", reviewMails))
	require.Equal(t, want, ofDigest(t, s, "digest-1"))
	require.Equal(t, notification.SealedDigest{Items: want}, seal(t, s, "digest-1", reviewMails), "a repeat")

	setStatus(t, s, item(4), notification.Cancelled)
	addItems(t, s, reviewMails, 10, 10, 10)
	require.Equal(t, []string{item(2), item(6), item(8), item(10)}, seal(t, s, "digest-1", reviewMails).Items, "the digest may change until it is sent")
}

// Items that a dead digest sealed are not lost with it.
func TestSealDigestTakesOver(t *testing.T) {
	t.Parallel()

	s := newWith(t, waitingItems(2))
	seal(t, s, "digest-1", reviewMails)
	addItems(t, s, reviewMails, 3, 3, 10)

	require.Equal(t, items(1, 3), seal(t, s, "digest-2", reviewMails).Items)

	require.Empty(t, beginDigest(t, s, "digest-1").begun)
	require.Equal(t, items(1, 3), listedIn(beginDigest(t, s, "digest-2")))
}

// A digest lists the oldest hundred. The window of the others begins with the first of
// them.
func TestSealDigestIsFull(t *testing.T) {
	t.Parallel()

	s := newWith(t, waitingItems(130))
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = '2026-11-21T10:00:00Z'::timestamptz + interval '1 second' * substring(event_id from 5)::int")

	first := seal(t, s, "digest-1", reviewMails)
	require.Equal(t, items(1, 100), first.Items)
	require.Equal(t, time.Date(2026, 11, 21, 10, 5+1, 41, 0, time.UTC), first.Next)
	require.Equal(t, first, seal(t, s, "digest-1", reviewMails), "a repeat")

	must(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", notification.Cancelled, "why"))(t)
	require.Equal(t, notification.SealedDigest{Items: items(101, 130)}, seal(t, s, "digest-2", reviewMails))
}

// In a digest with a time of day, the rest has the times that planning gave it. With ReadyOnly, a
// digest lists nothing that is due later.
func TestSealDigestAtATime(t *testing.T) {
	t.Parallel()

	s := newWith(t, waitingItems(3))
	postgrestest.Exec(t, s, "UPDATE notification SET send_after = now() - interval '1 hour' WHERE event_id = 'evt-2'")
	later := postgrestest.Get[time.Time](t, s, "UPDATE notification SET send_after = now() + interval '1 hour' WHERE event_id = 'evt-3' RETURNING send_after")
	postgrestest.Exec(t, s, "UPDATE notification SET send_after = now() + interval '2 hours' WHERE event_id = 'evt-1'")
	seal := func(id string, readyOnly bool) notification.SealedDigest {
		return sealFor(t, s, notification.Sealing{DigestID: id, Key: reviewMails, Window: notification.DigestWindow{Timed: true, ReadyOnly: readyOnly}})
	}

	sealed := seal("digest-1", true)
	require.Equal(t, []string{item(2)}, sealed.Items)
	require.WithinDuration(t, later, sealed.Next, 0)
	require.Equal(t, sealed, seal("digest-1", true), "a repeat")

	setStatus(t, s, item(2), notification.Sent)
	require.Empty(t, seal("digest-2", true).Items)
	require.Equal(t, notification.SealedDigest{Items: []string{item(1), item(3)}}, seal("digest-2", false))
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
			empty(t, s)
			for i, size := range tt.sizes {
				addItems(t, s, reviewMails, i+1, i+1, size)
			}

			sealed := sealFor(t, s, notification.Sealing{DigestID: "digest-1", Key: reviewMails, Fits: within(1200)})

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

	const plain = "INSERT INTO notification_template (event_type, channel, locale, title, body) VALUES ('REVIEW_POSTED.digest', "
	for name, tt := range map[string]struct {
		channel  notification.Channel
		count    int
		size     int
		template string
	}{
		"the shipped template of a text message":  {notification.SMS, 85, 14, ""},
		"a wordy template of a text message":      {notification.SMS, 100, 30, plain + `'SMS', 'en', 'x', 'Dear {{.recipient.name}}, {{range .Items}}a new review came in, {{.title}}, which says: {{.body}}. {{end}}')`},
		"a template that doubles":                 {notification.SMS, 40, 100, plain + `'SMS', 'en', 'x', '{{range .Items}}{{.body}}{{.body}}{{.body}}{{end}}')`},
		"a push":                                  {notification.Push, 100, 60, ""},
		"a push whose characters JSON escapes":    {notification.Push, 100, 20, plain + `'PUSH', 'en', 'x', '{{range .Items}}{{.title}}<<<>>>&&&{{end}}')`},
		"a mail of many words":                    {notification.Email, 100, 400, plain + `'EMAIL', 'en', 'x', '{{range .Items}}<table><tr><td>` + strings.Repeat("x", 500) + `{{.title}}</td></tr></table>{{end}}')`},
		"a post with a long title":                {notification.Slack, 100, 20, plain + `'SLACK', 'en', '{{range .Items}}{{.title}} {{end}}', 'x')`},
		"a webhook whose characters JSON escapes": {notification.Webhook, 100, 400, plain + `'WEBHOOK', 'en', 'x', '{{range .Items}}` + strings.Repeat("<", 600) + `{{end}}')`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, key := postgrestest.New(t), reviewMails
			key.Channel = tt.channel
			postgrestest.Exec(t, s, "INSERT INTO recipient (user_type, user_id, name) VALUES ('RESTAURANT_USER', '10', repeat('Ada ', 20))")
			if tt.template != "" {
				postgrestest.Exec(t, s, tt.template)
			}
			addItems(t, s, key, 1, tt.count, tt.size)
			write := func(digest notification.Digest, items []notification.DigestItem) (notification.Text, error) {
				return template.Engine{}.Digest(digest.Templates, key.EventType, key.Channel, notification.Recipient{Name: digest.Name, Locale: digest.Locale}, items)
			}
			fits := func(digest notification.Digest, items []notification.DigestItem) bool {
				text, err := write(digest, items)
				return err == nil && key.Channel.Carries("digest-1", text)
			}
			var sent []string
			for n := 1; len(sent) < tt.count; n++ {
				id := fmt.Sprint("digest-", n)
				sealed := sealFor(t, s, notification.Sealing{DigestID: id, Key: key, Fits: fits})
				require.NotEmpty(t, sealed.Items)
				require.Equal(t, sealed, sealFor(t, s, notification.Sealing{DigestID: id, Key: key, Fits: fits}), "a repeat")
				digest := must(attempt.On(s).ReadDigest(t.Context(), id, key))(t)
				rows := must(db.Collect(t.Context(), s.Pool, "", pgx.RowToStructByName[notification.DigestItem],
					"SELECT delivery_id, event_id, title, body, created_at FROM notification WHERE digest_id = $1 ORDER BY id", id))(t)
				require.Len(t, rows, len(sealed.Items))
				text := must(write(digest, rows))(t)
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

			s, key := postgrestest.New(t), reviewMails
			key.Channel = tt.channel
			late := postgrestest.OpenTx(t, s, addItem, key.UserType, key.UserID, key.Channel, key.EventType, 1, tt.late, tt.size)
			addItems(t, s, key, tt.late+1, tt.late+tt.held, tt.size)
			in := notification.Sealing{DigestID: "digest-1", Key: key, Fits: within(1200)}
			want := sealFor(t, s, in).Items
			require.Len(t, want, tt.held)

			require.NoError(t, late.Commit(t.Context()))

			sealed := sealFor(t, s, in)
			require.Equal(t, want, sealed.Items)
			require.Equal(t, want, ofDigest(t, s, "digest-1"))
			require.False(t, sealed.Next.IsZero(), "the others are left for the next digest")
		})
	}
}

func TestDigestPlace(t *testing.T) {
	t.Parallel()

	s := newWith(t, waitingItems(1))
	place := func() notification.DigestPlace { return must(attempt.On(s).DigestPlace(t.Context(), item(1)))(t) }
	want := notification.DigestPlace{Status: notification.Pending, Key: reviewMails, Who: "staff", Priority: notification.Normal, Window: 5 * time.Minute}
	require.Equal(t, want, place(), "without a separate rule")

	postgrestest.Exec(t, s, "INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window) VALUES ('REVIEW_POSTED', 'EMAIL', 'AGGREGATE', '90 seconds')")
	postgrestest.Exec(t, s, "UPDATE notification SET priority = 'HIGH'")
	want.Window, want.Priority = 90*time.Second, notification.High
	require.Equal(t, want, place())

	for _, status := range []notification.Status{notification.Sent, notification.Delivered, notification.Cancelled, notification.Failed} {
		setStatus(t, s, item(1), status)
		want.Status, want.Problem = status, ""
		if status == notification.Failed {
			want.Problem = "before"
		}
		require.Equal(t, want, place())
	}
}
