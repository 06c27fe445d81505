package endpoint_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/config/environment"
	"herald/internal/relay"
	"herald/internal/relay/endpoint"
)

const secret = "whsec_aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg=="

// receiver answers posts by their bodies, and keeps the ids of the posts.
type receiver struct {
	mu       sync.Mutex
	ids      []string
	statuses map[string]int // by body; 0: 204
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	r.ids = append(r.ids, request.Header.Get("webhook-id"))
	status := r.statuses[string(body)]
	r.mu.Unlock()
	if status == 0 {
		status = http.StatusNoContent
	}
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(status)
}

func newEndpoint(t *testing.T, url string) *endpoint.Endpoint {
	t.Helper()
	e, err := endpoint.New(endpoint.Settings{URL: environment.Secret(url), Secret: secret})
	require.NoError(t, err)
	return e
}

// record returns a record whose event id is its body.
func record(key, body string) relay.Record {
	r := relay.Record{
		Topic: "webhook", Value: []byte(body), Headers: []relay.Header{{Name: "event_type", Value: "x"}, {Name: "event_id", Value: body}},
	}
	if key != "" {
		r.Key = []byte(key)
	}
	return r
}

// Each record is one signed post, whose id is the event id.
func TestProduceSigned(t *testing.T) {
	t.Parallel()

	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, verifier.Verify(body, r.Header))
		assert.Equal(t, "POST /hook/", r.Method+" "+r.URL.String())
		assert.Equal(t, string(body), r.Header.Get("webhook-id"))
	}))
	t.Cleanup(server.Close)

	require.Equal(t, []error{nil, nil},
		newEndpoint(t, server.URL+"/hook/").ProduceAll(t.Context(), []relay.Record{record("a", "1"), record("", "2")}))
}

// Records of a key keep their order. A refused record holds only the later records of its key.
func TestProduceInOrder(t *testing.T) {
	t.Parallel()

	of := &receiver{statuses: map[string]int{"1": http.StatusUnprocessableEntity}}
	server := httptest.NewServer(of)
	t.Cleanup(server.Close)
	var records []relay.Record
	for n := range 40 {
		records = append(records, record(fmt.Sprint("key", n%2), fmt.Sprint(n)))
	}

	for n, err := range newEndpoint(t, server.URL).ProduceAll(t.Context(), records) {
		switch {
		case n%2 == 0:
			require.NoError(t, err)
		case n == 1:
			require.Equal(t, &relay.RefusedError{Topic: "webhook", Code: "the receiver refused: 422", Verdict: relay.RetryRecord}, err)
		default:
			require.Equal(t, relay.ErrKeyHeld, err)
		}
	}
	var even []string
	for _, id := range of.ids {
		if id != "1" {
			even = append(even, id)
		}
	}
	require.Len(t, even, 20)
	for n, id := range even {
		require.Equal(t, fmt.Sprint(2*n), id)
	}
}

// The status decides what is at fault: the record, the webhook, or neither.
func TestVerdicts(t *testing.T) {
	t.Parallel()

	for status, want := range map[int]relay.Verdict{
		302: relay.BackOffTopic, 401: relay.BackOffTopic, 403: relay.BackOffTopic, 404: relay.BackOffTopic, 405: relay.BackOffTopic, 410: relay.BackOffTopic,
		400: relay.RetryRecord, 413: relay.RetryRecord, 422: relay.RetryRecord,
		408: "", 429: "", 500: "", 503: "",
	} {
		of := &receiver{statuses: map[string]int{"1": status}}
		server := httptest.NewServer(of)
		e := newEndpoint(t, server.URL)
		errs := e.ProduceAll(t.Context(), []relay.Record{record("a", "1"), record("a", "2")})
		server.Close()
		require.Equal(t, []string{"1"}, of.ids, "the sender follows no redirect and repeats nothing: %d", status)
		require.Equal(t, relay.ErrKeyHeld, errs[1])
		if want == "" {
			require.ErrorAs(t, errs[0], new(*relay.UnavailableError), status)
			require.Error(t, e.Ready(t.Context()), "the walk waits and counts no refusal")
			continue
		}
		var refused *relay.RefusedError
		require.ErrorAs(t, errs[0], &refused, status)
		require.Equal(t, want, refused.Verdict, status)
	}
}

// If the receiver is down, no record counts a refusal, and the error shows no address.
func TestReceiverAway(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	errs := newEndpoint(t, server.URL+"/secret").ProduceAll(t.Context(), []relay.Record{record("a", "1")})
	require.EqualError(t, errs[0], "the destination cannot be reached, or is not ready: the receiver was out of reach: no connection")
}

func TestSettings(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ url, secret, want string }{
		"off":          {},
		"on":           {url: "https://hooks.example.com/herald", secret: secret},
		"this machine": {url: "http://127.0.0.1:9090/x", secret: secret},
		"no secret":    {url: "https://hooks.example.com", want: "LIFECYCLE_WEBHOOK_SECRET is not set, but LIFECYCLE_WEBHOOK_URL is"},
		"no URL":       {secret: secret, want: "LIFECYCLE_WEBHOOK_URL is not set, but LIFECYCLE_WEBHOOK_SECRET is"},
		"no key":       {url: "https://hooks.example.com", secret: "hunter2", want: "LIFECYCLE_WEBHOOK_SECRET must be whsec_"},
		"clear text":   {url: "http://hooks.example.com", secret: secret, want: "LIFECYCLE_WEBHOOK_URL leads to another host without encryption"},
		"no host":      {url: "hooks", secret: secret, want: "LIFECYCLE_WEBHOOK_URL must be a URL"},
	} {
		r := environment.NewReader(map[string]string{"LIFECYCLE_WEBHOOK_URL": tt.url, "LIFECYCLE_WEBHOOK_SECRET": tt.secret})
		new(endpoint.Settings).Read(r)
		if tt.want == "" {
			require.NoError(t, r.Err(), name)
		} else {
			require.ErrorContains(t, r.Err(), tt.want, name)
		}
	}
}
