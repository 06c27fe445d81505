package explain

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
	"herald/internal/postgres/report"
)

// How many come before somebody is counted as far as need be, and no further than
// 2,000 people; what is not known is said.
func TestWhyCountsThoseBefore(t *testing.T) {
	t.Parallel()

	d := directory{Store: postgrestest.New(t)}
	d.exec(t, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')")
	d.exec(t, "INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'RESTAURANT', '5', '{}')")
	d.exec(t, "INSERT INTO recipient (user_type, user_id, email) SELECT 'RESTAURANT_USER', i::text, CASE WHEN i IN (1, 1500, 2200) THEN 'a@example.com' END FROM generate_series(1, 2200) AS i")
	d.exec(t, "INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', '5', user_type, user_id, 'STAFF' FROM recipient")
	d.exec(t, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, max_recipients) VALUES ('RESTAURANT', '5', 'EMAIL', 3)")
	tests := []struct {
		name      string
		limit     int
		userID    string
		uncounted bool
		want      notification.Decision
	}{
		{name: "the first", limit: 1, userID: "1", want: notification.DecisionSelected},
		{name: "all before are counted", limit: 2, userID: "1500", want: notification.DecisionSelected},
		{name: "it is used up", limit: 1, userID: "1500", want: notification.DecisionMaxRecipients},
		{name: "it is used up long before", limit: 2, userID: "2200", want: notification.DecisionMaxRecipients},
		{name: "too many come before", limit: 3, userID: "2200", uncounted: true, want: notification.DecisionSelected},
	}
	for _, tt := range tests { // one after the other: they change the same row
		d.exec(t, "UPDATE entity_notification_settings SET max_recipients = $1", tt.limit)

		why, err := Explainer{Store: d.Store, Unreachable: errors.New("down")}.Why(t.Context(),
			report.DecisionKey{EventID: "evt-1", UserType: notification.RestaurantUser, UserID: tt.userID, Channel: notification.Email})

		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, why.Rules.Decision, tt.name)
		require.Equal(t, tt.uncounted, why.Rules.Uncounted, tt.name)
	}
}

// Of an event that was purged, the delivery's row says through which entity it named
// somebody; the rules of that entity are explained.
func TestWhyOfAPurgedEvent(t *testing.T) {
	t.Parallel()

	d := directory{Store: postgrestest.New(t)}
	d.exec(t, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')")
	d.exec(t, "INSERT INTO recipient (user_type, user_id) VALUES ('RESTAURANT_USER', '1'), ('RESTAURANT_USER', '2')")
	d.exec(t, "INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '1', 'STAFF')")
	d.exec(t, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, enabled) VALUES ('RESTAURANT', '5', 'EMAIL', false)")
	d.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body)
		SELECT 'evt-1', 'T', user_type, user_id, 'RESTAURANT', '5', 'EMAIL', 'evt-1-staff' || user_id || '-EMAIL', 'title', 'body' FROM recipient`)
	e := Explainer{Store: d.Store, Unreachable: errors.New("down")}

	member, err := e.WhyDelivery(t.Context(), "evt-1-staff1-EMAIL")
	require.NoError(t, err)
	require.Equal(t, "RESTAURANT/5", member.Rules.SettingsOf)
	require.Equal(t, notification.DecisionGroupDisabled, member.Rules.Decision)

	left, err := e.WhyDelivery(t.Context(), "evt-1-staff2-EMAIL")
	require.NoError(t, err)
	require.Equal(t, []string{"they are no member of RESTAURANT/5"}, left.Rules.Unreached)
}
