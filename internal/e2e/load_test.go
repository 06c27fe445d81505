package e2e_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq/rabbitmqtest"
)

// loadChannels is the number of channels of the events that the crash tests write. SLACK
// and WEBSOCKET are best effort, so an outage may lose a message; the other three must
// never lose one.
const loadChannels = 3

// prepareLoad makes customer 1 reachable by e-mail, push and SMS about events
// of type LOAD.
func (s *system) prepareLoad() {
	s.t.Helper()
	s.starter("migrate", "up")
	s.exec(`INSERT INTO recipient (user_type, user_id, name, email, phone) VALUES ('CUSTOMER', '1', 'Ada', 'ada@example.com', '+12015550101')`)
	s.exec(`INSERT INTO recipient_device (user_type, user_id, token) VALUES ('CUSTOMER', '1', 'token-1')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('LOAD', 'EMAIL'), ('LOAD', 'PUSH'), ('LOAD', 'SMS')`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('Hello {{.recipient.name}}', 'Number {{.payload.number}}')`)
}

// writeEvents commits n events, each in its own transaction, and rolls back another with
// every tenth.
func (s *system) writeEvents(round string, n int) {
	s.t.Helper()
	const insert = `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, 'LOAD', 'CUSTOMER', '1', jsonb_build_object('number', $2::int))`
	for i := range n {
		s.exec(insert, s.eventID(round, i), i)
		if i%10 != 0 {
			continue
		}
		tx, err := s.store.Pool.Begin(s.t.Context())
		require.NoError(s.t, err)
		_, err = tx.Exec(s.t.Context(), insert, s.rolledBackID(round, i), i)
		require.NoError(s.t, err)
		require.NoError(s.t, tx.Rollback(s.t.Context()))
	}
}

func (s *system) eventID(round string, i int) string {
	return fmt.Sprintf("%s-%s-%d", s.name, round, i)
}

func (s *system) rolledBackID(round string, i int) string {
	return fmt.Sprintf("%s-%s-%d-rolled-back", s.name, round, i)
}

// waitForLoad waits until all deliveries of n events are SENT.
func (s *system) waitForLoad(n int) {
	s.t.Helper()
	s.awaitCount(n*loadChannels, `SELECT count(*) FROM notification WHERE status = 'SENT' AND event_type = 'LOAD'`)
}

// requireLedger requires that the providers accepted every delivery of every committed
// event, none of a rolled-back one, and no more duplicates than allowed.
func (s *system) requireLedger(rounds []string, n, allowedDuplicates int) {
	s.t.Helper()
	accepted := s.accepted()
	expected, duplicates := map[string]bool{}, 0
	for _, round := range rounds {
		for i := range n {
			for _, channel := range []string{"EMAIL", "PUSH", "SMS"} {
				id := fmt.Sprintf("%s-customer1-%s", s.eventID(round, i), channel)
				expected[id] = true
				require.NotZero(s.t, accepted[id], "%s never arrived", id)
				duplicates += accepted[id] - 1
			}
		}
	}
	for id := range accepted {
		require.True(s.t, expected[id], "%s arrived, and should not exist", id)
	}
	s.t.Logf("%d deliveries, %d duplicates", len(expected), duplicates)
	require.LessOrEqual(s.t, duplicates, allowedDuplicates)
}

// requirePublished waits until n events of customers have ended and requires a domain
// message of each: an event ends only after its message is published. A crash or an outage
// may repeat one.
func (s *system) requirePublished(n int) {
	s.t.Helper()
	s.awaitCount(n, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	ids := map[string]bool{}
	for _, message := range s.take("notification.customer") {
		var body struct {
			EventID string `json:"event_id"`
		}
		require.NoError(s.t, json.Unmarshal(message.Body, &body))
		require.Equal(s.t, body.EventID, message.MessageId)
		ids[message.MessageId] = true
	}
	require.Len(s.t, ids, n)
}

// take takes all messages out of a queue.
func (s *system) take(queue string) []amqp.Delivery {
	s.t.Helper()
	return rabbitmqtest.VirtualHost{URL: s.servers.rabbitURL}.Take(s.t, queue)
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// slots is how many sends of all channels a worker may have under way.
const slots = loadChannels * 64

// crashTimeouts are short, since a send that died with its worker is tried again only
// after its timeout. An attempt that a busy machine makes too slow counts as one of the
// allowed duplicates.
var crashTimeouts = []string{"EMAIL_TIMEOUT=10s", "PUSH_TIMEOUT=10s", "SMS_TIMEOUT=10s"}

// TestWorkerKilledAtRandomMoments kills the worker five times during 300 events.
func TestWorkerKilledAtRandomMoments(t *testing.T) {
	t.Parallel()

	const kills, events = 5, 60 // a round
	s := newSystem(t, crashTimeouts...)
	s.prepareLoad()
	w := s.startWorker()
	s.starter("poller", "start")

	rounds := make([]string, 0, kills)
	for i := range kills {
		round := fmt.Sprintf("r%d", i)
		rounds = append(rounds, round)
		s.writeEvents(round, events)
		already := i * events * loadChannels
		target := already + randomShare(events*loadChannels)
		s.eventually(func() bool {
			return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`) >= target
		}, "round %d: %d deliveries were never reached", i, target)
		w.kill()
		w = s.startWorker()
	}
	s.waitForLoad(kills * events)
	s.requireLedger(rounds, events, kills*slots)
}
