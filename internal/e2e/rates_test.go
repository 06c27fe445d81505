package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"herald/internal/notification"
	"herald/tools/sandbox"
	"herald/workflows"
)

const (
	perSecond = 1    // a machine that is busy begins more deliveries than this, so that a backlog forms
	backlog   = 2000 // messages of one restaurant
	processes = 2    // that serve the channel

	// soon is a number of places in the ledger. Five messages that take turns with the backlog
	// need ten places, and more while a busy machine is slow to start them. In the order of
	// their arrival they would need more than four times soon.
	soon = 40
)

// While 2,000 messages of one restaurant wait, each for a separate workflow, come a few
// that have time, five of another restaurant, and some that are urgent.
func TestBacklogUnderARateLimit(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_RATE_LIMIT=1", "BULK_THRESHOLD=0")
	s.startRestaurants()
	s.emitTo("NEWS", "1", backlog)
	s.awaitCount(backlog, `SELECT count(*) FROM notification`)
	s.awaitWaiting(4 * soon)
	s.waitSince(s.workflowsOf(s.emitTo("RUMOUR", "4", 5), 5)...)

	require.LessOrEqual(t, len(s.placesOf(s.emitTo("NEWS", "2", 5), 5)), soon, "one of each restaurant in turn")
	require.LessOrEqual(t, len(s.placesOf(s.emitTo("URGENT", "3", 10), 10)), soon, "what is urgent goes first")
	s.awaitSome(45, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE event_type = 'RUMOUR' AND status = 'SENT'`), "what has time goes last")
	requireRate(t, s.messages())
}

// While batches of one restaurant have all places of the workers, one of another comes, then
// five single messages, and then urgent ones while other single messages wait. A batch that
// has time waits for all of them.
func TestBatchUnderARateLimit(t *testing.T) {
	t.Parallel()

	const aBatch, atOnce = 100, 2 * processes
	const stints = 100 * perSecond // places; a batch that runs keeps its own for 20 s at most, and a busy machine needs time to see to the next
	s := newSystem(t, "EMAIL_RATE_LIMIT=1", "BULK_THRESHOLD=50")
	s.startRestaurants()
	s.emitTo("NEWS", "1", backlog/atOnce)
	for n := range atOnce - 1 { // batches are large, so as many events as run at once
		s.emit(fmt.Sprintf("%s-NEWS-1-%d", s.name, n+2), "NEWS", "RESTAURANT/1", "{}")
	}
	s.awaitSome(atOnce, `SELECT count(DISTINCT split_part(attempt_owner, ' ', 1)) FROM notification`)
	rumour := s.emitTo("RUMOUR", "4", aBatch)
	s.waitSince(workflows.BatchID(rumour, notification.Email, 1))

	more := s.placesOfBatch(s.emitTo("MORE_NEWS", "6", aBatch), 5)
	require.LessOrEqual(t, len(more), stints, "another restaurant has its turn among batches")
	single := s.placesOf(s.emitTo("NEWS", "2", 5), 5)
	require.LessOrEqual(t, len(single), soon, "single messages go before a batch")
	s.emitTo("MORE_NEWS", "5", 20)
	urgent := s.placesOf(s.emitTo("URGENT", "3", 10), 10)
	require.LessOrEqual(t, len(urgent), soon, "what is urgent goes before both")
	rumours := slices.DeleteFunc(slices.Concat(more, single, urgent), func(message sandbox.Entry) bool { return !isOf(rumour, message) })
	const left = 2 // turns that nobody else takes in time on a busy machine
	require.LessOrEqual(t, len(rumours), left, "what has time goes last")
	requireRate(t, s.messages())
}

// startRestaurants lets restaurants tell their staff by mail: NEWS and MORE_NEWS, what is
// URGENT, and a RUMOUR, which has time.
func (s *system) startRestaurants() {
	s.t.Helper()
	s.starter("migrate", "up")
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, priority) VALUES
		('NEWS', 'EMAIL', 'NORMAL'), ('MORE_NEWS', 'EMAIL', 'NORMAL'), ('URGENT', 'EMAIL', 'HIGH'), ('RUMOUR', 'EMAIL', 'LOW')`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('News', 'For {{.recipient.user_id}}')`)
	s.starter("poller", "start")
	s.startWorker("--events")
	for range processes {
		s.startWorker("--channels", "email")
	}
}

// emitTo writes an event of a restaurant for so many of its staff, and returns its id.
func (s *system) emitTo(eventType, restaurant string, staff int) string {
	s.t.Helper()
	s.exec(`INSERT INTO recipient (user_type, user_id, email) SELECT 'RESTAURANT_USER', $1 || '-' || n, 'r' || $1 || '-' || n || '@example.com' FROM generate_series(1, $2::int) n`, restaurant, staff)
	s.exec(`INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', $1, 'RESTAURANT_USER', $1 || '-' || n, 'STAFF' FROM generate_series(1, $2::int) n`, restaurant, staff)
	return s.emit(s.name+"-"+eventType+"-"+restaurant, eventType, "RESTAURANT/"+restaurant, "{}")
}

// awaitWaiting waits until so many messages wait at Temporal to be sent, each by itself.
func (s *system) awaitWaiting(least int64) {
	s.t.Helper()
	s.eventually(func() bool {
		queue, err := s.temporal.WorkflowService().DescribeTaskQueue(s.t.Context(), &workflowservice.DescribeTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: workflows.ChannelQueue(s.name, notification.Email)},
			TaskQueueType: enums.TASK_QUEUE_TYPE_ACTIVITY, ReportStats: true,
		})
		return err == nil && queue.GetStats().GetApproximateBacklogCount() >= least
	}, "there are never %d messages that wait", least)
}

