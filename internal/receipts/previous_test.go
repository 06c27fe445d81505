package receipts_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/receipts"
	"herald/internal/receipts/receiptstest"
)

// While a key or a token is replaced, what was signed with either of the two counts.
func TestPreviousKeys(t *testing.T) {
	t.Parallel()

	const sendgrid, inbound = "/webhooks/sendgrid", "/webhooks/twilio/inbound"
	previous, stranger := receiptstest.New("https://herald.example.com"), receiptstest.New("https://herald.example.com")
	r := newRoom(t, func(cfg *receipts.Config) {
		cfg.PreviousSendGridKey, cfg.PreviousTwilioToken = &previous.SendGridKey.PublicKey, previous.TwilioToken
	})
	fields := url.Values{"MessageSid": {"SM1"}, "From": {"+393401234567"}, "Body": {"hello"}}
	for signer, want := range map[*receiptstest.Signer]bool{&r.signer: true, &previous: true, &stranger: false} {
		answer, _ := r.post(sendgrid, signer.SendGrid(time.Now(), "[]"), "[]")
		require.Equal(t, want, answer.StatusCode == http.StatusNoContent)
		answer, _ = r.post(inbound, signer.Twilio(inbound, fields), fields.Encode())
		require.Equal(t, want, answer.StatusCode == http.StatusOK)
	}
}
