package console_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/answer"
	"herald/internal/check"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/web/console"
)

// desk is a console over a new database. Temporal is out of reach.
type desk struct {
	t       *testing.T
	store   *db.DB
	console *console.Console
	server  *httptest.Server
	now     time.Time
	pollers func(context.Context) (operate.Pollers, error)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, store: postgrestest.New(t), now: time.Now()}
	d.store.UseSecrets(notification.AddressKey{Fingerprint: "test", Hash: hashOf}, notification.AddressKey{})
	away := errors.New("Temporal is out of reach")
	d.pollers = func(context.Context) (operate.Pollers, error) { return operate.Pollers{}, away }
	d.console = console.New(console.Config{
		Explain:   explain.Explainer{DB: d.store, Unreachable: away},
		Operator:  func(order operate.Order) *operate.Operator { return &operate.Operator{Order: order, DB: d.store} },
		Providers: func(context.Context) ([]operate.ProviderView, error) { return nil, nil },
		Pollers:   func(ctx context.Context) (operate.Pollers, error) { return d.pollers(ctx) },
		Check: func(context.Context) check.Result {
			return check.Result{
				Checked: []string{"rules"}, Mistakes: []check.Mistake{{Place: "notification_template", Problem: hostile, Remedy: hostile}},
			}
		},
		Answers: answer.Reader{
			Explain: explain.Explainer{DB: d.store, Unreachable: away},
			Pollers: func(ctx context.Context) (operate.Pollers, error) { return d.pollers(ctx) },
			CheckAll: func(context.Context) check.Result {
				return check.Result{Mistakes: []check.Mistake{{Place: "x", Problem: hostile}}}
			},
		},
		Access: console.Access{Actor: "ada"}, Key: []byte("key"), Logger: slog.New(slog.DiscardHandler),
	})
	d.console.SetClock(func() time.Time { return d.now })
	d.server = httptest.NewServer(d.console.Handler())
	t.Cleanup(d.server.Close)
	return d
}

// get returns the status and the text of a page.
func (d *desk) get(path string) (int, string) {
	d.t.Helper()
	return d.do(must(http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.server.URL+path, nil))(d.t))
}

func (d *desk) post(path string, form url.Values) (int, string) {
	d.t.Helper()
	request := must(http.NewRequestWithContext(d.t.Context(), http.MethodPost, d.server.URL+path, strings.NewReader(form.Encode())))(d.t)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return d.do(request)
}

func (d *desk) do(request *http.Request) (int, string) {
	d.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer := must(client.Do(request))(d.t)
	defer func() { _ = answer.Body.Close() }()
	text := must(io.ReadAll(answer.Body))(d.t)
	require.Contains(d.t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'")
	if answer.StatusCode == http.StatusSeeOther {
		return answer.StatusCode, answer.Header.Get("Location")
	}
	return answer.StatusCode, string(text)
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}

func hashOf(address string) []byte {
	sum := sha256.Sum256([]byte(address))
	return sum[:]
}
