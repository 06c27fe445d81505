package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/relay/kafka/kafkatest"
)

// upgrade is an installation whose workers are replaced by workers of another generation, or whose
// Temporal is lost.
type upgrade struct {
	*system
	services business
	broker   string // Kafka's address
	events   []string

	cancelled []string // further events, of which an operator cancelled each delivery
}

// orders is the number of orders for a topic that does not exist yet.
const orders = 5

// The numbers of recipients of the two broadcasts. One has lanes with a workflow for each delivery,
// the other has batches.
const (
	paged   = 105
	batched = 130
)

const ordersFile = `
- name: orders
  dialect: order-service
  database_url_env: BUSINESS_DATABASE_URL
  table: orders.outbox
  poll_interval: 200ms
  kafka: { topic: order-events, key: "{{.aggregate_id}}" }
  retries: forever
`

// newUpgrade returns an installation with every kind of workflow that can run during an upgrade:
// deliveries that wait, retry, escalate or collect in a digest, orders for a topic, and two
// half-sent broadcasts.
func newUpgrade(t *testing.T, on servers) (*upgrade, *worker) {
	t.Helper()
	services, settings := newBusiness(t)
	cluster := kafkatest.NewCluster(t)
	file := strings.TrimPrefix(settings[0], "OUTBOX_SOURCES=")
	require.NoError(t, os.WriteFile(file, []byte(ordersFile), 0o600))
	settings = append(settings, "KAFKA_BROKERS="+cluster.Address, "EMAIL_RATE_LIMIT=5", "BULK_THRESHOLD=110",
		"SMS_MAX_ATTEMPTS=100", "SMS_RETRY_INTERVAL=1s", "SMS_RETRY_COEFFICIENT=1")
	u := &upgrade{system: newSystemOn(t, on, append(settings, crashTimeouts...)...), services: services, broker: cluster.Address}
	u.fillMany(batched, postgrestest.Recipient{}, postgrestest.Expressions{
		"user_id": "i", "email": "'c' || i || '@example.com'", "phone": "'+1201555' || lpad(i::text, 4, '0')",
	})
	u.fillMany(paged, postgrestest.Member{UserType: notification.Customer, Role: "GUEST"}, postgrestest.Expressions{"user_id": "i"})
	u.fill(
		postgrestest.Device{UserType: notification.Customer, UserID: "1", Token: "token-1"},
		postgrestest.Route{EventType: "WAIT", Channel: notification.Push, Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Route{EventType: "RETRY", Channel: notification.SMS},
		postgrestest.Route{EventType: "ESCALATE", Channel: notification.Push},
		postgrestest.Route{EventType: "ESCALATE", Channel: notification.SMS, OnEscalationOnly: true},
		postgrestest.Route{EventType: "DIGEST", Channel: notification.SMS, Strategy: notification.Aggregate, DigestWindow: 30 * time.Second},
		postgrestest.Route{EventType: "PAGED"},
		postgrestest.Route{EventType: "PAGED", Channel: notification.SMS, Strategy: notification.Delayed, Delay: 40 * time.Second},
		postgrestest.Route{EventType: "BATCHED"}, postgrestest.Route{EventType: "LOAD", Channel: notification.Push},
		postgrestest.Escalation{EventType: "ESCALATE", From: notification.Push, After: 30 * time.Second},
		postgrestest.Template{Title: "Hello", Body: "World"})
	u.fault("SMS", `{"status":503}`)
	old := u.startWorker()
	u.starter("poller", "start")
	u.addSmall()
	services.exec(`INSERT INTO orders.outbox (aggregate_type, event_type, payload, status, created_at)
		SELECT 'Order', 'OrderCreated', '{}', 'NEW', now() AT TIME ZONE 'UTC' FROM generate_series(1, $1::int)`, orders)
	u.add("PAGED", "RESTAURANT/5")
	u.add("BATCHED", "BROADCAST/0")
	u.awaitCount(batched, `SELECT count(*) FROM notification WHERE event_type = 'BATCHED'`)
	u.awaitSome(5, `SELECT count(*) FROM notification WHERE event_type = 'PAGED' AND status = 'SENT'`)
	u.awaitSome(5, `SELECT count(*) FROM notification WHERE event_type = 'BATCHED' AND status = 'SENT'`)
	u.awaitSome(1, `SELECT count(*) FROM notification WHERE event_type = 'RETRY' AND attempt_count > 1`)
	return u, old
}

func (u *upgrade) add(kind, aggregate string) {
	u.events = append(u.events, u.emit(fmt.Sprintf("%s-%s-%d", u.name, strings.ToLower(kind), len(u.events)), kind, aggregate, "{}"))
}

// addSmall adds events with one delivery, which waits, retries, escalates, or collects in a digest.
func (u *upgrade) addSmall() {
	for _, kind := range []string{"WAIT", "RETRY", "ESCALATE", "DIGEST"} {
		u.add(kind, "CUSTOMER/1")
	}
}

// load writes events for a number of seconds, and calls f at the start of each second.
func (u *upgrade) load(seconds int, f func(second int)) {
	u.t.Helper()
	for second := range seconds {
		f(second)
		for began := time.Now(); time.Since(began) < time.Second; time.Sleep(250 * time.Millisecond) {
			id := fmt.Sprintf("%s-load-%d", u.name, len(u.events))
			u.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) `+
				`VALUES ($1, 'LOAD', 'CUSTOMER', '1', '{}')`, id)
			u.events = append(u.events, id)
		}
	}
}

// ends requires that each delivery is sent and each event is published, with at most the allowed
// number of duplicates, and that no workflow task has failed.
func (u *upgrade) ends(allowedDuplicates int) {
	u.t.Helper()
	kafkatest.CreateTopic(u.t, u.broker, "order-events", nil) // early, because the back-off for a missing topic grows
	u.mend()
	u.starter(append([]string{"delivery", "send-now"},
		u.deliveries(`SELECT delivery_id FROM notification WHERE event_type = 'WAIT' AND status = 'PENDING'`)...)...)
	u.awaitSuccess(u.events...)
	u.awaitCount(0, `SELECT count(*) FROM processed_event WHERE status <> 'SUCCESS' AND event_id <> ALL ($1::text[])`, u.cancelled)
	require.Zero(u.t,
		u.count(`SELECT count(*) FROM notification WHERE status <> CASE WHEN event_id = ANY ($1::text[]) THEN 'CANCELLED' ELSE 'SENT' END`,
			u.cancelled))
	require.Equal(u.t, 2*paged+batched, u.count(`SELECT count(*) FROM notification WHERE event_type IN ('PAGED', 'BATCHED')`))
	require.Equal(u.t, u.count(`SELECT count(*) FROM event_outbox WHERE event_type = 'ESCALATE'`),
		u.count(`SELECT count(*) FROM notification WHERE event_type = 'ESCALATE' AND channel = 'SMS'`))
	require.Zero(u.t, u.count(`SELECT count(*) FROM processed_event WHERE outcome IS NOT NULL AND event_id <> ALL ($1::text[])`, u.cancelled))
	accepted, duplicates := u.accepted(), 0
	for _, id := range u.deliveries(`SELECT DISTINCT coalesce(digest_id, delivery_id) FROM notification WHERE status = 'SENT'`) {
		require.NotZero(u.t, accepted[id], "%s never arrived", id)
		duplicates += accepted[id] - 1
	}
	u.t.Logf("%d messages, %d repeated", len(accepted), duplicates)
	require.LessOrEqual(u.t, duplicates, allowedDuplicates)
	u.requireOrders(allowedDuplicates)
	u.requirePublishedOnce(allowedDuplicates)
	u.noTaskFailed()
}

// requireOrders requires a record for each order.
func (u *upgrade) requireOrders(allowedDuplicates int) {
	u.eventually(func() bool {
		return u.services.count(`SELECT count(*) FROM orders.outbox WHERE status = 'SENT'`) == orders
	}, "the orders never reach their topic")
	records := 0
	for _, n := range kafkatest.EventIDs(u.t, u.broker, "order-events", orders) {
		records += n
	}
	require.LessOrEqual(u.t, records, orders+allowedDuplicates)
}

// requirePublishedOnce requires a domain message for each event, with at most the allowed number
// of duplicates.
func (u *upgrade) requirePublishedOnce(allowedDuplicates int) {
	published, messages := map[string]bool{}, 0
	for _, queue := range []string{"notification.customer", "notification.broadcast", "notification.restaurant"} {
		for _, message := range u.take(queue) {
			published[message.MessageId] = true
			messages++
		}
	}
	require.Len(u.t, published, len(u.events)+len(u.cancelled))
	require.LessOrEqual(u.t, messages-len(published), allowedDuplicates)
}

// harmless lists the causes of dropped tasks that are no failures: a signal arrived meanwhile, or the
// workflow was terminated.
var harmless = []enums.WorkflowTaskFailedCause{enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
	enums.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND}

// noTaskFailed requires that no history of the installation has a failed workflow task, except
// histories that a rollback terminated.
func (u *upgrade) noTaskFailed() {
	all := must(u.executions(u.t.Context(), " AND ExecutionStatus != 'Terminated'"))(u.t)
	for _, found := range all {
		run := found.GetExecution()
		history := u.temporal.GetWorkflowHistory(u.t.Context(), run.GetWorkflowId(), run.GetRunId(), false,
			enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for history.HasNext() {
			event := must(history.Next())(u.t)
			if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil && !slices.Contains(harmless, failed.GetCause()) {
				u.t.Errorf("%s %s: %s: %s", found.GetType().GetName(), run.GetWorkflowId(), failed.GetCause(), failed.GetFailure().GetMessage())
			}
		}
	}
	u.t.Logf("%d histories", len(all))
}

// awaitGeneration waits until the workers of a generation get the tasks.
func (u *upgrade) awaitGeneration(generation int) {
	u.t.Helper()
	current := regexp.MustCompile(fmt.Sprintf(`"current": %d,`, generation))
	u.eventually(func() bool {
		listed, _ := u.tryStarter("workers", "list", "-o", "json") // a busy server may not answer in time
		return current.MatchString(listed)
	}, "generation %d is not current", generation)
}
