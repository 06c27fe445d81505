package receipts_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/web/receipts"
)

// TestStatuses reads all of Twilio's statuses and error codes.
func TestStatuses(t *testing.T) {
	t.Parallel()

	const delivery = "evt-1-customer42-SMS"
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	failed := func(word, detail string, suppress notification.SuppressionReason) notification.Receipt {
		return notification.Receipt{Word: word, Detail: detail, Status: notification.Failed, Suppress: suppress}
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
		{status: "undelivered", code: "30005", want: failed("undelivered", "error 30005: the number is unknown or not in use any more", notification.SuppressedInvalid)},
		{status: "undelivered", code: "30006", want: failed("undelivered", "error 30006: the number is a landline, or its network takes no messages", notification.SuppressedInvalid)},
		{status: "undelivered", code: "30007", want: failed("undelivered", "error 30007: it was filtered as unwanted", "")},
		{status: "failed", code: "21211", want: failed("failed", "error 21211: it is no phone number", notification.SuppressedInvalid)},
		{status: "failed", code: "21610", want: failed("failed", "error 21610: its owner answered STOP", notification.SuppressedOptOut)},
		{status: "failed", code: "21614", want: failed("failed", "error 21614: it is not a mobile number", notification.SuppressedInvalid)},
		{status: "failed", code: "39999", want: failed("failed", "error 39999", "")},
		{status: "failed", code: "+39340123456", want: failed("failed", "", "")},
	}
	for _, tt := range tests {
		t.Run(tt.status+tt.code, func(t *testing.T) {
			t.Parallel()

			got, err := receipts.ParseStatus(delivery, url.Values{"MessageSid": {"SM1"}, "MessageStatus": {tt.status}, "ErrorCode": {tt.code}, "To": {"+393401234567"}}, now)
			require.NoError(t, err)
			tt.want.Provider, tt.want.ID, tt.want.MessageID, tt.want.DeliveryID, tt.want.At = notification.Twilio, "SM1/"+tt.status, "SM1", delivery, now
			tt.want.Address = "+393401234567"
			require.Equal(t, tt.want, got)
		})
	}
	for _, fields := range []url.Values{
		{}, {"MessageSid": {"SM1"}}, {"MessageStatus": {"sent"}}, {"MessageSid": {"SM\x00"}, "MessageStatus": {"sent"}},
		{"MessageSid": {"SM1"}, "MessageStatus": {strings.Repeat("x", 41)}}, {"MessageSid": {strings.Repeat("x", 300)}, "MessageStatus": {"sent"}},
	} {
		_, err := receipts.ParseStatus(delivery, fields, now)
		require.Error(t, err, "%v", fields)
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

			answer, ok := receipts.ParseAnswer(url.Values{"MessageSid": {"SM1"}, "From": {"+393401234567"}, "Body": {tt.body}, "OptOutType": {tt.optOutType}})
			require.Equal(t, tt.want != neither, ok)
			require.Equal(t, tt.want == start, answer.Lifted)
			require.Equal(t, notification.OptOut{MessageID: "SM1", Number: "+393401234567", Lifted: tt.want == start}, answer)
			require.True(t, receipts.Answerable(answer))
		})
	}
	for _, wrong := range []notification.OptOut{
		{Number: "+393401234567"}, {MessageID: "SM1"}, {MessageID: "SM1", Number: "whatsapp:+393401234567"}, {MessageID: "SM1", Number: "12345"},
		{MessageID: "SM\x00", Number: "+393401234567"}, {MessageID: strings.Repeat("x", 300), Number: "+393401234567"},
	} {
		require.False(t, receipts.Answerable(wrong), "%+v", wrong)
	}
}
