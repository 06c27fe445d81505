package twilio_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/sms/twilio"
	"herald/internal/notification"
	"herald/internal/receipts/receiptstest"
)

// receive returns the content of a signed request to a path below /webhooks/twilio.
func receive(t *testing.T, path string, fields url.Values) channel.Received {
	t.Helper()
	signer := receiptstest.New("https://herald.example.com")
	receivers := channeltest.NewReceivers(t, &twilio.Receipts{}, signer.PublicURL, map[string]string{"TWILIO_AUTH_TOKEN": signer.TwilioToken})
	path = "/webhooks/twilio" + path
	received, err := receivers.Receive(t, path, signer.Twilio(path, fields), fields.Encode())
	require.NoError(t, err)
	return received
}

// TestStatuses reads all of Twilio's statuses and error codes.
func TestStatuses(t *testing.T) {
	t.Parallel()

	const delivery = "evt-1-customer42-SMS"
	failed := func(word, detail string, suppress notification.SuppressionReason) notification.Receipt {
		return notification.Receipt{Word: word, Detail: detail, Status: notification.Failed, Suppress: suppress}
	}
	blocked := func(detail string) notification.Receipt {
		return notification.Receipt{Word: "undelivered", Detail: detail, Status: notification.Failed, Harm: notification.HarmBlock}
	}
	tests := []struct {
		status, code string
		want         notification.Receipt
	}{
		{status: "queued", want: notification.Receipt{Word: "queued"}},
		{status: "sent", want: notification.Receipt{Word: "sent"}},
		{status: "sent", code: "30005", want: notification.Receipt{Word: "sent"}},
		{status: "canceled", want: notification.Receipt{Word: "canceled"}},
		{status: "beamed", want: notification.Receipt{Word: "beamed"}},
		{status: "delivered", want: notification.Receipt{Word: "delivered", Status: notification.Delivered}},
		{status: "read", want: notification.Receipt{Word: "read", Status: notification.Delivered}},
		{status: "undelivered", want: failed("undelivered", "", "")},
		{status: "undelivered", code: "30003", want: failed("undelivered", "error 30003: the phone is off or out of reach", "")},
		{status: "undelivered", code: "30005",
			want: failed("undelivered", "error 30005: the number is unknown or not in use any more", notification.SuppressedInvalid)},
		{status: "undelivered", code: "30006",
			want: failed("undelivered", "error 30006: the number is a landline, or its network takes no messages", notification.SuppressedInvalid)},
		{status: "undelivered", code: "30007", want: blocked("error 30007: it was filtered as unwanted")},
		{status: "undelivered", code: "30034", want: blocked("error 30034: our number is not registered for such messages")},
		{status: "failed", code: "21211", want: failed("failed", "error 21211: it is no phone number", notification.SuppressedInvalid)},
		{status: "failed", code: "21610", want: failed("failed", "error 21610: its owner answered STOP", notification.SuppressedOptOut)},
		{status: "failed", code: "21614", want: failed("failed", "error 21614: it is not a mobile number", notification.SuppressedInvalid)},
		{status: "failed", code: "39999", want: failed("failed", "error 39999", "")},
		{status: "failed", code: "+39340123456", want: failed("failed", "", "")},
	}
	for _, tt := range tests {
		t.Run(tt.status+tt.code, func(t *testing.T) {
			t.Parallel()

			got := receive(t, "?delivery_id="+delivery,
				url.Values{"MessageSid": {"SM1"}, "MessageStatus": {tt.status}, "ErrorCode": {tt.code}, "To": {"+393401234567"}})
			require.Len(t, got.Receipts, 1)
			require.WithinDuration(t, time.Now(), got.Receipts[0].At, time.Minute)
			tt.want.ID, tt.want.MessageID, tt.want.DeliveryID, tt.want.At = "SM1/"+tt.status, "SM1", delivery, got.Receipts[0].At
			tt.want.Address = "+393401234567"
			require.Equal(t, channel.Received{Receipts: []notification.Receipt{tt.want}}, got)
		})
	}
	for _, fields := range []url.Values{
		{}, {"MessageSid": {"SM1"}}, {"MessageStatus": {"sent"}}, {"MessageSid": {"SM\x00"}, "MessageStatus": {"sent"}},
		{"MessageSid": {"SM1"}, "MessageStatus": {strings.Repeat("x", 41)}},
		{"MessageSid": {strings.Repeat("x", 300)}, "MessageStatus": {"sent"}},
	} {
		require.Equal(t, channel.Received{Malformed: 1}, receive(t, "?delivery_id="+delivery, fields), "%v", fields)
		require.Equal(t, channel.Received{Foreign: 1}, receive(t, "", fields), "%v", fields)
	}
}

