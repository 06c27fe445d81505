package unsubscribe

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

var links = Links{PublicURL: "https://herald.example.com/base", Key: []byte("0123456789abcdef0123456789abcdef")}

// offers is the subscription of the links in these tests.
var offers = Subscription{
	RecipientKey: notification.RecipientKey{UserType: notification.Customer, UserID: "42"},
	Category:     "offers", Channel: notification.Email,
}

// kept is the token of offers in sent e-mails. It must stay valid forever.
const kept = "1.WyJDVVNUT01FUiIsIjQyIiwib2ZmZXJzIiwiRU1BSUwiXQ._c4LGhTOREjdTyBBKUWi2WE_hP-WVB0IY-J4Ou0OXQI"

// A link contains its subscription, in any script, and fits into one header line.
func TestLinks(t *testing.T) {
	t.Parallel()

	require.Equal(t, kept, links.token(offers))
	got, ok := links.read(kept)
	require.True(t, ok)
	require.Equal(t, offers, got)

	// the maximum lengths
	long := notification.Message{UserType: "PATIENT", UserID: strings.Repeat("é", 32), Category: strings.Repeat("ø", 30)}
	link := links.Over(notification.Email)(long)
	require.Less(t, len(link), 900, "a line of a mail has 998 characters")
	require.True(t, strings.HasPrefix(link, "https://herald.example.com/base/unsubscribe?token=1."))
	parsed, err := url.Parse(link)
	require.NoError(t, err)
	got, ok = links.read(parsed.Query().Get("token"))
	require.True(t, ok)
	require.Equal(t, Subscription{notification.RecipientKey{UserType: "PATIENT", UserID: long.UserID}, long.Category, notification.Email}, got)
}

// A link made with the previous secret works while HERALD_SECRET_PREVIOUS is set.
func TestLinksOfThePreviousSecret(t *testing.T) {
	t.Parallel()

	old := Links{Key: []byte("previous")}.token(offers)
	got, ok := Links{Key: []byte("next"), PreviousKey: []byte("previous")}.read(old)
	require.True(t, ok)
	require.Equal(t, offers, got)
	_, ok = Links{Key: []byte("next")}.read(old)
	require.False(t, ok)
}

// A forged or changed token is invalid.
func TestForgedTokens(t *testing.T) {
	t.Parallel()

	other := Links{Key: []byte("another key")}.token(offers)
	signature := kept[strings.LastIndexByte(kept, '.')+1:]
	somebody := base64.RawURLEncoding.EncodeToString([]byte(`["CUSTOMER","43","offers","EMAIL"]`))
	forged := map[string]string{
		"nothing":                 "",
		"no parts":                "token",
		"signature alone":         "." + signature,
		"without the signature":   strings.TrimSuffix(kept, signature),
		"cut off":                 kept[:len(kept)-1],
		"too long":                kept + "A",
		"of another installation": other,
		"another recipient":       "1." + somebody + "." + signature,
		"another version":         "2" + kept[1:],
	}
	for name, text := range map[string]string{
		"signed, no text":     "1.",
		"signed, version 2":   "2.WyJDVVNUT01FUiIsIjQyIiwib2ZmZXJzIiwiRU1BSUwiXQ",
		"signed, three parts": "1." + base64.RawURLEncoding.EncodeToString([]byte(`["CUSTOMER","42","offers"]`)),
	} {
		forged[name] = text + "." + base64.RawURLEncoding.EncodeToString(sign(links.Key, text))
	}
	for name, token := range forged {
		_, ok := links.read(token)
		require.False(t, ok, name)
	}
}
