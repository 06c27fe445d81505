package inbox_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/preference"
	"herald/internal/roomtest"
)

// group is a receipt of SendGrid's page of groups, some minutes after `day`.
func group(word string, minutes int) notification.Receipt {
	return notification.Receipt{
		Provider: "sendgrid", ID: fmt.Sprint(word,
			minutes), DeliveryID: roomtest.Mail, Word: word, At: roomtest.Day.Add(time.Duration(minutes) * time.Minute),
		Unsubscribes: word == "group_unsubscribe", Resubscribes: word == "group_resubscribe",
	}
}

// group_resubscribe takes back group_unsubscribe, in whichever order the receipts come, and nothing
// that the person chose elsewhere.
func TestResubscribe(t *testing.T) {
	t.Parallel()

	const stop, start = "group_unsubscribe", "group_resubscribe"
	for name, tt := range map[string]struct {
		receipts  []notification.Receipt
		ownChoice bool // the person also clicked the link of a mail
		off       bool
	}{
		"stop":                      {receipts: []notification.Receipt{group(stop, 1)}, off: true},
		"stop, start":               {receipts: []notification.Receipt{group(stop, 1), group(start, 2)}},
		"late start":                {receipts: []notification.Receipt{group(stop, 2), group(start, 1)}, off: true},
		"late stop":                 {receipts: []notification.Receipt{group(start, 2), group(stop, 1)}},
		"stop, start, stop":         {receipts: []notification.Receipt{group(stop, 1), group(start, 2), group(stop, 3)}, off: true},
		"start alone":               {receipts: []notification.Receipt{group(start, 1)}},
		"start after another click": {receipts: []notification.Receipt{group(stop, 1), group(start, 2)}, ownChoice: true, off: true},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprint(name, together), func(t *testing.T) {
				t.Parallel()

				s := roomtest.New(t, roomtest.SendMail)
				postgrestest.Add(t, s.Pool, postgrestest.Category{EventType: "RESERVATION_REQUESTED", Category: "news"})
				if tt.ownChoice {
					require.NoError(t, preference.On(s).Unsubscribe(t.Context(), notification.RecipientKey{UserType: "RESTAURANT_USER", UserID: "10"},
						"news", notification.Email))
				}
				if together {
					roomtest.Record(t, s, tt.receipts...)
				} else {
					for _, r := range tt.receipts {
						roomtest.Record(t, s, r)
					}
				}
				require.Equal(t, tt.off, postgrestest.Get[int](t, s, "SELECT count(*) FROM user_category_preferences WHERE NOT enabled") > 0)
			})
		}
	}
}

// The newest devices stay, and get the push: a device that is registered at the limit lets the oldest
// one leave, and inactive ones before it.
func TestOldestDeviceLeaves(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.AddRecipient(t, s, notification.Customer, "7")
	gateway := s
	register := func(token string) {
		roomtest.Must(inbox.On(gateway).RegisterDevice(t.Context(), roomtest.Customer7, token))(t)
	}
	for i := range db.MaxDevices {
		register(fmt.Sprintf("token-%02d", i))
	}
	tokens := func() []string { return postgrestest.List(t, s, "SELECT token FROM recipient_device ORDER BY token") }
	require.Len(t, tokens(), db.MaxDevices)

	register(`{"a browser"}`)
	require.Len(t, tokens(), db.MaxDevices)
	require.NotContains(t, tokens(), "token-00")
	require.Contains(t, tokens(), `{"a browser"}`)
	register("token-01") // it is the newest now
	register("another")
	require.NotContains(t, tokens(), "token-02")
	require.Contains(t, tokens(), "token-01")
	postgrestest.Exec(t, s, "UPDATE recipient_device SET active = false WHERE token = 'another'")
	register("one more")
	require.NotContains(t, tokens(), "another")
	require.Contains(t, tokens(), "token-03")
}

// What a merged person does counts for the target of the merge: sign-in, preferences,
// unsubscribing, devices, and receipts of mails that they got.
func TestMergedPeople(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SendMail)
	gateway := s
	staff10 := notification.RecipientKey{UserType: "RESTAURANT_USER", UserID: "10"}
	roomtest.AddRecipient(t, s, notification.Customer, "7")
	roomtest.AddRecipient(t, s, staff10.UserType, staff10.UserID)
	postgrestest.Add(t, s.Pool, postgrestest.Category{EventType: "RESERVATION_REQUESTED", Category: "news"})
	require.Equal(t, staff10, roomtest.Must(inbox.On(gateway).ActiveRecipient(t.Context(), staff10))(t))
	roomtest.Must(person.On(s).LinkMerged(t.Context(), staff10, roomtest.Customer7))(t)

	require.Equal(t, roomtest.Customer7, roomtest.Must(inbox.On(gateway).ActiveRecipient(t.Context(), staff10))(t))
	require.Equal(t, []notification.RecipientKey{roomtest.Customer7},
		roomtest.Must(inbox.On(gateway).ActiveRecipients(t.Context(),
			[]notification.RecipientKey{staff10, roomtest.Customer7}))(t), "their sockets end")
	preferences := roomtest.Must(preference.On(gateway).Preferences(t.Context(), staff10))(t)
	preferences.Timezone = "Asia/Tokyo"
	require.NoError(t, preference.On(gateway).SetPreferences(t.Context(), staff10, preferences))
	require.Equal(t, "Asia/Tokyo", roomtest.Must(preference.On(gateway).Preferences(t.Context(), roomtest.Customer7))(t).Timezone)
	id := roomtest.Must(inbox.On(gateway).RegisterDevice(t.Context(), staff10, "token"))(t)
	require.Equal(t, []string{"CUSTOMER"}, postgrestest.List(t, s, "SELECT user_type FROM recipient_device"))
	require.NoError(t, inbox.On(gateway).RemoveDevice(t.Context(), staff10, id))
	require.NoError(t, preference.On(gateway).Unsubscribe(t.Context(), staff10, "", notification.Email))
	roomtest.Record(t, s, group("group_unsubscribe", 1))
	for _, table := range []string{"user_settings", "user_notification_preferences", "user_category_preferences"} {
		require.Equal(t, []string{"CUSTOMER 7"}, postgrestest.List(t, s, "SELECT user_type || ' ' || user_id FROM "+table), table)
	}

	postgrestest.Exec(t, s, "UPDATE recipient SET active = false WHERE user_type = 'CUSTOMER'")
	_, err := inbox.On(gateway).ActiveRecipient(t.Context(), staff10)
	require.ErrorIs(t, err, notification.ErrNoRecipient)
}
