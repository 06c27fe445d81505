package preference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/roomtest"
)

// withCategories returns a store with customer 7, event types that reach customers over
// mandatory and optional channels, and other event types.
func withCategories(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserID: "7", Timezone: "Europe/Rome"})
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "PAID", Mandatory: true},
		postgrestest.Route{EventType: "PAID", Channel: notification.WebSocket, Mandatory: true}, postgrestest.Route{EventType: "OFFER"},
		postgrestest.Route{EventType: "OFFER", Channel: notification.WebSocket, Mandatory: true},
		postgrestest.Route{EventType: "OFFER", Channel: notification.Slack},
		postgrestest.Route{EventType: "SALE", Mandatory: true}, postgrestest.Route{EventType: "SALE", Channel: notification.SMS},
		postgrestest.Route{EventType: "SHIFT", Channel: notification.WebSocket},
		postgrestest.Route{EventType: "ALERT", Channel: notification.WebSocket},
		postgrestest.Target{EventType: "PAID", UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "id"},
		postgrestest.Target{EventType: "SALE", EntityType: "BROADCAST"},
		postgrestest.Target{EventType: "SHIFT", UserType: notification.RestaurantUser, EntityType: "RESTAURANT", EntityIDPath: "id"},
		postgrestest.Target{EventType: "ALERT"}, postgrestest.Category{EventType: "PAID", Category: "orders"},
		postgrestest.Category{EventType: "OFFER"}, postgrestest.Category{EventType: "SALE"},
		postgrestest.Category{EventType: "SHIFT", Category: "work"}, postgrestest.Category{EventType: "ALERT", Category: "work"},
		postgrestest.Category{EventType: "UNROUTED", Category: "nothing"})
	return s
}

func preferencesOf(t *testing.T, s *db.DB, who notification.RecipientKey) string {
	t.Helper()
	found := roomtest.Must(preference.On(s).Preferences(t.Context(), who))(t)
	require.WithinDuration(t, time.Now(), *found.AsOf, time.Hour)
	found.AsOf = nil
	text := roomtest.Must(json.Marshal(found))(t)
	return string(text)
}

const asDirectory = `{"timezone":"Europe/Rome","channels":[
	{"channel":"WEBSOCKET","enabled":true,"mandatory":true},
	{"channel":"EMAIL","enabled":true,"mandatory":false,"quiet_hours":{"enabled":false}},
	{"channel":"PUSH","enabled":true,"mandatory":false,"quiet_hours":{"enabled":false}},
	{"channel":"SMS","enabled":true,"mandatory":false,"quiet_hours":{"enabled":false}},
	{"channel":"WEBHOOK","enabled":true,"mandatory":false}],
	"categories":[
	{"category":"offers","channels":[{"channel":"WEBSOCKET","enabled":true,"mandatory":true},
		{"channel":"EMAIL","enabled":true,"mandatory":false},{"channel":"SMS","enabled":true,"mandatory":false}]},
	{"category":"orders","channels":[{"channel":"WEBSOCKET","enabled":true,"mandatory":true},
		{"channel":"EMAIL","enabled":true,"mandatory":true}]}]}`

// A recipient who has set nothing sees the channels that serve them, and the categories
// that may reach them. Mandatory ones are on, whatever a row says.
func TestPreferences(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	require.JSONEq(t, asDirectory, preferencesOf(t, s, roomtest.Customer7))

	postgrestest.Add(t, s.Pool,
		postgrestest.Preference{UserType: notification.Customer, UserID: "7", Channel: notification.WebSocket, Off: true},
		postgrestest.Preference{UserType: notification.Customer, UserID: "8", Off: true},
		postgrestest.Preference{UserType: notification.Guest, UserID: "7", Off: true},
		postgrestest.CategoryPreference{UserType: notification.Customer, UserID: "7", Category: "orders", Off: true},
		postgrestest.CategoryPreference{UserType: notification.Customer, UserID: "7", Category: "gone", Off: true},
		postgrestest.CategoryPreference{UserType: notification.Customer, UserID: "8", Off: true})
	require.JSONEq(t, asDirectory, preferencesOf(t, s, roomtest.Customer7))

	found := roomtest.Must(preference.On(s).Preferences(t.Context(), notification.RecipientKey{UserType: "NOBODY", UserID: "1"}))(t)
	found.AsOf = nil
	require.Equal(t, notification.Preferences{Timezone: "UTC", Channels: []notification.ChannelPreference{},
		Categories: []notification.CategoryPreference{}}, found)
}

