package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Every spelling of an address has the same normal form.
func TestNormalAddress(t *testing.T) {
	t.Parallel()

	tests := []struct {
		channel notification.Channel
		written []string
		want    string
	}{
		{channel: notification.Email, written: []string{"anna@example.com", " Anna@Example.COM\n"}, want: "anna@example.com"},
		{channel: notification.SMS, written: []string{"+390212345", "+39 02 12-345", "+39 (02) 123.45", "0039 02/12345", "+39\u00a002\u00a012345"}, want: "+390212345"},
		{channel: notification.Slack, written: []string{"https://hooks.slack.com/services/T1/Ab", " https://hooks.slack.com/services/T1/Ab "}, want: "https://hooks.slack.com/services/T1/Ab"},
		{channel: notification.Push, written: []string{""}, want: ""},
	}
	for _, tt := range tests {
		for _, written := range tt.written {
			require.Equal(t, tt.want, notification.NormalAddress(tt.channel, written), written)
			require.Equal(t, tt.want, notification.NormalAddress(tt.channel, tt.want), "a normal address does not change")
		}
	}
}
