package sms_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/sms"
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
		Read: read,
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
	return channeltest.NewSender(t, &sms.Settings{AccountSID: account, AuthToken: token, From: from, BaseURL: baseURL}, timeout)
}

func read(r *http.Request, body string) (channeltest.Arrival, error) {
	form, err := url.ParseQuery(body)
	if err != nil {
		return channeltest.Arrival{}, err
	}
	callback, err := url.Parse(form.Get("StatusCallback"))
	if err != nil {
		return channeltest.Arrival{}, err
	}
	user, password, _ := r.BasicAuth()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/2010-04-01/Accounts/"+account+"/Messages.json":
		return channeltest.Arrival{}, errors.New("not for us")
	case user != account || password != token || form.Get("From") != from:
		return channeltest.Arrival{}, errors.New("not from us")
	case callback.Scheme+"://"+callback.Host+callback.Path != channeltest.PublicURL+"/webhooks/twilio":
		return channeltest.Arrival{}, errors.New("no receipts would come back")
	case callback.Fragment != "rc=5&rp=5xx,ct,rt":
		return channeltest.Arrival{}, errors.New("no receipt would be repeated while the database is away")
	}
	return channeltest.Arrival{DeliveryID: callback.Query().Get("delivery_id"), To: form.Get("To"), Text: form.Get("Body")}, nil
}
