package sms_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/sms"
	"herald/internal/notification"
)

func message() notification.Message {
	msg := channeltest.Message(1)
	msg.To = "+393401234567"
	return msg
}

// sendAgainst sends a message to a server that gives one answer to all.
func sendAgainst(t *testing.T, status int, body string, msg notification.Message) (notification.Receipt, error) {
	t.Helper()
	base := channeltest.Answering(t, channeltest.Answer{Status: status, Body: body}, channeltest.Unseen)
	return newSender(t, base, time.Minute).Send(t.Context(), msg)
}

func TestSendCodes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		status int
		code   int
		want   notification.FailureClass
		known  string
	}{
		{400, 21211, notification.Refused, "21211"},
		{400, 21212, notification.Refused, "21212"},
		{400, 21606, notification.Refused, "21606"},
		{400, 21610, notification.Refused, "21610"},
		{400, 21612, notification.Refused, "21612"},
		{400, 21614, notification.Refused, "21614"},
		{400, 21617, notification.Refused, "21617"},
		{400, 21408, notification.Refused, "21408"},
		{403, 21408, notification.Refused, "21408"}, // the code refines the status
		{400, 21611, notification.Busy, "21611"},
		{400, 20429, notification.Busy, "20429"},
		{429, 20429, notification.Busy, "20429"},
		{429, 21611, notification.Busy, "21611"},
		{401, 20003, notification.Account, "20003"},
		{400, 29999, notification.Refused, "29999"}, // a code that nobody knows
		{500, 21211, notification.Ambiguous, "21211"},
		{400, 393401234567, notification.Refused, ""}, // no code at all
		{400, 0, notification.Refused, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d with %d", tt.status, tt.code), func(t *testing.T) {
			t.Parallel()

			body := fmt.Sprintf(`{"code":%d,"message":"no","more_info":"no","status":%d}`, tt.code, tt.status)
			_, err := sendAgainst(t, tt.status, body, message())
			require.Equal(t, &notification.ProviderError{Provider: "twilio", Class: tt.want, Status: tt.status, Code: tt.known}, err)
		})
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	channeltest.RunRefusals(t, newSender(t, channeltest.Nowhere, time.Minute), "twilio", message(), map[string]channeltest.Refusal{
		"no number":           {Change: func(m *notification.Message) { m.To = "" }, Code: "invalid number"},
		"national number":     {Change: func(m *notification.Message) { m.To = "3401234567" }, Code: "invalid number"},
		"another channel":     {Change: func(m *notification.Message) { m.To = "whatsapp:+393401234567" }, Code: "invalid number"},
		"number with a break": {Change: func(m *notification.Message) { m.To = "+393401234567\n" }, Code: "invalid number"},
		"no body":             {Change: func(m *notification.Message) { m.Body = " \n" }, Code: "empty body"},
		"long body":           {Change: func(m *notification.Message) { m.Body = strings.Repeat("é", 1601) }, Code: "body too long"},
	})
}

// Twilio refuses a callback that it cannot reach, so there is none unless the
// gateway has a public address.
func TestSendWithoutPublicURL(t *testing.T) {
	t.Parallel()

	var form url.Values
	base := channeltest.Answering(t, channeltest.Answer{Status: http.StatusCreated, Body: `{"sid":"SM0123"}`}, func(_ *http.Request, body string) {
		form, _ = url.ParseQuery(body)
	})
	settings := sms.Settings{AccountSID: account, AuthToken: token, From: from, BaseURL: base}
	sender, err := settings.NewSender(channel.Process{Timeout: time.Minute, Slots: 1})
	require.NoError(t, err)
	_, err = sender.Send(t.Context(), message())
	require.NoError(t, err)
	require.Equal(t, "+393401234567", form.Get("To"))
	require.False(t, form.Has("StatusCallback"))
}

func TestSendLongestBody(t *testing.T) {
	t.Parallel()

	msg := message()
	msg.Body = strings.Repeat("é", 1600)
	receipt, err := sendAgainst(t, http.StatusCreated, `{"sid":"SM1"}`, msg)
	require.NoError(t, err)
	require.Equal(t, "SM1", receipt.ProviderID)
}
