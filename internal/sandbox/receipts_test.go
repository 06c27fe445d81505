package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sendgrid/sendgrid-go/helpers/eventwebhook"
	"github.com/stretchr/testify/require"
	"github.com/twilio/twilio-go/client"

	"herald/internal/sandbox"
)

// gateway stands for Herald's: it has what the sandbox posted to it.
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

// startWithGateway starts a sandbox that sends receipts, to a gateway that takes them all
// unless answer says otherwise.
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

// next waits for the next post.
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

// events waits for a number of SendGrid's events, whose signatures SendGrid's own library checks.
func (g gateway) events(t *testing.T, count int) []event {
	t.Helper()
	_, _, text := g.box.answer(t, call{method: http.MethodGet, path: "/keys/sendgrid"})
	key, err := eventwebhook.ConvertPublicKeyBase64ToECDSA(strings.TrimSpace(text))
	require.NoError(t, err)
	var all []event
	for len(all) < count {
		got := g.next(t)
		require.Equal(t, "/webhooks/sendgrid", got.path)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		genuine, err := eventwebhook.VerifySignature(key, []byte(got.body), got.header.Get(eventwebhook.VerificationHTTPHeader), got.header.Get(eventwebhook.TimestampHTTPHeader))
		require.NoError(t, err)
		require.True(t, genuine)
		var batch []event
		require.NoError(t, json.Unmarshal([]byte(got.body), &batch))
		require.NotEmpty(t, batch)
		all = append(all, batch...)
	}
	require.Len(t, all, count)
	return all
}

// callback waits for one of Twilio's, whose signature Twilio's own library checks.
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

// words are what the receipts say.
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
			require.Contains(t, e["reason"], "bounce+7@example.com", "as mail servers say it")
		}
	}
	require.Equal(t, map[string][]string{"bounce+7@example.com": {"processed", "bounce"}, "eve@example.com": {"processed", "delivered"}}, said)
	require.Len(t, ids, 4)
}

// What an address says becomes of a mail.
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
			slices.SortStableFunc(got, func(a, b event) int { return place(want, a) - place(want, b) }) // batches overtake each other
			require.Equal(t, want, words(got))
		})
	}
}

func place(words []string, e event) int { return slices.Index(words, e["event"].(string)) }

func TestReceiptsOfAText(t *testing.T) {
	t.Parallel()

	for number, want := range map[string][]string{ // statuses, each with its error
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
			g.accept(t, smsCall(smsWith("To", "+15005550199"))) // says nothing
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

func TestReceiptsNobodyAskedFor(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, atOnce, nil)
	g.accept(t, smsCall(smsWith("StatusCallback", "")))
	status, _, _ := g.box.answer(t, mailToAddress("nobody"))
	require.Equal(t, http.StatusBadRequest, status)
	g.setFault(t, "EMAIL", `{"status":503}`)
	status, _, _ = g.box.answer(t, mailToAddress("refused@example.com"))
	require.Equal(t, http.StatusServiceUnavailable, status)
	g.setFault(t, "EMAIL", `{"drop":"after"}`)
	_, err := g.do(t, mailToAddress("untold@example.com")) //nolint:bodyclose // there is no answer
	require.Error(t, err)
	for _, e := range g.events(t, 2) {
		require.Equal(t, "untold@example.com", e["email"], "the only one that was accepted")
	}
}

func TestReceiptFaults(t *testing.T) {
	t.Parallel()

	t.Run("lost", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, `{"delay":"0s","lost":true}`, nil)
		g.accept(t, mailToAddress("lost@example.com"))
		g.setReceipts(t, atOnce)
		g.accept(t, mailToAddress("ada@example.com"))
		for _, e := range g.events(t, 2) {
			require.Equal(t, "ada@example.com", e["email"])
		}
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, `{"delay":"0s","twice":true}`, nil)
		g.accept(t, mailToAddress("ada@example.com"))
		times := map[string]int{}
		for _, e := range g.events(t, 4) {
			times[e["sg_event_id"].(string)]++
		}
		require.Len(t, times, 2)
		for _, count := range times {
			require.Equal(t, 2, count)
		}
	})
	t.Run("late", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, `{"delay":"0s","late":"1500ms"}`, nil)
		before := time.Now()
		g.accept(t, smsCall(goodSMS()))
		require.GreaterOrEqual(t, g.next(t).at.Sub(before), 1500*time.Millisecond)
	})
	t.Run("shuffled", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, `{"delay":"20ms","shuffled":true}`, nil)
		require.Eventually(t, func() bool {
			g.accept(t, mailToAddress("ada@example.com"))
			return slices.Equal(words(g.events(t, 2)), []string{"delivered", "processed"})
		}, time.Minute, time.Millisecond)
	})
	t.Run("some", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, `{"delay":"0s","twice":true,"rate":0.5}`, nil)
		ids := map[string]int{}
		for n := range 50 { // all or none: once in 2^99
			g.accept(t, mailToAddress(fmt.Sprintf("ada%d@example.com", n)))
		}
		g.setReceipts(t, atOnce)
		g.accept(t, mailToAddress("last@example.com"))
		for last := 0; last < 2; {
			for _, e := range g.batch(t) {
				ids[e["sg_event_id"].(string)]++
				if e["email"] == "last@example.com" {
					last++
				}
			}
		}
		require.Eventually(t, func() bool {
			select {
			case got := <-g.posts:
				for _, e := range parseEvents(t, got.body) {
					ids[e["sg_event_id"].(string)]++
				}
			default:
			}
			return len(ids) == 102
		}, time.Minute, time.Millisecond)
		counts := map[int]int{}
		for _, times := range ids {
			counts[times]++
		}
		require.Positive(t, counts[1])
		require.Positive(t, counts[2])
	})
}

