package slack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/slack"
	"herald/internal/config/environment"
)

func TestSettings(t *testing.T) {
	channeltest.RunSettings(t, channeltest.Environment{
		New:   func() channeltest.SenderSettings { return &slack.Settings{} },
		Whole: map[string]string{"SLACK_ALLOWED_HOSTS": "Hooks.Slack.com, 127.0.0.1:9090,[::1]:9090"},
		Right: []map[string]string{{}},
		Wrong: []channeltest.WrongSetting{
			{Key: "SLACK_ALLOWED_HOSTS", Value: "https://hooks.slack.com", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com,", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com/services", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com other.com", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com:https", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "u@hooks.slack.com", Want: channeltest.NoHosts},
		},
	})
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()

	for value, want := range map[string][]string{
		"": {"hooks.slack.com"},
		"Hooks.Slack.com, 127.0.0.1:9090,[::1]:9090": {"hooks.slack.com", "127.0.0.1:9090", "[::1]:9090"},
	} {
		var settings slack.Settings
		settings.Read(environment.NewReader(map[string]string{"SLACK_ALLOWED_HOSTS": value}))
		require.Equal(t, want, settings.AllowedHosts)
	}
}
