package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/workflows"
)

// inBatches is the setting to send events with more than ten recipients in batches.
const inBatches = "BULK_THRESHOLD=10"

// A batch in which some messages fail temporarily and some permanently, one customer has quiet
// hours, and one customer's address is suppressed. Each message ends as without batches.
func TestBatch(t *testing.T) {
	t.Parallel()

	const customers, inBatch = 60, 58
	s := newSystem(t, inBatches, "SMS_MAX_ATTEMPTS=100", "SMS_RETRY_COEFFICIENT=1")
	s.prepareNews(customers, "SMS")
	s.exec(`UPDATE event_type_channel_routing SET quiet_hours_action = 'DEFER'`)
	// Twilio rejects both.
	s.exec(`UPDATE recipient SET phone = '+1500555000' || CASE user_id WHEN '1' THEN '9' ELSE '1' END WHERE user_id IN ('1', '2')`)
	s.fill(
		postgrestest.Preference{UserType: notification.Customer, UserID: "3", Channel: notification.SMS, QuietStart: "00:00:01",
			QuietEnd: "00:00"})
	s.starter("suppression", "add", "--channel", "SMS", "--reason", "OPT_OUT", "--address", "+12015550004")
	s.fault("SMS", `{"status":503,"rate":0.3}`)
	s.startWorker("--events", "--channels", "sms")
	event := s.emitNews()
	text := func(customer string) string {
		return notification.DeliveryID(event, "customer", customer, notification.SMS)
	}

	s.awaitDeliveries(event, "SENT", inBatch-2)
	s.awaitDeliveries(event, "FAILED", 2)
	s.mend()
	var batch workflows.BatchResult
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), workflows.BatchID(event, notification.SMS, 1), "").Get(t.Context(), &batch))
	again := s.count(`SELECT count(*) FROM notification WHERE attempt_count > 1`)
	require.Positive(t, again)
	require.Equal(t, again, inBatch-batch.Sent-batch.Failed, "each delivery with a temporary failure had a separate workflow")
	require.Equal(t, 1, batch.Pages)

	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'PENDING' AND attempt_count = 0`,
		text("3")), "quiet hours hold the message")
	s.starter("delivery", "send-now", text("3"))
	s.awaitDelivery(text("3"), "SENT")
	s.awaitSuccess(event)
	require.Zero(t, s.count(`SELECT count(*) FROM delivery_attempt WHERE delivery_id = $1`, text("4")), "the address is suppressed")

	letters := s.deadLetters()
	require.Len(t, letters, 2)
	for _, letter := range letters {
		require.Regexp(t, `"delivery_id":"`+event+`-customer[12]-SMS"`, string(letter.Body))
	}
	var failed *temporal.ApplicationError
	require.ErrorAs(t, s.temporal.GetWorkflow(t.Context(), text("1"), "").Get(t.Context(), nil), &failed,
		"a delivery that failed in the batch has a failed workflow")
	require.Equal(t, workflows.DeliveryFailed, failed.Type())
	s.eventually(func() bool {
		query := fmt.Sprintf(`HeraldOutcome="FAILED" AND WorkflowId="%s"`, text("2"))
		found, err := s.temporal.CountWorkflow(t.Context(),
			&workflowservice.CountWorkflowExecutionsRequest{Namespace: client.DefaultNamespace, Query: query})
		return err == nil && found.GetCount() == 1
	}, "operators do not find what failed in the batch")
	require.Regexp(t, `deliveries +.*57 SENT.* 2 FAILED`, s.starter("event", "show", event))
	require.Contains(t, s.starter("delivery", "why", text("1")), "21614")

	s.exec(`UPDATE recipient SET phone = '+1201555100' || user_id WHERE user_id IN ('1', '2')`)
	s.exec(`UPDATE notification SET created_at = created_at - interval '2 minutes'`) // so that Herald reads the current number
	s.starter("delivery", "retry", text("1"), text("2"))
	s.awaitDeliveries(event, "SENT", customers-1)
	s.sentOnce(customers - 1)
	require.Empty(t, s.deadLetters())
}

// A worker is stopped during a batch, and the next worker is killed. The first worker records all
// messages that it sent. No recorded message of the second worker is sent again.
func TestBatchOfAWorkerThatEnds(t *testing.T) {
	t.Parallel()

	const customers = 450 // seven groups: even on a busy machine, seconds remain before the last group
	s := newSystem(t, append(crashTimeouts, inBatches)...)
	s.prepareNews(customers, "EMAIL")
	s.fault("EMAIL", `{"latency":"4s"}`)
	w := s.startWorker(mailWorker...)
	event := s.emitNews()
	s.awaitSome(30, `SELECT count(*) FROM notification WHERE status = 'SENT'`)

	require.NoError(t, w.stop(), "%s", w.output)
	accepted := s.accepted()
	require.Less(t, len(accepted), customers)
	require.Equal(t, len(accepted), s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`))
	require.Equal(t, len(accepted), s.count(`SELECT count(*) FROM delivery_attempt`), "every attempt reached the provider")

	w = s.startWorker(mailWorker...)
	s.awaitSome(len(accepted)+30, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	s.awaitSome(1, `SELECT count(*) FROM notification WHERE attempt_owner IS NOT NULL`) // in flight for four seconds
	w.kill()
	recorded := s.deliveries(`SELECT delivery_id FROM notification WHERE status = 'SENT'`)
	died := s.deliveries(`SELECT delivery_id FROM notification WHERE attempt_owner IS NOT NULL`)
	require.Less(t, len(recorded), customers)
	require.NotEmpty(t, died)
	require.LessOrEqual(t, len(died), activities.BatchSends)
	s.mend()
	s.startWorker(mailWorker...)

	s.awaitDeliveries(event, "SENT", customers)
	s.awaitSuccess(event)
	accepted = s.accepted()
	require.Len(t, accepted, customers)
	duplicates := 0
	for _, times := range accepted {
		duplicates += times - 1
	}
	require.LessOrEqual(t, duplicates, len(died))
	for _, id := range recorded {
		require.Equal(t, 1, accepted[id], id)
	}
	require.Equal(t, len(died), s.count(`SELECT count(*) FROM delivery_attempt WHERE attempt = 2`), "deliveries in flight left the batch")
}

