package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// Whether a message may be switched off, and by which category, is what holds now, for
// single messages and digests alike. What has no routing row any more is not optional.
func TestOptionalMessages(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, rules string
		category    string
		optional    bool
	}{
		{name: "no routing row"},
		{name: "optional", rules: `INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'EMAIL')`, optional: true},
		{name: "optional over another channel alone", rules: `INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory) VALUES ('RESERVATION_REQUESTED', 'EMAIL', true), ('RESERVATION_REQUESTED', 'SMS', false)`},
		{name: "optional, with a category", rules: `
			INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'EMAIL');
			INSERT INTO event_category (event_type, category) VALUES ('RESERVATION_REQUESTED', 'reservations'), ('OTHER', 'offers')`, category: "reservations", optional: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			emit(t, s, 1)
			addRecipient(t, s, notification.RestaurantUser, "10")
			exec(t, s, tt.rules)
			savePlan(t, s, decided("10", planned(notification.Email)))
			single := begin(t, s, "evt-1-staff10-EMAIL", 0).Message
			require.Equal(t, tt.category, single.Category)
			require.Equal(t, tt.optional, single.Optional)
		})
	}
}
