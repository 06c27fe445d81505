package inbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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
	api := &inbox.API{Store: inbox.On(store), Pages: inbox.On(store), Preferences: preference.On(store), Tickets: gate.Tickets,
		Codes: signin.Codes{Tickets: gate.Tickets, Key: []byte("a key of the tests, of 32 bytes.")}}
	mux := http.NewServeMux()
	mux.Handle("/api/", gate.Required(api.Handler()))
	mux.Handle("/api/session", api.Session())
	mux.Handle("/demo/", (&inbox.Demo{People: person.On(store), Settings: settings}).Handler())
	mux.Handle("/", inbox.Page{}.Handler())
	g := &process{Server: httptest.NewServer(mux), t: t, store: store}
	t.Cleanup(g.Close)
	postgrestest.Add(t, store.Pool,
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Name: "Giulia Conti"},
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "11", Name: "Marco Bianchi"},
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "15", Name: "Paolo Serra", Inactive: true})
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
		event, at := fmt.Sprint("evt-", i), time.Date(2026, 11, 21, 10, 0, i, 0, time.UTC)
		ids[i] = postgrestest.AddDelivery(g.t, g.store.Pool, postgrestest.Delivery{
			ID: event + "-staff" + who.UserID + "-WEBSOCKET", EventID: event, EventType: "RESERVATION_REQUESTED",
			UserType: who.UserType, UserID: who.UserID, Channel: notification.WebSocket, Title: "Title", Body: "Body",
			Status: notification.Sent, Attempts: 1, SentAt: at, AvailableAt: at,
		}, nil)
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
