package sandbox_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

func TestReceiptsOfAMail(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, `{"delay":"1s"}`, nil)
	mail := mailTo(object{"to": []any{object{"email": "bounce+7@example.com"}, object{"email": "eve@example.com"}}})
	mail["categories"] = []string{"offers"}
	before := time.Now()
	id := g.accept(t, mailCall(mail)).Get("X-Message-Id")

	ids := map[string]bool{}
	said := map[string][]string{}
	for _, e := range g.events(t, 4) {
		address := e["email"].(string)
		said[address] = append(said[address], e["event"].(string))
		ids[e["sg_event_id"].(string)] = true
		message, _, _ := strings.Cut(e["sg_message_id"].(string), ".")
		require.Equal(t, id, message)
		require.Equal(t, "evt-1-staff10-EMAIL", e["delivery_id"])
		require.Equal(t, []any{"offers"}, e["category"])
		require.GreaterOrEqual(t, int64(e["timestamp"].(float64)), before.Add(time.Second).Unix())
		if e["event"] == "bounce" {
			require.Equal(t, "bounce", e["type"])
			require.Contains(t, e["reason"], "bounce+7@example.com", "mail servers quote the address")
		}
	}
	require.Equal(t, map[string][]string{"bounce+7@example.com": {"processed", "bounce"}, "eve@example.com": {"processed", "delivered"}}, said)
	require.Len(t, ids, 4)
}

// The address of an e-mail selects its outcome.
func TestMailOutcomes(t *testing.T) {
	t.Parallel()

	for address, want := range map[string][]string{
		"ada@example.com":                  {"processed", "delivered"},
		"Bounce@example.com":               {"processed", "bounce"},
		"blocked@example.com":              {"processed", "bounce"},
		"deferred@example.com":             {"processed", "deferred", "deferred", "delivered"},
		"dropped-bounced@example.com":      {"dropped"},
		"dropped-invalid@example.com":      {"dropped"},
		"dropped-spam@example.com":         {"dropped"},
		"dropped-unsubscribed@example.com": {"dropped"},
		"open@example.com":                 {"processed", "delivered", "open"},
		"spamreport@example.com":           {"processed", "delivered", "spamreport"},
		"unsubscribe@example.com":          {"processed", "delivered", "unsubscribe"},
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			g := startWithGateway(t, `{"delay":"1ms"}`, nil)
			g.accept(t, mailToAddress("silent@example.com"))
			g.accept(t, mailToAddress(address))
			got := g.events(t, len(want))
			slices.SortStableFunc(got, func(a, b event) int { return place(want, a) - place(want, b) }) // batches may arrive in any order
			require.Equal(t, want, words(got))
		})
	}
}

func place(words []string, e event) int { return slices.Index(words, e["event"].(string)) }

func TestReceiptsOfAText(t *testing.T) {
	t.Parallel()

	for number, want := range map[string][]string{ // each status with its error code
		"+15551234567": {"sent ", "delivered "},
		"+15005550103": {"sent ", "undelivered 30003"},
		"+15005550105": {"sent ", "undelivered 30005"},
		"+15005550106": {"sent ", "undelivered 30006"},
		"+15005550107": {"sent ", "undelivered 30007"},
		"+15005550108": {"failed 30008"},
		"+15005550110": {"failed 21610"},
	} {
		t.Run(number, func(t *testing.T) {
			t.Parallel()
			g := startWithGateway(t, `{"delay":"1ms"}`, nil)
			g.accept(t, smsCall(smsWith("To", "+15005550199"))) // gets no receipts
			form := smsWith("To", number)
			form.Set("StatusCallback", "https://herald.example.com/webhooks/twilio?delivery_id=evt%7E1+%E2%82%AC#rc=2")
			_, _, body := g.box.answer(t, smsCall(form))
			var created struct{ Sid string }
			require.NoError(t, json.Unmarshal([]byte(body), &created))

			var said []string
			for range want {
				got := g.callback(t, "token", "https://herald.example.com")
				require.Equal(t, created.Sid, got.Get("MessageSid"))
				require.Equal(t, "AC123", got.Get("AccountSid"))
				require.Equal(t, number, got.Get("To"))
				said = append(said, got.Get("MessageStatus")+" "+got.Get("ErrorCode"))
			}
			require.ElementsMatch(t, want, said)
		})
	}
}

func TestUnrequestedReceipts(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, atOnce, nil)
	g.accept(t, smsCall(smsWith("StatusCallback", "")))
	g.box.expect(t, http.StatusBadRequest, mailToAddress("nobody"))
	g.setFault(t, "EMAIL", `{"status":503}`)
	g.box.expect(t, http.StatusServiceUnavailable, mailToAddress("refused@example.com"))
	g.setFault(t, "EMAIL", `{"drop":"after"}`)
	_, err := g.do(t, mailToAddress("untold@example.com")) //nolint:bodyclose // no answer, so no body
	require.Error(t, err)
	for _, e := range g.events(t, 2) {
		require.Equal(t, "untold@example.com", e["email"], "the only one that was accepted")
	}
}

// An outcome in the settings wins over the outcome that the address names.
func TestReceiptOutcomesFromSettings(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, "", nil)
	g.setReceipts(t, `{"delay":"0s","outcomes":{"Ada@example.com":"spamreport","bounce@example.com":"silent","+15551234567":"failed"}}`)
	g.accept(t, mailToAddress("bounce@example.com"))
	g.accept(t, mailToAddress("ada@example.com"))
	require.ElementsMatch(t, []string{"processed", "delivered", "spamreport"}, words(g.events(t, 3)))
	g.accept(t, smsCall(goodSMS()))
	require.Equal(t, "failed", g.callback(t, "token", "https://herald.example.com").Get("MessageStatus"))

	g.box.expect(t, http.StatusNoContent, call{method: http.MethodDelete, path: "/receipts"})
	body := g.box.get(t, "/receipts")
	require.Regexp(t, `^\{"gateway":"http://127\.0\.0\.1:\d+"\}\n$`, body)
	body = start(t).get(t, "/receipts")
	require.JSONEq(t, `{}`, body, "none are sent")
}

// A sandbox that ends does not wait for receipts, and sends none afterwards.
func TestReceiptsEnd(t *testing.T) {
	t.Parallel()

	posts := make(chan string, 10)
	listening := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { posts <- r.URL.Path }))
	t.Cleanup(listening.Close)
	server, err := sandbox.New(sandbox.Config{
		Ledger: filepath.Join(t.TempDir(), "ledger"), Gateway: listening.URL, Receipts: `{"delay":"1m"}`,
	})
	require.NoError(t, err)
	answered := httptest.NewRecorder()
	c := mailToAddress("ada@example.com")
	request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	request.Header = http.Header{"Authorization": {c.authorization}, "Content-Type": {c.contentType}}
	server.ServeHTTP(answered, request)
	require.Equal(t, http.StatusAccepted, answered.Code)

	require.NoError(t, server.Close())
	listening.Close() // waits for requests in flight
	require.Empty(t, posts)
}