// A batch has not reached a delivery yet. Operators see the batch, and cannot send, reschedule or retry
// the delivery. They cancel the delivery, and then the event. The sweep does not touch the batch.
func TestCancelOfABatch(t *testing.T) {
	t.Parallel()

	const customers = 450
	s := newSystem(t, inBatches)
	s.prepareNews(customers, "EMAIL")
	s.fault("EMAIL", `{"latency":"5s"}`)
	s.startWorker(mailWorker...)
	s.scheduled()
	event := s.emitNews()
	s.awaitCount(customers, `SELECT count(*) FROM notification`)
	last := s.deliveries(`SELECT delivery_id FROM notification ORDER BY id DESC LIMIT 1`)[0]

	batch, inBatch := "", regexp.MustCompile(`the running batch (`+event+`-batch-EMAIL-\d+) sends it`)
	s.eventually(func() bool {
		found := inBatch.FindStringSubmatch(s.starter("delivery", "why", last))
		if found != nil {
			batch = found[1]
		}
		return found != nil
	}, "%s is in no batch", last)
	for _, order := range [][]string{{"send-now", last}, {"reschedule", last, "--in", "2h"}, {"retry", last}} {
		s.fails(1, "is being sent in a batch", append([]string{"delivery"}, order...)...)
	}
	s.fails(1, batch, "delivery", "send-now", last)
	require.Contains(t, s.starter("delivery", "show", last), batch)
	require.Contains(t, s.starter("event", "show", event), batch+": ")
	require.Contains(t, s.starter("delivery", "cancel", last), "cancelled")
	require.Contains(t, s.starter("delivery", "retry", last, "--dry-run"), "would be retried")
	s.exec(`UPDATE processed_event SET created_at = created_at - interval '1 hour'`)
	s.exec(`UPDATE notification SET created_at = created_at - interval '1 hour'`)
	swept := s.sweep()
	require.Zero(t, swept.StartedAgain+swept.Closed+swept.Failed)
	require.Positive(t, s.count(`SELECT count(*) FROM notification WHERE attempt_count = 0 AND status = 'PENDING'`), "the batch is under way")

	s.starter("event", "cancel", event)
	const attempted = `SELECT count(*) FROM notification WHERE attempt_count > 0`
	answered := s.count(attempted)
	require.Error(t, s.temporal.GetWorkflow(t.Context(), event, "").Get(t.Context(), nil))
	begun := s.count(attempted)
	require.LessOrEqual(t, begun, answered, "no attempt begins after the command has answered")
	s.awaitCount(begun, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	require.Equal(t, customers-begun, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED'`))
	accepted := s.accepted()
	require.Len(t, accepted, begun)
	require.NotContains(t, accepted, last)
}

// An event is terminated during a batch with some permanent failures, and then retried. Herald
// retries each failed delivery alone, and sends the rest of the batch.
func TestBatchOfATerminatedEvent(t *testing.T) {
	t.Parallel()

	const customers = 150
	s := newSystem(t, inBatches, "EMAIL_TIMEOUT=20s")
	s.prepareNews(customers, "EMAIL")
	s.startWorker("--events")
	s.fault("EMAIL", `{"status":400,"latency":"1s"}`)
	mails := s.startWorker("--channels", "email")
	event := s.emitNews()
	s.awaitSome(10, `SELECT count(*) FROM notification WHERE status = 'FAILED'`)
	mails.kill()
	// The server may still execute the last statement of the dead process.
	s.awaitCount(0, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' `+
		`AND pid <> pg_backend_pid()`)
	s.awaitCount(0, `SELECT count(*) FROM delivery_follow_up`)
	failed := s.deliveries(`SELECT delivery_id FROM notification WHERE status = 'FAILED'`)
	require.Less(t, len(failed), customers)

	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), event, "", "an operator's word"))
	s.starter("event", "retry", event)
	s.mend()
	s.startWorker("--channels", "email")

	s.awaitDeliveries(event, "SENT", customers)
	s.awaitSuccess(event)
	s.sentOnce(customers)
	require.Equal(t, len(failed),
		s.count(`SELECT count(*) FROM delivery_attempt WHERE delivery_id = ANY ($1) AND attempt = 2 AND outcome = 'SENT'`, failed))
	require.Len(t, s.deadLetters(), len(failed), "each failure has one dead letter")
	s.sendsBatchWithoutDatabase(customers)
}

