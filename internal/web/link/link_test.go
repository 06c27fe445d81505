package link

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

var links = Links{PublicURL: "https://herald.example.com/base", Key: []byte("0123456789abcdef0123456789abcdef")}

// ada is the recipient of the links in these tests.
var ada = notification.Recipient{
	UserType: notification.Customer, UserID: "42", Email: "ada@example.com", Phone: "+41791234567",
	SlackWebhookURL: "https://hooks.slack.com/services/T/B/x", WebhookURL: "https://example.com/hook",
}

// offers is a message to ada over EMAIL.
var offers = notification.Message{UserType: ada.UserType, UserID: ada.UserID, Category: "offers", To: ada.Email}

var order = notification.Entity{Type: "ORDER", ID: "7"}

// kept is the token to unsubscribe from offers in sent e-mails. It must stay valid forever.
const kept = "1.WyJDVVNUT01FUiIsIjQyIiwib2ZmZXJzIiwiRU1BSUwiXQ._c4LGhTOREjdTyBBKUWi2WE_hP-WVB0IY-J4Ou0OXQI"

// kept2 holds tokens of version 2 in sent messages to ada. They must stay valid as long as her address.
var kept2 = map[purpose]string{
	unsubscribing: "2.WyJ1bnN1YnNjcmliZSIsIkNVU1RPTUVSIiwiNDIiLCJFTUFJTCIsIkZxZTUxd0hWeVJma2MybjZybWtjTWciLCJvZmZlcnMiXQ.VeSVqUl0q-o1jpJ_Lfjtp_4I7VRozPrShahKYpfwbaQ",
	choosing:      "2.WyJwcmVmZXJlbmNlcyIsIkNVU1RPTUVSIiwiNDIiLCJFTUFJTCIsIkZxZTUxd0hWeVJma2MybjZybWtjTWciXQ.8HaIjdnpMsdzYU4rZA20Nv-NEflAQc9FT6_suy0Mg-0",
	muting:        "2.WyJtdXRlIiwiQ1VTVE9NRVIiLCI0MiIsIkVNQUlMIiwiRnFlNTF3SFZ5UmZrYzJuNnJta2NNZyIsIk9SREVSIiwiNyJd.2gNazdY4e1LUhZ5OMExO3B7q5EpHpSfLEAYwInSzTpU",
}

// tokenOf returns the token in a link.
func tokenOf(t *testing.T, link string) string {
	t.Helper()
	parsed, err := url.Parse(link)
	require.NoError(t, err)
	return parsed.Query().Get("token")
}

// linksOf returns a link for each purpose over EMAIL.
func linksOf(l Links) map[purpose]string {
	return map[purpose]string{
		unsubscribing: l.Unsubscribe(notification.Email)(offers),
		choosing:      l.Preferences(notification.Email, ada),
		muting:        l.Mute(notification.Email, ada, order),
	}
}

func TestKeptLinks(t *testing.T) {
	t.Parallel()

	got, ok := links.read(kept, unsubscribing)
	require.True(t, ok)
	require.Equal(t, "offers", got.category)
	require.Equal(t, notification.Email, got.channel)
	require.Equal(t, notification.RecipientKey{UserType: ada.UserType, UserID: ada.UserID}, got.RecipientKey)
	require.Empty(t, got.preferences(), "the old link has no address")

	for to, link := range linksOf(links) {
		require.Equal(t, kept2[to], tokenOf(t, link))
	}
}

// A link contains what it is for, in any script, is for nothing else, and fits into one header line.
func TestLinks(t *testing.T) {
	t.Parallel()

	for to, link := range linksOf(links) {
		require.True(t, strings.HasPrefix(link, "https://herald.example.com/base/"+string(to)+"?token=2."), link)
		require.NotContains(t, link, "ada")
		for _, other := range []purpose{unsubscribing, choosing, muting} {
			_, ok := links.read(tokenOf(t, link), other)
			require.Equal(t, other == to, ok)
		}
	}

	// the maximum lengths
	for _, letter := range []string{"é", "<<", `""`} {
		long := notification.Message{
			UserType: "PATIENT", UserID: strings.Repeat(letter, 32), Category: strings.Repeat(letter, 30), To: "a@example.com",
		}
		link := links.Unsubscribe(notification.Email)(long)
		require.Less(t, len(link), 900, "a line of a mail has 998 characters")
		got, ok := links.read(tokenOf(t, link), unsubscribing)
		require.True(t, ok)
		require.Equal(t, long.UserID, got.UserID)
		require.Equal(t, long.Category, got.category)
	}
}

