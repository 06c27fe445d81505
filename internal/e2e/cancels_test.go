package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	batchpb "go.temporal.io/api/batch/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/workflows"
)

// clinic returns an installation whose messages about visits use four strategies: at once, as a
// reminder, after very long quiet hours, and in a digest. The message that cancels a visit is sent at
// once.
func clinic(t *testing.T) *system {
	s := newSystem(t)
	s.fill(
		postgrestest.Recipient{Email: "ada@example.com", Phone: "+12025550142", Timezone: "Europe/Rome"},
		postgrestest.Device{UserType: notification.Customer, UserID: "42", Token: "device-42"},
		postgrestest.Preference{UserType: notification.Customer, UserID: "42", Channel: notification.SMS, QuietStart: "00:00:01",
			QuietEnd: "00:00"},
		postgrestest.Route{EventType: "VISIT", Channel: notification.WebSocket},
		postgrestest.Route{EventType: "VISIT", Strategy: notification.Delayed, SendAtPath: "at"},
		postgrestest.Route{EventType: "VISIT", Channel: notification.SMS, QuietHoursAction: notification.Defer},
		postgrestest.Route{EventType: "VISIT", Channel: notification.Push, Strategy: notification.Aggregate, DigestWindow: time.Hour},
		postgrestest.Route{EventType: "CALLED_OFF", Channel: notification.WebSocket}, postgrestest.Template{Title: "visit", Body: "visit"})
	s.starter("poller", "start")
	return s
}

func (s *system) visit(name string, at time.Time) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, "VISIT", "CUSTOMER/42", fmt.Sprintf(`{"at":%q}`, at.UTC().Format(time.RFC3339)))
}

// takesBack emits an event that cancels another event.
func (s *system) takesBack(name, eventType, other string) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, eventType, "CUSTOMER/42", "{}", "--cancels", other)
}

// takenBack waits until the event `by` has cancelled another event. It requires the numbers of cancelled
// and sent deliveries.
func (s *system) takenBack(event, by string, cancelled, sent int) {
	s.t.Helper()
	s.awaitCount(1, "SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = 'FAILED' AND outcome = 'CANCELLED'", event)
	require.Equal(s.t, cancelled, s.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'CANCELLED' AND last_error = $2",
		event, "cancelled by event "+by))
	require.Equal(s.t, sent, s.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'SENT'", event))
	require.Equal(s.t, cancelled+sent, s.count("SELECT count(*) FROM notification WHERE event_id = $1", event))
}

var nextYear = time.Now().AddDate(1, 0, 0)

// One clinic cancels visits.
func TestCancels(t *testing.T) {
	t.Parallel()

	s := clinic(t)
	w := s.startWorker()
	s.cancelsInAnyOrder()
	s.cancelsWhatWaits()
	s.cancelsWhileNoWorkerRuns(w)
}

