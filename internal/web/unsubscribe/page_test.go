package unsubscribe

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/preference"
)

// fixture is a page with a separate database. Over EMAIL, offers are optional and bookings are
// mandatory.
type fixture struct {
	t      *testing.T
	store  *db.DB
	server *httptest.Server
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	store := postgrestest.New(t)
	postgrestest.Add(t, store.Pool,
		postgrestest.Route{EventType: "OFFER"}, postgrestest.Route{EventType: "OFFER", Channel: notification.Push},
		postgrestest.Route{EventType: "BOOKED", Mandatory: true}, postgrestest.Category{EventType: "OFFER"},
		postgrestest.Category{EventType: "BOOKED", Category: "bookings"})
	f := &fixture{t, store,
		httptest.NewServer(&Page{Links: links, Preferences: preference.On(store), Sender: "Trattoria & Bar", Enter: unlimited})}
	t.Cleanup(f.server.Close)
	return f
}

// preferencesLink opens the preferences in the inbox, which is next to the page.
const preferencesLink = `<a href="./#preferences">`

func unlimited(context.Context, notification.RecipientKey) (leave func(), err error) {
	return func() {}, nil
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

func (f *fixture) send(method, token, accept, contentType, body string) answer {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.server.URL+"/unsubscribe?token="+url.QueryEscape(token),
		strings.NewReader(body))
	require.NoError(f.t, err)
	r.Header.Set("Accept", accept)
	r.Header.Set("Content-Type", contentType)
	got, err := http.DefaultTransport.RoundTrip(r) // follows no redirects
	require.NoError(f.t, err)
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	require.NoError(f.t, err)
	return answer{got.StatusCode, got.Header, string(text)}
}

// look opens the page as a browser does.
func (f *fixture) look(s Subscription) answer {
	f.t.Helper()
	return f.send(http.MethodGet, links.token(s), "text/html,application/xhtml+xml", "", "")
}

// oneClick sends a POST as mailbox providers do.
func (f *fixture) oneClick(token string) answer {
	f.t.Helper()
	return f.send(http.MethodPost, token, "*/*", "application/x-www-form-urlencoded", "List-Unsubscribe=One-Click")
}

// off reports whether the recipient has turned the subscription off.
func (f *fixture) off(s Subscription) bool {
	f.t.Helper()
	preferences, err := preference.On(f.store).Preferences(f.t.Context(), s.RecipientKey)
	require.NoError(f.t, err)
	return preferences.Off(s.Category, s.Channel)
}

// A GET changes nothing, even if repeated. A POST unsubscribes at once, only from the subscription
// in the link. A repeated POST changes nothing more.
func TestUnsubscribe(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	all, pushed, other := offers, offers, offers
	all.Category, pushed.Channel, other.UserID = "", notification.Push, "43"
	for range 3 {
		got := f.look(offers)
		require.Equal(t, http.StatusOK, got.status)
		require.Contains(t, got.body, `data-state="on"`)
		require.Contains(t, got.body, "Stop e-mails about offers?")
		require.Contains(t, got.body, `<form method="post">`)
		require.Contains(t, got.body, "<h1>Trattoria &amp; Bar</h1>")
		require.Contains(t, got.body, preferencesLink)
		require.Equal(t, http.StatusOK, f.send(http.MethodHead, links.token(offers), "*/*", "", "").status)
	}
	require.False(t, f.off(offers), "a GET must not unsubscribe")

	for range 2 {
		got := f.oneClick(links.token(offers))
		require.Equal(t, http.StatusOK, got.status, got.body)
		require.Contains(t, got.body, "You will get no more e-mails about offers")
		require.Contains(t, got.body, preferencesLink)
	}
	require.True(t, f.off(offers))
	require.False(t, f.off(all))
	require.False(t, f.off(pushed))
	require.False(t, f.off(other))
	require.Contains(t, f.look(offers).body, `data-state="off"`)

	require.Equal(t, http.StatusOK, f.send(http.MethodPost, links.token(pushed), "", "multipart/form-data; boundary=x", "--x\r\n").status,
		"the body does not matter")
	require.True(t, f.off(pushed))
}

// The link in a mail to a former person unsubscribes the person that they were merged into.
func TestUnsubscribeAfterAMerge(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	former := offers
	former.RecipientKey = notification.RecipientKey{UserType: notification.Guest, UserID: "7"}
	_, err := person.On(f.store).LinkMerged(t.Context(), former.RecipientKey, offers.RecipientKey)
	require.NoError(t, err)
	require.Contains(t, f.look(former).body, `data-state="on"`)
	require.Equal(t, http.StatusOK, f.oneClick(links.token(former)).status)
	require.True(t, f.off(offers))
	require.Contains(t, f.look(former).body, `data-state="off"`)
	require.Empty(t, postgrestest.List(t, f.store, "SELECT user_id FROM user_category_preferences WHERE user_type = 'GUEST'"))
}

// A link without a category unsubscribes from the channel, if any of its messages are optional.
func TestUnsubscribeFromTheChannel(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	all := offers
	all.Category = ""
	require.Contains(t, f.look(all).body, "Stop e-mails?")
	require.Equal(t, http.StatusOK, f.oneClick(links.token(all)).status)
	require.True(t, f.off(all))
	require.Contains(t, f.look(offers).body, `data-state="off"`, "offers are messages of this channel")
}

// A refusal changes nothing. People get a page, and programs get a problem.
func TestRefusals(t *testing.T) {
	t.Parallel()

	bookings := offers
	bookings.Category = "bookings"
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
		{name: "mandatory", token: links.token(bookings), get: 200, post: 422, state: "mandatory", detail: "bookings over EMAIL is mandatory"},
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
				got := f.send(method, tt.token, "text/html", "", "")
				require.Equal(t, want, got.status, method)
				require.Contains(t, got.body, `data-state="`+tt.state+`"`)
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

// The page runs no scripts, cannot be framed, and sends no referrer, because its URL is a secret.
// A category with HTML is shown as text.
func TestPageIsClosed(t *testing.T) {
	t.Parallel()

	f := newFixture(t)
	script := offers
	script.Category = "<script>alert(1)</script>"
	got := f.look(script)
	require.Equal(t, http.StatusOK, got.status)
	require.NotContains(t, got.body, "<script")
	require.Contains(t, got.body, "&lt;script&gt;")
	require.Equal(t, policy, got.header.Get("Content-Security-Policy"))
	require.Equal(t, "no-referrer", got.header.Get("Referrer-Policy"))
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	require.NotContains(t, policy, "script-src")
	require.Contains(t, policy, "default-src 'none'")

	deleted := f.send(http.MethodDelete, kept, "", "", "")
	require.Equal(t, http.StatusMethodNotAllowed, deleted.status)
	require.Equal(t, "GET, HEAD, POST", deleted.header.Get("Allow"))
}