// workflowsOf waits until an event has so many deliveries, and returns the ids of their
// workflows.
func (s *system) workflowsOf(event string, all int) []string {
	s.t.Helper()
	s.awaitCount(all, `SELECT count(*) FROM notification WHERE event_id = $1`, event)
	return s.deliveries(`SELECT delivery_id FROM notification WHERE event_id = '` + event + `'`)
}

// waitSince waits until all of these workflows wait for a worker that sends, and returns since
// when the last of them does. What a busy machine needs until then has no place in the ledger.
func (s *system) waitSince(ids ...string) (since time.Time) {
	s.t.Helper()
	for _, id := range ids {
		var scheduled time.Time
		s.eventually(func() bool {
			scheduled = s.firstScheduled(id)
			return !scheduled.IsZero()
		}, "%s never begins", id)
		if scheduled.After(since) {
			since = scheduled
		}
	}
	return since
}

// firstScheduled is when a workflow scheduled its first activity; zero: not yet.
func (s *system) firstScheduled(id string) time.Time {
	for events := s.temporal.GetWorkflowHistory(s.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			break // it has not begun
		}
		if event.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			return event.GetEventTime().AsTime()
		}
	}
	return time.Time{}
}

// placesOf waits until all messages of an event are sent. It returns the places in the
// ledger from when the last of them waits until the last of them is sent.
func (s *system) placesOf(event string, all int) []sandbox.Entry {
	s.t.Helper()
	since := s.waitSince(s.workflowsOf(event, all)...)
	s.awaitDeliveries(event, "SENT", all)
	return s.places(since, event, all)
}

// placesOfBatch does so from when the first batch of an event waits, for the first n of
// its messages.
func (s *system) placesOfBatch(event string, n int) []sandbox.Entry {
	s.t.Helper()
	since := s.waitSince(workflows.BatchID(event, notification.Email, 1))
	s.awaitSome(n, `SELECT count(*) FROM notification WHERE status = 'SENT' AND event_id = '`+event+`'`)
	return s.places(since, event, n)
}

// places are the messages that were sent since a time, up to the n-th of an event.
func (s *system) places(since time.Time, event string, n int) (places []sandbox.Entry) {
	s.t.Helper()
	defer func() { s.t.Logf("%s: %d places", event, len(places)) }()
	for _, message := range s.messages() {
		if message.Time.After(since) {
			places = append(places, message)
		}
		if isOf(event, message) {
			n--
		}
		if n == 0 {
			break
		}
	}
	return places
}

// isOf reports whether a message is one of an event.
func isOf(event string, message sandbox.Entry) bool {
	return strings.HasPrefix(message.DeliveryID, event+"-")
}

// requireRate requires that a backlog was sent at a rate: in no 5 s more than the messages
// of 6 s, and at least nine tenths of it as soon as the machine keeps up for 30 messages.
func requireRate(t *testing.T, sent []sandbox.Entry) {
	t.Helper()
	for i, from := range sent {
		within := 0
		for _, message := range sent[i:] {
			if message.Time.Before(from.Time.Add(5 * time.Second)) {
				within++
			}
		}
		require.LessOrEqual(t, within, 6*perSecond, "within 5 s from %s", from.Time)
	}
	const run = 30
	best := 0.0
	for i := run; i < len(sent); i++ {
		best = max(best, run/sent[i].Time.Sub(sent[i-run].Time).Seconds())
	}
	t.Logf("%d messages, at best %.2f a second", len(sent), best)
	require.GreaterOrEqual(t, best, 0.9*perSecond)
}

// A rate limit applies only to calls to the provider: a delivery that is cancelled, while
// it waits or is queued, is recorded at once.
func TestRateLimitIsTheProvidersAlone(t *testing.T) {
	t.Parallel()

	const perSecond, waiting, queued = 0.05, 20, 10 // one in 20 s: at that rate the cancellations would take ten minutes
	s := newSystem(t, fmt.Sprintf("EMAIL_RATE_LIMIT=%v", perSecond))
	s.prepareLoad()
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay) VALUES
		('LATER', 'EMAIL', 'DELAYED', '1 hour'), ('NOW', 'EMAIL', 'IMMEDIATE', '0')`)
	begun := time.Now()
	s.startWorker("--events", "--channels", "email")
	s.starter("poller", "start")
	for i := range waiting + queued {
		eventType := "LATER"
		if i >= waiting {
			eventType = "NOW"
		}
		s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, $2, 'CUSTOMER', '1', '{"number":1}')`,
			s.eventID(eventType, i), eventType)
	}
	s.awaitCount(waiting+queued, `SELECT count(*) FROM notification`)

	s.starter("delivery", "cancel", "--status", "PENDING", "--yes")
	s.awaitCount(0, `SELECT count(*) FROM notification WHERE status = 'PENDING'`)

	accepted := len(s.accepted())
	require.LessOrEqual(t, float64(accepted), 1+perSecond*time.Since(begun).Seconds())
	require.Equal(t, waiting+queued-accepted, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED'`))
}