// Channels without an address lead to the inbox, which has everything; so do people without an address.
func TestLinksWithoutAnAddress(t *testing.T) {
	t.Parallel()

	for _, channel := range notification.Channels() {
		preferences, mute := links.Preferences(channel, ada), links.Mute(channel, ada, order)
		if channel.AddressColumn() == "" {
			require.Equal(t, "https://herald.example.com/base/#preferences", preferences)
			require.Empty(t, mute)
			continue
		}
		require.Contains(t, preferences, "/preferences?token=2.")
		require.Contains(t, mute, "/mute?token=2.")
		require.Contains(t, links.Preferences(channel, notification.Recipient{UserType: ada.UserType, UserID: ada.UserID}), "/#preferences")
	}
	for _, entity := range []notification.Entity{
		{Type: notification.EntityCustomer, ID: "42"}, {Type: notification.EntityAdmin}, {Type: notification.EntityBroadcast}, {},
		{Type: "ORDER"}, {Type: "ORDER", ID: strings.Repeat("7", 65)}, {Type: "ORDER", ID: "7\n"},
	} {
		require.Empty(t, links.Mute(notification.Email, ada, entity), entity)
	}
}

// Two people with one address have different digests.
func TestDigestsDiffer(t *testing.T) {
	t.Parallel()

	digest := func(who notification.RecipientKey, channel notification.Channel) string {
		return string(links.bind(who, channel, "one@example.com").digest)
	}
	first, second := notification.RecipientKey{UserType: "CUSTOMER", UserID: "1"}, notification.RecipientKey{UserType: "CUSTOMER", UserID: "2"}
	require.NotEqual(t, digest(first, notification.Email), digest(second, notification.Email))
	require.NotEqual(t, digest(first, notification.Email), digest(first, notification.SMS))
}

// A link made with the previous secret works while HERALD_SECRET_PREVIOUS is set, and leads to preferences.
func TestLinksOfThePreviousSecret(t *testing.T) {
	t.Parallel()

	old := Links{Key: []byte("previous")}
	next := Links{Key: []byte("next"), PreviousKey: []byte("previous")}
	for to, link := range linksOf(old) {
		got, ok := next.read(tokenOf(t, link), to)
		require.True(t, ok)
		require.Equal(t, old.bind(got.RecipientKey, notification.Email, ada.Email), got.address)
		again, ok := next.read(got.preferences(), choosing)
		require.True(t, ok)
		require.Equal(t, got.address, again.address)
		_, ok = Links{Key: []byte("next")}.read(tokenOf(t, link), to)
		require.False(t, ok)
	}
}

// A forged or changed token is invalid.
func TestForgedTokens(t *testing.T) {
	t.Parallel()

	other := tokenOf(t, Links{Key: []byte("another key")}.Unsubscribe(notification.Email)(offers))
	signature := kept[strings.LastIndexByte(kept, '.')+1:]
	forged := map[string]string{
		"nothing":                 "",
		"no parts":                "token",
		"signature alone":         "." + signature,
		"without the signature":   strings.TrimSuffix(kept, signature),
		"cut off":                 kept[:len(kept)-1],
		"too long":                kept + "A",
		"of another installation": other,
		"another recipient":       version1 + encode("CUSTOMER", "43", "offers", "EMAIL") + "." + signature,
		"another version":         "2" + kept[1:],
	}
	for name, text := range map[string]string{
		"signed, no text":           version1,
		"signed, version 3":         "3." + encode("CUSTOMER", "42", "offers", "EMAIL"),
		"signed, three parts":       version1 + encode("CUSTOMER", "42", "offers"),
		"signed, version 1 as 2":    version2 + encode("CUSTOMER", "42", "offers", "EMAIL"),
		"signed, without category":  version2 + encode("unsubscribe", "CUSTOMER", "42", "EMAIL", ""),
		"signed, for nothing known": version2 + encode("login", "CUSTOMER", "42", "EMAIL", "", "offers"),
		"signed, half an entity":    version2 + encode("mute", "CUSTOMER", "42", "EMAIL", "", "ORDER"),
	} {
		forged[name] = text + "." + base64.RawURLEncoding.EncodeToString(sign(links.Key, text))
	}
	for name, token := range forged {
		for _, to := range []purpose{unsubscribing, choosing, muting} {
			_, ok := links.read(token, to)
			require.False(t, ok, name)
		}
	}
}
