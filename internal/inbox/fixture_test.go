package inbox_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/preference"
	"herald/internal/web/signin"
)

var settings = signin.Settings{Issuer: "https://app.example.com", Audience: "herald", HS256Secret: "a secret of the tests, long enough"}

// Two recipients, each with an inbox.
var (
	giulia = notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "10"}
	marco  = notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "11"}
)

// process serves this package's part of a gateway, with a separate database.
type process struct {
	*httptest.Server
	t     *testing.T
	store *db.DB
}

func newGateway(t *testing.T) *process {
	t.Helper()
	store := postgrestest.New(t)
	gate := &signin.Gate{
		Verifier:  signin.NewVerifier(settings),
		Tickets:   signin.Tickets{Store: inbox.On(store), Key: []byte("key")},
		Shares:    signin.NewShares(signin.UsualShare),
		Directory: inbox.On(store),
		Refused:   func(signin.Reason) {},
	}
	api := &inbox.API{Store: inbox.On(store), Pages: inbox.On(store), Preferences: preference.On(store), Tickets: gate.Tickets, Codes: signin.Codes{Tickets: gate.Tickets, Key: []byte("a key of the tests, of 32 bytes.")}}
	mux := http.NewServeMux()
	mux.Handle("/api/", gate.Required(api.Handler()))
	mux.Handle("/api/session", api.Session())
	mux.Handle("/demo/", (&inbox.Demo{People: person.On(store), Settings: settings}).Handler())
	mux.Handle("/", inbox.Page{}.Handler())
	g := &process{Server: httptest.NewServer(mux), t: t, store: store}
	t.Cleanup(g.Close)
	g.exec(`INSERT INTO recipient (user_type, user_id, name, active)
		VALUES ('RESTAURANT_USER', '10', 'Giulia Conti', true), ('RESTAURANT_USER', '11', 'Marco Bianchi', true), ('RESTAURANT_USER', '15', 'Paolo Serra', false)`)
	return g
}

func (g *process) exec(sql string, args ...any) {
	g.t.Helper()
	postgrestest.Exec(g.t, g.store, sql, args...)
}

// notify adds count notifications to an inbox, each a second after the previous, and returns their
// ids in this order.
func (g *process) notify(who notification.RecipientKey, count int) []int64 {
	g.t.Helper()
	ids := make([]int64, count)
	for i := range ids {
		ids[i] = postgrestest.Get[int64](g.t, g.store, `
			INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, attempt_count, sent_at, available_at)
			SELECT event_id, 'RESERVATION_REQUESTED', $1, $2, 'WEBSOCKET', event_id || '-staff' || $2 || '-WEBSOCKET', 'Title', 'Body', 'SENT', 1, at, at
			FROM   (SELECT 'evt-' || $3::int AS event_id, timestamptz '2026-11-21 10:00Z' + $3::int * interval '1s' AS at) AS made
			RETURNING id`, who.UserType, who.UserID, i)
	}
	return ids
}

// request is an HTTP request of a test.
type request struct {
	method, path string
	token        string // empty: no Authorization header
	contentType  string // empty: application/json if there is a body; "none": no header
	body         string
}

// do sends a request, and returns the answer and its body.
func (g *process) do(t *testing.T, r request) (*http.Response, []byte) {
	t.Helper()
	sent, err := http.NewRequestWithContext(t.Context(), r.method, g.URL+r.path, strings.NewReader(r.body))
	require.NoError(t, err)
	if r.token != "" {
		sent.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.contentType == "" && r.body != "" {
		r.contentType = "application/json"
	}
	if r.contentType != "" && r.contentType != "none" {
		sent.Header.Set("Content-Type", r.contentType)
	}
	answer, err := http.DefaultClient.Do(sent)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, body
}

// token returns a token signed as by the application.
func token(t testing.TB, who notification.RecipientKey) string {
	t.Helper()
	signed, err := inboxToken(string(settings.HS256Secret), string(who.UserType), who.UserID, "")
	require.NoError(t, err)
	return signed
}
