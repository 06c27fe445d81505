package link

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/preference"
)

// stopToken returns a token to unsubscribe ada from a category over a channel.
func stopToken(category string, channel notification.Channel) string {
	who := notification.RecipientKey{UserType: ada.UserType, UserID: ada.UserID}
	return links.token(claim{RecipientKey: who, purpose: unsubscribing, channel: channel, category: category,
		address: links.bind(who, channel, ada.Address(channel))})
}

// oneClick sends a POST as mailbox providers do.
func (f *fixture) oneClick(token string) answer {
	f.t.Helper()
	return f.send(call{method: http.MethodPost, path: "/unsubscribe", token: token, accept: "*/*",
		contentType: "application/x-www-form-urlencoded", body: "List-Unsubscribe=One-Click"})
}

// off reports whether ada has turned a category off.
func (f *fixture) off(category string, channel notification.Channel) bool {
	f.t.Helper()
	who := notification.RecipientKey{UserType: ada.UserType, UserID: ada.UserID}
	preferences, err := preference.On(f.store).Preferences(f.t.Context(), who)
	require.NoError(f.t, err)
	return preferences.Off(category, channel)
}

const inboxLink = `<a href="./#preferences">`

// A GET changes nothing, even if repeated. A POST unsubscribes at once, only from the subscription in the
// link. A repeated POST changes nothing more. A link of version 1 leads to the inbox, a later one to the
// preferences.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()

	for _, token := range []string{kept, stopToken("offers", notification.Email)} {
		f := newFixture(t)
		for range 3 {
			got := f.look("/unsubscribe", token)
			require.Equal(t, http.StatusOK, got.status)
			require.Equal(t, "on", got.state())
			require.Contains(t, got.body, "<h2>Stop e-mails about offers?</h2>")
			require.Contains(t, got.body, `<form method="post">`)
			require.Contains(t, got.body, "<h1>Trattoria &amp; Bar</h1>")
			require.Equal(t, http.StatusOK, f.send(call{method: http.MethodHead, path: "/unsubscribe", token: token}).status)
		}
		require.False(t, f.off("offers", notification.Email), "a GET must not unsubscribe")

		for range 2 {
			got := f.oneClick(token)
			require.Equal(t, http.StatusOK, got.status, got.body)
			require.Contains(t, got.body, "You will get no more e-mails about offers")
			c, _ := links.read(token, unsubscribing)
			if token == kept {
				require.Contains(t, got.body, inboxLink)
			} else {
				require.Contains(t, got.body, `<a href="preferences?token=`+c.preferences()+`">`)
				require.Equal(t, "choices", f.look("/preferences", c.preferences()).state())
			}
		}
		require.Equal(t, []string{"42 offers EMAIL f"}, f.rows())
		require.Equal(t, "off", f.look("/unsubscribe", token).state())
	}
}

// PUSH has no address, so its page leads to the inbox. The body of a POST does not matter.
func TestUnsubscribeFromPush(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	got := f.send(call{method: http.MethodPost, path: "/unsubscribe", token: stopToken("offers", notification.Push),
		contentType: "multipart/form-data; boundary=x", body: "--x\r\n"})
	require.Equal(t, http.StatusOK, got.status, got.body)
	require.Contains(t, got.body, inboxLink)
	require.True(t, f.off("offers", notification.Push))
}

// People can unsubscribe after their address has changed. The page then leads to the inbox, because the link
// to the preferences has died.
func TestUnsubscribeAfterANewAddress(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	postgrestest.Exec(t, f.store, "UPDATE recipient SET email = 'new@example.com'")
	token := stopToken("offers", notification.Email)
	require.Contains(t, f.look("/unsubscribe", token).body, inboxLink)
	got := f.oneClick(token)
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, got.body, inboxLink)
	require.True(t, f.off("offers", notification.Email))
}

// The link in a mail to a former person unsubscribes the person that they were merged into.
func TestUnsubscribeAfterAMerge(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	former := notification.RecipientKey{UserType: notification.Guest, UserID: "7"}
	token := tokenOf(t, links.Unsubscribe(notification.Email)(
		notification.Message{UserType: former.UserType, UserID: former.UserID, Category: "offers"}))
	_, err := person.On(f.store).LinkMerged(t.Context(), former, notification.RecipientKey{UserType: ada.UserType, UserID: ada.UserID})
	require.NoError(t, err)
	require.Equal(t, "on", f.look("/unsubscribe", token).state())
	require.Equal(t, http.StatusOK, f.oneClick(token).status)
	require.Equal(t, []string{"42 offers EMAIL f"}, f.rows())
	require.Equal(t, "off", f.look("/unsubscribe", token).state())
}

// A link without a category unsubscribes from the channel, if any of its messages are optional.
func TestUnsubscribeFromTheChannel(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	all := stopToken("", notification.Email)
	require.Contains(t, f.look("/unsubscribe", all).body, "Stop e-mails?")
	require.Equal(t, http.StatusOK, f.oneClick(all).status)
	require.Equal(t, []string{"42 EMAIL f"}, f.rows())
	require.Equal(t, "off", f.look("/unsubscribe", kept).state(), "offers are messages of this channel")
}

// A refusal changes nothing. People get a page, and programs get a problem.
func TestRefusals(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		token  string
		away   bool
		get    int
		post   int
		state  string
		detail string // detail of the problem
	}{
		{name: "forged", token: kept[:len(kept)-1], get: 400, post: 400, state: "unknown", detail: "the link is incomplete"},
		{name: "mandatory", token: stopToken("bookings", notification.Email), get: 200, post: 422, state: "mandatory",
			detail: "bookings over EMAIL is mandatory"},
		{name: "database away", token: kept, away: true, get: 503, post: 503, state: "away", detail: "try again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			f := newFixture(t)
			if tt.away {
				f.store.Close()
			}
			for method, want := range map[string]int{http.MethodGet: tt.get, http.MethodPost: tt.post} {
				got := f.send(call{method: method, path: "/unsubscribe", token: tt.token, accept: "text/html"})
				require.Equal(t, want, got.status, method)
				require.Equal(t, tt.state, got.state())
				require.NotContains(t, got.body, "<form")
				require.Equal(t, "no-store", got.header.Get("Cache-Control"))
			}
			got := f.oneClick(tt.token)
			require.Equal(t, tt.post, got.status)
			require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
			require.Contains(t, got.body, tt.detail)
			require.Equal(t, tt.away, got.header.Get("Retry-After") != "")
		})
	}
}
