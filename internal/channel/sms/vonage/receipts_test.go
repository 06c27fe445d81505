package vonage_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/sms/vonage"
	"herald/internal/notification"
	"herald/internal/receipts/receiptstest"
)

// receive returns the content of a signed receipt.
func receive(t *testing.T, fields map[string]string) channel.Received {
	t.Helper()
	signer := receiptstest.New("")
	receivers := channeltest.NewReceivers(t, &vonage.Receipts{}, "", map[string]string{"VONAGE_SIGNATURE_SECRET": signer.VonageSecret})
	received, err := receivers.Receive(t, "/webhooks/vonage", http.Header{"Content-Type": {"application/json"}},
		signer.Vonage(time.Now(), fields))
	require.NoError(t, err)
	return received
}

// TestReports reads Vonage's statuses and error codes.
func TestReports(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		status, code string
		want         notification.Receipt
	}{
		{"accepted", "0", notification.Receipt{}},
		{"buffered", "2", notification.Receipt{}},
		{"unknown", "1", notification.Receipt{}},
		{"delivered", "0", notification.Receipt{Status: notification.Delivered}},
		{"expired", "2", notification.Receipt{Status: notification.Failed, Detail: "error 2: the phone is off or out of reach"}},
		{"failed", "9", notification.Receipt{
			Status: notification.Failed, Detail: "error 9: the number gets no messages", Suppress: notification.SuppressedInvalid,
		}},
		{"rejected", "3", notification.Receipt{
			Status: notification.Failed, Detail: "error 3: the number is not in use any more", Suppress: notification.SuppressedInvalid,
		}},
		{"rejected", "6", notification.Receipt{
			Status: notification.Failed, Detail: "error 6: it was filtered as unwanted", Harm: notification.HarmBlock,
		}},
		{"failed", "14", notification.Receipt{
			Status: notification.Failed, Detail: "error 14: the network blocks it", Harm: notification.HarmBlock,
		}},
		{"rejected", "77", notification.Receipt{Status: notification.Failed, Detail: "error 77"}},
		{"failed", "+393401234567", notification.Receipt{Status: notification.Failed}},
	} {
		got := receive(t,
			map[string]string{"messageId": "V1", "status": tt.status, "err-code": tt.code, "client-ref": "d", "msisdn": "393401234567"})
		require.Len(t, got.Receipts, 1)
		require.WithinDuration(t, time.Now(), got.Receipts[0].At, time.Minute)
		tt.want.ID, tt.want.MessageID, tt.want.DeliveryID, tt.want.At = "V1/"+tt.status, "V1", "d", got.Receipts[0].At
		tt.want.Word, tt.want.Address = tt.status, "+393401234567"
		require.Equal(t, channel.Received{Receipts: []notification.Receipt{tt.want}}, got)
	}
	for _, fields := range []map[string]string{{}, {"messageId": "V1"}, {"status": "failed"}, {"messageId": "V\x00", "status": "failed"}} {
		fields["client-ref"] = "d"
		require.Equal(t, channel.Received{Malformed: 1}, receive(t, fields), "%v", fields)
	}
}

// Text messages to our number: STOP and START count, with the time that Vonage gives.
func TestAnswers(t *testing.T) {
	t.Parallel()

	signer := receiptstest.New("")
	receivers := channeltest.NewReceivers(t, &vonage.Receipts{}, "", map[string]string{"VONAGE_SIGNATURE_SECRET": signer.VonageSecret})
	header := http.Header{"Content-Type": {"application/json"}}
	for text, want := range map[string][]bool{
		"STOP": {false}, " stop\n": {false}, "Unsubscribe": {false}, "START": {true}, "unstop": {true}, "YES": nil, "stop it": nil, "": nil,
	} {
		for stamp, at := range map[string]time.Time{"2026-11-28 05:06:07": time.Date(2026, 11, 28, 5, 6, 7, 0, time.UTC), "soon": {}} {
			fields := map[string]string{
				"msisdn": "393401234567", "to": "15005550006", "messageId": "V1", "text": text, "type": "text", "message-timestamp": stamp,
			}
			received, err := receivers.Receive(t, "/webhooks/vonage/inbound", header, signer.Vonage(time.Now(), fields))
			require.NoError(t, err)
			var answers []notification.OptOut
			for _, lifted := range want {
				answers = append(answers, notification.OptOut{MessageID: "V1", Number: "+393401234567", Lifted: lifted, At: at})
			}
			require.Equal(t, channel.Received{OptOuts: answers}, received, "%q", text)
		}
	}

	body := signer.Vonage(time.Now(), map[string]string{"msisdn": "393401234567", "messageId": "V1", "text": "STOP"})
	for name, forged := range map[string]string{
		"another number": strings.Replace(body, "393401234567", "393401234568", 1),
		"no signature":   `{"msisdn":"393401234567","messageId":"V1","text":"STOP","timestamp":"1600000000"}`,
		"old": signer.Vonage(time.Now().Add(-26*time.Hour),
			map[string]string{"msisdn": "393401234567", "messageId": "V1", "text": "STOP"}),
	} {
		_, err := receivers.Receive(t, "/webhooks/vonage/inbound", header, forged)
		require.Error(t, err, name)
	}
}
