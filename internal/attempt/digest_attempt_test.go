package attempt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
	"herald/internal/template"
)

var (
	digestAccepted = notification.AttemptResult{Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "sg-1"}
)

func TestBeginDigest(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(3))
	postgrestest.Exec(t, s, "UPDATE recipient SET name = 'Ada', locale = 'it'")
	postgrestest.Add(t, s.Pool,
		postgrestest.Template{EventType: "digest", Channel: notification.Email, Locale: "it", Title: "a", Body: "b"},
		postgrestest.Template{EventType: "REVIEW_POSTED", Channel: notification.Email, Locale: "it", Title: "c", Body: "d"})
	roomtest.SetStatus(t, s, roomtest.Item(2), notification.Cancelled)

	begun := roomtest.BeginDigest(t, s, "digest-1")

	require.Equal(t, []string{roomtest.Item(1), roomtest.Item(3)}, listedIn(begun))
	require.Equal(t, "it", begun.Recipient.Locale)
	require.Len(t, begun.Templates, 3, "two templates of the migrations, and the event type's")
	require.Contains(t, begun.Templates, notification.Template{EventType: "digest", Channel: "EMAIL", Locale: "it", Title: "a", Body: "b"})
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE attempt_until > now()"))
	require.Equal(t, []int{1, 0, 1}, []int{roomtest.Delivery(t, s, roomtest.Item(1)).Attempts,
		roomtest.Delivery(t, s, roomtest.Item(2)).Attempts, roomtest.Delivery(t, s, roomtest.Item(3)).Attempts})
}

// A digest whose time the recipient chose is sent in their own quiet hours, which drop other messages.
func TestBeginDigestAtAChosenTime(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		route postgrestest.Route
		items int
	}{
		"the recipient's time":                   {postgrestest.Route{DigestAt: "09:00"}, 3},
		"the recipient's time, quiet hours wait": {postgrestest.Route{DigestAt: "09:00", QuietHoursAction: notification.Defer}, 3},
		"a window of the type's":                 {postgrestest.Route{}, 0},
		"a window, quiet hours are ignored":      {postgrestest.Route{QuietHoursAction: notification.Ignore}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := roomtest.New(t, roomtest.SealItems(3))
			tt.route.EventType, tt.route.Strategy = "REVIEW_POSTED", notification.Aggregate
			postgrestest.Add(t, s.Pool, tt.route, postgrestest.UserSettings{DigestAt: "23:00"}, roomtest.AlwaysQuiet)

			require.Len(t, listedIn(roomtest.BeginDigest(t, s, "digest-1")), tt.items)
		})
	}
}

// The first message of a digest is sent at once, so the time of the digest does not lift quiet hours.
func TestBeginAttemptBeforeADigestAtAChosenTime(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(1))
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now() - interval '2 minutes', strategy = 'IMMEDIATE', send_after = NULL")
	id := postgrestest.Get[string](t, s, "SELECT delivery_id FROM notification")
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "REVIEW_POSTED", Strategy: notification.Aggregate, DigestFirst: true, DigestAt: "09:00"},
		postgrestest.UserSettings{DigestAt: "23:00"}, roomtest.AlwaysQuiet)

	attempts, err := attempt.On(s).BeginAttempts(t.Context(), notification.Begin{DeliveryIDs: []string{id}, Owner: "test", Lease: time.Minute})

	require.NoError(t, err)
	require.Equal(t, string(notification.DecisionQuietHours), attempts[0].Dropped)
}

