package template_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/template"
)

// A text may say why its recipient gets it, and link to where they mute it, but not themselves. A digest
// says so of each item, and of itself if its items share one entity.
func TestReason(t *testing.T) {
	t.Parallel()

	engine := template.Engine{MuteURL: func(_ notification.Channel, r notification.Recipient, e notification.Entity) string {
		return "https://h/mute/" + r.UserID + "/" + e.String()
	}}
	const body = "{{.reason}}{{if .mute_url}} {{.mute_url}}{{end}}{{if .preferences_url}} {{.preferences_url}}{{end}}"
	rows := []notification.Template{
		{EventType: "T", Channel: "SMS", Locale: "en", Body: body},
		{EventType: "digest", Channel: "SMS", Locale: "en", Body: body + "{{range .Items}}; {{.reason}} {{.mute_url}}{{end}}"},
	}
	order, other := notification.Entity{Type: "ORDER", ID: "7"}, notification.Entity{Type: "ORDER", ID: "8"}
	recipient := notification.Recipient{UserID: "1", Locale: "de", Entity: order, MemberRole: "FOLLOWER"}
	write := func(r notification.Recipient) string {
		text, err := engine.NewSet(notification.Event{Type: "T", Payload: []byte("{}")}, rows).Render(t.Context(), notification.SMS, r)
		require.NoError(t, err)
		return text.Body
	}
	require.Equal(t, "Sie folgen: Bestellung 7 https://h/mute/1/ORDER/7", write(recipient))
	require.Equal(t, "you are the customer", write(notification.Recipient{Entity: notification.Entity{Type: "CUSTOMER", ID: "1"}}))

	patient := notification.Recipient{UserType: "PATIENT", UserID: "7", Entity: notification.Entity{Type: "PATIENT", ID: "7"}}
	require.Equal(t, "you belong to patient 7", write(patient))

	digestOf := func(items ...notification.DigestItem) string {
		text, err := engine.Digest(rows, "T", notification.SMS, notification.Recipient{UserID: "1"}, items)
		require.NoError(t, err)
		return text.Body
	}
	digest := func(entities ...notification.Entity) string {
		var items []notification.DigestItem
		for _, e := range entities {
			items = append(items, notification.DigestItem{Entity: e, MemberRole: "FOLLOWER"})
		}
		return digestOf(items...)
	}
	require.Equal(t, "you follow order 7 https://h/mute/1/ORDER/7; you follow order 7 https://h/mute/1/ORDER/7", digest(order))
	require.Equal(t, "; you follow order 7 https://h/mute/1/ORDER/7; you follow order 8 https://h/mute/1/ORDER/8", digest(order, other))
	require.Equal(t, "you belong to order 7 https://h/mute/1/ORDER/7; you follow order 7 https://h/mute/1/ORDER/7; "+
		"you are a manager of order 7 https://h/mute/1/ORDER/7; you follow order 7 https://h/mute/1/ORDER/7",
		digestOf(notification.DigestItem{Entity: order, MemberRole: "FOLLOWER"}, notification.DigestItem{Entity: order, MemberRole: "MANAGER"},
			notification.DigestItem{Entity: order, MemberRole: "FOLLOWER"}), "the role changed")
}