// A visit is cancelled while its messages wait: as a reminder, for quiet hours and in a digest.
func (s *system) cancelsWhatWaits() {
	visit := s.visit("visit", nextYear)
	s.awaitDelivery(visit+"-customer42-WEBSOCKET", "SENT")
	for _, channel := range []string{"EMAIL", "SMS", "PUSH"} {
		id := visit + "-customer42-" + channel
		s.awaitBegun(id)
	}

	off := s.takesBack("off", "CALLED_OFF", visit)
	s.awaitSuccess(off)

	s.takenBack(visit, off, 3, 1)
	s.awaitDelivery(off+"-customer42-WEBSOCKET", "SENT")
	require.Contains(s.t, s.starter("event", "show", visit), "by event "+off+" at ")
	require.Contains(s.t, s.starter("event", "show", off), visit+": 3 cancelled; 1 sent, and stay sent")
	mail := visit + "-customer42-EMAIL"
	require.Contains(s.t, s.starter("delivery", "why", mail), "its event was cancelled by event "+off)
	s.fails(1, "cancelled by event "+off, "event", "retry", visit)
	s.fails(1, "it was cancelled by event "+off, "delivery", "retry", mail)

	again := s.takesBack("again", "NOTHING", off) // cancelling a cancellation does not restore the visit
	s.awaitSuccess(again)
	require.Contains(s.t, s.starter("event", "show", again), off+": 1 sent, and stay sent")
	require.Equal(s.t, 3, s.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'CANCELLED'", visit))
	require.Empty(s.t, s.accepted())

	require.Contains(s.t, s.starter("delivery", "retry", mail, "--again"), "waits until its due time")
	s.starter("delivery", "send-now", mail)
	s.awaitDelivery(mail, "SENT")
}

// The order in which a visit and its cancellation are written, claimed and planned makes no
// difference. The type of the cancelling event makes no difference either.
func (s *system) cancelsInAnyOrder() {
	early := s.takesBack("early-off", "NOTHING", s.name+"-early")
	s.awaitSuccess(early)
	require.Contains(s.t, s.starter("event", "show", early), s.name+"-early: no event of this id is known")
	s.visit("early", nextYear)

	s.starter("poller", "pause")
	const row = `($1 || '-%s', '%s', 'CUSTOMER', '42', '{"at": "2030-01-01T00:00:00Z"}', %s)`
	visit := func(name string) string { return fmt.Sprintf(row, name, "VISIT", "NULL") }
	off := func(name string) string { return fmt.Sprintf(row, name+"-off", "CALLED_OFF", "$1 || '-"+name+"'") }
	s.exec("INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, cancels) VALUES "+
		visit("first")+", "+off("first")+", "+off("second")+", "+visit("second")+", "+off("never"), s.name)
	poller := s.takesBack("poller-off", "NOTHING", s.name+"-outbox-poller-1") // the id of a poller, which an event must not cancel
	s.starter("poller", "resume")

	for _, name := range []string{"early", "first", "second"} {
		s.takenBack(s.name+"-"+name, s.name+"-"+name+"-off", 0, 0)
	}
	s.awaitSuccess(s.name+"-first-off", s.name+"-second-off", s.name+"-never-off", poller)
	why := s.starter("delivery", "why", "--event", s.name+"-first", "--recipient", "customer/42", "--channel", "email")
	require.Contains(s.t, why, "nothing was decided: the event was cancelled by event "+s.name+"-first-off")
	require.Equal(s.t, 3, s.count("SELECT count(*) FROM notification"), "only the cancelling events have deliveries")
	s.awaitSuccess(s.visitToday("after")) // the poller continues
}

// visitToday emits an event that is sent at once.
func (s *system) visitToday(name string) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, "CALLED_OFF", "CUSTOMER/42", "{}")
}

// No worker handles the cancellation before the reminder is due. The reminder's attempt finds
// the cancellation.
func (s *system) cancelsWhileNoWorkerRuns(w *worker) {
	before := len(s.accepted())
	due := time.Now().Add(15 * time.Second)
	visit := s.visit("due", due)
	s.awaitDelivery(visit+"-customer42-WEBSOCKET", "SENT")
	s.awaitCount(1, "SELECT count(*) FROM processed_event WHERE event_id = $1", visit)
	w.kill()
	off := s.takesBack("due-off", "NOTHING", visit)
	s.exec("UPDATE event_outbox SET lease_owner = 'dead', lease_until = now() + interval '30 seconds' WHERE event_id = $1",
		off) // a dead poller holds the lease
	s.eventually(func() bool { return time.Now().After(due) }, "the time does not come")

	s.startWorker()
	s.awaitCount(1, "SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'CANCELLED' AND last_error = $2",
		visit+"-customer42-EMAIL", "cancelled by event "+off)
	s.takenBack(visit, off, 3, 1)
	require.Len(s.t, s.accepted(), before)
}

// broadcast is an event that Herald is sending to many customers by e-mail.
type broadcast struct {
	*system
	event, eventType string
	recipients       int
}

// begin writes an event with a unique type for the customers of a restaurant. It waits until all
// deliveries are planned and some messages are sent.
func (s *system) begin(name string, recipients, sent int, more ...string) *broadcast {
	s.t.Helper()
	b := &broadcast{system: s, recipients: recipients, eventType: strings.ToUpper(strings.ReplaceAll(s.name+"-"+name, "-", "_"))}
	s.fill(postgrestest.Route{EventType: b.eventType})
	for _, sql := range more {
		s.exec(sql, b.eventType)
	}
	s.fillMany(recipients, postgrestest.Member{EntityID: name, UserType: notification.Customer, Role: "GUEST"},
		postgrestest.Expressions{"user_id": "i"})
	b.event = s.emit(s.name+"-"+name, b.eventType, "RESTAURANT/"+name, "{}")
	s.awaitCount(recipients, `SELECT count(*) FROM notification WHERE event_id = $1`, b.event)
	s.awaitSome(sent, `SELECT count(*) FROM notification WHERE status = 'SENT' AND event_id = '`+b.event+`'`)
	return b
}

