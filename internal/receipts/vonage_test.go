package receipts_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A signed report changes its delivery once, as a form or as JSON. Nobody else can change it.
func TestVonage(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	arrived, lost := r.sent("SMS", "+393401234567", "V1"), r.sent("SMS", "+393401234567", "V2")
	post := func(kind, body string) int {
		answer, _ := r.post("/webhooks/vonage", http.Header{"Content-Type": {kind}}, body)
		return answer.StatusCode
	}
	report := func(delivery, message, status, code string) map[string]string {
		return map[string]string{
			"client-ref": delivery, "messageId": message, "status": status, "err-code": code, "msisdn": "393401234567", "price": "0=0&1",
		}
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
	keyless := newRoom(t, "VONAGE_SIGNATURE_SECRET", "")
	answer, _ := keyless.post("/webhooks/vonage", http.Header{"Content-Type": {"application/json"}},
		r.signer.Vonage(time.Now(), report(arrived, "V1", "failed", "1")))
	require.Equal(t, http.StatusForbidden, answer.StatusCode, "no secret here")
	require.Equal(t, []string{"2"}, r.texts(`SELECT count(*)::text FROM delivery_receipt`))
}
