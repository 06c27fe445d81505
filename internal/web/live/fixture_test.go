package live_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/web/live"
	"herald/internal/web/signin"
)

const (
	patience = time.Minute // the maximum time until a condition must hold
	interval = 10 * time.Millisecond
)

var (
	ada   = notification.RecipientKey{UserType: notification.Customer, UserID: "7"}
	grace = notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "7"}
)

// system is a database and a broker, with methods that do the worker's steps.
type system struct {
	t           *testing.T
	store       *db.DB
	broker      *rabbitmq.Broker
	databaseURL string
	brokerURL   string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	s := &system{t: t, databaseURL: postgrestest.URL(t), brokerURL: rabbitmqtest.VHost(t)}
	s.store = openStore(t, s.databaseURL)
	broker, err := rabbitmq.Connect(t.Context(), rabbitmq.Config{URL: s.brokerURL, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	s.broker = broker
	postgrestest.Add(t, s.store.Pool, postgrestest.Recipient{UserID: "7"},
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "7"})
	return s
}

func openStore(t *testing.T, url string) *db.DB {
	t.Helper()
	store, err := db.Open(context.Background(), url, "test")
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

func (s *system) exec(sql string, args ...any) {
	s.t.Helper()
	postgrestest.Exec(s.t, s.store, sql, args...)
}

// begin inserts a row with a started attempt.
func (s *system) begin(to notification.RecipientKey, event string) notification.Message {
	s.t.Helper()
	m := notification.Message{DeliveryID: event + "-WEBSOCKET-" + to.UserID + string(to.UserType), EventID: event, EventType: "OFFER",
		UserType: to.UserType, UserID: to.UserID,
		Audience: "customer", Title: "title of " + event, Body: "body <b>& more</b>"}
	m.NotificationID = postgrestest.AddDelivery(s.t, s.store.Pool, postgrestest.Delivery{
		ID: m.DeliveryID, EventID: event, EventType: m.EventType, UserType: m.UserType, UserID: m.UserID, Channel: notification.WebSocket,
		Title: m.Title, Body: m.Body, Attempts: 1,
	}, nil)
	m.CreatedAt = postgrestest.Get[time.Time](s.t, s.store, "SELECT created_at FROM notification WHERE id = $1", m.NotificationID)
	return m
}

// publish publishes a row's message to the broker.
func (s *system) publish(m notification.Message) {
	s.t.Helper()
	body, err := json.Marshal(m.Frame())
	require.NoError(s.t, err)
	require.NoError(s.t, s.broker.PublishWebSocket(s.t.Context(), m.Audience, m.DeliveryID, body))
}

// end marks a row as sent.
func (s *system) end(m notification.Message) {
	s.t.Helper()
	s.exec(`UPDATE notification SET status = 'SENT', sent_at = coalesce(sent_at, now()), available_at = coalesce(available_at, now()) `+
		`WHERE id = $1 AND status = 'PENDING'`, m.NotificationID)
}

// send does all of the worker's steps for a row, and returns its id.
func (s *system) send(to notification.RecipientKey, event string) int64 {
	s.t.Helper()
	m := s.begin(to, event)
	s.publish(m)
	s.end(m)
	return m.NotificationID
}

// record adds a sent row to the table without publishing it.
func (s *system) record(to notification.RecipientKey, event string) int64 {
	s.t.Helper()
	m := s.begin(to, event)
	s.end(m)
	return m.NotificationID
}

// records adds n rows sent hours ago, a second apart, and returns their ids.
func (s *system) records(to notification.RecipientKey, n int) []int64 {
	s.t.Helper()
	postgrestest.AddMany(s.t, s.store.Pool, n, postgrestest.Delivery{
		EventType: "OFFER", UserType: to.UserType, UserID: to.UserID, Channel: notification.WebSocket, Attempts: 1, Status: notification.Sent,
	}, postgrestest.Expressions{
		"event_id": "'old-' || i", "delivery_id": fmt.Sprintf("'old-' || i || '-%s'", to.UserType),
		"available_at": "now() - interval '10 hours' + i * interval '1 second'",
	})
	return postgrestest.Get[[]int64](s.t, s.store,
		"SELECT array_agg(id ORDER BY id) FROM notification WHERE user_type = $1 AND user_id = $2 AND event_id LIKE 'old-%'",
		to.UserType, to.UserID)
}

func (s *system) status(id int64) notification.Status {
	s.t.Helper()
	return postgrestest.Get[notification.Status](s.t, s.store, "SELECT status FROM notification WHERE id = $1", id)
}

func (s *system) awaitStatus(id int64, status notification.Status) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.status(id) == status }, patience, interval)
}

// process is a hub with separate connections to the broker and the database.
type process struct {
	t        *testing.T
	hub      *live.Hub
	url      string
	consumer *rabbitmq.Consumer
	metrics  *sdk.ManualReader
}

// options holds the settings of a gateway that a test may change.
type options struct {
	times           live.Times
	databaseURL     string
	brokerURL       string
	max, perPerson  int
	withoutMessages bool // do not subscribe to the broker
}

