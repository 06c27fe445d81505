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
		{name: "today", until: time.Hour, zone: "UTC", why: notification.WaitDelay, want: "23:30 UTC: delay"},
		{name: "today, by the recipient's clock", until: 20 * time.Minute, zone: "Europe/Rome", why: notification.WaitQuietHours,
			want: "23:50 Europe/Rome: quiet hours"},
		{name: "tomorrow, by the recipient's clock", until: time.Hour, zone: "Europe/Rome", why: notification.WaitQuietHours,
			want: "2026-11-22 00:30 Europe/Rome: quiet hours"},
		{name: "a past time on the recipient's today", until: -6 * time.Hour, zone: "Pacific/Auckland", why: notification.WaitDelay,
			want: "05:30 Pacific/Auckland: delay"},
		{name: "the same day of another month", until: 30 * 24 * time.Hour, zone: "Europe/Rome", why: notification.WaitDelay,
			want: "2026-12-21 23:30 Europe/Rome: delay"},
		{name: "no zone", until: time.Hour, why: notification.WaitDelay, want: "23:30 UTC: delay"},
		{name: "an unknown zone", until: time.Hour, zone: "Europe/Atlantis", why: notification.WaitDelay, want: "23:30 UTC: delay"},
		{name: "a zone that differs between machines", until: time.Hour, zone: "Local", why: notification.WaitDelay, want: "23:30 UTC: delay"},
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
		{name: "quiet over midnight", channel: notification.SMS, hours: &night, zone: "Europe/Rome",
			want: "22:00-07:00 Europe/Rome, it is 23:14 Europe/Rome now, quiet until 07:00 Europe/Rome"},
		{name: "not quiet", channel: notification.Push, hours: &day, zone: "Europe/Rome",
			want: "09:00-17:00 Europe/Rome, it is 23:14 Europe/Rome now, not quiet"},
		{name: "no zone", channel: notification.Email, hours: &night, want: "22:00-07:00 UTC, it is 22:14 UTC now, quiet until 07:00 UTC"},
		{name: "unknown zone", channel: notification.Email, hours: &night, zone: "Mars/Olympus",
			want: `22:00-07:00 UTC (the time zone "Mars/Olympus" is unknown here, and taken as UTC), it is 22:14 UTC now, quiet until 07:00 UTC`},
		{name: "off", channel: notification.SMS, zone: "Europe/Rome", want: "none"},
		{name: "never", channel: notification.Slack, hours: &night, zone: "Europe/Rome", want: "SLACK is never quieted"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, ownQuietHours(tt.channel, tt.hours, tt.zone, now), tt.name)
	}
	group := notification.Setting{Channel: notification.Email, QuietHours: &night}
	require.Equal(t, "22:00-07:00 Europe/Rome, it is 23:14 Europe/Rome now, quiet until 07:00 Europe/Rome",
		group.QuietText("Europe/Rome", now))
	group.QuietTimezone = "America/New_York"
	require.Equal(t, "22:00-07:00 America/New_York, it is 17:14 America/New_York now, not quiet", group.QuietText("Europe/Rome", now))
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

func TestAhead(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	night := notification.Preference{
		Channel: notification.Email, QuietHours: &notification.QuietHours{Start: 23 * time.Hour, End: 8 * time.Hour},
	}
	always := night
	always.QuietHours = &notification.QuietHours{Start: time.Second, End: 0}
	group := notification.Setting{Channel: notification.Email, QuietHours: &notification.QuietHours{Start: 0, End: 2 * time.Second}}
	tests := []struct {
		name  string
		check notification.QuietCheck
		in    time.Duration
		tells []string // none: the text is empty
	}{
		{name: "by day", check: notification.QuietCheck{Preference: night}, in: time.Hour},
		{name: "at night, dropped", check: notification.QuietCheck{Preference: night}, in: 11 * time.Hour,
			tells: []string{"quiet hours until 2026-11-22 08:00 Europe/Rome", "dropped then", "DROP"}},
		{name: "at night, deferred", check: notification.QuietCheck{Preference: night, Action: notification.Defer}, in: 11 * time.Hour,
			tells: []string{"quiet hours until 2026-11-22 08:00 Europe/Rome", "waits until then", "DEFER"}},
		{name: "without an end",
			check: notification.QuietCheck{Preference: always, Groups: []notification.Setting{group}, Action: notification.Defer}, in: time.Hour,
			tells: []string{"48 hours", "dropped"}},
	}
	for _, tt := range tests {
		tt.check.Timezone = "Europe/Rome"
		said := tt.check.Ahead(now.Add(tt.in), now)
		require.Equal(t, len(tt.tells) == 0, said == "", tt.name)
		for _, fact := range tt.tells {
			require.Contains(t, said, fact, tt.name)
		}
	}
}