func set(t *testing.T, s *db.DB, preferences string) error {
	t.Helper()
	var wanted notification.Preferences
	require.NoError(t, json.Unmarshal([]byte(preferences), &wanted))
	return preference.On(s).SetPreferences(t.Context(), roomtest.Customer7, wanted)
}

// Stored preferences are read back. Preferences that are not named stay. The result of a
// read can be stored.
func TestSetPreferences(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	require.NoError(t, set(t, s, asDirectory))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM user_settings"), "the zone of the directory is not stored")
	postgrestest.Exec(t, s, "UPDATE user_notification_preferences SET priority = 'HIGH'")

	require.NoError(t, set(t, s, `{"timezone":"America/New_York",
		"channels":[{"channel":"EMAIL","enabled":false,"quiet_hours":{"enabled":true,"start":"22:00","end":"07:30:15"}}],
		"categories":[{"category":"offers","channels":[{"channel":"SMS","enabled":false}]}]}`))
	want := strings.NewReplacer(`Europe/Rome`, `America/New_York`,
		`{"channel":"EMAIL","enabled":true,"mandatory":false,"quiet_hours":{"enabled":false}}`,
		`{"channel":"EMAIL","enabled":false,"mandatory":false,"quiet_hours":{"enabled":true,"start":"22:00","end":"07:30:15"}}`,
		`{"channel":"SMS","enabled":true,"mandatory":false}`, `{"channel":"SMS","enabled":false,"mandatory":false}`).Replace(asDirectory)
	require.JSONEq(t, want, preferencesOf(t, s, roomtest.Customer7))
	require.NoError(t, set(t, s, want))
	require.NoError(t, set(t, s, `{"channels":[{"channel":"SMS","enabled":true}]}`))
	require.JSONEq(t, want, preferencesOf(t, s, roomtest.Customer7))
	require.Equal(t, "HIGH", postgrestest.Get[string](t, s, "SELECT DISTINCT priority FROM user_notification_preferences"))

	require.NoError(t,
		set(t, s, `{"channels":[{"channel":"EMAIL","enabled":true,"quiet_hours":{"enabled":false,"start":"22:00","end":"08:00"}}]}`))
	require.Equal(t, "22:00:00 08:00:00 false true", postgrestest.Get[string](t, s, `
		SELECT quiet_hours_start || ' ' || quiet_hours_end || ' ' || quiet_hours_enabled || ' ' || enabled
		FROM   user_notification_preferences
		WHERE  channel_type = 'EMAIL'`))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM user_settings WHERE user_id <> '7'"))
}

// Every zone of Go's database is stored, whatever the server's files know, under its present name.
func TestSetTimezone(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	for wanted, stored := range map[string]string{"America/Coyhaique": "America/Coyhaique", "Asia/Calcutta": "Asia/Kolkata",
		"Europe/Kiev": "Europe/Kyiv", "US/Pacific": "America/Los_Angeles", "Europe/Oslo": "Europe/Oslo"} {
		require.NoError(t, set(t, s, `{"timezone":"`+wanted+`"}`), wanted)
		require.Equal(t, []string{stored}, postgrestest.List(t, s, "SELECT timezone FROM user_settings"))
	}
	require.EqualError(t, set(t, s, `{"timezone":"PST"}`),
		`the time zone "PST" is unknown: use a name of the IANA database, such as Europe/Rome`)

	postgrestest.Exec(t, s, "DELETE FROM user_settings; UPDATE recipient SET timezone = 'Asia/Calcutta'")
	require.NoError(t, set(t, s, `{"timezone":"Asia/Calcutta"}`))
	require.Empty(t, postgrestest.List(t, s, "SELECT timezone FROM user_settings"), "the directory's zone stays")
}

