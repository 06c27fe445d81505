package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// TestInboxDocument does what docs/inbox.md tells the developer of another page to do: its
// lines of JavaScript run on a page of another origin, and its requests are sent.
func TestInboxDocument(t *testing.T) {
	t.Parallel()

	steps := runnable(t, "docs/inbox.md")
	require.Len(t, steps, 4, "an example in docs/inbox.md that this test does not know")
	emit, code, requests, preferences := steps[0], steps[1], steps[2], steps[3]
	r := &reader{system: newSystem(t), dir: t.TempDir()}
	require.NoError(t, os.Symlink(binaries, filepath.Join(r.dir, "bin")))
	r.starter("seed", "--slack-url", r.sandbox.URL)
	r.startWorker()
	r.starter("poller", "start")
	token := tokenOf(t, notification.RecipientKey{UserType: notification.Customer, UserID: "43"})
	var gateway *gateway
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, appPage, script(t, "docs/inbox.md"), "ws://"+gateway.host(), token)
	}))
	t.Cleanup(app.Close)
	gateway = r.startGateway("GATEWAY_ALLOWED_ORIGINS=" + app.URL)

	page := newBrowser(t).open(app.URL)
	r.shell(emit)
	page.awaitText("#shown", "Reservation confirmed")
	r.awaitCount(1, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND status = 'DELIVERED'")

	page.allow("WebSocket connection")
	gateway.kill()
	r.shell(emit)
	r.awaitCount(1, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND status = 'SENT'")
	r.startGateway("GATEWAY_ALLOWED_ORIGINS="+app.URL, "GATEWAY_HTTP_ADDR="+gateway.host())
	page.awaitText("#shown", "Reservation confirmed\nReservation confirmed")
	r.awaitCount(2, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND status = 'DELIVERED'")

	r.env = append(r.env, "GATEWAY=http://"+gateway.host(), "TOKEN="+token, fmt.Sprint("ID=", r.count("SELECT max(id) FROM notification WHERE channel = 'WEBSOCKET'")))
	r.shell(code)
	r.shell(requests)
	r.awaitCount(0, "SELECT count(*) FROM notification WHERE channel = 'WEBSOCKET' AND read_at IS NULL")
	r.shell(preferences)
	r.awaitCount(1, "SELECT count(*) FROM user_notification_preferences WHERE user_id = '43' AND channel_type = 'EMAIL' AND quiet_hours_start = '22:00'")
	r.awaitCount(1, "SELECT count(*) FROM user_settings WHERE user_id = '43' AND timezone = 'Europe/Rome'")
}

// appPage is a page of an application: the lines of the document, a gateway and a token.
const appPage = `<!doctype html><link rel="icon" href="data:,"><pre id="shown"></pre><script type="module">
%s
listen(%q, async () => %q, (notification) => document.getElementById("shown").append(notification.title + "\n"));
</script>`

// script is the JavaScript of a document.
func script(t *testing.T, document string) string {
	t.Helper()
	for _, block := range codeBlocks(t, document) {
		if block.language == "js" {
			return block.text
		}
	}
	t.Fatalf("%s has no JavaScript", document)
	return ""
}
