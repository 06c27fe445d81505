package notification_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func hours(start, end string) notification.QuietHours {
	return notification.QuietHours{Start: clock(start), End: clock(end)}
}

// clock returns the time since midnight for a text such as "22:00".
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
		{name: "before", start: "13:00", end: "15:00", at: "12:59:59"},
		{name: "start", start: "13:00", end: "15:00", at: "13:00:00", want: true},
		{name: "within", start: "13:00", end: "15:00", at: "14:00:00", want: true},
		{name: "last second", start: "13:00", end: "15:00", at: "14:59:59", want: true},
		{name: "end", start: "13:00", end: "15:00", at: "15:00:00"},
		{name: "wrapped, before", start: "22:00", end: "08:00", at: "21:59:59"},
		{name: "wrapped, start", start: "22:00", end: "08:00", at: "22:00:00", want: true},
		{name: "wrapped, midnight", start: "22:00", end: "08:00", at: "00:00:00", want: true},
		{name: "wrapped, last second", start: "22:00", end: "08:00", at: "07:59:59", want: true},
		{name: "wrapped, end", start: "22:00", end: "08:00", at: "08:00:00"},
		{name: "until midnight", start: "22:00", end: "00:00", at: "23:59:59", want: true},
		{name: "until midnight, at midnight", start: "22:00", end: "00:00", at: "00:00:00"},
		{name: "from midnight", start: "00:00", end: "08:00", at: "00:00:00", want: true},
		{name: "start equals end", start: "10:00", end: "10:00", at: "10:00:00"},
		{name: "start equals end at midnight", start: "00:00", end: "00:00", at: "12:00:00"},
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
		{name: "same day", zone: "Europe/Rome", start: "13:00", end: "15:00", now: "2026-06-01T14:10:00+02:00",
			want: "2026-06-01T15:00:00+02:00"},
		{name: "over midnight", zone: "Europe/Rome", start: "22:00", end: "08:00", now: "2026-06-01T23:00:00+02:00",
			want: "2026-06-02T08:00:00+02:00"},
		{name: "a short night", zone: "Europe/Rome", start: "22:00", end: "08:00", now: "2026-03-28T23:00:00+01:00",
			want: "2026-03-29T08:00:00+02:00"},
		{name: "a long night", zone: "Europe/Rome", start: "22:00", end: "08:00", now: "2026-10-24T23:00:00+02:00",
			want: "2026-10-25T08:00:00+01:00"},
		{name: "an end that does not exist", zone: "Europe/Rome", start: "22:00", end: "02:30", now: "2026-03-29T01:00:00+01:00",
			want: "2026-03-29T03:00:00+02:00"},
		{name: "an end that is the gap's start", zone: "Europe/Rome", start: "22:00", end: "02:00", now: "2026-03-29T01:00:00+01:00",
			want: "2026-03-29T03:00:00+02:00"},
		{name: "an end that comes twice, before both", zone: "Europe/Rome", start: "22:00", end: "02:30", now: "2026-10-25T01:00:00+02:00",
			want: "2026-10-25T02:30:00+02:00"},
		{name: "an end that comes twice, between them", zone: "Europe/Rome", start: "22:00", end: "02:30", now: "2026-10-25T02:10:00+01:00",
			want: "2026-10-25T02:30:00+01:00"},
		{name: "the clocks go back into the hours", zone: "Europe/Rome", start: "01:00", end: "03:00", now: "2026-10-25T02:50:00+02:00",
			want: "2026-10-25T03:00:00+01:00"},
		{name: "half an hour forward", zone: "Australia/Lord_Howe", start: "22:00", end: "02:15", now: "2026-10-04T01:50:00+10:30",
			want: "2026-10-04T02:30:00+11:00"},
		{name: "midnight does not exist", zone: "America/Sao_Paulo", start: "22:00", end: "00:00", now: "2018-11-03T23:00:00-03:00",
			want: "2018-11-04T01:00:00-02:00"},
		{name: "a day does not exist", zone: "Pacific/Apia", start: "22:00", end: "08:00", now: "2011-12-29T23:00:00-10:00",
			want: "2011-12-31T08:00:00+14:00"},
	}
	for _, tt := range tests {
		now, q := at(t, tt.now, tt.zone), hours(tt.start, tt.end)
		require.True(t, q.Contains(now), tt.name)
		require.Equal(t, tt.want, q.Until(now).Format(time.RFC3339), tt.name)
	}
}