// A recipient sees and changes the time of their digests, if a digest has a time.
func TestSetDigestTime(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	digestAt := func() *string {
		return roomtest.Must(preference.On(s).Preferences(t.Context(), roomtest.Customer7))(t).DigestAt
	}
	require.Nil(t, digestAt())
	postgrestest.Exec(t, s,
		"UPDATE event_type_channel_routing SET delivery_strategy = 'AGGREGATE', digest_at = '09:00' WHERE channel_type = 'EMAIL'")
	require.Empty(t, *digestAt())

	require.NoError(t, set(t, s, `{"digest_at":"07:30"}`))
	require.Equal(t, "07:30", *digestAt())
	require.NoError(t, set(t, s, `{"timezone":"Asia/Tokyo"}`))
	require.Equal(t, "07:30", *digestAt(), "the time stays")
	require.NoError(t, set(t, s, `{"digest_at":""}`))
	require.Empty(t, *digestAt())
	require.ErrorContains(t, set(t, s, `{"digest_at":"25:00"}`), "25:00")
}

// If one preference is wrong, nothing is stored.
func TestSetWrongPreferences(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	var wrong *notification.PreferenceError
	err := set(t, s, `{"timezone":"America/New_York","channels":[{"channel":"EMAIL","enabled":false},{"channel":"WEBSOCKET","enabled":false}],
		"categories":[{"category":"offers","channels":[{"channel":"EMAIL","enabled":false}]},{"category":"orders",
		"channels":[{"channel":"EMAIL","enabled":false}]}]}`)
	require.ErrorAs(t, err, &wrong)
	require.Len(t, wrong.Problems, 2)

	require.JSONEq(t, asDirectory, preferencesOf(t, s, roomtest.Customer7))
}

// off reports whether a person gets no mails about offers.
func off(t *testing.T, s *db.DB) bool {
	t.Helper()
	return roomtest.Must(preference.On(s).Preferences(t.Context(), roomtest.Customer7))(t).Off("offers", notification.Email)
}

// A document that a client has read and sends back changes nothing that somebody else changed since,
// and nothing that is mandatory now.
func TestPreferencesKeepNewerChoices(t *testing.T) {
	t.Parallel()

	read := func(t *testing.T, s *db.DB) notification.Preferences {
		return roomtest.Must(preference.On(s).Preferences(t.Context(), roomtest.Customer7))(t)
	}
	store := func(t *testing.T, s *db.DB, p notification.Preferences) {
		p.Timezone = "America/New_York"
		require.NoError(t, preference.On(s).SetPreferences(t.Context(), roomtest.Customer7, p))
	}
	mandatory := func(t *testing.T, s *db.DB, value bool) {
		postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET mandatory = $1 WHERE channel_type = 'EMAIL'", value)
	}
	optional := func(t *testing.T, s *db.DB) {
		postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET mandatory = false")
	}
	for _, category := range []string{"offers", ""} {
		t.Run("a newer click "+category, func(t *testing.T) {
			t.Parallel()

			s := withCategories(t)
			optional(t, s)
			stale := read(t, s)
			require.NoError(t, preference.On(s).Unsubscribe(t.Context(), roomtest.Customer7, category, notification.Email))
			store(t, s, stale)
			require.True(t, off(t, s))
			require.Equal(t, []string{"unsubscribe link"},
				postgrestest.List(t, s,
					"SELECT DISTINCT changed_by FROM (SELECT changed_by FROM user_category_preferences UNION ALL SELECT changed_by "+
						"FROM user_notification_preferences) p"))
			fresh := read(t, s)
			store(t, s, fresh)
			require.True(t, off(t, s))

			fresh.AsOf = nil // an explicit choice
			for i := range fresh.Channels {
				fresh.Channels[i].Enabled = new(true)
			}
			for _, g := range fresh.Categories {
				for i := range g.Channels {
					g.Channels[i].Enabled = new(true)
				}
			}
			store(t, s, fresh)
			require.False(t, off(t, s))
		})
		t.Run("mandatory meanwhile "+category, func(t *testing.T) {
			t.Parallel()

			for _, asOf := range []bool{true, false} {
				s := withCategories(t)
				optional(t, s)
				require.NoError(t, preference.On(s).Unsubscribe(t.Context(), roomtest.Customer7, category, notification.Email))
				mandatory(t, s, true)
				p := read(t, s)
				require.False(t, off(t, s), "mandatory messages come")
				if !asOf {
					p.AsOf = nil
				}
				store(t, s, p)
				mandatory(t, s, false)
				require.True(t, off(t, s), "the choice is kept")
			}
		})
	}
}

