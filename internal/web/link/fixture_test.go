package link

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/preference"
)

// fixture is the pages with a separate database. Over EMAIL, offers are optional and bookings are
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
		postgrestest.Recipient{UserID: ada.UserID, Email: ada.Email, Phone: ada.Phone},
		postgrestest.Route{EventType: "OFFER"}, postgrestest.Route{EventType: "OFFER", Channel: notification.Push},
		postgrestest.Route{EventType: "BOOKED", Mandatory: true}, postgrestest.Category{EventType: "OFFER"},
		postgrestest.Category{EventType: "BOOKED", Category: "bookings"})
	pages := &Pages{Links: links, Preferences: preference.On(store), Brand: Brand{Name: "Trattoria & Bar"}, Enter: unlimited}
	f := &fixture{t, store, httptest.NewServer(pages.mux())}
	t.Cleanup(f.server.Close)
	return f
}

// mux serves the pages as a gateway does.
func (p *Pages) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/unsubscribe", p.Unsubscribe())
	mux.Handle("/preferences", p.Choose())
	mux.Handle("/mute", p.Mute())
	return mux
}

func unlimited(context.Context, notification.RecipientKey) (leave func(), err error) {
	return func() {}, nil
}

// answer is the answer to a request.
type answer struct {
	status int
	header http.Header
	body   string
}

// call is a request to a page.
type call struct {
	method, path, token, accept, contentType, body string
	language                                       string // Accept-Language
}

func (f *fixture) send(c call) answer {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), c.method, f.server.URL+c.path+"?token="+url.QueryEscape(c.token),
		strings.NewReader(c.body))
	require.NoError(f.t, err)
	r.Header.Set("Accept", c.accept)
	r.Header.Set("Content-Type", c.contentType)
	r.Header.Set("Accept-Language", c.language)
	got, err := http.DefaultTransport.RoundTrip(r) // follows no redirects
	require.NoError(f.t, err)
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	require.NoError(f.t, err)
	return answer{got.StatusCode, got.Header, string(text)}
}

const browser = "text/html,application/xhtml+xml"

// look opens a page as a browser does.
func (f *fixture) look(path, token string) answer {
	f.t.Helper()
	return f.send(call{method: http.MethodGet, path: path, token: token, accept: browser})
}

// submit sends a page's form as a browser does.
func (f *fixture) submit(path, token string, fields url.Values) answer {
	f.t.Helper()
	return f.send(call{
		method: http.MethodPost, path: path, token: token, accept: browser, contentType: "application/x-www-form-urlencoded",
		body: fields.Encode(),
	})
}

// state returns the state that a page shows.
func (a answer) state() string {
	found := regexp.MustCompile(`data-state="([^"]+)"`).FindStringSubmatch(a.body)
	if found == nil {
		return ""
	}
	return found[1]
}

// fields returns the fields that a browser would send with a page's form.
func (a answer) fields() url.Values {
	fields := url.Values{}
	for _, input := range regexp.MustCompile(`<input [^>]*>`).FindAllString(a.body, -1) {
		attribute := func(name string) string {
			if found := regexp.MustCompile(` ` + name + `="([^"]*)"`).FindStringSubmatch(input); found != nil {
				return html.UnescapeString(found[1])
			}
			return ""
		}
		if attribute("type") != "checkbox" || strings.Contains(input, " checked") {
			fields.Add(attribute("name"), attribute("value"))
		}
	}
	return fields
}

// without returns fields without one value.
func without(fields url.Values, name, value string) url.Values {
	kept := url.Values{}
	for n, values := range fields {
		for _, v := range values {
			if n != name || v != value {
				kept.Add(n, v)
			}
		}
	}
	return kept
}

// rows returns all choices in the database.
func (f *fixture) rows() []string {
	f.t.Helper()
	return postgrestest.List(f.t, f.store, `
		SELECT concat_ws(' ', user_id, category, channel_type, enabled) FROM user_category_preferences
		UNION ALL
		SELECT concat_ws(' ', user_id, channel_type, enabled) FROM user_notification_preferences
		UNION ALL
		SELECT concat_ws(' ', user_id, digest_at) FROM user_settings
		UNION ALL
		SELECT concat_ws(' ', user_id, 'mutes', entity_type, entity_id) FROM entity_mute
		ORDER BY 1`)
}