func (g gateway) batch(t *testing.T) []event {
	t.Helper()
	return parseEvents(t, g.next(t).body)
}

func parseEvents(t *testing.T, body string) []event {
	t.Helper()
	var batch []event
	require.NoError(t, json.Unmarshal([]byte(body), &batch))
	return batch
}

func (b box) setReceipts(t *testing.T, settings string) {
	t.Helper()
	status, _, body := b.answer(t, call{method: http.MethodPut, path: "/receipts", body: settings})
	require.Equal(t, http.StatusOK, status, body)
	require.JSONEq(t, settings, body)
}

// An outcome that is set counts in place of the one that the address says.
func TestReceiptOutcomesThatAreSet(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, "", nil)
	g.setReceipts(t, `{"delay":"0s","outcomes":{"Ada@example.com":"spamreport","bounce@example.com":"silent","+15551234567":"failed"}}`)
	g.accept(t, mailToAddress("bounce@example.com"))
	g.accept(t, mailToAddress("ada@example.com"))
	require.ElementsMatch(t, []string{"processed", "delivered", "spamreport"}, words(g.events(t, 3)))
	g.accept(t, smsCall(goodSMS()))
	require.Equal(t, "failed", g.callback(t, "token", "https://herald.example.com").Get("MessageStatus"))

	status, _, _ := g.box.answer(t, call{method: http.MethodDelete, path: "/receipts"})
	require.Equal(t, http.StatusNoContent, status)
	_, _, body := g.box.answer(t, call{method: http.MethodGet, path: "/receipts"})
	require.Regexp(t, `^\{"gateway":"http://127\.0\.0\.1:\d+"\}\n$`, body)
	_, _, body = start(t).answer(t, call{method: http.MethodGet, path: "/receipts"})
	require.JSONEq(t, `{}`, body, "none are sent")
}

