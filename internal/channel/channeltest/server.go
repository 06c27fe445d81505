package channeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

// Answer is a provider's answer.
type Answer struct {
	Status int
	Header map[string]string
	Body   string
}

func (a Answer) write(w http.ResponseWriter) {
	for key, value := range a.Header {
		w.Header().Set(key, value)
	}
	w.WriteHeader(a.Status)
	_, _ = io.WriteString(w, a.Body) // fails for statuses without a body
}

// handler answers a request. Its body is already read.
type handler func(w http.ResponseWriter, r *http.Request, body string)

func always(answer Answer) handler {
	return func(w http.ResponseWriter, _ *http.Request, _ string) { answer.write(w) }
}

// server simulates a provider, and counts connections and requests.
type server struct {
	*httptest.Server
	connections atomic.Int64
	requests    atomic.Int64
}

func serve(t *testing.T, answer handler) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender closed the connection
		}
		answer(w, r, string(body))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections() // a handler may wait for a connection that its sender left open
		s.Close()
	})
	return s
}

// echo returns an error that repeats the whole request and its secrets in every field that an SDK
// reads as text.
func echo(r *http.Request, body string) string {
	said := fmt.Sprintf("%s %s %v %s", r.URL, r.Host, r.Header, body)
	if decoded, err := json.Marshal(map[string]any{
		"message": said, "more_info": said, "details": map[string]any{"said": said},
		"error":  map[string]any{"message": said},
		"errors": []any{map[string]any{"message": said, "field": said}},
	}); err == nil {
		return string(decoded)
	}
	return said
}

// page returns a proxy's answer: 48 KB of HTML.
func page() string {
	return "<!DOCTYPE html><html><body>" + strings.Repeat("<p>bad gateway</p>\n", 48<<10/len("<p>bad gateway</p>\n")) + "</body></html>"
}

// link returns a sender for a provider at an address, with its messages.
func (s suite) link(t *testing.T, address net.Addr) Link {
	t.Helper()
	baseURL := "http://" + address.String()
	return Link{
		Sender: s.newSender(t, baseURL, time.Minute),
		Message: func(n int) notification.Message {
			msg := Message(n)
			s.p.Address(&msg, n, baseURL)
			return msg
		},
		Secrets: append([]string{address.String()}, s.p.Secrets...),
	}
}

// connectSandbox returns a sender for the sandbox.
func (s suite) connectSandbox(t *testing.T) Link {
	t.Helper()
	ledger := filepath.Join(t.TempDir(), "ledger")
	providers, err := sandbox.New(sandbox.Config{Ledger: ledger})
	require.NoError(t, err)
	far := httptest.NewServer(providers)
	t.Cleanup(func() {
		far.Close()
		require.NoError(t, providers.Close())
	})
	link := s.link(t, far.Listener.Addr())
	link.Break = far.Close
	link.Arrivals = func() (arrivals []Arrival) { return ArrivalsOf(t, ledger, far.URL) }
	return link
}

// connectTaker returns a sender for a server that takes each message.
func (s suite) connectTaker(t *testing.T) Link {
	t.Helper()
	var mutex sync.Mutex
	var arrivals []Arrival
	far, link := s.connect(t, func(w http.ResponseWriter, _ *http.Request, body string) {
		mutex.Lock()
		defer mutex.Unlock()
		arrivals = append(arrivals, s.p.Arrival(body))
		s.p.Success.write(w)
	})
	link.Break = far.Close
	link.Arrivals = func() []Arrival {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(arrivals)
	}
	return link
}

// ArrivalsOf reads the messages that a sandbox at url has accepted from its ledger. For Slack, webhooks
// and browsers, the ledger has only the paths.
func ArrivalsOf(t *testing.T, ledger, url string) (arrivals []Arrival) {
	t.Helper()
	text, err := os.ReadFile(ledger)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var entry sandbox.Entry
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		require.True(t, entry.Accepted, line)
		if browser, found := strings.CutPrefix(entry.Recipient, "/push/"); found {
			entry.Recipient = sandbox.Subscription(url, browser)
		} else if entry.Channel == notification.Slack || entry.Channel == notification.Webhook {
			entry.Recipient = url + entry.Recipient
		}
		arrivals = append(arrivals, Arrival{DeliveryID: entry.DeliveryID, To: entry.Recipient, Text: entry.Body})
	}
	return arrivals
}
