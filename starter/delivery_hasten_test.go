package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/workflows"
)

func TestRescheduleWarnsOfQuietHours(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	d.exec(`INSERT INTO recipient (user_type, user_id, timezone) VALUES ('CUSTOMER', '1', 'Europe/Rome')`)
	d.exec(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		VALUES ('CUSTOMER', '1', 'EMAIL', true, '22:00', '08:00')`)
	d.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')`)
	noon, night := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	tests := []struct {
		name, action string
		instruction  instruction
		want         string
	}{
		{"by day", "DROP", instruction{argument: noon}, ""},
		{"at night, dropped", "DROP", instruction{argument: night}, "; THAT IS IN QUIET HOURS, and its event type then drops it: give it another time"},
		{"at night, deferred", "DEFER", instruction{argument: night}, "; that is in quiet hours, so it will wait on until 08:00 Europe/Rome: quiet hours"},
		{"now", "DROP", instruction{name: workflows.SendNow}, ""},
	}
	for _, tt := range tests {
		d.exec(`UPDATE event_type_channel_routing SET quiet_hours_action = $1`, tt.action)

		warning, err := d.warning(t.Context(), "d1", tt.instruction)

		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, warning, tt.name)
	}
}
