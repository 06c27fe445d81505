package notification_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestCheckPreferences(t *testing.T) {
	t.Parallel()

	current := notification.Preferences{
		Timezone: "Mars/Olympus", // somebody's directory may have it
		Channels: []notification.ChannelPreference{
			{Channel: notification.WebSocket, Enabled: true, Mandatory: true}, {Channel: notification.Email, Enabled: true, QuietHours: &notification.QuietHoursPreference{}},
		},
		Categories: []notification.CategoryPreference{
			{Category: "offers", Channels: []notification.CategoryChannel{{Channel: notification.WebSocket, Enabled: true, Mandatory: true}, {Channel: notification.Email, Enabled: true}}},
		},
	}
	channel := func(p notification.ChannelPreference) notification.Preferences {
		return notification.Preferences{Channels: []notification.ChannelPreference{p}}
	}
	quiet := func(enabled bool, start, end string) notification.Preferences {
		return channel(notification.ChannelPreference{Channel: notification.Email, QuietHours: &notification.QuietHoursPreference{Enabled: enabled, Start: start, End: end}})
	}
	category := func(name string, channels ...notification.CategoryChannel) notification.Preferences {
		return notification.Preferences{Categories: []notification.CategoryPreference{{Category: name, Channels: channels}}}
	}
	tests := []struct {
		name  string
		want  notification.Preferences
		tells []string // nil: nothing is wrong
	}{
		{name: "nothing"},
		{name: "what holds already", want: current},
		{name: "another zone", want: notification.Preferences{Timezone: "Europe/Rome"}},
		{name: "an unknown zone", want: notification.Preferences{Timezone: "Europe/Atlantis"}, tells: []string{"Europe/Atlantis", "IANA"}},
		{name: "a zone in the spelling of Postgres", want: notification.Preferences{Timezone: "europe/rome"}, tells: []string{"europe/rome"}},
		{name: "the zone of a machine", want: notification.Preferences{Timezone: "Local"}, tells: []string{"Local"}},
		{name: "an optional channel off", want: channel(notification.ChannelPreference{Channel: notification.Email})},
		{name: "a mandatory channel off", want: channel(notification.ChannelPreference{Channel: notification.WebSocket}), tells: []string{"WEBSOCKET", "mandatory"}},
		{name: "a channel that does not serve them", want: channel(notification.ChannelPreference{Channel: notification.SMS, Enabled: true}), tells: []string{"SMS"}},
		{name: "a channel that is none", want: channel(notification.ChannelPreference{Channel: "FAX\x1b[31m"}), tells: []string{`FAX\x1b`}},
		{name: "a channel twice", want: notification.Preferences{Channels: []notification.ChannelPreference{{Channel: notification.Email}, {Channel: notification.Email}}}, tells: []string{"EMAIL", "twice"}},
		{name: "quiet hours over midnight", want: quiet(true, "22:00", "07:30:15")},
		{name: "quiet hours that are empty", want: quiet(true, "07:00", "07:00")},
		{name: "quiet hours off, with their times", want: quiet(false, "22:00", "")},
		{name: "quiet hours without an end", want: quiet(true, "22:00", ""), tells: []string{"EMAIL", "start and an end"}},
		{name: "the end of a day", want: quiet(true, "22:00", "24:00"), tells: []string{`"24:00"`}},
		{name: "a second that a day does not have", want: quiet(true, "22:00", "23:59:59.9999999"), tells: []string{"23:59:59"}},
		{name: "no times", want: quiet(false, "ten", "10 pm"), tells: []string{`"ten"`, `"10 pm"`}},
		{name: "quiet hours of what is never quieted", want: channel(notification.ChannelPreference{Channel: notification.WebSocket, Enabled: true, QuietHours: &notification.QuietHoursPreference{}}), tells: []string{"WEBSOCKET", "never quieted"}},
		{name: "an optional category off", want: category("offers", notification.CategoryChannel{Channel: notification.Email})},
		{name: "a mandatory category off", want: category("offers", notification.CategoryChannel{Channel: notification.WebSocket}), tells: []string{"offers over WEBSOCKET", "mandatory"}},
		{name: "no such category", want: category("news", notification.CategoryChannel{Channel: notification.Email}), tells: []string{"news"}},
		{name: "not over this channel", want: category("offers", notification.CategoryChannel{Channel: notification.SMS}), tells: []string{"offers", "SMS"}},
		{name: "a category twice", want: category("offers", notification.CategoryChannel{Channel: notification.Email}, notification.CategoryChannel{Channel: notification.Email}), tells: []string{"offers over EMAIL", "twice"}},
		{name: "several mistakes", want: notification.Preferences{Timezone: "x", Channels: []notification.ChannelPreference{{Channel: "FAX"}}}, tells: []string{`"x"`, "FAX"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			err := tt.want.Check(current)

			var wrong *notification.PreferenceError
			require.Equal(t, tt.tells != nil, errors.As(err, &wrong), "%v", err)
			for _, text := range tt.tells {
				require.ErrorContains(t, err, text)
			}
		})
	}
}