// A change may name quiet hours alone: it leaves the switch as it is. Quiet hours that end when they
// start are refused with a sentence.
func TestSetQuietHours(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	require.NoError(t, preference.On(s).Unsubscribe(t.Context(), roomtest.Customer7, "offers", notification.Email))
	require.NoError(t, set(t, s, `{"channels":[{"channel":"EMAIL","quiet_hours":{"enabled":true,"start":"22:00","end":"08:00"}}]}`))
	require.True(t, off(t, s))
	require.Equal(t, "true 22:00:00",
		postgrestest.Get[string](t, s, "SELECT enabled || ' ' || quiet_hours_start FROM user_notification_preferences"))
	require.NoError(t, set(t, s, `{"channels":[{"channel":"SMS","quiet_hours":{"enabled":false}}]}`))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM user_notification_preferences"))

	var wrong *notification.PreferenceError
	require.ErrorAs(t, set(t, s, `{"channels":[{"channel":"EMAIL"}]}`), &wrong)
	for _, times := range [][2]string{{"00:00", "00:00"}, {"22:00", "22:00:00"}, {"10:10", "10:10:00.000"}, {"23:59:59.5", "23:59:59.50"}} {
		err := set(t, s,
			fmt.Sprintf(`{"channels":[{"channel":"SMS","enabled":true,"quiet_hours":{"enabled":true,"start":%q,"end":%q}}]}`, times[0], times[1]))
		require.ErrorAs(t, err, &wrong, times)
		require.Equal(t, []string{"the quiet hours of SMS end when they start: to get nothing over it, switch it off"}, wrong.Problems)
	}
	for _, times := range [][2]string{{"10:00", "01:00"}, {"20:00", "02:00"}, {"00:00", "00:00:00.1"}, {"10:10", "10:01"}} {
		require.NoError(t,
			set(t, s, fmt.Sprintf(`{"channels":[{"channel":"SMS","enabled":true,"quiet_hours":{"enabled":true,"start":%q,"end":%q}}]}`, times[0],
				times[1])), times)
	}
}

// A recipient with several open pages can store from all of them.
func TestSetPreferencesSideBySide(t *testing.T) {
	t.Parallel()

	s := withCategories(t)
	orders := [][2]string{{"EMAIL", "SMS"}, {"SMS", "EMAIL"}}
	roomtest.SideBySide(t, 20, func(i int) error {
		first, second := orders[i%2][0], orders[i%2][1]
		return set(t, s, fmt.Sprintf(`{"timezone":"America/New_York","channels":[{"channel":%[1]q,"enabled":false},
		{"channel":%[2]q,"enabled":false}],
			"categories":[{"category":"offers","channels":[{"channel":%[1]q,"enabled":false},{"channel":%[2]q,"enabled":false}]}]}`, first, second))
	})
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM user_category_preferences WHERE NOT enabled"))
}

// An unsubscribe switches off the category, or the channel if there is none, as the inbox
// would. Mandatory ones stay on, with an error.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()

	const categories, channels = "SELECT category || ' ' || channel_type FROM user_category_preferences WHERE user_id = '7' AND NOT enabled",
		"SELECT channel_type FROM user_notification_preferences WHERE user_id = '7' AND NOT enabled"
	tests := []struct {
		name       string
		category   string
		channel    notification.Channel
		mandatory  string // in the error; empty: no error
		categories []string
		channels   []string
	}{
		{name: "category", category: "offers", channel: notification.Email, categories: []string{"offers EMAIL"}},
		{name: "channel", channel: notification.Email, channels: []string{"EMAIL"}},
		{name: "category without event types", category: "gone", channel: notification.Email, categories: []string{"gone EMAIL"}},
		{name: "mandatory category", category: "orders", channel: notification.Email, mandatory: "orders over EMAIL is mandatory"},
		{name: "mandatory channel", channel: notification.WebSocket, mandatory: "WEBSOCKET cannot be switched off"},
	}
	s := withCategories(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			postgrestest.Exec(t, s, "DELETE FROM user_category_preferences; DELETE FROM user_notification_preferences")
			postgrestest.Add(t, s.Pool, postgrestest.CategoryPreference{UserType: notification.Customer, UserID: "7"})
			for range 2 {
				err := preference.On(s).Unsubscribe(t.Context(), roomtest.Customer7, tt.category, tt.channel)
				if tt.mandatory != "" {
					var refused *notification.PreferenceError
					require.ErrorAs(t, err, &refused)
					require.ErrorContains(t, err, tt.mandatory)
				} else {
					require.NoError(t, err)
				}
				require.ElementsMatch(t, tt.categories, postgrestest.List(t, s, categories))
				require.ElementsMatch(t, tt.channels, postgrestest.List(t, s, channels))
			}
		})
	}
}