// cancel cancels a workflow with Temporal's client.
func (b *broadcast) cancel(id string) {
	b.t.Helper()
	require.NoError(b.t, b.temporal.CancelWorkflow(b.t.Context(), id, ""), id)
}

func (b *broadcast) lane() string { return workflows.LaneID(b.event, notification.Email) }

// having returns the number of the event's deliveries for which a condition holds.
func (b *broadcast) having(condition string) int {
	b.t.Helper()
	return b.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND `+condition, b.event)
}

// accepted returns the number of the event's messages that the provider accepted.
func (b *broadcast) accepted() (messages int) {
	b.t.Helper()
	for _, message := range b.messages() {
		if isOf(b.event, message) {
			messages++
		}
	}
	return messages
}

// requireCancelled waits for the event's end. It requires that nothing is sent afterwards, not even by a
// sweep, and that the event's counts contain the cancelled deliveries.
func (b *broadcast) requireCancelled(processed string) {
	b.t.Helper()
	var result workflows.NotifyResult
	err := b.temporal.GetWorkflow(b.t.Context(), b.event, "").Get(b.t.Context(), &result)
	require.Equal(b.t, processed == "FAILED", err != nil, "%v", err)
	sent := b.accepted()
	require.Less(b.t, sent, b.recipients)

	b.exec(`UPDATE processed_event SET created_at = created_at - interval '1 hour'`)
	b.exec(`UPDATE notification SET created_at = created_at - interval '1 hour'`)
	swept := b.sweep()
	require.Zero(b.t, swept.StartedAgain+swept.Closed+swept.Failed)

	require.Equal(b.t, sent, b.accepted(), "nothing reaches the provider afterwards")
	require.Equal(b.t, sent, b.having(`status = 'SENT'`))
	require.Equal(b.t, b.recipients-sent, b.having(`status = 'CANCELLED' AND last_error = '`+string(notification.CancelledInTemporal)+`'`))
	require.Equal(b.t, 1, b.count(`SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = $2`, b.event, processed))
	if processed == "SUCCESS" {
		require.Equal(b.t, sent, result.Deliveries[notification.Sent])
		require.Equal(b.t, b.recipients-sent, result.Deliveries[notification.Cancelled])
	}
}

// An event, a lane, the lane's children, or deliveries that wait for a retry are cancelled in Temporal.
// Nothing more is sent: no batch, no row without a batch, no page of waiting deliveries. The rate
// limit ensures that most messages are unsent at the time of the cancellation.
func TestCancelInTemporal(t *testing.T) {
	t.Parallel()

	const large = 120 // more than a page
	start := func(t *testing.T, settings ...string) *system {
		s := newSystem(t, append(settings, "EMAIL_MAX_ATTEMPTS=100", "EMAIL_RETRY_INTERVAL=1h")...)
		s.customers(2 * large)
		s.fill(postgrestest.Template{Title: "News", Body: "For {{.recipient.user_id}}"})
		s.startAll(mailWorker...)
		s.scheduled()
		return s
	}
	t.Run("workflows", func(t *testing.T) {
		t.Parallel()

		s := start(t, "EMAIL_RATE_LIMIT=1")
		small := s.begin("small", 20, 1)
		small.cancel(small.event)
		small.requireCancelled("FAILED")
		lane := s.begin("lane", large, 1)
		lane.cancel(lane.lane())
		lane.requireCancelled("SUCCESS")
		waiting := s.begin("pages", large, 0,
			`UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', delay = '1 hour' WHERE event_type = $1`)
		require.Contains(t, waiting.cancelChildren(waiting.lane()+"-waiting"), waiting.event+"-page-EMAIL-1-waiting")
		waiting.requireCancelled("SUCCESS")
		s.cancelsRetries()
	})
	t.Run("batches", func(t *testing.T) {
		t.Parallel()

		s := start(t, inBatches, "EMAIL_RATE_LIMIT=5")
		event := s.begin("event", 2*large, 5)
		event.cancel(event.event)
		event.requireCancelled("FAILED")
		lane := s.begin("lane", 2*large, 5)
		lane.cancel(lane.lane())
		lane.requireCancelled("SUCCESS")
		batches := s.begin("batches", 2*large, 5)
		batches.cancelChildren(batches.lane())
		batches.requireCancelled("SUCCESS")
		query := s.begin("query", 2*large, 5)
		query.cancelByQuery()
		query.requireCancelled("SUCCESS")
		s.cancelsRetries()
	})
}

