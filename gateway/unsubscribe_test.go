package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// linkOver is the link by which recipient 10 unsubscribes from reservations over a channel.
func linkOver(channel notification.Channel) string {
	return unsubscribing.Over(channel)(notification.Message{UserType: notification.RestaurantUser, UserID: "10", Category: "reservations"})
}

// unsubscribeCases are requests by links of mails.
func unsubscribeCases() []contractCase {
	form := "application/x-www-form-urlencoded"
	optional, mandatory := linkOver(notification.Push), linkOver(notification.Email)
	return []contractCase{
		{"ask to unsubscribe", request{method: "GET", path: optional}, 200},
		{"ask to unsubscribe from what is mandatory", request{method: "GET", path: mandatory}, 200},
		{"ask by a broken link", request{method: "GET", path: optional + "x"}, 400},
		{"unsubscribe", request{method: "POST", path: optional, contentType: form, body: "List-Unsubscribe=One-Click"}, 200},
		{"unsubscribe from what is mandatory", request{method: "POST", path: mandatory, contentType: form, body: "List-Unsubscribe=One-Click"}, 422},
		{"unsubscribe by a broken link", request{method: "POST", path: "/unsubscribe?token=", contentType: form}, 400},
	}
}

// A link works wherever it is used: webmail has an origin of its own, and browsers send
// "null" with the form of the page, since its address is told to nobody. A page elsewhere
// still has no say in anything else.
func TestUnsubscribeFromAnyOrigin(t *testing.T) {
	t.Parallel()

	g := newContracted(t)
	for _, origin := range []string{"null", "https://webmail.example.com", g.URL} {
		for _, method := range []string{"GET", "POST"} {
			_, answer, body := g.do(t, request{method: method, path: linkOver(notification.Push), origin: origin})
			require.Equal(t, 200, answer.StatusCode, "%s", body)
		}
	}
	_, answer, _ := g.do(t, request{method: "GET", path: "/api/preferences", token: token(t, "10"), origin: "null"})
	require.Equal(t, 403, answer.StatusCode)
}
