package vonage_test

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
	"herald/internal/channel/sms/vonage"
	"herald/internal/notification"
)

const (
	key    = "secretkey"
	secret = "secretsecret"
	from   = "+15005550006"
)

func answer(status, more string) channeltest.Answer {
	return channeltest.Answer{
		Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/json"},
		Body: fmt.Sprintf(`{"message-count":"1","messages":[{"status":%q%s}]}`, status, more),
	}
}

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.To = fmt.Sprintf("+3934012%05d", n)
		},
		Success:    answer("0", `,"message-id":"0C000000217B7F02"`),
		ProviderID: "0C000000217B7F02",
		Secrets:    []string{key, secret},
	})
}

func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	return channeltest.NewSender(t, &vonage.Settings{Key: key, Secret: secret, From: from, BaseURL: baseURL}, timeout)
}

func message() notification.Message {
	msg := channeltest.Message(1)
	msg.To = "+393401200001"
	return msg
}

// The status in the body decides, since the HTTP status is 200 for every message.
func TestStatuses(t *testing.T) {
	t.Parallel()

	for status, want := range map[string]notification.FailureClass{
		"1": notification.Busy, "10": notification.Busy,
		"2": notification.Refused, "3": notification.Refused, "6": notification.Refused, "7": notification.Refused, "22": notification.Refused,
		"99": notification.Refused,
		"4":  notification.Account, "8": notification.Account, "9": notification.Account, "11": notification.Account, "14": notification.Account,
		"15": notification.Account, "29": notification.Account,
		"5": notification.Ambiguous,
	} {
		url := channeltest.Answering(t, answer(status, `,"error-text":"+393401200001 is not welcome"`), channeltest.Unseen)
		msg := message()
		_, err := newSender(t, url, time.Minute).Send(t.Context(), msg)
		failure := channeltest.RequireFailure(t, err, msg, []string{key, secret})
		require.Equal(t, want, failure.Class, status)
		require.Equal(t, status, failure.Code)
		require.Equal(t, http.StatusOK, failure.Status)
	}
	for _, status := range []string{"", "no", "-1", "1000", "4+393401200001"} {
		url := channeltest.Answering(t, answer(status, ""), channeltest.Unseen)
		msg := message()
		_, err := newSender(t, url, time.Minute).Send(t.Context(), msg)
		failure := channeltest.RequireFailure(t, err, msg, nil)
		require.Equal(t, notification.Ambiguous, failure.Class, status)
		require.Equal(t, channel.CodeUnexpected, failure.Code)
	}
}

// A long text is split, and each part has a status. If only some parts are on their way, the outcome is
// not clear.
func TestStatusesOfParts(t *testing.T) {
	t.Parallel()

	for parts, want := range map[string]notification.FailureClass{
		"0 0": "", "0 1": notification.Ambiguous, "1 0": notification.Ambiguous, "6 6": notification.Refused,
	} {
		first, second, _ := strings.Cut(parts, " ")
		both := answer(first, fmt.Sprintf(`,"message-id":"A"},{"message-id":"B","status":%q`, second))
		result, err := newSender(t, channeltest.Answering(t, both, channeltest.Unseen), time.Minute).Send(t.Context(), message())
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, "A", result.ProviderID)
			continue
		}
		require.Equal(t, want, channeltest.RequireFailure(t, err, message(), nil).Class, parts)
	}
}

// The request has the fields that Vonage documents. Only the header has the credentials.
func TestSendComposes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, id, body, kind, reference string
		expires                         time.Duration
		ttl                             string
	}{
		{name: "other characters", id: "evt-1-staff10-SMS", body: "Table for 4 at 19:30 – no", kind: "unicode", reference: "evt-1-staff10-SMS"},
		{name: "GSM", id: "evt-1-staff10-SMS", body: "Caffè? [10 €]", kind: "text", reference: "evt-1-staff10-SMS"},
		{name: "long id", id: strings.Repeat("a", 101), body: "x", kind: "text",
			reference: "9d0793397991b57a99a07c6e6b4a92bab68dbf605345cd0b87f385a448a726bc"},
		{name: "expires soon", id: "d", body: "x", kind: "text", reference: "d", expires: time.Millisecond, ttl: "20000"},
		{name: "expires late", id: "d", body: "x", kind: "text", reference: "d", expires: 30 * 24 * time.Hour, ttl: "604800000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var form url.Values
			var user, password string
			address := channeltest.Answering(t, answer("0", `,"message-id":"m"`), func(r *http.Request, body string) {
				form, _ = url.ParseQuery(body)
				user, password, _ = r.BasicAuth()
				require.Equal(t, "/sms/json", r.URL.String())
			})
			msg := message()
			msg.DeliveryID, msg.Body = tt.id, tt.body
			if tt.expires > 0 {
				msg.SendBy = time.Now().Add(tt.expires)
			}
			_, err := newSender(t, address, time.Minute).Send(t.Context(), msg)
			require.NoError(t, err)

			require.Equal(t, []string{key, secret}, []string{user, password})
			want := url.Values{
				"from": {"15005550006"}, "to": {"393401200001"}, "text": {tt.body}, "type": {tt.kind}, "client-ref": {tt.reference},
				"callback": {channeltest.PublicURL + "/webhooks/vonage"},
			}
			if tt.ttl != "" {
				want.Set("ttl", tt.ttl)
			}
			require.Equal(t, want, form)
		})
	}
}

// The test of Twilio covers all flaws of a text message.
func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	channeltest.RunRefusals(t, newSender(t, channeltest.Nowhere, time.Minute), "vonage", message(), map[string]channeltest.Refusal{
		"no number": {Change: func(m *notification.Message) { m.To = "393401200001" }, Code: "invalid number: " + string(address.NoCountry)},
	})
}

func TestSettings(t *testing.T) {
	const sender = "must be a phone number in E.164, such as +15005550006, or up to 11 letters and digits"
	channeltest.RunSettings(t, channeltest.Environment{
		New: func() channeltest.SenderSettings { return &vonage.Settings{} },
		Whole: map[string]string{
			"VONAGE_API_KEY": "abcd1234", "VONAGE_API_SECRET": "hunter2", "VONAGE_FROM": "+15005550006", "VONAGE_BASE_URL": "http://127.0.0.1:9090/",
		},
		Off:   "VONAGE_API_KEY",
		Needs: []string{"VONAGE_API_KEY", "VONAGE_API_SECRET", "VONAGE_FROM"},
		Right: []map[string]string{
			{},
			{"VONAGE_API_KEY": "abcd1234", "VONAGE_API_SECRET": "hunter2", "VONAGE_FROM": "Herald"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "VONAGE_API_KEY", Value: "", Want: "is not set, but VONAGE_API_SECRET is"},
			{Key: "VONAGE_API_KEY", Value: "abcd 1234", Want: channeltest.NotVisible},
			{Key: "VONAGE_API_SECRET", Value: "", Want: "is not set, but VONAGE_API_KEY is"},
			{Key: "VONAGE_API_SECRET", Value: "hunter2\n", Want: channeltest.NotVisible},
			{Key: "VONAGE_FROM", Value: "", Want: "is not set, but VONAGE_API_KEY is"},
			{Key: "VONAGE_FROM", Value: "Herald & Co", Want: sender},
			{Key: "VONAGE_FROM", Value: "15005550006x", Want: sender},
			{Key: "VONAGE_BASE_URL", Value: "rest.nexmo.com", Want: channeltest.NoURL},
			{Key: "VONAGE_BASE_URL", Value: "http://sandbox:9090", Want: channeltest.Cleartext},
		},
	})
}
