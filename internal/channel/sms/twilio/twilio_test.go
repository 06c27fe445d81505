package twilio_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/address"
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

func message() notification.Message {
	msg := channeltest.Message(1)
	msg.To = "+393401234567"
	return msg
}

func TestSendCodes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		status int
		code   int
		want   notification.FailureClass
		known  string

		suppress notification.SuppressionReason
	}{
		{status: 400, code: 21211, want: notification.Refused, known: "21211", suppress: notification.SuppressedInvalid},
		{status: 404, code: 20404, want: notification.Account, known: "20404"},
		{status: 400, code: 21212, want: notification.Account, known: "21212"},
		{status: 400, code: 21603, want: notification.Account, known: "21603"},
		{status: 400, code: 21606, want: notification.Account, known: "21606"},
		{status: 400, code: 21659, want: notification.Account, known: "21659"},
		{status: 400, code: 21660, want: notification.Account, known: "21660"},
		{status: 400, code: 21635, want: notification.Refused, known: "21635", suppress: notification.SuppressedInvalid},
		{status: 400, code: 21610, want: notification.Refused, known: "21610", suppress: notification.SuppressedOptOut},
		{status: 400, code: 21612, want: notification.Refused, known: "21612"},
		{status: 400, code: 21614, want: notification.Refused, known: "21614", suppress: notification.SuppressedInvalid},
		{status: 400, code: 21617, want: notification.Refused, known: "21617"},
		{status: 400, code: 21408, want: notification.Refused, known: "21408"},
		{status: 403, code: 21408, want: notification.Refused, known: "21408"}, // the code refines the status
		{status: 400, code: 21611, want: notification.Busy, known: "21611"},
		{status: 400, code: 20429, want: notification.Busy, known: "20429"},
		{status: 429, code: 20429, want: notification.Busy, known: "20429"},
		{status: 429, code: 21611, want: notification.Busy, known: "21611"},
		{status: 401, code: 20003, want: notification.Account, known: "20003"},
		{status: 400, code: 29999, want: notification.Refused, known: "29999"}, // an unknown code
		{status: 500, code: 21211, want: notification.Ambiguous, known: "21211"},
		{status: 400, code: 393401234567, want: notification.Refused}, // not a code
		{status: 400, want: notification.Refused},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d with %d", tt.status, tt.code), func(t *testing.T) {
			t.Parallel()

			body := fmt.Sprintf(`{"code":%d,"message":"no","more_info":"no","status":%d}`, tt.code, tt.status)
			base := channeltest.Answering(t, channeltest.Answer{Status: tt.status, Body: body}, channeltest.Unseen)
			_, err := newSender(t, base, time.Minute).Send(t.Context(), message())
			require.Equal(t,
				&notification.ProviderError{Provider: "twilio", Class: tt.want, Status: tt.status, Code: tt.known, Suppress: tt.suppress}, err)
		})
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	channeltest.RunRefusals(t, newSender(t, channeltest.Nowhere, time.Minute), "twilio", message(), map[string]channeltest.Refusal{
		"no number":       {Change: func(m *notification.Message) { m.To = "" }, Code: "invalid number: that is empty"},
		"national number": {Change: func(m *notification.Message) { m.To = "3401234567" }, Code: "invalid number: " + string(address.NoCountry)},
		"another channel": {Change: func(m *notification.Message) { m.To = "whatsapp:+393401234567" },
			Code: "invalid number: " + string(address.NoCountry)},
		"a zero too many": {Change: func(m *notification.Message) { m.To = "+41 (0)79 123 45 67" },
			Code: "invalid number: " + string(address.TrunkZero)},
		"no body":   {Change: func(m *notification.Message) { m.Body = " \n" }, Code: "empty body"},
		"long body": {Change: func(m *notification.Message) { m.Body = strings.Repeat("é", 1601) }, Code: "body too long"},
	})
}

