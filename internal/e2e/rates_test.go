package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/sandbox"
)

// A backlog over a channel with a rate limit, with three worker processes: two restaurants
// of which one has much more to tell, and something urgent.
func TestBacklogUnderARateLimit(t *testing.T) {
	t.Parallel()

	const perSecond = 4 // which a busy machine can do
	s := newSystem(t, "EMAIL_RATE_LIMIT=4", "BULK_THRESHOLD=0")
	s.prepareRestaurants("NORMAL")
	s.startWorker("--events")
	s.tell("NEWS", "1", 60)
	s.tell("MORE_NEWS", "1", 60)
	s.tell("NEWS", "2", 5)
	s.tell("URGENT", "3", 10)
	for range 3 {
		s.startWorker("--channels", "email")
	}
	s.awaitCount(135, `SELECT count(*) FROM notification WHERE status = 'SENT'`)

	sent := s.messages()
	require.Len(t, sent, 135)
	require.LessOrEqual(t, lastOf(sent, "URGENT-3"), 15, "what is urgent goes first")
	require.LessOrEqual(t, lastOf(sent, "NEWS-2")-lastOf(sent, "URGENT-3"), 15, "the second restaurant has its turn beside the first")
	requireRate(t, sent, perSecond)
}

// A batch that is sent under a rate limit, by three worker processes, lets messages of
// another event before it, which are as urgent or more; both together keep to the rate.
func TestBatchUnderARateLimit(t *testing.T) {
	t.Parallel()

	const perSecond, inBatches, soon = 5, 160, 50 // places: the two events have 15, and a busy machine takes seconds to start them
	s := newSystem(t, "EMAIL_RATE_LIMIT=5", "BULK_THRESHOLD=20")
	s.prepareRestaurants("NORMAL")
	s.startWorker("--events")
	for range 3 {
		s.startWorker("--channels", "email")
	}
	s.emitTo("NEWS", "1", inBatches)
	s.eventually(func() bool { return len(s.messages()) > 0 }, "no batch is sent")
	s.emitTo("NEWS", "2", 5)
	s.emitTo("URGENT", "3", 10)
	s.awaitCount(15, `SELECT count(*) FROM notification WHERE event_id NOT LIKE '%NEWS-1'`)
	before := len(s.messages())
	s.awaitCount(inBatches+15, `SELECT count(*) FROM notification WHERE status = 'SENT'`)

	sent := s.messages()
	require.Len(t, sent, inBatches+15)
	require.LessOrEqual(t, lastOf(sent, "URGENT-3")-before, soon, "what is urgent goes before the batch")
	require.LessOrEqual(t, lastOf(sent, "NEWS-2")-before, soon, "a single message goes before a batch")
	require.Equal(t, inBatches, s.count(`SELECT count(*) FROM delivery_attempt WHERE batch IS NOT NULL`))
	requireRate(t, sent, perSecond)
}

// prepareRestaurants lets restaurants tell staff by mail: NEWS and MORE_NEWS with a
// priority, and what is URGENT before them.
func (s *system) prepareRestaurants(priority string) {
	s.t.Helper()
	s.starter("migrate", "up")
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, priority) VALUES ('NEWS', 'EMAIL', $1), ('MORE_NEWS', 'EMAIL', $1), ('URGENT', 'EMAIL', 'HIGH')`, priority)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('News', 'For {{.recipient.user_id}}')`)
	s.starter("poller", "start")
}

// emitTo writes an event of a restaurant for so many of its staff, and returns its id.
func (s *system) emitTo(eventType, restaurant string, staff int) string {
	s.t.Helper()
	s.exec(`INSERT INTO recipient (user_type, user_id, email) SELECT 'RESTAURANT_USER', $1 || '-' || n, 'r' || $1 || '-' || n || '@example.com' FROM generate_series(1, $2::int) n ON CONFLICT DO NOTHING`, restaurant, staff)
	s.exec(`INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', $1, 'RESTAURANT_USER', $1 || '-' || n, 'STAFF' FROM generate_series(1, $2::int) n ON CONFLICT DO NOTHING`, restaurant, staff)
	return s.emit(s.name+"-"+eventType+"-"+restaurant, eventType, "RESTAURANT/"+restaurant, "{}")
}

// tell does so and waits until the deliveries wait to be sent.
func (s *system) tell(eventType, restaurant string, staff int) {
	s.t.Helper()
	id := s.emitTo(eventType, restaurant, staff)
	s.awaitCount(staff, `SELECT count(*) FROM notification WHERE event_id = $1`, id)
	s.eventually(func() bool {
		described, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), id, "")
		begun := 0
		for _, child := range described.GetPendingChildren() {
			if child.GetRunId() != "" {
				begun++
			}
		}
		return err == nil && begun == staff
	}, "the deliveries of %s do not begin", id)
}

// lastOf is the place, from 1, of the last message of an event.
func lastOf(sent []sandbox.Entry, event string) int {
	last := 0
	for i, message := range sent {
		if strings.Contains(message.DeliveryID, "-"+event+"-") {
			last = i + 1
		}
	}
	return last
}

// requireRate requires that a backlog was sent at a rate: in no 5 s more than the messages
// of 6 s, and at least nine tenths of it in all.
func requireRate(t *testing.T, sent []sandbox.Entry, perSecond float64) {
	t.Helper()
	for i, from := range sent {
		within := 0
		for _, message := range sent[i:] {
			if message.Time.Before(from.Time.Add(5 * time.Second)) {
				within++
			}
		}
		require.LessOrEqual(t, float64(within), 6*perSecond, "within 5 s from %s", from.Time)
	}
	took := sent[len(sent)-1].Time.Sub(sent[0].Time).Seconds()
	t.Logf("%d messages in %.1f s: %.2f a second", len(sent), took, float64(len(sent)-1)/took)
	require.GreaterOrEqual(t, float64(len(sent)-1)/took, 0.9*perSecond)
}
