package channeltest

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
)

// Answering returns the address of a provider that shows each request to see, and gives
// them all the same answer.
func Answering(t *testing.T, answer Answer, see func(r *http.Request, body string)) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request, body string) {
		see(r, body)
		answer.write(w)
	}).URL
}

// Unseen is for [Answering] where the requests do not matter.
func Unseen(*http.Request, string) {}

// Nowhere is where nobody listens, so that a message that is sent fails.
const Nowhere = "http://127.0.0.1:1"

// Refusal is a change to a good message, and the code with which the sender refuses it.
type Refusal struct {
	Change func(msg *notification.Message)
	Code   string
}

// RunRefusals tests messages that a sender refuses without asking its provider.
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
