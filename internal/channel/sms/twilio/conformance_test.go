package twilio_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/sms/twilio"
	"herald/internal/notification"
)

const (
	account = "ACsecretaccount"
	token   = "secrettoken"
	from    = "+15005550006"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.To = fmt.Sprintf("+3934012%05d", n)
		},
		Success: channeltest.Answer{
			Status: http.StatusCreated,
			Header: map[string]string{"Content-Type": "application/json"},
			Body:   `{"sid":"SM0123","status":"queued","error_code":null}`,
		},
		ProviderID: "SM0123",
		Secrets:    []string{account, token, from},
	})
}

func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	return channeltest.NewSender(t, &twilio.Settings{AccountSID: account, AuthToken: token, From: from, BaseURL: baseURL}, timeout)
}
