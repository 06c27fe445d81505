package notification_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// reminder returns a setup that sends an e-mail a day before the time at a path. The recipients
// may have quiet hours.
func reminder(path, payload string) notification.EventSetup {
	setup := situation{channel: notification.Email, supported: true}.rules()
	setup.Event = notification.Event{ID: "evt-1", Payload: json.RawMessage(payload), CreatedAt: noon}
	route := &setup.Routing[0]
	route.Strategy, route.SendAtPath, route.SendBefore = notification.Delayed, path, notification.Span{Days: 1}
	return setup
}

// The path of a time works like other paths. The time must have a zone.
func TestReadPayload(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 23, 8, 30, 0, 0, time.UTC)
	const malformed = "send_at_path: startsAt is not a time with a zone, such as 2026-11-23T09:30:00+01:00"
	tests := []struct {
		name, path, payload string
		want                time.Time
		problem             string
	}{
		{name: "an offset", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00+01:00"}`, want: at},
		{name: "UTC, with a fraction", path: "startsAt", payload: `{"startsAt": "2026-11-23T08:30:00.250Z"}`,
			want: at.Add(250 * time.Millisecond)},
		{name: "no seconds", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30+01:00"}`, want: at},
		{name: "nested", path: "visit.starts_at", payload: `{"visit": {"starts_at": "2026-11-23T08:30:00Z"}}`, want: at},
		{name: "the first path with a value", path: "movedTo, startsAt", payload: `{"movedTo": null, "startsAt": "2026-11-23T08:30:00Z"}`,
			want: at},
		{name: "the latest time allowed", path: "startsAt", payload: `{"startsAt": "2036-05-29T12:00:00Z"}`,
			want: noon.Add(3650 * 24 * time.Hour)},
		{name: "past", path: "startsAt", payload: `{"startsAt": "1970-01-01T00:00:00Z"}`, want: time.Unix(0, 0)},

		{name: "missing", path: "startsAt", payload: `{}`, problem: "send_at_path: startsAt is not in the payload"},
		{name: "another spelling", path: "startsAt", payload: `{"starts_at": "2026-11-23T08:30:00Z"}`,
			problem: "send_at_path: startsAt is not in the payload"},
		{name: "empty", path: "startsAt", payload: `{"startsAt": ""}`, problem: "send_at_path: startsAt is not in the payload"},
		{name: "none of several", path: "movedTo,startsAt", payload: `{}`, problem: "send_at_path: the payload has none of movedTo, startsAt"},
		{name: "no zone", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00"}`, problem: malformed},
		{name: "a date", path: "startsAt", payload: `{"startsAt": "2026-11-23"}`, problem: malformed},
		{name: "Java's date", path: "startsAt", payload: `{"startsAt": "2026-11-23T08:30:00.000+0000"}`, want: at},
		{name: "Java's offset without a colon", path: "startsAt", payload: `{"startsAt": "2026-11-23T14:00:00.5+0530"}`,
			want: at.Add(500 * time.Millisecond)},
		{name: "Java's zone", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00+01:00[Europe/Rome]"}`, want: at},
		{name: "Java's zone UTC", path: "startsAt", payload: `{"startsAt": "2026-11-23T08:30Z[UTC]"}`, want: at},
		{name: "an offset beats its zone", path: "startsAt", payload: `{"startsAt": "2026-11-23T08:30:00+00:00[Europe/Rome]"}`, want: at},
		{name: "an unknown zone after an offset", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00+01:00[Mars/Olympus]"}`, want: at},
		{name: "a zone alone", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00[Europe/Rome]"}`, want: at},
		{name: "Postgres", path: "startsAt", payload: `{"startsAt": "2026-11-23 09:30:00+01"}`, want: at},
		{name: "Postgres, with a fraction", path: "startsAt", payload: `{"startsAt": "2026-11-23 14:15:00.123456+05:45"}`,
			want: at.Add(123456 * time.Microsecond)},
		{name: "SQL Server", path: "startsAt", payload: `{"startsAt": "2026-11-23 09:30:00.0000000 +01:00"}`, want: at},
		{name: "Python", path: "startsAt", payload: `{"startsAt": "2026-11-23 08:30:00.000000+00:00"}`, want: at},
		{name: "Ruby", path: "startsAt", payload: `{"startsAt": "2026-11-23 08:30:00 UTC"}`, want: at},
		{name: "Ruby, with an offset", path: "startsAt", payload: `{"startsAt": "2026-11-23 09:30:00 +0100"}`, want: at},
		{name: "small letters", path: "startsAt", payload: `{"startsAt": "2026-11-23t08:30:00z"}`, want: at},
		{name: "the short form", path: "startsAt", payload: `{"startsAt": "20261123T083000Z"}`, want: at},
		{name: "a comma", path: "startsAt", payload: `{"startsAt": "2026-11-23T08:30:00,250Z"}`, want: at.Add(250 * time.Millisecond)},
		{name: "twelve digits of a fraction", path: "startsAt", payload: `{"startsAt": "2026-11-23T08:30:00.000000001999Z"}`, want: at.Add(1)},
		{name: "spaces around", path: "startsAt", payload: `{"startsAt": " 2026-11-23T08:30:00Z\n"}`, want: at},
		{name: "seconds", path: "startsAt", payload: `{"startsAt": 1795422600}`, want: at},
		{name: "seconds with a fraction", path: "startsAt", payload: `{"startsAt": 1795422600.250}`, want: at.Add(250 * time.Millisecond)},
		{name: "milliseconds", path: "startsAt", payload: `{"startsAt": 1795422600250}`, want: at.Add(250 * time.Millisecond)},
		{name: "milliseconds in a text", path: "startsAt", payload: `{"startsAt": "1795422600000"}`, want: at},
		{name: "milliseconds with an exponent", path: "startsAt", payload: `{"startsAt": 1.7954226E12}`, want: at},
		{name: "seconds in a text", path: "startsAt", payload: `{"startsAt": " 1795422600 "}`, want: at},
		{name: "microseconds", path: "startsAt", payload: `{"startsAt": 1795422600000001}`, want: at.Add(time.Microsecond)},
		{name: "nanoseconds", path: "startsAt", payload: `{"startsAt": 1795422600000000001}`, want: at.Add(1)},

		{name: "a date as a number", path: "startsAt", payload: `{"startsAt": 20261123}`, problem: malformed},
		{name: "a number of no unit", path: "startsAt", payload: `{"startsAt": 179542260000}`, problem: malformed},
		{name: "a huge number", path: "startsAt", payload: `{"startsAt": 1e99}`, problem: malformed},
		{name: "a huge exponent", path: "startsAt", payload: `{"startsAt": 1e999999999}`, problem: malformed},
		{name: "zero", path: "startsAt", payload: `{"startsAt": 0}`, problem: malformed},
		{name: "a negative number", path: "startsAt", payload: `{"startsAt": -1795422600}`, problem: malformed},
		{name: "a fraction", path: "startsAt", payload: `{"startsAt": "1/3"}`, problem: malformed},
		{name: "Postgres without a zone", path: "startsAt", payload: `{"startsAt": "2026-11-23 09:30:00"}`, problem: malformed},
		{name: "an unknown zone alone", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00[Mars/Olympus]"}`, problem: malformed},
		{name: "a zone of several countries", path: "startsAt", payload: `{"startsAt": "Mon Nov 23 09:30:00 CST 2026"}`, problem: malformed},
		{name: "a list", path: "startsAt", payload: `{"startsAt": [2026, 11, 23, 9, 30]}`, problem: malformed},
		{name: "true", path: "startsAt", payload: `{"startsAt": true}`, problem: malformed},
		{name: "infinity", path: "startsAt", payload: `{"startsAt": "infinity"}`, problem: malformed},
		{name: "no such hour", path: "startsAt", payload: `{"startsAt": "2026-11-23T25:30:00Z"}`, problem: malformed},
		{name: "no such offset", path: "startsAt", payload: `{"startsAt": "2026-11-23T09:30:00+99:00"}`, problem: malformed},
		{name: "before 1970", path: "startsAt", payload: `{"startsAt": "1969-12-31T23:59:59Z"}`, problem: malformed},
		{name: "an object", path: "startsAt", payload: `{"startsAt": {}}`, problem: malformed},
		{name: "no such day", path: "startsAt", payload: `{"startsAt": "2026-02-30T09:30:00Z"}`, problem: malformed},
		{name: "Go's unset time", path: "startsAt", payload: `{"startsAt": "0001-01-01T00:00:00Z"}`, problem: malformed},
		{name: "the first is malformed", path: "startsAt,at", payload: `{"startsAt": "soon", "at": "2026-11-23T08:30:00Z"}`, problem: malformed},
		{name: "too far", path: "startsAt", payload: `{"startsAt": "2036-05-29T12:00:01Z"}`,
			problem: "send_at_path: startsAt is more than ten years ahead"},
		{name: "the end of time", path: "startsAt", payload: `{"startsAt": "9999-12-31T23:59:59Z"}`,
			problem: "send_at_path: startsAt is more than ten years ahead"},
		{name: "no payload", path: "startsAt", payload: ``, problem: "send_at_path: startsAt is not in the payload"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			setup := reminder(tt.path, tt.payload)
			setup.ReadPayload()

			route := setup.Routing[0]
			require.Equal(t, tt.problem, route.DueProblem)
			if tt.problem == "" {
				require.True(t, route.Due.Equal(tt.want), "%v", route.Due)
			}
		})
	}
}

// A delivery with a due time waits for it. Present quiet hours matter only if it is sent now.
func TestDecideOwnTimes(t *testing.T) {
	t.Parallel()

	const tomorrow, afterTomorrow, today = "2026-06-02T12:00:00Z", "2026-06-03T09:30:00Z", "2026-06-01T18:00:00Z"
	due := noon.Add(21*time.Hour + 30*time.Minute)
	tests := []struct {
		name, at        string
		skip            bool
		quiet, deferred bool
		want            notification.Decision
		until           time.Time // zero: at once
		problem         bool
		finds           string
	}{
		{name: "ahead", at: afterTomorrow, want: "SELECTED", until: due,
			finds: "1 day before startsAt, which is 2026-06-02 09:30 UTC: it waits until then"},
		{name: "ahead, and would be skipped", at: afterTomorrow, skip: true, want: "SELECTED", until: due},
		{name: "ahead, and it is quiet now", at: afterTomorrow, quiet: true, want: "SELECTED", until: due},
		{name: "ahead, and it would be deferred now", at: afterTomorrow, quiet: true, deferred: true, want: "SELECTED", until: due},
		{name: "past", at: today, want: "SELECTED", finds: "1 day before startsAt, which was 2026-05-31 18:00 UTC: past, and sent at once"},
		{name: "now", at: tomorrow, want: "SELECTED"},
		{name: "past, and it is quiet", at: today, quiet: true, want: "QUIET_HOURS"},
		{name: "past, and deferred", at: today, quiet: true, deferred: true, want: "SELECTED", until: noon.Add(time.Hour)},
		{name: "past, and skipped", at: today, skip: true, want: "SKIPPED",
			finds: "1 day before startsAt, which was 2026-05-31 18:00 UTC: past, and skipped"},
		{name: "now, and skipped", at: tomorrow, skip: true, want: "SKIPPED"},
		{name: "skipped, although it is quiet", at: today, skip: true, quiet: true, want: "SKIPPED"},
		{name: "malformed", at: "soon", skip: true, want: "SELECTED", problem: true,
			finds: "1 day before startsAt, but send_at_path: startsAt is not a time with a zone, such as 2026-11-23T09:30:00+01:00: it fails"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := situation{channel: notification.Email, supported: true, quiet: tt.quiet, deferred: tt.deferred}
			setup := reminder("startsAt", `{"startsAt": "`+tt.at+`"}`)
			setup.Routing[0].SkipIfPast, setup.Routing[0].QuietHoursAction = tt.skip, s.rules().Routing[0].QuietHoursAction
			setup.ReadPayload()

			choice := setup.Decide(s.recipient(), noon, notification.Used{})[0]

			require.Equal(t, tt.want, choice.Decision)
			require.True(t, tt.until.Equal(choice.Wait.Until), "%v", choice.Wait)
			require.Equal(t, tt.problem, choice.Problem != "")
			if tt.finds != "" {
				require.Equal(t, tt.finds, found(setup.Facts(s.recipient(), notification.Email, noon, nil), notification.DecisionSkipped))
			}
		})
	}
}

// Without the event its time is unknown, so nothing is skipped. This applies to an attempt after
// the wait, and to the explanation of a purged event.
func TestOwnTimeIsNotKnownWithoutTheEvent(t *testing.T) {
	t.Parallel()

	setup := reminder("startsAt", "{}")
	setup.Routing[0].SkipIfPast = true
	facts := setup.Facts(situation{channel: notification.Email}.recipient(), notification.Email, noon, nil)
	require.Equal(t, notification.DecisionSelected, facts.Decision())
	require.Equal(t, "1 day before startsAt, which is not known without the event", found(facts, notification.DecisionSkipped))
}

// found returns the finding of one rule.
func found(facts notification.Facts, rule notification.Decision) string {
	for _, finding := range facts.Findings() {
		if finding.Decision == rule {
			return finding.Fact
		}
	}
	return ""
}

// A day of send_before is a day of the recipient's calendar: the same time of day, over a change of
// clocks too.
func TestSendBeforeIsByTheCalendar(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		before       notification.Span
		at, zone, to string
	}{
		{notification.Span{Days: 1}, "2026-10-25T09:00:00+01:00", "Europe/Rome", "2026-10-24T09:00:00+02:00"},
		{notification.Span{Days: 1}, "2026-03-29T09:00:00+02:00", "Europe/Rome", "2026-03-28T09:00:00+01:00"},
		{notification.Span{Days: 1}, "2026-10-25T09:00:00+01:00", "UTC", "2026-10-24T08:00:00Z"},
		{notification.Span{Days: 1}, "2026-10-25T09:00:00+01:00", "Nowhere/City", "2026-10-24T08:00:00Z"},
		{notification.Span{Months: 1}, "2026-07-15T09:00:00Z", "UTC", "2026-06-15T09:00:00Z"},
		{notification.Span{Months: 1, Days: 1, Rest: 90 * time.Minute}, "2026-07-15T09:00:00Z", "America/New_York", "2026-06-14T07:30:00Z"},
		{notification.Span{Rest: 24 * time.Hour}, "2026-10-25T09:00:00+01:00", "Europe/Rome", "2026-10-24T10:00:00+02:00"},
		{notification.Span{}, "2026-07-15T09:00:00Z", "UTC", "2026-07-15T09:00:00Z"},
	} {
		setup := reminder("startsAt", `{"startsAt": "`+tt.at+`"}`)
		setup.Routing[0].SendBefore = tt.before
		setup.ReadPayload()
		want, err := time.Parse(time.RFC3339, tt.to)
		require.NoError(t, err)
		got := setup.Facts(notification.Recipient{Timezone: tt.zone}, notification.Email, noon, notification.Used{}).Routing.Due
		require.True(t, got.Equal(want), "%v before %s: %v", tt.before, tt.at, got)
	}
}
