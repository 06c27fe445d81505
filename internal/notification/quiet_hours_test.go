package notification_test

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func hours(start, end string) notification.QuietHours {
	return notification.QuietHours{Start: clock(start), End: clock(end)}
}

// clock is the time since midnight of "22:00".
func clock(text string) time.Duration {
	t, err := time.Parse("15:04", text)
	if err != nil {
		panic(err)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}

func TestQuietHoursContains(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name       string
		start, end string
		at         string
		want       bool
	}{
		{"before", "13:00", "15:00", "12:59:59", false},
		{"start", "13:00", "15:00", "13:00:00", true},
		{"within", "13:00", "15:00", "14:00:00", true},
		{"last second", "13:00", "15:00", "14:59:59", true},
		{"end", "13:00", "15:00", "15:00:00", false},
		{"wrapped, before", "22:00", "08:00", "21:59:59", false},
		{"wrapped, start", "22:00", "08:00", "22:00:00", true},
		{"wrapped, midnight", "22:00", "08:00", "00:00:00", true},
		{"wrapped, last second", "22:00", "08:00", "07:59:59", true},
		{"wrapped, end", "22:00", "08:00", "08:00:00", false},
		{"until midnight", "22:00", "00:00", "23:59:59", true},
		{"until midnight, at midnight", "22:00", "00:00", "00:00:00", false},
		{"from midnight", "00:00", "08:00", "00:00:00", true},
		{"start is end", "10:00", "10:00", "10:00:00", false},
		{"start is end at midnight", "00:00", "00:00", "12:00:00", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			now, err := time.Parse(time.DateTime, "2026-03-01 "+tt.at)
			require.NoError(t, err)
			require.Equal(t, tt.want, hours(tt.start, tt.end).Contains(now))
		})
	}
}

func TestQuietHoursUntil(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name       string
		zone       string
		start, end string
		now, want  string
	}{
		{"same day", "Europe/Rome", "13:00", "15:00", "2026-06-01T14:10:00+02:00", "2026-06-01T15:00:00+02:00"},
		{"over midnight", "Europe/Rome", "22:00", "08:00", "2026-06-01T23:00:00+02:00", "2026-06-02T08:00:00+02:00"},
		{"a short night", "Europe/Rome", "22:00", "08:00", "2026-03-28T23:00:00+01:00", "2026-03-29T08:00:00+02:00"},
		{"a long night", "Europe/Rome", "22:00", "08:00", "2026-10-24T23:00:00+02:00", "2026-10-25T08:00:00+01:00"},
		{"an end that does not exist", "Europe/Rome", "22:00", "02:30", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"an end that is the gap's start", "Europe/Rome", "22:00", "02:00", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		{"an end that comes twice, before both", "Europe/Rome", "22:00", "02:30", "2026-10-25T01:00:00+02:00", "2026-10-25T02:30:00+02:00"},
		{"an end that comes twice, between them", "Europe/Rome", "22:00", "02:30", "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+01:00"},
		{"the clocks go back into the hours", "Europe/Rome", "01:00", "03:00", "2026-10-25T02:50:00+02:00", "2026-10-25T03:00:00+01:00"},
		{"half an hour forward", "Australia/Lord_Howe", "22:00", "02:15", "2026-10-04T01:50:00+10:30", "2026-10-04T02:30:00+11:00"},
		{"midnight does not exist", "America/Sao_Paulo", "22:00", "00:00", "2018-11-03T23:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{"a day does not exist", "Pacific/Apia", "22:00", "08:00", "2011-12-29T23:00:00-10:00", "2011-12-31T08:00:00+14:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			now, q := at(t, tt.now, tt.zone), hours(tt.start, tt.end)
			require.True(t, q.Contains(now))
			require.Equal(t, tt.want, q.Until(now).Format(time.RFC3339))
		})
	}
}

