package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestWaitText(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 22, 30, 0, 0, time.UTC) // 23:30 in Rome
	tests := []struct {
		name  string
		until time.Duration // from now
		zone  string
		why   string
		want  string
	}{
		{"today", time.Hour, "UTC", notification.WaitDelay, "23:30 UTC: delay"},
		{"today, by the recipient's clock", 20 * time.Minute, "Europe/Rome", notification.WaitQuietHours, "23:50 Europe/Rome: quiet hours"},
		{"tomorrow, by the recipient's clock", time.Hour, "Europe/Rome", notification.WaitQuietHours, "22 Nov 00:30 Europe/Rome: quiet hours"},
		{"yesterday where they are", -6 * time.Hour, "Pacific/Auckland", notification.WaitDelay, "05:30 Pacific/Auckland: delay"},
		{"the same day of another month", 30 * 24 * time.Hour, "Europe/Rome", notification.WaitDelay, "21 Dec 23:30 Europe/Rome: delay"},
		{"no zone", time.Hour, "", notification.WaitDelay, "23:30 UTC: delay"},
		{"a zone that nobody knows", time.Hour, "Europe/Atlantis", notification.WaitDelay, "23:30 UTC: delay"},
		{"a zone that is another on each machine", time.Hour, "Local", notification.WaitDelay, "23:30 UTC: delay"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, notification.WaitText(now.Add(tt.until), now, tt.zone, tt.why), tt.name)
	}
}

func TestQuietText(t *testing.T) {
	t.Parallel()

	night, day := hours("22:00", "07:00"), hours("09:00", "17:00")
	now := time.Date(2026, 11, 21, 22, 14, 0, 0, time.UTC) // 23:14 in Rome
	tests := []struct {
		name    string
		channel notification.Channel
		hours   *notification.QuietHours
		zone    string
		want    string
	}{
		{"quiet over midnight", notification.SMS, &night, "Europe/Rome", "22:00-07:00 Europe/Rome, it is 23:14 there now, quiet until 07:00"},
		{"not quiet", notification.Push, &day, "Europe/Rome", "09:00-17:00 Europe/Rome, it is 23:14 there now, not quiet"},
		{"no zone", notification.Email, &night, "", "22:00-07:00 UTC, it is 22:14 there now, quiet until 07:00"},
		{"unknown zone", notification.Email, &night, "Mars/Olympus", `22:00-07:00 UTC (the time zone "Mars/Olympus" is unknown here, and taken as UTC), it is 22:14 there now, quiet until 07:00`},
		{"off", notification.SMS, nil, "Europe/Rome", "none"},
		{"never", notification.Slack, &night, "Europe/Rome", "SLACK is never quieted"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, ownQuietHours(tt.channel, tt.hours, tt.zone, now), tt.name)
	}
	group := notification.Setting{Channel: notification.Email, QuietHours: &night}
	require.Equal(t, "22:00-07:00 Europe/Rome, it is 23:14 there now, quiet until 07:00", group.QuietText("Europe/Rome", now))
	group.QuietTimezone = "America/New_York"
	require.Equal(t, "22:00-07:00 America/New_York, it is 17:14 there now, not quiet", group.QuietText("Europe/Rome", now))
	group.Channel = notification.Slack
	require.Equal(t, "SLACK is never quieted", group.QuietText("Europe/Rome", now))
	group.QuietHours = nil
	require.Empty(t, group.QuietText("Europe/Rome", now))
	require.Equal(t, "00:00:00.000001-00:00", notification.QuietHours{Start: time.Microsecond}.String())
	require.Equal(t, "23:59:30-07:05", notification.QuietHours{Start: clock("23:59") + 30*time.Second, End: clock("07:05")}.String())
}

func ownQuietHours(channel notification.Channel, hours *notification.QuietHours, zone string, now time.Time) string {
	recipient := notification.Recipient{Timezone: zone, Preferences: []notification.Preference{{Channel: channel, QuietHours: hours}}}
	return notification.EventSetup{}.Facts(recipient, channel, now, nil).OwnQuietHours()
}
