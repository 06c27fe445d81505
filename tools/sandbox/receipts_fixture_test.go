package sandbox_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sendgrid/sendgrid-go/helpers/eventwebhook"
	"github.com/stretchr/testify/require"
	"github.com/twilio/twilio-go/client"

	"herald/tools/sandbox"
)

// gateway replaces Herald's gateway and keeps the requests of the sandbox.
type gateway struct {
	box

	posts chan arrival
}

type arrival struct {
	path   string
	header http.Header
	body   string
	at     time.Time
}

// startWithGateway starts a sandbox and a gateway for its receipts. The gateway responds with
// the status that answer returns, or with 204 if answer is nil.
func startWithGateway(t *testing.T, receipts string, answer func(path string) int) gateway {
	t.Helper()
	g := gateway{posts: make(chan arrival, 1000)}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g.posts <- arrival{r.URL.RequestURI(), r.Header, string(body), time.Now()}
		status := http.StatusNoContent
		if answer != nil {
			status = answer(r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(listening.Close)
	g.box = startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Gateway: listening.URL, Receipts: receipts})
	return g
}

// next waits for the next request of the sandbox.
func (g gateway) next(t *testing.T) arrival {
	t.Helper()
	select {
	case got := <-g.posts:
		return got
	case <-time.After(time.Minute):
		require.Fail(t, "no receipt came")
		return arrival{}
	}
}

type event = map[string]any

// events waits for count events of SendGrid and checks the signatures with SendGrid's library.
func (g gateway) events(t *testing.T, count int) []event {
	t.Helper()
	text := g.box.get(t, "/keys/sendgrid")
	key, err := eventwebhook.ConvertPublicKeyBase64ToECDSA(strings.TrimSpace(text))
	require.NoError(t, err)
	var all []event
	for len(all) < count {
		got := g.next(t)
		require.Equal(t, "/webhooks/sendgrid", got.path)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		genuine, err := eventwebhook.VerifySignature(key, []byte(got.body), got.header.Get(eventwebhook.VerificationHTTPHeader),
			got.header.Get(eventwebhook.TimestampHTTPHeader))
		require.NoError(t, err)
		require.True(t, genuine)
		all = append(all, parseEvents(t, got.body)...)
	}
	require.Len(t, all, count)
	return all
}

// callback waits for a callback of Twilio and checks the signature with Twilio's library.
func (g gateway) callback(t *testing.T, token, publicURL string) url.Values {
	t.Helper()
	got := g.next(t)
	form, err := url.ParseQuery(got.body)
	require.NoError(t, err)
	params := map[string]string{}
	for name := range form {
		params[name] = form.Get(name)
	}
	validator := client.NewRequestValidator(token)
	require.True(t, validator.Validate(publicURL+got.path, params, got.header.Get("X-Twilio-Signature")))
	require.False(t, validator.Validate(publicURL+got.path+"0", params, got.header.Get("X-Twilio-Signature")))
	return form
}

func words(events []event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e["event"].(string))
	}
	return all
}

func mailToAddress(address string) call {
	return mailCall(mailTo(object{"to": []any{object{"email": address}}}))
}

func (g gateway) accept(t *testing.T, c call) http.Header {
	t.Helper()
	status, header, body := g.box.answer(t, c)
	require.True(t, status == http.StatusAccepted || status == http.StatusCreated, body)
	return header
}

const atOnce = `{"delay":"0s"}`

func parseEvents(t *testing.T, body string) []event {
	t.Helper()
	var batch []event
	require.NoError(t, json.Unmarshal([]byte(body), &batch))
	require.NotEmpty(t, batch)
	return batch
}

func (b box) setReceipts(t *testing.T, settings string) {
	t.Helper()
	body := b.expect(t, http.StatusOK, call{method: http.MethodPut, path: "/receipts", body: settings})
	require.JSONEq(t, settings, body)
}

// shows waits until the page shows these counts of receipts.
func (g gateway) shows(t *testing.T, counts string) {
	t.Helper()
	require.Eventually(t, func() bool {
		page := g.box.get(t, "/")
		return strings.Contains(page, counts)
	}, time.Minute, 5*time.Millisecond)
}
