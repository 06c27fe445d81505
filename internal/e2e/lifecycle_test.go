package e2e_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/relay/kafka/kafkatest"
	"herald/tools/sandbox"
)

var lifecycleDeliveries = flag.Int("lifecycle", 150, "deliveries in each half of TestLifecycle")

// lifecycleMessage is a message of the source lifecycle.
type lifecycleMessage struct {
	ID   string `json:"-"`
	Type string `json:"type"`
	Data struct {
		EventID    string `json:"event_id"`
		DeliveryID string `json:"delivery_id"`
		Status     string `json:"status"`
	} `json:"data"`
}

func readLifecycle(id string, body []byte) (lifecycleMessage, error) {
	m := lifecycleMessage{ID: id}
	return m, json.Unmarshal(body, &m)
}

// lifecycleReceiver is a webhook that verifies each message, and answers some with 503.
type lifecycleReceiver struct {
	t        *testing.T
	mu       sync.Mutex
	posts    int
	messages []lifecycleMessage
}

func (r *lifecycleReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the worker was killed
	}
	verifier, err := standardwebhooks.NewWebhook(sandbox.WebhookSecret)
	assert.NoError(r.t, err)
	assert.NoError(r.t, verifier.Verify(body, request.Header))
	message, err := readLifecycle(request.Header.Get("webhook-id"), body)
	assert.NoError(r.t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.posts++; r.posts%101 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.messages = append(r.messages, message)
}

// Each change of a delivery reaches a topic and a signed webhook, and matches the tables, although
// workers are killed and the receiver sometimes fails. Nothing is written before the source is migrated,
// nor after its triggers are dropped.
func TestLifecycle(t *testing.T) {
	t.Parallel()

	t.Run("topic", func(t *testing.T) {
		t.Parallel()

		cluster := kafkatest.NewCluster(t)
		kafkatest.CreateTopic(t, cluster.Address, "herald-lifecycle", nil)
		lifecycleUnderKills(t, "kafka: { topic: herald-lifecycle }", []string{"KAFKA_BROKERS=" + cluster.Address},
			func(rows int) []lifecycleMessage {
				for n := rows; ; n++ {
					var messages []lifecycleMessage
					ids := map[string]bool{}
					for _, record := range kafkatest.Records(t, cluster.Address, "herald-lifecycle", n) {
						id := ""
						for _, header := range record.Headers {
							if header.Key == "event_id" {
								id = string(header.Value)
							}
						}
						ids[id] = true
						messages = append(messages, must(readLifecycle(id, record.Value))(t))
					}
					if n = len(messages); len(ids) == rows {
						return messages
					}
				}
			})
	})
	t.Run("webhook", func(t *testing.T) {
		t.Parallel()

		receiver := &lifecycleReceiver{t: t}
		server := httptest.NewServer(receiver)
		t.Cleanup(server.Close)
		settings := []string{"LIFECYCLE_WEBHOOK_URL=" + server.URL + "/herald", "LIFECYCLE_WEBHOOK_SECRET=" + sandbox.WebhookSecret}
		lifecycleUnderKills(t, "webhook: true, pollers: 2", settings, func(int) []lifecycleMessage {
			receiver.mu.Lock()
			defer receiver.mu.Unlock()
			return receiver.messages
		})
	})
}

