package channeltest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Answering starts a provider that passes each request to see and always gives the same answer. It
// returns the provider's address.
func Answering(t *testing.T, answer Answer, see func(r *http.Request, body string)) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request, body string) {
		see(r, body)
		answer.write(w)
	}).URL
}

// Unseen ignores the requests of [Answering].
func Unseen(*http.Request, string) {}

// Nowhere is an address without a listener, so sending to it fails.
const Nowhere = "http://127.0.0.1:1"

// Refusal is a change that makes a valid message invalid, and the code of the sender's refusal.
type Refusal struct {
	Change func(msg *notification.Message)
	Code   string
}

// RunRefusals tests messages that a sender refuses without calling its provider.
func RunRefusals(t *testing.T, sender channel.Sender, provider string, good notification.Message, tests map[string]Refusal) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			msg := good
			tt.Change(&msg)
			receipt, err := sender.Send(t.Context(), msg)
			require.Equal(t, &notification.ProviderError{Provider: provider, Class: notification.Refused, Code: tt.Code, Unasked: true}, err)
			require.Equal(t, notification.Answer{}, receipt)
		})
	}
}
