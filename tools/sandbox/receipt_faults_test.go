package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sendgrid/sendgrid-go/helpers/eventwebhook"
	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

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
		for n := range 50 { // fails by chance once in 2^99 runs
			g.accept(t, mailToAddress(fmt.Sprintf("ada%d@example.com", n)))
		}
		g.setReceipts(t, atOnce)
		g.accept(t, mailToAddress("last@example.com"))
		for last := 0; last < 2; {
			for _, e := range parseEvents(t, g.next(t).body) {
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
		`{"rate":0.5}`:                  "without a fault",
		`{"outcomes":{"ada":"bounce"}}`: "neither",
		`{"outcomes":{"ada@example.com":"undelivered"}}`:         "spamreport",
		`{"outcomes":{"+393331234567":"bounce"}}`:                "undelivered",
		`{"outcomes":{"` + strings.Repeat("a", 1<<20) + `":""}}`: "too large",
	} {
		answer := b.expect(t, http.StatusBadRequest, call{method: http.MethodPut, path: "/receipts", body: body})
		require.Contains(t, answer, complaint)
	}
	_, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Receipts: `{"rate":2}`})
	require.ErrorContains(t, err, "rate")
}

// SendGrid repeats a rejected batch unchanged. Twilio repeats only if the URL's fragment says so.
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
		g.shows(t, "0 waiting, 1 taken, 2 refused, 0 lost")
	})
	t.Run("Twilio", func(t *testing.T) {
		t.Parallel()
		g := startWithGateway(t, atOnce, func(string) int { return http.StatusServiceUnavailable })
		g.accept(t, smsCall(smsWith("To", "+15005550108")))
		g.next(t)
		g.shows(t, "0 waiting, 0 taken, 1 refused, 1 lost")
	})
	t.Run("Twilio, with a fragment", func(t *testing.T) {
		t.Parallel()
		statuses := make(chan int, 2)
		statuses <- http.StatusServiceUnavailable
		statuses <- http.StatusForbidden
		g := startWithGateway(t, atOnce, func(string) int { return <-statuses })
		form := smsWith("To", "+15005550108")
		form.Set("StatusCallback", "https://herald.example.com/webhooks/twilio?delivery_id=1#rc=5&rp=5xx,ct,rt")
		g.accept(t, smsCall(form))
		require.Equal(t, g.next(t).body, g.next(t).body)
		g.shows(t, "0 waiting, 0 taken, 2 refused, 1 lost")
	})
}
