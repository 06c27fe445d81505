package notification_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
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
		now, err := time.Parse(time.DateTime, "2026-03-01 "+tt.at)
		require.NoError(t, err)
		require.Equal(t, tt.want, hours(tt.start, tt.end).Contains(now), tt.name)
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
		now, q := at(t, tt.now, tt.zone), hours(tt.start, tt.end)
		require.True(t, q.Contains(now), tt.name)
		require.Equal(t, tt.want, q.Until(now).Format(time.RFC3339), tt.name)
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

	night, evening := hours("22:00", "08:00"), hours("20:00", "22:00")
	now := time.Date(2026, 6, 1, 21, 0, 0, 0, time.UTC) // 23:00 in Rome
	tests := []struct {
		name     string
		channel  notification.Channel
		hours    *notification.QuietHours
		timezone string
		want     string // until; empty: not quiet
	}{
		{"quiet", notification.Email, &night, "Europe/Rome", "2026-06-02T08:00:00+02:00"},
		{"quiet for a push", notification.Push, &night, "Europe/Rome", "2026-06-02T08:00:00+02:00"},
		{"quiet for a text message", notification.SMS, &night, "Europe/Rome", "2026-06-02T08:00:00+02:00"},
		{"not quiet over there", notification.Email, &night, "America/New_York", ""},
		{"empty is UTC", notification.Email, &night, "", ""},
		{"off", notification.Email, nil, "Europe/Rome", ""},
		{"off, and the zone is nobody's business", notification.Email, nil, "Mars/Olympus", ""},
		{"never for a websocket", notification.WebSocket, &night, "Mars/Olympus", ""},
		{"never for Slack", notification.Slack, &night, "Mars/Olympus", ""},
		{"an unknown zone is UTC", notification.Email, &night, "Mars/Olympus", ""},
		{"an unknown zone is UTC, and quiet there", notification.Email, &evening, "Mars/Olympus", "2026-06-01T22:00:00Z"},
		{"a zone that Postgres knows", notification.Email, &evening, "europe/rome", "2026-06-01T22:00:00Z"},
		{"another that Postgres knows", notification.Email, &evening, "PST", "2026-06-01T22:00:00Z"},
		{"another zone on each machine", notification.Email, &evening, "Local", "2026-06-01T22:00:00Z"},
		{"another file on each machine", notification.Email, &evening, "localtime", "2026-06-01T22:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got := notification.Quiet(notification.Preference{Channel: tt.channel, QuietHours: tt.hours}, tt.timezone, now)

			require.Equal(t, tt.want != "", got.Quiet)
			if got.Quiet {
				require.Equal(t, tt.want, got.Until.Format(time.RFC3339))
			}
		})
	}
}

// It is quiet as long as the recipient's own hours or their group's hold, each by
// the clock of its zone.
func TestQuietOfAGroup(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 6, 1, 21, 0, 0, 0, time.UTC) // 23:00 in Rome, 17:00 in New York
	tests := []struct {
		name       string
		own, group string // start-end; empty: none
		zone       string // the group's
		want       string // until; empty: not quiet
	}{
		{"nobody's", "", "", "", ""},
		{"the group's alone", "", "22:00-07:00", "", "2026-06-02T07:00:00+02:00"},
		{"the group's, by its clock", "", "16:00-18:00", "America/New_York", "2026-06-01T18:00:00-04:00"},
		{"the group's, not by its clock", "", "22:00-07:00", "America/New_York", ""},
		{"the group's, in an unknown zone", "", "20:00-22:00", "PST", "2026-06-01T22:00:00Z"},
		{"the later of both", "22:00-06:00", "22:00-07:00", "", "2026-06-02T07:00:00+02:00"},
		{"one after the other", "22:00-07:00", "06:00-09:00", "", "2026-06-02T09:00:00+02:00"},
		{"and back to the first", "22:00-02:00", "02:00-22:00", "", "never"},
		{"a minute between them", "22:00-02:00", "02:01-22:00", "", "2026-06-02T02:00:00+02:00"},
		{"the group's, with the own one over", "12:00-14:00", "22:00-07:00", "", "2026-06-02T07:00:00+02:00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			preference := notification.Preference{Channel: notification.Email, QuietHours: stretch(tt.own)}
			setting := notification.Setting{QuietHours: stretch(tt.group), QuietTimezone: tt.zone}

			got := notification.Quiet(preference, "Europe/Rome", now, setting)

			require.Equal(t, tt.want != "", got.Quiet)
			switch tt.want {
			case "":
				require.Equal(t, notification.Silence{}, got)
			case "never":
				require.Equal(t, notification.Silence{Quiet: true}, got)
			default:
				require.Equal(t, tt.want, got.Until.Format(time.RFC3339))
			}
			preference.Channel = notification.Slack
			require.Equal(t, notification.Silence{}, notification.Quiet(preference, "Europe/Rome", now, setting), "SLACK is never quieted")
		})
	}
}

func stretch(text string) *notification.QuietHours {
	start, end, ok := strings.Cut(text, "-")
	if !ok {
		return nil
	}
	q := hours(start, end)
	return &q
}

// What quiet hours held back is released over a minute, or half of the time until
// the next ones, and each delivery always at the same moment.
func TestSilenceIsReleasedOverAMinute(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 6, 1, 21, 0, 0, 0, time.UTC)
	preference := notification.Preference{Channel: notification.Email, QuietHours: stretch("20:00-22:00")}
	narrow := notification.Setting{QuietHours: &notification.QuietHours{Start: clock("22:00") + 20*time.Second, End: clock("23:00")}}
	end := time.Date(2026, 6, 1, 22, 0, 0, 0, time.UTC)
	for spread, groups := range map[time.Duration][]notification.Setting{time.Minute: nil, 10 * time.Second: {narrow}} {
		silence := notification.Quiet(preference, "", now, groups...)
		require.Equal(t, notification.Silence{Quiet: true, Until: end, Spread: spread}, silence)
		halves := map[bool]int{}
		for i := range 1000 {
			key := fmt.Sprintf("evt-%d-staff10-EMAIL", i)
			at := silence.Release(key)
			require.Equal(t, at, silence.Release(key))
			require.False(t, at.Before(end))
			require.Less(t, at.Sub(end), spread)
			require.False(t, notification.Quiet(preference, "", at, groups...).Quiet)
			halves[at.Sub(end) < spread/2]++
		}
		require.Greater(t, halves[true], 400)
		require.Greater(t, halves[false], 400)
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
