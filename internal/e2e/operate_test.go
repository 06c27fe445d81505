package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOperate does all that an operator can do to deliveries and events, and compares the
// rows and what the providers got.
func TestOperate(t *testing.T) {
	t.Parallel()

	o := newOperation(t)
	o.cancelWaiting()
	o.cancelRetried()
	o.afterSending()
	o.hasten()
	o.retryMended()
	o.retryTerminated()
	o.cancelEvent()
	o.withdrawEvent()
	o.retryMany()
	o.cancelMany()
	o.unknown()
}

// operation is an installation with two customers: 1 can be reached on every channel, 2
// not by e-mail.
type operation struct {
	*system
	events int
}

func newOperation(t *testing.T) *operation {
	t.Helper()
	o := &operation{system: newSystem(t, "SMS_RETRY_INTERVAL=10m")}
	o.prepareLoad()
	o.exec(`INSERT INTO recipient (user_type, user_id, name, email, phone) VALUES ('CUSTOMER', '2', 'Bob', 'nonsense', '+12015550102')`)
	o.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay) VALUES
		('MAIL', 'EMAIL', 'IMMEDIATE', '0'), ('MANY', 'EMAIL', 'IMMEDIATE', '0'), ('TEXT', 'SMS', 'IMMEDIATE', '0'), ('LATER', 'EMAIL', 'DELAYED', '1 hour'),
		('SOON', 'EMAIL', 'DELAYED', '1 hour'), ('BOTH', 'EMAIL', 'DELAYED', '1 hour'), ('BOTH', 'SMS', 'IMMEDIATE', '0')`)
	o.startWorker()
	o.starter("poller", "start")
	return o
}

// write emits an event of a customer and returns its id.
func (o *operation) write(eventType, customer string, more ...string) string {
	o.t.Helper()
	o.events++
	return o.emit(o.eventID(eventType, o.events), eventType, "CUSTOMER/"+customer, `{"number":1}`, more...)
}

// waits waits until a delivery's workflow has started and waits itself.
func (o *operation) waits(id string) {
	o.t.Helper()
	o.eventually(func() bool {
		description, err := o.temporal.DescribeWorkflowExecution(o.t.Context(), id, "")
		return err == nil && description.GetWorkflowExecutionInfo().GetHistoryLength() > 4
	}, "%s was not started", id)
}

func (o *operation) says(want string, args ...string) {
	o.t.Helper()
	require.Contains(o.t, o.starter(args...), want, args)
}

func (o *operation) cancelWaiting() {
	id := o.write("LATER", "1") + "-customer1-EMAIL"
	o.waits(id)
	o.says("would be cancelled", "delivery", "cancel", id, "--dry-run")
	o.requireDelivery(id, "PENDING", "")
	o.says("cancelled", "delivery", "cancel", id)
	o.requireDelivery(id, "CANCELLED", "cancelled")
	o.fails(1, "was cancelled", "delivery", "cancel", id)
	o.fails(1, "was cancelled", "delivery", "send-now", id)
	o.says("  sent  ", "delivery", "retry", id)
	o.requireDelivery(id, "SENT", "")
}

// cancelRetried cancels a text message that waits ten minutes for its next attempt.
func (o *operation) cancelRetried() {
	o.fault("SMS", `{"status":503}`)
	defer o.mend()
	id := o.write("TEXT", "1") + "-customer1-SMS"
	attempts := func(n int) {
		o.t.Helper()
		o.awaitCount(n, `SELECT count(*) FROM delivery_attempt WHERE delivery_id = $1 AND ended_at IS NOT NULL`, id)
	}
	attempts(1)
	o.fails(1, "is under way", "delivery", "retry", id)
	o.says("told to be sent now", "delivery", "send-now", id)
	attempts(2)
	o.says("told to wait", "delivery", "reschedule", id, "--in", "2h")
	o.says("cancelled", "delivery", "cancel", id)
	o.requireDelivery(id, "CANCELLED", "cancelled")
	require.Zero(o.t, o.accepted()[id])
}

func (o *operation) afterSending() {
	id := o.write("MAIL", "1") + "-customer1-EMAIL"
	o.awaitDelivery(id, "SENT")
	o.fails(1, "what was sent stays sent", "delivery", "cancel", id)
	o.fails(1, "what was sent stays sent", "delivery", "send-now", id)
	o.fails(1, "add --again", "delivery", "retry", id)
	require.Equal(o.t, 1, o.accepted()[id])
	o.says("  sent  ", "delivery", "retry", id, "--again")
	require.Equal(o.t, 2, o.accepted()[id])
	require.Equal(o.t, 1, o.count(`SELECT count(*) FROM delivery_retry WHERE delivery_id = $1 AND again AND status_before = 'SENT'`, id))
}

func (o *operation) hasten() {
	now, soon := o.write("LATER", "1")+"-customer1-EMAIL", o.write("LATER", "1")+"-customer1-EMAIL"
	o.waits(now)
	o.waits(soon)
	o.says("told to be sent now", "delivery", "send-now", now)
	o.says("told to wait", "delivery", "reschedule", soon, "--in", "1s")
	o.awaitDelivery(now, "SENT")
	o.awaitDelivery(soon, "SENT")
}

func (o *operation) retryMended() {
	id := o.write("MAIL", "2") + "-customer2-EMAIL"
	o.awaitDelivery(id, "FAILED")
	o.fails(1, "invalid address", "delivery", "retry", id)
	o.exec(`UPDATE recipient SET email = 'bob@example.com', name = 'Robert' WHERE user_id = '2'`)
	defer o.exec(`UPDATE recipient SET email = 'nonsense' WHERE user_id = '2'`)
	o.says("  sent  ", "delivery", "retry", id)
	o.requireDelivery(id, "SENT", "")
	require.Equal(o.t, 1, o.accepted()[id])
	require.Equal(o.t, 1, o.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND title = 'Hello Robert' AND recipient_address = 'bob@example.com'`, id))
	require.Equal(o.t, 2, o.count(`SELECT count(*) FROM delivery_retry WHERE delivery_id = $1 AND NOT again AND status_before = 'FAILED'`, id))
}