// A digest of push messages goes to the recipient's current devices.
func TestBeginDigestOfPushMessages(t *testing.T) {
	t.Parallel()

	s, pushes := postgrestest.New(t), roomtest.ReviewMails
	pushes.Channel = notification.Push
	roomtest.AddRecipient(t, s, notification.RestaurantUser, "10")
	roomtest.AddRecipient(t, s, notification.Customer, "10")
	roomtest.AddItems(t, s.Pool, pushes, 1, 1, 10)
	postgrestest.Add(t, s.Pool,
		postgrestest.Device{Token: "b"}, postgrestest.Device{Token: "a"}, postgrestest.Device{Token: "off", Inactive: true},
		postgrestest.Device{UserType: notification.Customer, Token: "other"})
	postgrestest.Exec(t, s, "UPDATE notification SET recipient_address = NULL")
	roomtest.Seal(t, s, "digest-1", pushes)

	begun := roomtest.BeginDigest(t, s, "digest-1", pushes)
	require.Equal(t, []string{"a", "b"}, begun.Message().Devices)
	require.Empty(t, begun.Message().To)

	roomtest.EndDigest(t, s, begun, notification.AttemptResult{Outcome: notification.OutcomeAmbiguous, Detail: "fcm",
		DeadDevices: []string{"a", "other"}})
	require.Equal(t, []string{"b", "other"}, postgrestest.List(t, s, "SELECT token FROM recipient_device WHERE active ORDER BY token"),
		"a is dead; other belongs to somebody else")
	postgrestest.AddMany(t, s.Pool, 60, postgrestest.Device{}, postgrestest.Expressions{"token": "'device-' || i"})
	require.Len(t, roomtest.BeginDigest(t, s, "digest-1", pushes).Message().Devices, db.MaxDevices)
}

func TestEndDigestAttempt(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(2))
	roomtest.EndDigest(t, s, roomtest.BeginDigest(t, s, "digest-1"), roomtest.DigestBusy)
	require.Equal(t, items(1, 2), postgrestest.List(t, s,
		"SELECT delivery_id FROM notification WHERE status = 'PENDING' AND last_error = 'sendgrid is busy: 429' AND sent_at IS NULL ORDER BY id"))
	second := roomtest.BeginDigest(t, s, "digest-1")
	require.Equal(t, items(1, 2), listedIn(second))

	roomtest.EndDigest(t, s, second, digestAccepted)

	for n := 1; n <= 2; n++ {
		got := roomtest.Delivery(t, s, roomtest.Item(n))
		require.Equal(t, roomtest.Row{Status: "SENT", Attempts: 2, Title: new("ttttt"), Body: new("bbbbb"), Address: got.Address,
			ProviderID: new("sg-1"), Sent: true}, got)
	}
	require.Equal(t, items(1, 2), ofDigest(t, s, "digest-1"))
	require.Equal(t, "BUSY 429 sendgrid is busy: 429, SENT 202", postgrestest.Get[string](t, s, `
		SELECT string_agg(concat_ws(' ', outcome, provider_status, detail), ', ' ORDER BY attempt)
		FROM   delivery_attempt
		WHERE  delivery_id = $1 AND ended_at >= started_at`, roomtest.Item(1)))

	roomtest.SetStatus(t, s, roomtest.Item(1), notification.Delivered)
	roomtest.EndDigest(t, s, second, digestAccepted)
	roomtest.EndDigest(t, s, second, roomtest.DigestBusy)
	require.Equal(t, "DELIVERED", roomtest.Delivery(t, s, roomtest.Item(1)).Status, "a repeat changes nothing")
	require.Nil(t, roomtest.Delivery(t, s, roomtest.Item(2)).Error)
}

// If the provider had an item before it was cancelled or taken over, the item is sent.
func TestEndDigestAttemptOverridesCancellation(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(2))
	begun := roomtest.BeginDigest(t, s, "digest-1")
	roomtest.SetStatus(t, s, roomtest.Item(1), notification.Cancelled)
	roomtest.Seal(t, s, "digest-2", roomtest.ReviewMails)

	roomtest.EndDigest(t, s, begun, digestAccepted)

	require.Equal(t, items(1, 2), ofDigest(t, s, "digest-1"))
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'SENT'"))
	require.Empty(t, roomtest.BeginDigest(t, s, "digest-2").Begun)
}

