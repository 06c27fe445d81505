package link

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/person"
)

// The pages run no scripts, cannot be framed, are not indexed, and send no referrer, because their URL is a
// secret. Names with HTML are shown as text.
func TestPagesAreClosed(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	const script = "<script>alert(1)</script>"
	postgrestest.Exec(t, f.store, "UPDATE event_category SET category = $1 WHERE event_type = 'OFFER'", script)
	postgrestest.Exec(t, f.store, "INSERT INTO entity_name VALUES ('ORDER', '7', $1)", script)
	for path, token := range map[string]string{
		"/unsubscribe": stopToken(script, notification.Email), "/preferences": tokenOf(t, links.Preferences(notification.Email, ada)),
		"/mute": tokenOf(t, links.Mute(notification.Email, ada, order)),
	} {
		got := f.look(path, token)
		require.Equal(t, http.StatusOK, got.status, path)
		require.NotContains(t, got.body, "<script")
		require.Contains(t, got.body, "&lt;script&gt;", path)
		require.Contains(t, got.body, `<meta name="robots" content="noindex">`)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"Referrer-Policy":         "no-referrer", "Cache-Control": "no-store", "X-Robots-Tag": "noindex", "X-Content-Type-Options": "nosniff",
		} {
			require.Equal(t, want, got.header.Get(name), path)
		}
		deleted := f.send(call{method: http.MethodDelete, path: path, token: token})
		require.Equal(t, http.StatusMethodNotAllowed, deleted.status)
		require.Equal(t, "GET, HEAD, POST", deleted.header.Get("Allow"))
	}
}

// A logo may come from its own origin only.
func TestLogo(t *testing.T) {
	t.Parallel()

	pages := &Pages{Links: links, Brand: Brand{LogoURL: "https://cdn.example.com:8443/a/logo.png?v=1&w=2"}}
	got := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/preferences?token=x", nil)
	request.Header.Set("Accept", "text/html")
	pages.mux().ServeHTTP(got, request)
	require.Contains(t, got.Header().Get("Content-Security-Policy"), "; img-src data: https://cdn.example.com:8443; ")
	require.Contains(t, got.Body.String(), `src="https://cdn.example.com:8443/a/logo.png?v=1&amp;w=2" alt=""`)
	require.Contains(t, got.Body.String(), "<h1>Notifications</h1>")
}

// bound are the pages whose link dies with its address.
var bound = map[string]func(Links) string{
	"/preferences": func(l Links) string { return l.Preferences(notification.Email, ada) },
	"/mute":        func(l Links) string { return l.Mute(notification.Email, ada, order) },
}

// A link dies with its person and its address, and nobody learns the reason. Nothing changes then.
func TestLinksThatDied(t *testing.T) {
	t.Parallel()

	for name, change := range map[string]string{
		"another address": "UPDATE recipient SET email = 'new@example.com'",
		"no address":      "UPDATE recipient SET email = NULL",
		"inactive":        "UPDATE recipient SET active = false",
		"unknown":         "DELETE FROM recipient",
		"erased":          "INSERT INTO erased_recipient (user_type, user_id) VALUES ('CUSTOMER', '42')",
		"merged into somebody with another address": "INSERT INTO merged_recipient (user_type, user_id, to_user_type, to_user_id) " +
			"VALUES ('CUSTOMER', '42', 'CUSTOMER', '43')",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFixture(t)
			postgrestest.Add(t, f.store.Pool, postgrestest.Recipient{UserID: "43", Email: "43@example.com"})
			postgrestest.Exec(t, f.store, change)
			var bodies []string
			for path, link := range bound {
				token := tokenOf(t, link(links))
				got := f.look(path, token)
				require.Equal(t, http.StatusGone, got.status)
				require.Equal(t, "gone", got.state())
				require.NotContains(t, got.body, "<form")
				require.Contains(t, got.body, "<h2>This link is no longer valid</h2>")
				bodies = append(bodies, got.body)
				sent := f.submit(path, token, map[string][]string{"shown": {"EMAIL/offers"}, muteField: {muteValue}})
				require.Equal(t, http.StatusGone, sent.status)
				require.Equal(t, http.StatusGone, f.send(call{method: http.MethodPost, path: path, token: token, accept: "*/*"}).status)
			}
			require.Equal(t, bodies[0], bodies[1])
			require.Empty(t, f.rows())
		})
	}
}

// A link acts on the person that its recipient was merged into, if this person has the address.
func TestLinksAfterAMerge(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	former := notification.Recipient{UserType: notification.Guest, UserID: "7", Email: ada.Email}
	_, err := person.On(f.store).LinkMerged(t.Context(), notification.RecipientKey{UserType: former.UserType, UserID: former.UserID},
		notification.RecipientKey{UserType: ada.UserType, UserID: ada.UserID})
	require.NoError(t, err)
	got := f.submit("/mute", tokenOf(t, links.Mute(notification.Email, former, order)), map[string][]string{muteField: {muteValue}})
	require.Equal(t, "muted", got.state())
	require.Equal(t, []string{"42 mutes ORDER 7"}, f.rows())
}

// Forged tokens, links with the previous secret, and a database that does not answer.
func TestTokensOfPages(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	old := newFixture(t)
	next := &Pages{Links: Links{Key: []byte("next"), PreviousKey: links.Key}}
	next.Preferences.DB, next.Enter = old.store, unlimited
	old.server.Config.Handler = next.mux()
	away := newFixture(t)
	away.store.Close()
	for path, link := range bound {
		token := tokenOf(t, link(links))
		require.Equal(t, http.StatusBadRequest, f.look(path, token[:len(token)-1]).status)
		require.Equal(t, "unknown", f.look(path, tokenOf(t, link(Links{Key: []byte("another")}))).state())
		require.Equal(t, "unknown", f.look(path, kept).state(), "a link to unsubscribe")
		require.Equal(t, http.StatusOK, old.look(path, token).status, "previous secret")
		got := away.look(path, token)
		require.Equal(t, http.StatusServiceUnavailable, got.status)
		require.Equal(t, "away", got.state())
		require.NotEmpty(t, got.header.Get("Retry-After"))
	}
}

// Each channel with an address has links that work.
func TestEachChannelHasPreferences(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	postgrestest.Exec(t, f.store, "UPDATE recipient SET slack_webhook_url = $1, webhook_url = $2", ada.SlackWebhookURL, ada.WebhookURL)
	for _, channel := range notification.Channels() {
		if channel.AddressColumn() != "" {
			require.Equal(t, http.StatusOK, f.look("/preferences", tokenOf(t, links.Preferences(channel, ada))).status, channel)
		}
	}
}

// Pages have the recipient's language.
func TestPagesHaveLanguages(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	for _, of := range languages {
		postgrestest.Exec(t, f.store, "UPDATE recipient SET locale = $1", of.Lang+"-XX")
		for path, token := range map[string]string{"/unsubscribe": kept, "/preferences": tokenOf(t, bound["/preferences"](links)),
			"/mute": tokenOf(t, bound["/mute"](links))} {
			got := f.look(path, token)
			require.Contains(t, got.body, `<html lang="`+of.Lang+`">`)
			require.Contains(t, got.body, of.MustSend)
			require.NotContains(t, got.body, "%!")
			require.Equal(t, of.Lang, got.header.Get("Content-Language"))
		}
	}
	got := f.send(call{method: http.MethodGet, path: "/mute", token: "x", accept: browser, language: "de-CH"})
	require.Contains(t, got.body, german.Incomplete)
}