// TestAnswers reads text messages to our number.
func TestAnswers(t *testing.T) {
	t.Parallel()

	const stop, start, neither = "stop", "start", ""
	tests := []struct {
		body, optOutType string
		want             string
	}{
		{body: "STOP", optOutType: "STOP", want: stop},
		{body: "Genug jetzt", optOutType: "STOP", want: stop}, // a custom keyword of the account
		{body: "STOP", want: stop},
		{body: " stop\n", want: stop},
		{body: "Unsubscribe", want: stop},
		{body: "please stop", want: neither}, // Twilio does not stop for it
		{body: "START", optOutType: "START", want: start},
		{body: "YES", optOutType: "START", want: start},
		{body: "unstop", want: start},
		{body: "yes", want: neither},
		{body: "HELP", optOutType: "HELP", want: neither},
		{body: "STOP", optOutType: "HELP", want: neither}, // OptOutType overrides the word
		{body: "help", want: neither},
		{body: "", want: neither},
	}
	for _, tt := range tests {
		t.Run(tt.body+" "+tt.optOutType, func(t *testing.T) {
			t.Parallel()

			var want channel.Received
			if tt.want != neither {
				want.OptOuts = []notification.OptOut{{MessageID: "SM1", Number: "+393401234567", Lifted: tt.want == start}}
			}
			require.Equal(t, want,
				receive(t, "/inbound", url.Values{"MessageSid": {"SM1"}, "From": {"+393401234567"}, "Body": {tt.body}, "OptOutType": {tt.optOutType}}))
		})
	}
}

// TestSignatures compares Herald's signature check with Twilio's library.
func TestSignatures(t *testing.T) {
	t.Parallel()

	vectors := channeltest.ReadVectors[struct {
		Name, Token, URL, Body, Signature string
		Valid                             bool
	}](t, "testdata/twilio.json")
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()

			target, err := url.Parse(v.URL)
			require.NoError(t, err)
			receivers := channeltest.NewReceivers(t, &twilio.Receipts{}, target.Scheme+"://"+target.Host,
				map[string]string{"TWILIO_AUTH_TOKEN": v.Token})
			valid := func(signature string) bool {
				request := &http.Request{
					URL:    &url.URL{Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery},
					Header: http.Header{"X-Twilio-Signature": {signature}},
				}
				_, err := receivers[0].Read(request, []byte(v.Body))
				return err == nil
			}
			require.Equal(t, v.Valid, valid(v.Signature))
			for _, signature := range []string{"", v.Signature + "=", v.Signature[1:]} {
				require.False(t, valid(signature), signature)
			}
		})
	}
}

// FuzzRequests varies the requests to both paths.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		"", "MessageSid=SM1&MessageStatus=failed&ErrorCode=30005", "MessageSid=%00&MessageStatus=%ff",
		"MessageSid=SM1&MessageStatus=sent&MessageStatus=x", "a;b",
		"MessageSid=SM1&From=%2B393401234567&Body=stop", "MessageSid=%00&From=%2B1&OptOutType=START", "From=whatsapp%3A%2B39",
	} {
		f.Add("d", seed)
	}
	f.Fuzz(func(t *testing.T, delivery, body string) {
		fields, err := url.ParseQuery(body)
		if err != nil {
			return
		}
		for name, values := range fields {
			fields[name] = values[:1] // the signer does not sign more
		}
		receive(t, "?"+url.Values{"delivery_id": {delivery}}.Encode(), fields)
		receive(t, "/inbound", fields)
	})
}