// lifecycleUnderKills sends deliveries while the worker is killed, and compares the messages that
// arrived with the tables.
func lifecycleUnderKills(t *testing.T, destination string, settings []string, arrived func(rows int) []lifecycleMessage) {
	const kills, channels, singles = 3, 3, 5
	customers := *lifecycleDeliveries/kills/channels + 1 - singles
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- { name: lifecycle, poll_interval: 100ms, "+destination+" }"), 0o600))
	s := newSystem(t, append(append(settings, "OUTBOX_SOURCES="+file, "BULK_THRESHOLD=10"), crashTimeouts...)...)
	s.customers(customers)
	s.route("LOAD", "EMAIL", "PUSH", "WEBSOCKET")
	s.starter("suppression", "add", "--channel", "EMAIL", "--reason", "OPT_OUT", "--address", "c1@example.com")
	w := s.startAll("--events", "--channels", "email,push,websocket")
	s.burst("before", "LOAD", 1)
	s.awaitCount(1, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	require.Zero(t, s.count(`SELECT count(*) FROM lifecycle_event`))
	s.fails(1, "there is no trigger on notification", "source", "check", "lifecycle")
	require.Contains(t, s.starter("source", "migrate", "lifecycle"), "lifecycle on notification")
	require.Contains(t, s.starter("source", "check", "lifecycle"), "no mistakes")

	s.fault("EMAIL", `{"status":400,"rate":0.3}`)
	const events = singles + 1 // of a round: the last one goes to all customers in batches
	for round := range kills {
		before := s.count(`SELECT count(*) FROM lifecycle_event WHERE sent`)
		s.burst(fmt.Sprint("round", round), "LOAD", singles)
		s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
			VALUES ($1, 'LOAD', 'BROADCAST', '0', '{}')`, fmt.Sprint(s.name, "all", round))
		target := before + randomShare(2*(customers+singles)*channels)
		s.eventually(func() bool { return s.count(`SELECT count(*) FROM lifecycle_event WHERE sent`) >= target }, "%d rows are never sent",
			target)
		w.kill()
		w = s.startWorker(w.Command.Args[1:]...)
	}
	s.awaitCount(kills*events+1, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	s.mend()
	s.starter("delivery", "retry", "--status", "FAILED", "--reason", "test", "--yes")
	s.awaitCount(0, `SELECT count(*) FROM notification WHERE status IN ('PENDING', 'FAILED')`)
	for id := range s.lifecycleRows(`SELECT min(id)::text FROM notification WHERE channel = 'WEBSOCKET' AND event_id NOT LIKE '%before%'
		GROUP BY user_id LIMIT 20`) {
		var who notification.RecipientKey
		var number int64
		require.NoError(t, s.store.Pool.QueryRow(t.Context(), `SELECT id, user_type, user_id FROM notification WHERE id = $1::text::bigint`,
			id).Scan(&number, &who.UserType, &who.UserID))
		require.NoError(t, inbox.On(s.gatewayStore()).MarkRead(t.Context(), who, number))
	}
	s.awaitCount(0, `SELECT count(*) FROM lifecycle_event WHERE NOT sent`)
	rows := s.count(`SELECT count(*) FROM lifecycle_event`)
	s.requireLifecycle(rows, arrived(rows))

	for _, block := range codeBlocks(t, "docs/lifecycle.md") {
		if strings.Contains(block.text, "DROP TRIGGER") {
			s.exec(block.text)
		}
	}
	s.burst("after", "LOAD", 1)
	s.awaitCount(kills*events+2, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	require.Equal(t, rows, s.count(`SELECT count(*) FROM lifecycle_event`))
}

// lifecycleRows returns the rows of a query that selects one text.
func (s *system) lifecycleRows(sql string, args ...any) map[string]bool {
	s.t.Helper()
	found := map[string]bool{}
	for _, text := range postgrestest.List(s.t, s.store, sql, args...) {
		found[text] = true
	}
	return found
}

// requireLifecycle compares messages, without repeats, with the tables.
func (s *system) requireLifecycle(rows int, messages []lifecycleMessage) {
	seen, last := map[string]bool{}, map[string]lifecycleMessage{}
	statuses, read, finished, suppressed := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	position := map[string]int{}
	for _, m := range messages {
		var number int
		require.Equal(s.t, 1, must(fmt.Sscanf(m.ID, "lifecycle-%d", &number))(s.t))
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		delivery := m.Data.DeliveryID
		switch {
		case m.Type == "event.finished":
			finished[m.Data.EventID+" "+m.Data.Status] = true
			continue
		case m.Type == "operator.acted":
			continue
		case delivery == "":
			require.Equal(s.t, "delivery.suppressed", m.Type)
			suppressed[m.Data.EventID] = true
			continue
		case m.Type == "delivery.read":
			read[delivery] = true
		default:
			last[delivery] = m
		}
		require.Greater(s.t, number, position[delivery], "the order of %s", delivery)
		if position[delivery] == 0 {
			require.Equal(s.t, "delivery.planned", m.Type, delivery)
		}
		position[delivery] = number
	}
	for delivery, m := range last {
		require.Equal(s.t, "delivery."+strings.ToLower(m.Data.Status), m.Type) // none is PENDING or suppressed
		statuses[delivery+" "+m.Data.Status] = true
	}
	const mine = `event_id NOT LIKE '%before%'`
	require.Equal(s.t, s.lifecycleRows(`SELECT delivery_id || ' ' || status FROM notification WHERE `+mine), statuses)
	require.Equal(s.t, s.lifecycleRows(`SELECT delivery_id FROM notification WHERE read_at IS NOT NULL AND `+mine), read)
	require.Equal(s.t, s.lifecycleRows(`SELECT event_id || ' ' || status FROM processed_event WHERE `+mine), finished)
	require.Equal(s.t, s.lifecycleRows(`SELECT event_id FROM notification_decision WHERE channels ->> 'EMAIL' = 'SUPPRESSED' AND `+mine),
		suppressed)
	require.Equal(s.t, rows, len(seen))
	require.NotEmpty(s.t, read)
	require.NotEmpty(s.t, suppressed)
	require.NotZero(s.t, s.count(`SELECT count(*) FROM lifecycle_event WHERE event_type = 'delivery.failed'`))
	s.t.Logf("%d deliveries, %d messages, %d repeats", len(last), len(seen), len(messages)-len(seen))
}
