package notification_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestClassOf(t *testing.T) {
	t.Parallel()

	special := map[int]notification.FailureClass{
		401: notification.Account, 403: notification.Account,
		408: notification.Busy, 425: notification.Busy, 429: notification.Busy,
		503: notification.Unavailable,
	}
	for status := range 1000 {
		want, found := special[status]
		switch {
		case found:
		case status >= 400 && status <= 499:
			want = notification.Refused
		default: // no answer, 1xx, 2xx without its body, 3xx, 5xx, and numbers that are no status
			want = notification.Ambiguous
		}
		require.Equal(t, want, notification.ClassOf(status, 0), "status %d", status)
		if status >= 500 {
			want = notification.Busy
		}
		require.Equal(t, want, notification.ClassOf(status, time.Second), "status %d with Retry-After", status)
	}
}

func TestProviderError(t *testing.T) {
	t.Parallel()

	tests := []struct {
		err  notification.ProviderError
		want string
	}{
		{notification.ProviderError{Provider: "sendgrid", Class: notification.Refused, Status: 400}, "sendgrid refused: 400"},
		{notification.ProviderError{Provider: "twilio", Class: notification.Refused, Status: 400, Code: "21211"}, "twilio refused: 400 21211"},
		{notification.ProviderError{Provider: "fcm", Class: notification.Busy, Status: 429}, "fcm is busy: 429"},
		{notification.ProviderError{Provider: "slack", Class: notification.Account, Status: 403}, "slack rejected our account: 403"},
		{notification.ProviderError{Provider: "twilio", Class: notification.Ambiguous, Code: "timeout"}, "twilio gave no clear answer: timeout"},
		{notification.ProviderError{Provider: "slack", Class: notification.Refused, Unasked: true, Code: "invalid webhook"},
			"slack was not asked: invalid webhook"},
		{notification.ProviderError{Provider: "rabbitmq", Class: notification.Ambiguous}, "rabbitmq gave no clear answer"},
	}
	for _, tt := range tests {
		require.EqualError(t, &tt.err, tt.want)
	}
}
