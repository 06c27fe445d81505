package sms_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return newSender(t, server.URL, time.Minute).Send(t.Context(), msg)
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

	tests := map[string]struct {
		change func(*notification.Message)
		code   string
	}{
		"no number":           {func(m *notification.Message) { m.To = "" }, "invalid number"},
		"national number":     {func(m *notification.Message) { m.To = "3401234567" }, "invalid number"},
		"another channel":     {func(m *notification.Message) { m.To = "whatsapp:+393401234567" }, "invalid number"},
		"number with a break": {func(m *notification.Message) { m.To = "+393401234567\n" }, "invalid number"},
		"no body":             {func(m *notification.Message) { m.Body = " \n" }, "empty body"},
		"long body":           {func(m *notification.Message) { m.Body = strings.Repeat("é", 1601) }, "body too long"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			msg := message()
			tt.change(&msg)
			_, err := newSender(t, "http://127.0.0.1:1", time.Minute).Send(t.Context(), msg)
			require.Equal(t, &notification.ProviderError{Provider: "twilio", Class: notification.Refused, Code: tt.code}, err)
		})
	}
}

// Twilio refuses a callback that it cannot reach, so there is none unless the
// gateway has a public address.
func TestSendWithoutPublicURL(t *testing.T) {
	t.Parallel()

	var form url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		form = r.PostForm
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, `{"sid":"SM0123"}`)
	}))
	t.Cleanup(server.Close)
	settings := sms.Settings{AccountSID: account, AuthToken: token, From: from, BaseURL: server.URL}
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
