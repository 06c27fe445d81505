package sendgrid_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/email"
	"herald/internal/channel/email/sendgrid"
)

// A mail that its recipient may switch off has the headers of RFC 8058, if there is a gateway. If
// SendGrid accepts our category, it counts mails by it.
func TestSendSaysHowToUnsubscribe(t *testing.T) {
	t.Parallel()

	oneClick := map[string]string{
		"List-Unsubscribe":      "<" + channeltest.PublicURL + "/unsubscribe?token=1.offers>",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
	}
	tests := []struct {
		name       string
		category   string
		mandatory  bool
		nowhere    bool // no gateway
		headers    map[string]string
		categories []string
	}{
		{name: "optional", category: "offers", headers: oneClick, categories: []string{"offers"}},
		{name: "optional, of no category", headers: map[string]string{
			"List-Unsubscribe":      "<" + channeltest.PublicURL + "/unsubscribe?token=1.>",
			"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		}},
		{name: "mandatory", category: "bookings", mandatory: true, categories: []string{"bookings"}},
		{name: "no gateway", category: "offers", nowhere: true, categories: []string{"offers"}},
		{name: "a category that SendGrid does not take", category: "réservations", mandatory: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var got request
			url := channeltest.Answering(t, channeltest.Answer{Status: http.StatusAccepted}, func(_ *http.Request, body string) {
				_ = json.Unmarshal([]byte(body), &got)
			})
			sender := newSender(t, url, time.Minute)
			if tt.nowhere {
				var err error
				sender, err = (&sendgrid.Settings{APIKey: key, BaseURL: url, From: email.From{Address: "herald@example.com"}}).NewSender(channel.Process{Timeout: time.Minute, Slots: 1})
				require.NoError(t, err)
			}
			msg := message()
			msg.Category, msg.Optional = tt.category, !tt.mandatory
			_, err := sender.Send(t.Context(), msg)
			require.NoError(t, err)
			require.Equal(t, tt.headers, got.Headers)
			require.Equal(t, tt.categories, got.Categories)
		})
	}
}
