package notification_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func preferences(t *testing.T, text string) (p notification.Preferences) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	return p
}

func TestCheckPreferences(t *testing.T) {
	t.Parallel()

	current := preferences(t, `{
		"timezone": "Mars/Olympus",
		"channels": [
			{"channel": "WEBSOCKET", "enabled": true, "mandatory": true},
			{"channel": "EMAIL", "enabled": true, "quiet_hours": {"enabled": false}}],
		"categories": [
			{"category": "offers", "channels": [{"channel": "WEBSOCKET", "enabled": true, "mandatory": true}, {"channel": "EMAIL", "enabled": true}]}]}`)
	channel := func(preference string) string { return `{"channels": [` + preference + `]}` }
	quiet := func(hours string) string {
		return channel(`{"channel": "EMAIL", "enabled": true, "quiet_hours": ` + hours + `}`)
	}
	offers := func(preference string) string {
		return `{"categories": [{"category": "offers", "channels": [` + preference + `]}]}`
	}
	tests := []struct {
		name  string
		want  string
		tells []string // nil: the preferences are valid
	}{
		{name: "no preferences", want: `{}`},
		{name: "the present zone, although it is unknown", want: `{"timezone": "Mars/Olympus"}`},
		{name: "another zone", want: `{"timezone": "Europe/Rome"}`},
		{name: "an unknown zone", want: `{"timezone": "Europe/Atlantis"}`, tells: []string{"Europe/Atlantis", "IANA"}},
		{name: "a zone in the spelling of Postgres", want: `{"timezone": "europe/rome"}`, tells: []string{"europe/rome"}},
		{name: "the zone of a machine", want: `{"timezone": "Local"}`, tells: []string{"Local"}},
		{name: "an optional channel off", want: channel(`{"channel": "EMAIL", "enabled": false}`)},
		{name: "a mandatory channel on", want: channel(`{"channel": "WEBSOCKET", "enabled": true, "mandatory": false}`)},
		{name: "a mandatory channel off", want: channel(`{"channel": "WEBSOCKET", "enabled": false, "mandatory": false}`),
			tells: []string{"WEBSOCKET", "mandatory"}},
		{name: "neither on nor off", want: channel(`{"channel": "EMAIL"}`), tells: []string{"EMAIL", "enabled is missing"}},
		{name: "a channel that does not serve them", want: channel(`{"channel": "SMS", "enabled": true}`), tells: []string{"SMS"}},
		{name: "an unknown channel", want: channel(`{"channel": "FAX\u001b[31m", "enabled": true}`), tells: []string{`FAX\x1b`}},
		{name: "a channel twice", want: channel(`{"channel": "EMAIL", "enabled": true}, {"channel": "EMAIL", "enabled": false}`),
			tells: []string{"EMAIL", "twice"}},
		{name: "quiet hours over midnight", want: quiet(`{"enabled": true, "start": "22:00", "end": "07:30:15"}`)},
		{name: "quiet hours to the microsecond", want: quiet(`{"enabled": true, "start": "00:00:00.000001", "end": "00:00"}`)},
		{name: "quiet hours that are empty", want: quiet(`{"enabled": true, "start": "07:00", "end": "07:00:00"}`),
			tells: []string{"EMAIL", "switch it off"}},
		{name: "quiet hours off, with a time", want: quiet(`{"enabled": false, "start": "22:00"}`)},
		{name: "quiet hours neither on nor off", want: quiet(`{"start": "22:00", "end": "07:00"}`),
			tells: []string{"EMAIL", "enabled is missing"}},
		{name: "quiet hours without an end", want: quiet(`{"enabled": true, "start": "22:00"}`), tells: []string{"EMAIL", "start and an end"}},
		{name: "24:00 as a time", want: quiet(`{"enabled": true, "start": "22:00", "end": "24:00"}`), tells: []string{`"24:00"`}},
		{name: "a time that Postgres rounds to the end of a day", want: quiet(`{"enabled": true, "start": "22:00", "end": "23:59:59.9999999"}`),
			tells: []string{"23:59:59"}},
		{name: "malformed times", want: quiet(`{"enabled": false, "start": "ten", "end": "10 pm"}`), tells: []string{`"ten"`, `"10 pm"`}},
		{name: "quiet hours of a channel that is never quieted",
			want:  channel(`{"channel": "WEBSOCKET", "enabled": true, "quiet_hours": {"enabled": false}}`),
			tells: []string{"WEBSOCKET", "never quieted"}},
		{name: "an optional category off", want: offers(`{"channel": "EMAIL", "enabled": false}`)},
		{name: "a mandatory category off", want: offers(`{"channel": "WEBSOCKET", "enabled": false}`),
			tells: []string{"offers over WEBSOCKET", "mandatory"}},
		{name: "a category neither on nor off", want: offers(`{"channel": "EMAIL"}`), tells: []string{"offers over EMAIL", "enabled is missing"}},
		{name: "an unknown category", want: `{"categories": [{"category": "news", "channels": [{"channel": "EMAIL", "enabled": true}]}]}`,
			tells: []string{"news"}},
		{name: "a category over another channel", want: offers(`{"channel": "SMS", "enabled": true}`), tells: []string{"offers", "SMS"}},
		{name: "a category twice", want: offers(`{"channel": "EMAIL", "enabled": true}, {"channel": "EMAIL", "enabled": true}`),
			tells: []string{"offers over EMAIL", "twice"}},
		{name: "several mistakes", want: `{"timezone": "x", "channels": [{"channel": "FAX", "enabled": true}]}`, tells: []string{`"x"`, "FAX"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			err := preferences(t, tt.want).Check(current)

			var wrong *notification.PreferenceError
			require.Equal(t, tt.tells != nil, errors.As(err, &wrong), "%v", err)
			for _, text := range tt.tells {
				require.ErrorContains(t, err, text)
			}
		})
	}
}