// In every zone and at every hour, the end is the first minute outside the quiet hours. The test
// checks each minute.
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

// instant returns a whole minute. Half of the results are close to a clock change.
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
		{name: "quiet", channel: notification.Email, hours: &night, timezone: "Europe/Rome", want: "2026-06-02T08:00:00+02:00"},
		{name: "not quiet in the recipient's zone", channel: notification.Email, hours: &night, timezone: "America/New_York"},
		{name: "an empty zone, which is UTC", channel: notification.Email, hours: &night},
		{name: "off", channel: notification.Email, timezone: "Europe/Rome"},
		{name: "off, with an unknown zone", channel: notification.Email, timezone: "Mars/Olympus"},
		{name: "a channel that is never quieted", channel: notification.WebSocket, hours: &night, timezone: "Mars/Olympus"},
		{name: "an unknown zone, not quiet in UTC", channel: notification.Email, hours: &night, timezone: "Mars/Olympus"},
		{name: "an unknown zone, quiet in UTC", channel: notification.Email, hours: &evening, timezone: "Mars/Olympus",
			want: "2026-06-01T22:00:00Z"},
		{name: "a spelling that only Postgres knows", channel: notification.Email, hours: &evening, timezone: "europe/rome",
			want: "2026-06-01T22:00:00Z"},
		{name: "an abbreviation that only Postgres knows", channel: notification.Email, hours: &evening, timezone: "PST",
			want: "2026-06-01T22:00:00Z"},
		{name: "a zone that differs between machines", channel: notification.Email, hours: &evening, timezone: "Local",
			want: "2026-06-01T22:00:00Z"},
		{name: "a file that differs between machines", channel: notification.Email, hours: &evening, timezone: "localtime",
			want: "2026-06-01T22:00:00Z"},
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

// It is quiet during the recipient's or the group's quiet hours, each by the clock of its zone.
func TestQuietOfAGroup(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 6, 1, 21, 0, 0, 0, time.UTC) // 23:00 in Rome, 17:00 in New York
	tests := []struct {
		name       string
		own, group string // start-end; empty: none
		zone       string // of the group
		want       string // until; empty: not quiet
	}{
		{name: "no quiet hours"},
		{name: "the group's alone", group: "22:00-07:00", want: "2026-06-02T07:00:00+02:00"},
		{name: "the group's, by its clock", group: "16:00-18:00", zone: "America/New_York", want: "2026-06-01T18:00:00-04:00"},
		{name: "the group's, not by its clock", group: "22:00-07:00", zone: "America/New_York"},
		{name: "the group's, in an unknown zone", group: "20:00-22:00", zone: "PST", want: "2026-06-01T22:00:00Z"},
		{name: "the later of both", own: "22:00-06:00", group: "22:00-07:00", want: "2026-06-02T07:00:00+02:00"},
		{name: "one after the other", own: "22:00-07:00", group: "06:00-09:00", want: "2026-06-02T09:00:00+02:00"},
		{name: "one after the other, without an end", own: "22:00-02:00", group: "02:00-22:00", want: "never"},
		{name: "a minute between them", own: "22:00-02:00", group: "02:01-22:00", want: "2026-06-02T02:00:00+02:00"},
		{name: "the group's, after their own", own: "12:00-14:00", group: "22:00-07:00", want: "2026-06-02T07:00:00+02:00"},
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

// Deliveries that waited for quiet hours are released over a minute, or half of the time to the
// next quiet hours. Each delivery always gets the same moment.
func TestDeliveriesAfterQuietHoursSpreadOverAMinute(t *testing.T) {
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
	require.Equal(t, instant, now.In(location).Format(time.RFC3339), "the case is wrong")
	return now.In(location)
}