// retryTerminated retries and cancels deliveries whose workflows somebody terminated in
// the Web UI: their rows are still PENDING.
func (o *operation) retryTerminated() {
	id, other := o.write("LATER", "1")+"-customer1-EMAIL", o.write("LATER", "1")+"-customer1-EMAIL"
	for _, each := range []string{id, other} {
		o.waits(each)
		require.NoError(o.t, o.temporal.TerminateWorkflow(o.t.Context(), each, "", "test"))
		o.requireDelivery(each, "PENDING", "")
		o.fails(1, "has no running workflow", "delivery", "send-now", each)
	}
	o.says("  sent  ", "delivery", "retry", id)
	o.says("in the table alone", "delivery", "cancel", other)
	o.requireDelivery(other, "CANCELLED", "cancelled")
}

func (o *operation) cancelEvent() {
	event := o.write("BOTH", "1")
	text, mail := event+"-customer1-SMS", event+"-customer1-EMAIL"
	o.awaitDelivery(text, "SENT")
	o.waits(mail)
	o.says("cancelled  of its deliveries 1 cancelled; 1 sent, and stay sent", "event", "cancel", event)
	o.requireDelivery(mail, "CANCELLED", "cancelled")
	o.requireDelivery(text, "SENT", "")
	o.fails(1, "was cancelled, or has failed", "event", "cancel", event)

	o.says("1 of its deliveries stay cancelled", "event", "retry", event)
	o.awaitSuccess(event)
	require.NoError(o.t, o.temporal.GetWorkflow(o.t.Context(), event, "").Get(o.t.Context(), nil)) // its row says so a moment before
	o.requireDelivery(mail, "CANCELLED", "cancelled")
	require.Equal(o.t, 1, o.accepted()[text])
	o.fails(1, "has succeeded", "event", "retry", event)
	o.fails(1, "has ended", "event", "cancel", event)
	o.says("1 delivery matches", "delivery", "retry", "--event", event, "--status", "cancelled")
	o.awaitDelivery(mail, "SENT")
}

// withdrawEvent cancels an event before a poller starts it.
func (o *operation) withdrawEvent() {
	o.starter("poller", "stop")
	event := o.write("MAIL", "1")
	o.says("withdrawn", "event", "cancel", event)
	require.Equal(o.t, 1, o.count(`SELECT count(*) FROM event_outbox WHERE event_id = $1 AND status = 'FAILED' AND error_message = 'cancelled by an operator'`, event))
	o.says("0 events match", "event", "retry", "--all-failed", "--dry-run")
	o.says("no outbox poller is running", "event", "retry", event)
	o.fails(1, "is pending", "event", "retry", event)
	o.starter("poller", "start")
	o.awaitDelivery(event+"-customer1-EMAIL", "SENT")
}

// retryMany retries more than a hundred e-mails whose address was wrong.
func (o *operation) retryMany() {
	const many = 101
	o.write("MANY", "2", "--count", "101")
	failed := func(status string) int {
		return o.count(`SELECT count(*) FROM notification WHERE event_type = 'MANY' AND status = $1`, status)
	}
	o.eventually(func() bool { return failed("FAILED") == many }, "not all failed")
	o.exec(`UPDATE recipient SET email = 'bob@example.com' WHERE user_id = '2'`)

	o.says("101 deliveries match", "delivery", "retry", "--event-type", "MANY", "--dry-run")
	o.fails(2, "--yes", "delivery", "retry", "--event-type", "MANY")
	require.Equal(o.t, many, failed("FAILED"))
	o.says("done     101", "delivery", "retry", "--event-type", "MANY", "--yes")
	o.eventually(func() bool { return failed("SENT") == many }, "not all were sent")
	o.says("0 deliveries match", "delivery", "retry", "--event-type", "MANY", "--yes")
	require.Equal(o.t, many, o.count(`SELECT count(*) FROM delivery_retry r JOIN notification n USING (delivery_id) WHERE n.event_type = 'MANY'`))
}

func (o *operation) cancelMany() {
	o.write("SOON", "1", "--count", "5")
	o.awaitCount(5, `SELECT count(*) FROM notification WHERE event_type = 'SOON' AND status = 'PENDING'`)
	o.says("done     5", "delivery", "cancel", "--event-type", "SOON", "--channel", "email")
	require.Equal(o.t, 5, o.count(`SELECT count(*) FROM notification WHERE event_type = 'SOON' AND status = 'CANCELLED'`))
}

func (o *operation) unknown() {
	for _, args := range [][]string{
		{"delivery", "cancel", "no-such"}, {"delivery", "retry", "no-such"}, {"delivery", "send-now", "no-such"},
		{"delivery", "reschedule", "no-such", "--in", "1h"}, {"event", "cancel", "no-such"}, {"event", "retry", "no-such"},
	} {
		o.fails(1, "no-such: no such", args...)
	}
}