// Twilio refuses an unreachable callback, so Herald sets one only if the gateway has a public
// address. Twilio repeats receipts while the database is down.
func TestStatusCallback(t *testing.T) {
	t.Parallel()

	for public, want := range map[string]string{
		"":                    "",
		channeltest.PublicURL: channeltest.PublicURL + "/webhooks/twilio?delivery_id=" + message().DeliveryID + "#rc=5&rp=5xx,ct,rt",
	} {
		var form url.Values
		base := channeltest.Answering(t, channeltest.Answer{Status: http.StatusCreated, Body: `{"sid":"SM0123"}`},
			func(r *http.Request, body string) {
				form, _ = url.ParseQuery(body)
				user, password, _ := r.BasicAuth()
				form.Set("login", user+":"+password)
			})
		settings := twilio.Settings{AccountSID: account, AuthToken: token, From: from, BaseURL: base}
		sender, err := settings.NewSender(channel.Process{Timeout: time.Minute, Slots: 1, PublicURL: public})
		require.NoError(t, err)
		_, err = sender.Send(t.Context(), message())
		require.NoError(t, err)
		require.Equal(t, want, form.Get("StatusCallback"))
		require.Equal(t, []string{account + ":" + token, from, "+393401234567"}, []string{form.Get("login"), form.Get("From"), form.Get("To")})
	}
}

// Twilio drops a message that it cannot send before the message expires. A text may have 1,600 characters.
func TestValidityPeriod(t *testing.T) {
	t.Parallel()

	for left, want := range map[time.Duration]string{0: "", -time.Hour: "1", 24 * time.Hour: "36000"} {
		var form url.Values
		base := channeltest.Answering(t, channeltest.Answer{Status: http.StatusCreated, Body: `{"sid":"SM0123"}`},
			func(_ *http.Request, body string) { form, _ = url.ParseQuery(body) })
		msg := message()
		msg.Body = strings.Repeat("é", 1600)
		if left != 0 {
			msg.SendBy = time.Now().Add(left)
		}
		_, err := newSender(t, base, time.Minute).Send(t.Context(), msg)
		require.NoError(t, err)
		require.Equal(t, want, form.Get("ValidityPeriod"))
	}
}

func TestSettings(t *testing.T) {
	const phone = "must be a phone number in E.164, such as +15005550006"
	channeltest.RunSettings(t, channeltest.Environment{
		New: func() channeltest.SenderSettings { return &twilio.Settings{} },
		Whole: map[string]string{
			"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "hunter2", "TWILIO_FROM": "+15005550006", "TWILIO_BASE_URL": "http://127.0.0.1:9090",
		},
		Off:   "TWILIO_ACCOUNT_SID",
		Needs: []string{"TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_FROM"},
		Right: []map[string]string{
			{},
			{"TWILIO_FROM": "+15005550006"},
			{"TWILIO_ACCOUNT_SID": "AC1", "TWILIO_AUTH_TOKEN": "hunter2", "TWILIO_FROM": "+15005550006"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "TWILIO_ACCOUNT_SID", Value: "AC/../1", Want: "must be an account's SID"},
			{Key: "TWILIO_ACCOUNT_SID", Value: "", Want: "is not set, but TWILIO_AUTH_TOKEN is"},
			{Key: "TWILIO_AUTH_TOKEN", Value: "", Want: "is not set, but TWILIO_ACCOUNT_SID is"},
			{Key: "TWILIO_AUTH_TOKEN", Value: "hunter 2", Want: "must be letters and digits"},
			{Key: "TWILIO_AUTH_TOKEN", Value: "hunter2\n", Want: "must be letters and digits"},
			{Key: "TWILIO_FROM", Value: "", Want: "is not set, but TWILIO_ACCOUNT_SID is"},
			{Key: "TWILIO_FROM", Value: "Herald", Want: phone},
			{Key: "TWILIO_FROM", Value: "06 1234 5678", Want: phone},
			{Key: "TWILIO_FROM", Value: "+1 500 555 0006", Want: phone},
			{Key: "TWILIO_FROM", Value: "+12345678901234567", Want: phone},
			{Key: "TWILIO_BASE_URL", Value: "https://u@api.twilio.com", Want: channeltest.NoURL},
			{Key: "TWILIO_BASE_URL", Value: "http://10.0.0.7:9090", Want: channeltest.Cleartext},
		},
	})
}
