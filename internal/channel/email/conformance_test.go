package email_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/email"
	"herald/internal/notification"
)

const key = "SG.secret-key"

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.To = fmt.Sprintf("ada%d@example.com", n)
		},
		Read:         read,
		Success:      channeltest.Answer{Status: http.StatusAccepted, Header: map[string]string{"X-Message-Id": "abc.123"}},
		ProviderID:   "abc.123",
		EmptySuccess: true,
		OneSuccess:   true,
		Secrets:      []string{key},
	})
}

func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	return channeltest.NewSender(t, &email.Settings{APIKey: key, BaseURL: baseURL, From: "herald@example.com", FromName: "Herald"}, timeout)
}

// request is SendGrid's, as its documentation has it.
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

func read(r *http.Request, body string) (channeltest.Arrival, error) {
	var mail request
	switch err := json.Unmarshal([]byte(body), &mail); {
	case err != nil:
		return channeltest.Arrival{}, err
	case r.Method != http.MethodPost || r.URL.Path != "/v3/mail/send" || r.Header.Get("Authorization") != "Bearer "+key:
		return channeltest.Arrival{}, errors.New("not for us")
	case len(mail.Personalizations) != 1 || len(mail.Personalizations[0].To) != 1 || len(mail.Content) != 2:
		return channeltest.Arrival{}, errors.New("not one mail to one person in two forms")
	case mail.Content[0].Type != "text/plain" || mail.Content[1].Type != "text/html":
		return channeltest.Arrival{}, errors.New("wrong order of the parts")
	}
	to := mail.Personalizations[0]
	return channeltest.Arrival{DeliveryID: to.CustomArgs["delivery_id"], To: to.To[0].Email, Text: mail.Content[1].Value}, nil
}