// If an earlier attempt sent the digest, the next attempt sends nothing, and tells how many items were
// sent.
func TestBeginDigestThatWasSent(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(3))
	roomtest.SetStatus(t, s, roomtest.Item(3), notification.Cancelled)
	require.Zero(t, roomtest.BeginDigest(t, s, "digest-1").Sent)
	again := roomtest.BeginDigest(t, s, "digest-1")
	roomtest.EndDigest(t, s, again, digestAccepted)
	roomtest.SetStatus(t, s, roomtest.Item(2), notification.Delivered)

	begun := roomtest.BeginDigest(t, s, "digest-1")

	require.Empty(t, begun.Begun)
	require.Equal(t, 2, begun.Sent)
	require.Equal(t, 2, roomtest.Delivery(t, s, roomtest.Item(1)).Attempts, "the third attempt does not count")
}

func TestGiveUpDigest(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Failed, notification.Cancelled} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()

			s := roomtest.New(t, roomtest.SealItems(6))
			roomtest.AddItems(t, s.Pool, roomtest.ReviewMails, 7, 7, 10)
			ended := map[int]notification.Status{2: notification.Sent, 3: notification.Delivered, 4: notification.Failed, 5: notification.Cancelled}
			for n, was := range ended {
				roomtest.SetStatus(t, s, roomtest.Item(n), was)
			}

			require.Equal(t, map[string]string{roomtest.Item(5): "before"},
				roomtest.Must(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", status, "why"))(t))

			for _, n := range []int{1, 6} {
				require.Equal(t, roomtest.Row{Status: string(status), Title: new("ttttt"), Body: new("bbbbb"),
					Address: roomtest.Delivery(t, s, roomtest.Item(n)).Address, Error: new("why")}, roomtest.Delivery(t, s, roomtest.Item(n)))
			}
			for n, was := range ended {
				require.Equal(t, string(was), roomtest.Delivery(t, s, roomtest.Item(n)).Status)
				require.NotEqual(t, new("why"), roomtest.Delivery(t, s, roomtest.Item(n)).Error)
			}
			require.Equal(t, "PENDING", roomtest.Delivery(t, s, roomtest.Item(7)).Status, "the item belongs to another digest")
		})
	}
}

// An attempt may begin while a cancellation waits for the row.
func TestGiveUpAnItemWhoseAttemptBegins(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(1))
	begun := postgrestest.OpenTx(t, s,
		"UPDATE notification SET attempt_owner = 'another', attempt_began = now(), attempt_until = now() + interval '1 minute'")
	var now notification.Status
	roomtest.CommitDuring(t, s, begun, func() (err error) {
		now, err = attempt.On(s).GiveUp(t.Context(), roomtest.Item(1), notification.Cancelled, "why")
		return err
	})
	require.Equal(t, notification.Pending, now)
}

// The default texts of the migrations serve every channel.
func TestDefaultDigestTemplates(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SealItems(2))
	postgrestest.Exec(t, s, "UPDATE notification SET title = 'R & D', body = '<b>4 stars</b>' WHERE delivery_id = $1", roomtest.Item(1))
	begun := roomtest.BeginDigest(t, s, "digest-1")
	recipient := notification.Recipient{Name: "Ada & Bob"}
	var listed []notification.DigestItem
	for _, item := range begun.Begun {
		listed = append(listed, notification.DigestItem{Title: item.Message.Title, Body: item.Message.Body})
	}
	plain := notification.Text{Title: "2 notifications", Body: "• R & D: <b>4 stars</b>\n• ttttt: bbbbb\n"}
	for _, channel := range notification.Channels() {
		want := plain
		if channel == notification.Email {
			want.Body = "<p>Hello Ada &amp; Bob,</p><h3>R &amp; D</h3><div><b>4 stars</b></div><h3>ttttt</h3><div>bbbbb</div>"
		}
		if channel == notification.Slack {
			want.Body = "• R &amp; D: &lt;b&gt;4 stars&lt;/b&gt;\n• ttttt: bbbbb\n"
		}
		text, err := template.Engine{}.Digest(begun.Templates, "REVIEW_POSTED", channel, recipient, listed)
		require.NoError(t, err, channel)
		require.Equal(t, want, text, channel)
	}
	require.Equal(t, "1 notification", roomtest.Must(template.Engine{}.Digest(begun.Templates, "REVIEW_POSTED", notification.Push, recipient,
		listed[:1]))(t).Title)
}