func (s *system) gateway(o options) *process {
	s.t.Helper()
	store := s.store
	if o.databaseURL != "" {
		store = openStore(s.t, o.databaseURL)
	}
	g := &process{t: s.t, metrics: sdk.NewManualReader()}
	cfg := live.Config{
		Inbox: inbox.On(store), Acknowledger: inbox.On(store), Directory: inbox.On(store),
		Logger: slog.New(slog.DiscardHandler), Meter: sdk.NewMeterProvider(sdk.WithReader(g.metrics)).Meter("test"),
		MaxSockets: cmp.Or(o.max, 50), MaxSocketsPerRecipient: cmp.Or(o.perPerson, 20),
	}
	var err error
	g.hub, err = live.NewQuickHub(cfg, o.times)
	require.NoError(s.t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.hub.Serve(w, r, identity(r.URL.Query())) }))
	g.url = strings.Replace(server.URL, "http", "ws", 1)
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = g.hub.Drain(ctx)
		server.Close()
	})
	if !o.withoutMessages {
		g.subscribe(cmp.Or(o.brokerURL, s.brokerURL))
	}
	return g
}

func (g *process) subscribe(url string) {
	g.t.Helper()
	var err error
	g.consumer, err = rabbitmq.Consume(g.t.Context(), rabbitmq.ConsumerConfig{
		URL: url, Logger: slog.New(slog.DiscardHandler), Deliver: g.hub.Deliver, Missed: g.hub.Missed,
	})
	require.NoError(g.t, err)
	g.t.Cleanup(g.consumer.Close)
	require.Eventually(g.t, func() bool { return g.consumer.Ready() == nil }, patience, interval)
}

// metric returns the sum of a counter's values whose label has this value.
func (g *process) metric(name, label, value string) int {
	g.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(g.t, g.metrics.Collect(context.Background(), &all))
	total := 0
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok || m.Name != name {
				continue
			}
			for _, point := range sum.DataPoints {
				if v, _ := point.Attributes.Value(attribute.Key(label)); v.AsString() == value {
					total += int(point.Value)
				}
			}
		}
	}
	return total
}

// tab is a client, as a page in a browser tab.
type tab struct {
	t    *testing.T
	conn *websocket.Conn

	mu     sync.Mutex
	ids    []int64 // of the received notifications, in their order
	bodies []string
	err    error // why the socket ended
	ended  chan struct{}
	news   chan struct{} // signals a new frame
}

// open opens a socket for a recipient, and reads from it.
func (g *process) open(who notification.RecipientKey) *tab {
	g.t.Helper()
	tab := g.dial(signin.Identity{RecipientKey: who, Expires: time.Now().Add(time.Hour)})
	go tab.read()
	return tab
}

// dial opens a socket without reading from it.
func (g *process) dial(who signin.Identity) *tab {
	g.t.Helper()
	return g.dialWith(who, nil)
}

func (g *process) dialWith(who signin.Identity, client *http.Client) *tab {
	g.t.Helper()
	conn, _, err := g.try(who, client)
	require.NoError(g.t, err)
	conn.SetReadLimit(1 << 20)
	g.t.Cleanup(func() { _ = conn.CloseNow() })
	return &tab{t: g.t, conn: conn, ended: make(chan struct{}), news: make(chan struct{}, 1)}
}

// try opens a socket, or returns the refusal. The URL contains the identity, because signing in is
// the task of another package.
func (g *process) try(who signin.Identity, client *http.Client) (*websocket.Conn, *http.Response, error) {
	query := url.Values{"type": {string(who.UserType)}, "id": {who.UserID}, "expires": {who.Expires.Format(time.RFC3339Nano)}}
	return websocket.Dial(g.t.Context(), g.url+"?"+query.Encode(),
		&websocket.DialOptions{HTTPClient: client, Subprotocols: []string{"herald.v1", "bearer.x.y.z"}})
}

func identity(query url.Values) signin.Identity {
	expires, _ := time.Parse(time.RFC3339Nano, query.Get("expires"))
	return signin.Identity{
		RecipientKey: notification.RecipientKey{UserType: notification.UserType(query.Get("type")), UserID: query.Get("id")},
		Expires:      expires,
	}
}

func (b *tab) read() {
	defer close(b.ended)
	for {
		_, body, err := b.conn.Read(context.Background())
		b.mu.Lock()
		if err != nil {
			b.err = err
			b.mu.Unlock()
			return
		}
		var message struct {
			ID int64 `json:"notification_id"`
		}
		_ = json.Unmarshal(body, &message)
		if message.ID != 0 {
			b.ids = append(b.ids, message.ID)
		}
		b.bodies = append(b.bodies, string(body))
		b.mu.Unlock()
		select {
		case b.news <- struct{}{}:
		default:
		}
	}
}

func (b *tab) say(format string, args ...any) {
	b.t.Helper()
	require.NoError(b.t, b.conn.Write(b.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)))
}

func (b *tab) got() []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ids)
}

func (b *tab) frames() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.bodies)
}

// awaits requires that exactly these notifications arrive, in this order.
func (b *tab) awaits(ids ...int64) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return len(b.got()) >= len(ids) }, patience, interval, "%v", ids)
	require.Equal(b.t, ids, b.got())
}

// ends requires that the gateway sends the cause and closes the socket with this code.
func (b *tab) ends(code websocket.StatusCode, cause string) {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(patience):
		require.Fail(b.t, "the socket is still open")
	}
	require.Equal(b.t, code, websocket.CloseStatus(b.err), "%v", b.err)
	frames := b.frames()
	require.NotEmpty(b.t, frames)
	require.JSONEq(b.t, fmt.Sprintf(`{"type":"error","code":%q}`, cause), frames[len(frames)-1])
}