// cancelsRetries cancels deliveries that wait for a retry.
func (s *system) cancelsRetries() {
	s.t.Helper()
	s.fault("EMAIL", `{"status":503,"rate":0.5}`)
	b := s.begin("retries", 20, 1)
	b.eventually(func() bool { return b.having(`status = 'PENDING' AND last_error IS NULL`) == 0 }, "not all were tried")
	for _, id := range b.deliveries(`SELECT delivery_id FROM notification WHERE status = 'PENDING' AND event_id = '` + b.event + `'`) {
		b.eventually(func() bool { return b.temporal.CancelWorkflow(b.t.Context(), id, "") == nil }, "%s has no workflow", id)
	}
	b.mend()
	b.requireCancelled("SUCCESS")
}

// cancelChildren cancels each child of a lane until the lane has ended. It returns their ids.
func (b *broadcast) cancelChildren(lane string) (cancelled []string) {
	b.t.Helper()
	b.eventually(func() bool {
		described, err := b.temporal.DescribeWorkflow(b.t.Context(), lane, "")
		if err != nil {
			return false // the lane has not started
		}
		for _, child := range described.RawResponse.GetPendingChildren() {
			id := child.GetWorkflowId()
			if !slices.Contains(cancelled, id) && b.temporal.CancelWorkflow(b.t.Context(), id, "") == nil {
				cancelled = append(cancelled, id)
			}
		}
		return described.WorkflowCloseTime != nil
	}, "the lane does not end")
	require.NotEmpty(b.t, cancelled)
	return cancelled
}

// cancelByQuery cancels all deliveries of an event over one channel by the batch operation in
// docs/operations.md. Temporal accepts each query in the document.
func (b *broadcast) cancelByQuery() {
	count := func(query string) (int64, error) {
		found, err := b.temporal.CountWorkflow(b.t.Context(),
			&workflowservice.CountWorkflowExecutionsRequest{Namespace: client.DefaultNamespace, Query: query})
		return found.GetCount(), err
	}
	var cancel string
	for _, query := range documentedQueries(b.t) {
		_, err := count(query.text)
		require.NoError(b.t, err, query.text)
		if query.cancels {
			cancel = strings.NewReplacer("PROMOTION", b.eventType, "SMS", "EMAIL").Replace(query.text)
		}
	}
	require.Contains(b.t, cancel, b.eventType)
	b.eventually(func() bool {
		found, err := count(cancel)
		return err == nil && found >= 2
	}, "the query does not find the lane and a batch of it: %s", cancel)

	_, err := b.temporal.WorkflowService().StartBatchOperation(b.t.Context(), &workflowservice.StartBatchOperationRequest{
		Namespace: client.DefaultNamespace, JobId: uuid.NewString(), Reason: "90 per cent", VisibilityQuery: cancel,
		Operation: &workflowservice.StartBatchOperationRequest_CancellationOperation{
			CancellationOperation: &batchpb.BatchOperationCancellation{},
		},
	})
	require.NoError(b.t, err)
}

type documentedQuery struct {
	text    string
	cancels bool
}

// documentedQueries returns the queries in docs/operations.md.
func documentedQueries(t *testing.T) (queries []documentedQuery) {
	t.Helper()
	document := must(os.ReadFile("../../docs/operations.md"))(t)
	for _, found := range regexp.MustCompile(`temporal workflow (\w+) --query '([^']+)'`).FindAllStringSubmatch(string(document), -1) {
		queries = append(queries, documentedQuery{found[2], found[1] == "cancel"})
	}
	require.NotEmpty(t, queries)
	return queries
}