func TestReceiptsRefused(t *testing.T) {
	t.Parallel()

	b := start(t)
	for body, complaint := range map[string]string{
		``:                              "not settings",
		`{"dely":"1s"}`:                 "dely",
		`{} {}`:                         "follows",
		`{"delay":"-1s"}`:               "delay",
		`{"delay":"25h"}`:               "delay",
		`{"late":"-1s"}`:                "late",
		`{"late":"25h"}`:                "late",
		`{"rate":1.1,"lost":true}`:      "rate",
		`{"rate":-1,"lost":true}`:       "rate",
		`{"rate":0.5}`:                  "needs a fault",
		`{"outcomes":{"ada":"bounce"}}`: "neither",
		`{"outcomes":{"ada@example.com":"undelivered"}}`:         "spamreport",
		`{"outcomes":{"+393331234567":"bounce"}}`:                "undelivered",
		`{"outcomes":{"` + strings.Repeat("a", 1<<20) + `":""}}`: "too large",
	} {
		status, _, answer := b.answer(t, call{method: http.MethodPut, path: "/receipts", body: body})
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, answer, complaint)
	}
	_, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Receipts: `{"rate":2}`})
	require.ErrorContains(t, err, "rate")
}

// SendGrid repeats a batch that was not taken, as it was. Twilio does so if it was asked to.
func TestReceiptsRepeated(t *testing.T) {
	t.Parallel()

	t.Run("SendGrid", func(t *testing.T) {
		t.Parallel()
		statuses := make(chan int, 3)
		statuses <- http.StatusServiceUnavailable
		statuses <- http.StatusFound
		statuses <- http.StatusNoContent
		g := startWithGateway(t, atOnce, func(string) int { return <-statuses })
		g.accept(t, mailToAddress("dropped-invalid@example.com"))
		first := g.next(t)
		for range 2 {
			again := g.next(t)
			require.Equal(t, first.body, again.body)
			require.Equal(t, first.header.Get(eventwebhook.TimestampHTTPHeader), again.header.Get(eventwebhook.TimestampHTTPHeader))
			require.Equal(t, first.header.Get(eventwebhook.VerificationHTTPHeader), again.header.Get(eventwebhook.VerificationHTTPHeader))
		}
		g.shows(t, "0 wait, 1 taken, 2 refused, 0 lost")
	})
	t.Run("Twilio", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, atOnce, func(string) int { return http.StatusServiceUnavailable })
		g.accept(t, smsCall(smsWith("To", "+15005550108")))
		g.next(t)
		g.shows(t, "0 wait, 0 taken, 1 refused, 1 lost")
	})
	t.Run("Twilio, as it was asked to", func(t *testing.T) {
		t.Parallel()
		statuses := make(chan int, 2)
		statuses <- http.StatusServiceUnavailable
		statuses <- http.StatusForbidden
		g := startWithGateway(t, atOnce, func(string) int { return <-statuses })
		form := smsWith("To", "+15005550108")
		form.Set("StatusCallback", "https://herald.example.com/webhooks/twilio?delivery_id=1#rc=5&rp=5xx,ct,rt")
		g.accept(t, smsCall(form))
		require.Equal(t, g.next(t).body, g.next(t).body)
		g.shows(t, "0 wait, 0 taken, 2 refused, 1 lost")
	})
}

// shows waits until the page says what became of the receipts.
func (g gateway) shows(t *testing.T, counts string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, _, page := g.box.answer(t, call{method: http.MethodGet, path: "/"})
		return strings.Contains(page, counts)
	}, time.Minute, 5*time.Millisecond)
}

// A sandbox that ends does not wait for receipts, and sends none after that.
func TestReceiptsEnd(t *testing.T) {
	t.Parallel()

	posts := make(chan string, 10)
	listening := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { posts <- r.URL.Path }))
	t.Cleanup(listening.Close)
	server, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Gateway: listening.URL, Receipts: `{"delay":"2s"}`})
	require.NoError(t, err)
	answered := httptest.NewRecorder()
	c := mailToAddress("ada@example.com")
	request := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	request.Header = http.Header{"Authorization": {c.authorization}, "Content-Type": {c.contentType}}
	server.ServeHTTP(answered, request)
	require.Equal(t, http.StatusAccepted, answered.Code)

	began := time.Now()
	require.NoError(t, server.Close())
	require.Less(t, time.Since(began), 2*time.Second)
	listening.Close() // waits for requests
	require.Empty(t, posts)
}