// Whatever the zone and the hour, the end is the first minute that is not
// contained: found here by looking at every minute.
func TestQuietHoursUntilIsTheFirstMomentOutside(t *testing.T) {
	t.Parallel()

	zones := []string{
		"UTC", "Europe/Rome", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia",
		"America/Sao_Paulo", "Africa/Casablanca", "America/St_Johns", "Antarctica/Troll", "Pacific/Chatham",
	}
	for seed, zone := range zones {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()

			location, err := time.LoadLocation(zone)
			require.NoError(t, err)
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			for range 400 {
				now := instant(random, location)
				q := notification.QuietHours{
					Start: time.Duration(random.IntN(24*60)) * time.Minute,
					End:   time.Duration(random.IntN(24*60)) * time.Minute,
				}
				if q.Contains(now) {
					requireFirstOutside(t, q, now, q.Until(now))
				}
			}
		})
	}
}

// instant is a whole minute, half of the time close to a change of the clocks.
func instant(random *rand.Rand, location *time.Location) time.Time {
	from := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC)
	now := from.Add(time.Duration(random.IntN(20*365*24*60)) * time.Minute).In(location)
	if _, change := now.ZoneBounds(); random.IntN(2) == 0 && !change.IsZero() {
		now = change.Add(time.Duration(random.IntN(48*60)-36*60) * time.Minute)
	}
	return now
}

func requireFirstOutside(t *testing.T, q notification.QuietHours, now, until time.Time) {
	t.Helper()
	require.True(t, until.After(now))
	require.LessOrEqual(t, until.Sub(now), 27*time.Hour, "%v from %v", q, now)
	require.False(t, q.Contains(until), "%v from %v until %v", q, now, until)
	require.True(t, q.Contains(until.Add(-time.Nanosecond)), "%v from %v until %v", q, now, until)
	for minute := now; minute.Before(until); minute = minute.Add(time.Minute) {
		require.True(t, q.Contains(minute), "%v from %v until %v: %v", q, now, until, minute)
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()

	night := hours("22:00", "08:00")
	now := time.Date(2026, 6, 1, 21, 0, 0, 0, time.UTC) // 23:00 in Rome
	tests := []struct {
		name     string
		channel  notification.Channel
		hours    *notification.QuietHours
		timezone string
		want     string // until; empty: not quiet
		wantErr  string
	}{
		{"quiet", notification.Email, &night, "Europe/Rome", "2026-06-02T08:00:00+02:00", ""},
		{"quiet for a push", notification.Push, &night, "Europe/Rome", "2026-06-02T08:00:00+02:00", ""},
		{"quiet for a text message", notification.SMS, &night, "Europe/Rome", "2026-06-02T08:00:00+02:00", ""},
		{"not quiet over there", notification.Email, &night, "America/New_York", "", ""},
		{"empty is UTC", notification.Email, &night, "", "", ""},
		{"off", notification.Email, nil, "Europe/Rome", "", ""},
		{"off, and the zone is nobody's business", notification.Email, nil, "Mars/Olympus", "", ""},
		{"never for a websocket", notification.WebSocket, &night, "Mars/Olympus", "", ""},
		{"never for Slack", notification.Slack, &night, "Mars/Olympus", "", ""},
		{"unknown zone", notification.Email, &night, "Mars/Olympus", "", `time zone "Mars/Olympus" is unknown: quiet hours cannot be judged`},
		{"another zone on each machine", notification.Email, &night, "Local", "", `time zone "Local" is unknown: quiet hours cannot be judged`},
		{"another file on each machine", notification.Email, &night, "localtime", "", `time zone "localtime" is unknown: quiet hours cannot be judged`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			quiet, until, err := notification.Quiet(notification.Preference{Channel: tt.channel, QuietHours: tt.hours}, tt.timezone, now)

			if tt.wantErr != "" {
				require.EqualError(t, err, tt.wantErr)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tt.want != "", quiet)
			if quiet {
				require.Equal(t, tt.want, until.Format(time.RFC3339))
			}
		})
	}
}

func at(t *testing.T, instant, zone string) time.Time {
	t.Helper()
	location, err := time.LoadLocation(zone)
	require.NoError(t, err)
	now, err := time.Parse(time.RFC3339, instant)
	require.NoError(t, err)
	require.Equal(t, instant, now.In(location).Format(time.RFC3339), "the case itself")
	return now.In(location)
}
