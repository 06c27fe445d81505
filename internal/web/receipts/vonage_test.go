package receipts_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/web/receipts"
)

// TestReports reads Vonage's statuses and error codes.
func TestReports(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status, code string
		want         notification.Receipt
	}{
		{"accepted", "0", notification.Receipt{}},
		{"buffered", "2", notification.Receipt{}},
		{"unknown", "1", notification.Receipt{}},
		{"delivered", "0", notification.Receipt{Status: notification.Delivered}},
		{"expired", "2", notification.Receipt{Status: notification.Failed, Detail: "error 2: the phone is off or out of reach"}},
		{"failed", "9", notification.Receipt{Status: notification.Failed, Detail: "error 9: the number gets no messages", Suppress: notification.SuppressedInvalid}},
		{"rejected", "3", notification.Receipt{Status: notification.Failed, Detail: "error 3: the number is not in use any more", Suppress: notification.SuppressedInvalid}},
		{"rejected", "77", notification.Receipt{Status: notification.Failed, Detail: "error 77"}},
		{"failed", "+393401234567", notification.Receipt{Status: notification.Failed}},
	} {
		got, err := receipts.ParseReport(map[string]string{"messageId": "V1", "status": tt.status, "err-code": tt.code, "client-ref": "d", "msisdn": "393401234567"}, now)
		require.NoError(t, err)
		tt.want.Provider, tt.want.ID, tt.want.MessageID, tt.want.DeliveryID, tt.want.At = notification.Vonage, "V1/"+tt.status, "V1", "d", now
		tt.want.Word, tt.want.Address = tt.status, "+393401234567"
		require.Equal(t, tt.want, got)
	}
	for _, fields := range []map[string]string{{}, {"messageId": "V1", "client-ref": "d"}, {"status": "failed", "client-ref": "d"}, {"messageId": "V\x00", "status": "failed", "client-ref": "d"}} {
		_, err := receipts.ParseReport(fields, now)
		require.Error(t, err, "%v", fields)
	}
}

// A signed report changes its delivery once, as a form or as JSON. Nobody else can change it.
func TestVonage(t *testing.T) {
	t.Parallel()

	r := newRoom(t, nil)
	arrived, lost := r.sent("SMS", "+393401234567", "V1"), r.sent("SMS", "+393401234567", "V2")
	post := func(kind, body string) int {
		answer, _ := r.post("/webhooks/vonage", http.Header{"Content-Type": {kind}}, body)
		return answer.StatusCode
	}
	report := func(delivery, message, status, code string) map[string]string {
		return map[string]string{"client-ref": delivery, "messageId": message, "status": status, "err-code": code, "msisdn": "393401234567", "price": "0=0&1"}
	}
	json := func(at time.Time, fields map[string]string) int {
		return post("application/json; charset=utf-8", r.signer.Vonage(at, fields))
	}

	require.Equal(t, http.StatusNoContent, json(time.Now(), report(arrived, "V1", "delivered", "0")))
	require.Equal(t, http.StatusNoContent, json(time.Now(), report(arrived, "V1", "delivered", "0")))
	require.Equal(t, []string{"DELIVERED"}, r.texts(`SELECT status FROM notification WHERE delivery_id = $1`, arrived))
	require.Equal(t, []string{"vonage"}, r.texts(`SELECT provider FROM delivery_receipt WHERE delivery_id = $1`, arrived))

	fields := report(lost, "V2", "failed", "9")
	r.signer.Vonage(time.Now(), fields)
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	require.Equal(t, http.StatusNoContent, post("application/x-www-form-urlencoded", form.Encode()))
	require.Equal(t, []string{"FAILED"}, r.texts(`SELECT status FROM notification WHERE delivery_id = $1`, lost))
	require.Equal(t, []string{"INVALID"}, r.texts(`SELECT reason FROM recipient_suppression`))
	require.Equal(t, http.StatusNoContent, json(time.Now(), report("", "V3", "delivered", "0")))
	require.EqualValues(t, 1, r.counted("herald_receipts", "channel=SMS", "outcome=unknown"))
	require.Equal(t, http.StatusNoContent, json(time.Now(), report("d", "", "delivered", "0")))
	require.EqualValues(t, 1, r.counted("herald_receipts", "channel=SMS", "outcome=malformed"))

	form.Set("status", "delivered")
	for name, status := range map[string]int{
		"changed":          post("application/x-www-form-urlencoded", form.Encode()),
		"old":              json(time.Now().Add(-26*time.Hour), report(arrived, "V1", "failed", "1")),
		"unsigned":         post("application/json", `{"messageId": "V1", "status": "failed"}`),
		"no object":        post("application/json", `[]`),
		"a number in JSON": post("application/json", `{"messageId": 1}`),
	} {
		require.Equal(t, http.StatusForbidden, status, name)
	}
	require.Equal(t, []string{"2"}, r.texts(`SELECT count(*)::text FROM delivery_receipt`))
}

// While a secret is replaced, both count. Without one, every request is refused.
func TestVonageSecrets(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		change func(*receipts.Config)
		want   int
	}{
		"replaced": {func(c *receipts.Config) { c.PreviousVonageSecret, c.VonageSecret = c.VonageSecret, "new" }, http.StatusNoContent},
		"another":  {func(c *receipts.Config) { c.VonageSecret = "new" }, http.StatusForbidden},
		"none":     {func(c *receipts.Config) { c.VonageSecret = "" }, http.StatusForbidden},
	} {
		r := newRoom(t, tt.change)
		answer, _ := r.post("/webhooks/vonage", http.Header{"Content-Type": {"application/json"}}, r.signer.Vonage(time.Now(), map[string]string{"client-ref": "d", "messageId": "V1", "status": "delivered"}))
		require.Equal(t, tt.want, answer.StatusCode, name)
	}
}
