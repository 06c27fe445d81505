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

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/tools/sandbox"
	"herald/workflows"
)

const (
	perSecond = 1   // rate limit; even a busy machine starts more deliveries, so a backlog forms
	backlog   = 200 // messages of one restaurant
	processes = 2   // workers of the channel

	// soon is a number of places in the ledger. Five messages that take turns with the backlog
	// need ten places, or more if a busy machine starts them slowly. Without turns, they would
	// need more than twice soon.
	soon = 40
)

// While 200 messages of one restaurant wait, each in a separate workflow, more messages arrive:
// a few with low priority, five of another restaurant, and some urgent messages.
func TestBacklogUnderARateLimit(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_RATE_LIMIT=1", "BULK_THRESHOLD=0")
	s.startRestaurants()
	s.emitTo("NEWS", "1", backlog)
	s.awaitCount(backlog, `SELECT count(*) FROM notification`)
	s.awaitWaiting(2 * soon)
	s.waitSince(s.workflowsOf(s.emitTo("RUMOUR", "4", 5), 5)...)

	require.LessOrEqual(t, len(s.placesOf(s.emitTo("NEWS", "2", 5), 5)), soon, "restaurants take turns")
	require.LessOrEqual(t, len(s.placesOf(s.emitTo("URGENT", "3", 10), 10)), soon, "urgent messages go first")
	s.awaitSome(45, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE event_type = 'RUMOUR' AND status = 'SENT'`),
		"messages with low priority go last")
	s.requireRate()
}

// Batches of one restaurant occupy all slots of the workers. Then a batch of another restaurant
// arrives, then five single messages, and then urgent messages while other single messages wait.
// A batch with low priority waits for all of them.
func TestBatchUnderARateLimit(t *testing.T) {
	t.Parallel()

	const aBatch, atOnce = 100, 2 * processes
	const stints = 100 * perSecond // places; a running batch keeps its slot for at most 20 s, and a busy machine starts the next batch late
	s := newSystem(t, "EMAIL_RATE_LIMIT=1", "BULK_THRESHOLD=50")
	s.startRestaurants()
	s.emitTo("NEWS", "1", aBatch) // these batches last longer than the test
	for n := range atOnce - 1 {   // one event for each batch that runs concurrently, since a batch is large
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
	require.LessOrEqual(t, len(urgent), soon, "urgent messages go before single messages and batches")
	rumours := slices.DeleteFunc(slices.Concat(more, single, urgent), func(message sandbox.Entry) bool { return !isOf(rumour, message) })
	const left = 2 // turns that no other message takes in time on a busy machine
	require.LessOrEqual(t, len(rumours), left, "messages with low priority go last")
	s.requireRate()
}

// startRestaurants prepares restaurants that send e-mails to their staff: NEWS and MORE_NEWS with
// normal priority, URGENT with high and RUMOUR with low priority.
func (s *system) startRestaurants() {
	s.t.Helper()
	s.fill(
		postgrestest.Route{EventType: "NEWS", Priority: notification.Normal},
		postgrestest.Route{EventType: "MORE_NEWS", Priority: notification.Normal},
		postgrestest.Route{EventType: "URGENT", Priority: notification.High},
		postgrestest.Route{EventType: "RUMOUR", Priority: notification.Low},
		postgrestest.Template{Title: "News", Body: "For {{.recipient.user_id}}"})
	s.starter("poller", "start")
	s.startWorker("--events")
	for range processes {
		s.startWorker("--channels", "email")
	}
}

// emitTo writes an event of a restaurant with a new staff of the given size, and returns its id.
func (s *system) emitTo(eventType, restaurant string, staff int) string {
	s.t.Helper()
	id := fmt.Sprintf("'%s-' || i", restaurant)
	s.fillMany(staff, postgrestest.Recipient{UserType: notification.RestaurantUser},
		postgrestest.Expressions{"user_id": id, "email": "'r' || " + id + " || '@example.com'"})
	s.fillMany(staff, postgrestest.Member{EntityID: restaurant}, postgrestest.Expressions{"user_id": id})
	return s.emit(s.name+"-"+eventType+"-"+restaurant, eventType, "RESTAURANT/"+restaurant, "{}")
}

// awaitWaiting waits until at least this number of single messages are in Temporal's task queue.
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

// workflowsOf waits until an event has this number of deliveries, and returns the ids of their
// workflows.
func (s *system) workflowsOf(event string, all int) []string {
	s.t.Helper()
	s.awaitCount(all, `SELECT count(*) FROM notification WHERE event_id = $1`, event)
	return s.deliveries(`SELECT delivery_id FROM notification WHERE event_id = '` + event + `'`)
}

// waitSince waits until all these workflows wait for a sending worker, and returns the time when
// the last one began to wait. So the places do not include the time to start the workflows.
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

// firstScheduled returns the time when a workflow scheduled its first activity, or zero.
func (s *system) firstScheduled(id string) time.Time {
	for events := s.temporal.GetWorkflowHistory(s.t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			break // the workflow has not started
		}
		if event.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			return event.GetEventTime().AsTime()
		}
	}
	return time.Time{}
}

// placesOf waits until all messages of an event are sent. It returns the ledger's messages from
// the time when the last of the event's messages began to wait until all were sent.
func (s *system) placesOf(event string, all int) []sandbox.Entry {
	s.t.Helper()
	since := s.waitSince(s.workflowsOf(event, all)...)
	s.awaitDeliveries(event, "SENT", all)
	return s.places(since, event, all)
}

// placesOfBatch is placesOf for the first n messages of an event. It counts from the time when the
// event's first batch began to wait.
func (s *system) placesOfBatch(event string, n int) []sandbox.Entry {
	s.t.Helper()
	since := s.waitSince(workflows.BatchID(event, notification.Email, 1))
	s.awaitSome(n, `SELECT count(*) FROM notification WHERE status = 'SENT' AND event_id = '`+event+`'`)
	return s.places(since, event, n)
}

// places returns the messages that were sent after a time, up to the n-th message of an event.
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

// isOf reports whether a message belongs to an event.
func isOf(event string, message sandbox.Entry) bool {
	return strings.HasPrefix(message.DeliveryID, event+"-")
}

// requireRate requires that a backlog is sent at its rate. Any 5 s may have at most the messages of
// 6 s. 30 messages may take at most twice their time, because the machine may be busy.
func (s *system) requireRate() {
	s.t.Helper()
	const run = 30
	s.awaitSome(run+1, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	sent := s.messages()
	for i, from := range sent {
		within := 0
		for _, message := range sent[i:] {
			if message.Time.Before(from.Time.Add(5 * time.Second)) {
				within++
			}
		}
		require.LessOrEqual(s.t, within, 6*perSecond, "within 5 s from %s", from.Time)
	}
	best := 0.0
	for i := run; i < len(sent); i++ {
		best = max(best, run/sent[i].Time.Sub(sent[i-run].Time).Seconds())
	}
	s.t.Logf("%d messages, at best %.2f a second", len(sent), best)
	require.GreaterOrEqual(s.t, best, 0.5*perSecond)
}

// A rate limit applies only to calls to the provider. A cancelled delivery that waits or is
// queued is recorded at once.
func TestRateLimitAppliesOnlyToTheProvider(t *testing.T) {
	t.Parallel()

	const perSecond, waiting, queued = 0.05, 20, 10 // one message in 20 s: at this rate the cancellations would take ten minutes
	s := newSystem(t, fmt.Sprintf("EMAIL_RATE_LIMIT=%v", perSecond))
	s.prepareLoad()
	s.fill(postgrestest.Route{EventType: "LATER", Strategy: notification.Delayed, Delay: time.Hour}, postgrestest.Route{EventType: "NOW"})
	begun := time.Now()
	s.startWorker("--events", "--channels", "email")
	s.starter("poller", "start")
	for i := range waiting + queued {
		eventType := "LATER"
		if i >= waiting {
			eventType = "NOW"
		}
		s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) `+
			`VALUES ($1, $2, 'CUSTOMER', '1', '{"number":1}')`,
			s.eventID(eventType, i), eventType)
	}
	s.awaitCount(waiting+queued, `SELECT count(*) FROM notification`)

	s.starter("delivery", "cancel", "--status", "PENDING", "--yes")
	s.awaitCount(0, `SELECT count(*) FROM notification WHERE status = 'PENDING'`)

	accepted := len(s.accepted())
	require.LessOrEqual(t, float64(accepted), 1+perSecond*time.Since(begun).Seconds())
	require.Equal(t, waiting+queued-accepted, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED'`))
}
