package sendgrid_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/email"
	"herald/internal/channel/email/sendgrid"
	"herald/internal/notification"
)

const key = "SG.secret-key"

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.To = fmt.Sprintf("ada%d@example.com", n)
		},
		Success:      channeltest.Answer{Status: http.StatusAccepted, Header: map[string]string{"X-Message-Id": "abc.123"}},
		ProviderID:   "abc.123",
		EmptySuccess: true,
		OneSuccess:   true,
		Secrets:      []string{key},
	})
}

func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	return channeltest.NewSender(t, &sendgrid.Settings{APIKey: key, BaseURL: baseURL, From: email.From{Address: "herald@example.com", Name: "Herald"}}, timeout)
}

// request is SendGrid's request, as documented.
type request struct {
	From             struct{ Email, Name string }
	Subject          string
	Personalizations []struct {
		To         []struct{ Email, Name string }
		CustomArgs map[string]string `json:"custom_args"`
	}
	Content    []struct{ Type, Value string }
	Categories []string
	Headers    map[string]string
}