// An unsubscribe from a provider switches off the same, once. If the recipient undoes it in their inbox,
// a repeat from the provider changes nothing.
func TestReceiptUnsubscribes(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.SendMail)
	receipt := notification.Receipt{Provider: "sendgrid", ID: "r-1", DeliveryID: roomtest.Mail, MessageID: "m", Word: "unsubscribe",
		At: roomtest.Day, Unsubscribes: true}
	roomtest.Record(t, s, receipt)
	require.Equal(t, []string{"EMAIL 10"},
		postgrestest.List(t, s, "SELECT channel_type || ' ' || user_id FROM user_notification_preferences WHERE NOT enabled"))

	postgrestest.Add(t, s.Pool, postgrestest.Category{EventType: "RESERVATION_REQUESTED", Category: "reservations"})
	receipt.ID = "r-2"
	roomtest.Record(t, s, receipt)
	require.Equal(t, []string{"reservations EMAIL 10"},
		postgrestest.List(t, s, "SELECT category || ' ' || channel_type || ' ' || user_id FROM user_category_preferences WHERE NOT enabled"))

	postgrestest.Exec(t, s, "UPDATE user_category_preferences SET enabled = true")
	require.True(t, roomtest.Record(t, s, receipt)[0].Repeated)
	require.True(t, postgrestest.Get[bool](t, s, "SELECT enabled FROM user_category_preferences"))
	require.Equal(t, "SENT", roomtest.Delivery(t, s, roomtest.Mail).Status)
}

// Every writer of a choice leaves a record of its time and way. The record stays until the
// next choice.
func TestConsentIsRecorded(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	who := notification.RecipientKey{UserType: notification.Customer, UserID: "1"}
	roomtest.AddRecipient(t, s, who.UserType, who.UserID)
	postgrestest.Add(t, s.Pool, postgrestest.Category{EventType: "PROMOTION"}, postgrestest.Route{EventType: "PROMOTION"})
	consents := func() []string {
		return postgrestest.List(t, s, `
			SELECT concat_ws(' ', channel_type, enabled, changed_by) FROM user_notification_preferences
			WHERE changed_at > now() - interval '1 minute'
			UNION ALL
			SELECT concat_ws(' ', category, channel_type, enabled, changed_by) FROM user_category_preferences
			WHERE changed_at > now() - interval '1 minute'
			ORDER BY 1`)
	}

	require.NoError(t, preference.On(s).Unsubscribe(t.Context(), who, "offers", notification.Email))
	require.Equal(t, []string{"offers EMAIL f unsubscribe link"}, consents())
	require.NoError(t, preference.On(s).SetPreferences(t.Context(), who,
		notification.Preferences{Channels: []notification.ChannelPreference{{Channel: notification.Email, Enabled: new(true)}}}))
	require.Contains(t, consents(), "EMAIL t inbox")
	postgrestest.Exec(t, s, "UPDATE user_category_preferences SET changed_at = now() - interval '1 day'")
	require.NoError(t, preference.On(s).Unsubscribe(t.Context(), who, "offers", notification.Email))
	require.Equal(t, []string{"EMAIL t inbox"}, consents(), "a repeated choice keeps its first record")
	postgrestest.Exec(t, s, "UPDATE user_category_preferences SET enabled = true")
	require.Contains(t, consents(), "offers EMAIL t "+postgrestest.Get[string](t, s, "SELECT session_user::text"))
}
