package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/config/secret"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts/receiptstest"
	"herald/internal/tracing"
	"herald/internal/web/link"
	"herald/internal/web/signin"
)

var signInSettings = signin.Settings{Issuer: "https://app.example.com", Audience: "herald",
	HS256Secret: "a secret of the tests, long enough"}

// provider signs webhook requests like the providers.
var provider = receiptstest.New("https://herald.example.com")

// pushKey is a public key for the browsers of these tests.
const pushKey = "BIyGuP_YJAaEq-dIhdGX-Si72fmOpkyO000ppBHcTmaoE0vs8DsWqWogNisZjw3REQm57MdNFl2iEBnsbABEn5w"

const heraldSecret = "a secret of the tests, long enough"

// links makes the links to these tests' gateways.
var links = link.Links{Key: secret.Key(heraldSecret, secret.Unsubscribe)}

// contracted is a gateway wired as in main, with a separate database and without a broker. The
// tests compare its answers with its OpenAPI document.
type contracted struct {
	*httptest.Server
	t     *testing.T
	store *db.DB
}

func newContracted(t *testing.T) *contracted {
	t.Helper()
	return newContractedWith(t, signin.UsualShare)
}

// contractedSettings returns the environment of these gateways. They never call the servers in it.
func contractedSettings() (environ []string) {
	settings := provider.Settings()
	maps.Copy(settings, map[string]string{
		"DATABASE_URL": "postgres://localhost/herald", "RABBITMQ_URL": "amqp://localhost/", "HERALD_SECRET": heraldSecret,
		"AUTH_ISSUER": signInSettings.Issuer, "AUTH_AUDIENCE": signInSettings.Audience, "AUTH_HS256_SECRET": string(signInSettings.HS256Secret),
		"INGEST_AUDIENCE": "herald-events", "WEBPUSH_VAPID_PUBLIC_KEY": pushKey, "EMAIL_FROM_NAME": "Trattoria Bella",
	})
	for name, value := range settings {
		environ = append(environ, name+"="+value)
	}
	return environ
}

func newContractedWith(t *testing.T, share signin.Share) *contracted {
	t.Helper()
	cfg, err := readSettings(contractedSettings())
	require.NoError(t, err)
	store := postgrestest.New(t)
	store.UseSecrets(secret.Address(cfg.Secret), secret.Address(""))
	require.NoError(t, awaitDatabase(t.Context(), store))
	const requested = "RESERVATION_REQUESTED"
	postgrestest.Add(t, store.Pool,
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Name: "Giulia", Email: staffAddress},
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "11", Name: "Marco", Email: "marco@example.com"},
		postgrestest.Device{Token: "fcm-token-2"},
		postgrestest.Route{EventType: requested, Mandatory: true}, postgrestest.Route{EventType: requested, Channel: notification.Push},
		postgrestest.Category{EventType: requested, Category: "reservations"}, postgrestest.Template{Title: "Title", Body: "Body"},
		postgrestest.Target{EventType: "RATED", EntityType: "RESTAURANT", EntityIDPath: "id", Roles: []string{"FOLLOWER"}},
		postgrestest.Event{ID: "evt-written", Type: requested, AggregateType: "RESTAURANT", AggregateID: "5", Payload: `{"note": null}`},
		postgrestest.Event{ID: "evt-unrouted", Type: "NEWS", AggregateType: "RESTAURANT", AggregateID: "5"})
	metrics, err := newMetrics()
	require.NoError(t, err)
	traces, err := tracing.Start(t.Context(), cfg.traces, "herald-gateway", "")
	require.NoError(t, err)
	served, err := newRooms(cfg, store, store, metrics, traces)
	require.NoError(t, err)
	served.gate.Shares, served.ingest.Shares = signin.NewShares(share), signin.NewShares(share)
	served.links.Enter = signin.NewShares(share).Enter
	t.Cleanup(func() { _ = served.hub.Drain(context.Background()) })
	c := &contracted{Server: httptest.NewServer(served.handler()), t: t, store: store}
	t.Cleanup(c.Close)
	return c
}

// notify adds count notifications to a user's inbox, and returns their ids.
func (c *contracted) notify(userID string, count int) []int64 {
	c.t.Helper()
	ids := make([]int64, count)
	for i := range ids {
		event := fmt.Sprint("evt-", i)
		ids[i] = postgrestest.AddDelivery(c.t, c.store.Pool, postgrestest.Delivery{
			ID: event + "-staff" + userID + "-WEBSOCKET", EventID: event, EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1",
			UserType: notification.RestaurantUser, UserID: userID, Channel: notification.WebSocket, Title: "Title", Body: "Body", URL: "/orders/7",
			Status: notification.Sent, Attempts: 1, AvailableAt: time.Now(),
		}, nil)
	}
	return ids
}

// request is an HTTP request of a test.
type request struct {
	method, path string
	token        string // empty: no Authorization header
	origin       string // the origin of the page that sends the request; empty: no Origin header
	contentType  string // empty: application/json if there is a body; "none": no header
	body         string
	header       http.Header // more headers
}

// do sends a request, and returns the request, the answer and the answer's body.
func (c *contracted) do(t *testing.T, r request) (*http.Request, *http.Response, []byte) {
	t.Helper()
	sent, err := http.NewRequestWithContext(t.Context(), r.method, c.URL+r.path, strings.NewReader(r.body))
	require.NoError(t, err)
	if r.contentType == "" && r.body != "" && r.header == nil {
		r.contentType = "application/json"
	}
	maps.Copy(sent.Header, r.header)
	for name, value := range map[string]string{"Authorization": "Bearer " + r.token, "Origin": r.origin, "Content-Type": r.contentType} {
		if value != "" && value != "Bearer " && value != "none" {
			sent.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(sent)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	sent.Body = io.NopCloser(bytes.NewBufferString(r.body)) // the client has read the body; check reads it again
	return sent, answer, body
}

// token returns a token of a user, signed like the application's tokens.
func token(t testing.TB, userID string) string {
	t.Helper()
	return tokenOfNamed(t, userID, "")
}

// producerToken returns a token of a program that may write events of a type.
func producerToken(t testing.TB, eventType string) string {
	t.Helper()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": signInSettings.Issuer, "aud": "herald-events", "sub": "orders", "events": []string{eventType},
		"exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(signInSettings.HS256Secret))
	require.NoError(t, err)
	return signed
}

func tokenOfNamed(t testing.TB, userID, name string) string {
	t.Helper()
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": signInSettings.Issuer, "aud": signInSettings.Audience, "user_type": "RESTAURANT_USER", "sub": userID, "name": name,
		"exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(signInSettings.HS256Secret))
	require.NoError(t, err)
	return signed
}

// code requests the one-time code of a link to the inbox page.
func (c *contracted) code(t *testing.T, token string) string {
	t.Helper()
	_, _, body := c.do(t, request{method: "POST", path: "/api/inbox-code", token: token})
	var answer struct{ Code string }
	require.NoError(t, json.Unmarshal(body, &answer))
	return answer.Code
}