// The database fails while messages of a batch are with the provider. Herald records the sent
// messages when the database is back, and sends each message once.
func (s *system) sendsBatchWithoutDatabase(customers int) {
	s.fault("EMAIL", `{"latency":"1s"}`)
	event := s.emit(s.name+"-more-news", "NEWS", "BROADCAST/0", "{}")
	s.awaitSome(30, `SELECT count(*) FROM notification WHERE status = 'SENT' AND event_id = '`+event+`'`)

	back := s.takeDatabaseAway()
	batch := workflows.BatchID(event, notification.Email, 1)
	s.eventually(func() bool {
		pending := s.pending(batch)
		return len(pending) == 1 && pending[0].GetLastFailure() != nil
	}, "the batch does not notice that the database is away")
	back()
	s.mend()

	s.awaitDeliveries(event, "SENT", customers)
	s.awaitSuccess(event)
	s.sentOnce(2 * customers)
}

// takeDatabaseAway ends all connections to the test's database and refuses new ones, until the
// test calls back.
func (s *system) takeDatabaseAway() (back func()) {
	name := s.store.Pool.Config().ConnConfig.Database
	server := must(pgx.Connect(s.t.Context(), os.Getenv("DATABASE_URL")))(s.t)
	s.t.Cleanup(func() { _ = server.Close(s.t.Context()) })
	run := func(sql string) {
		must(server.Exec(s.t.Context(), sql))(s.t)
	}
	quoted := pgx.Identifier{name}.Sanitize()
	run("ALTER DATABASE " + quoted + " ALLOW_CONNECTIONS false")
	run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'")
	return func() { run("ALTER DATABASE " + quoted + " ALLOW_CONNECTIONS true") }
}

// awaitSome waits until the SQL returns at least this number.
func (s *system) awaitSome(least int, sql string) {
	s.t.Helper()
	s.eventually(func() bool { return s.count(sql) >= least }, "there are never %d: %s", least, sql)
}

// deliveries runs SQL that returns delivery ids.
func (s *system) deliveries(sql string, args ...any) []string {
	s.t.Helper()
	return postgrestest.List(s.t, s.store, sql, args...)
}
