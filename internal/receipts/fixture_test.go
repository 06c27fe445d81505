package receipts_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"herald/internal/config/environment"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts"
	"herald/internal/receipts/receiptstest"
	"herald/internal/wiring"
)

// room serves a gateway's webhooks, with a separate database.
type room struct {
	*httptest.Server
	t      *testing.T
	hooks  *receipts.Webhooks
	store  *db.DB
	signer receiptstest.Signer
	reader *sdk.ManualReader
	log    *lines
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newRoom returns a room. settings are names and values; they replace settings of the signer.
func newRoom(t *testing.T, settings ...string) *room {
	t.Helper()
	r := &room{
		t: t, store: postgrestest.New(t), signer: receiptstest.New("https://herald.example.com"), reader: sdk.NewManualReader(), log: &lines{},
	}
	r.store.AddressHash = func(address string) []byte {
		hash := sha256.Sum256([]byte(address))
		return hash[:]
	}
	values := r.signer.Settings()
	for i := 0; i < len(settings); i += 2 {
		values[settings[i]] = settings[i+1]
	}
	wired, reader := wiring.New(), environment.NewReader(values)
	wired.ReadReceipts(reader)
	require.NoError(t, reader.Err())
	cfg := receipts.Config{
		Recorder: receipts.On(r.store), OptOuts: receipts.On(r.store), Logger: slog.New(slog.NewTextHandler(r.log, nil)),
		Meter:     sdk.NewMeterProvider(sdk.WithReader(r.reader)).Meter("test"),
		Receivers: wired.Receivers(values["PUBLIC_URL"]),
	}
	var err error
	r.hooks, err = receipts.New(cfg)
	require.NoError(t, err)
	r.Server = httptest.NewServer(r.hooks.Handler())
	t.Cleanup(r.Close)
	return r
}

// sent adds a delivery that a provider has accepted, and returns its id.
func (r *room) sent(channel notification.Channel, address, message string) string {
	r.t.Helper()
	id := fmt.Sprintf("evt-%s-customer42-%s", message, channel)
	postgrestest.Add(r.t, r.store.Pool, postgrestest.Delivery{
		ID: id, EventID: "evt-" + message, EventType: "ORDER_READY", Channel: channel, Address: address, Status: notification.Sent, Attempts: 1,
		SentAt: time.Now().Add(-time.Minute), AvailableAt: time.Now(), ProviderID: message,
	})
	return id
}

// post sends a request, and returns the answer and its body.
func (r *room) post(path string, header http.Header, body string) (answer *http.Response, text string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL+path, strings.NewReader(body))
	require.NoError(r.t, err)
	request.Header = header
	answer, err = http.DefaultClient.Do(request)
	require.NoError(r.t, err)
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	require.NoError(r.t, err)
	return answer, string(content)
}

// sendgrid sends a batch signed as by SendGrid, and returns the answer's status.
func (r *room) sendgrid(body string) int {
	r.t.Helper()
	answer, _ := r.post("/webhooks/sendgrid", r.signer.SendGrid(time.Now(), body), body)
	return answer.StatusCode
}

// twilio sends a request signed as by Twilio, and returns the answer's status.
func (r *room) twilio(path string, fields url.Values) int {
	r.t.Helper()
	answer, _ := r.post(path, r.signer.Twilio(path, fields), fields.Encode())
	return answer.StatusCode
}

// text sends an inbound text message, and returns the answer's status.
func (r *room) text(message, from, body string) int {
	r.t.Helper()
	return r.twilio("/webhooks/twilio/inbound", url.Values{"MessageSid": {message}, "From": {from}, "Body": {body}})
}

// number is the recipient of all text messages.
const number = "+393401234567"

// status sends Twilio's status of a message, and returns the answer's status.
func (r *room) status(delivery, message, status, code string) int {
	r.t.Helper()
	path := "/webhooks/twilio?delivery_id=" + url.QueryEscape(delivery)
	return r.twilio(path, url.Values{"MessageSid": {message}, "MessageStatus": {status}, "ErrorCode": {code}, "To": {number}})
}

// texts returns the rows of a query with one column.
func (r *room) texts(query string, args ...any) []string {
	r.t.Helper()
	return postgrestest.List(r.t, r.store, query, args...)
}

// counted returns a counter's value, or a histogram's count, for labels such as channel=EMAIL.
func (r *room) counted(name string, labels ...string) int64 {
	r.t.Helper()
	var want []attribute.KeyValue
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		want = append(want, attribute.String(key, value))
	}
	set := attribute.NewSet(want...)
	var all metricdata.ResourceMetrics
	require.NoError(r.t, r.reader.Collect(r.t.Context(), &all))
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, point := range data.DataPoints {
				if m.Name == name && point.Attributes.Equals(&set) {
					return point.Value
				}
			}
		case metricdata.Histogram[float64]:
			for _, point := range data.DataPoints {
				if m.Name == name && point.Attributes.Equals(&set) {
					return int64(point.Count)
				}
			}
		}
	}
	return -1
}
