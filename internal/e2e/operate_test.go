package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/workflows"
)

// An operator uses every command for deliveries and events. The test checks the rows and the
// messages at the providers.
func TestOperate(t *testing.T) {
	t.Parallel()

	o := newOperation(t)
	o.reminders()
	o.afterAWait()
	o.delayEndsInQuietHours()
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
}

// operation is an installation with two customers. Customer 1 has an address on every channel,
// and customer 2 on every channel except e-mail.
type operation struct {
	*system
	events int
}

func newOperation(t *testing.T) *operation {
	o := &operation{system: newSystem(t, "SMS_RETRY_INTERVAL=10m")}
	o.prepareLoad()
	o.fill(
		postgrestest.Recipient{UserID: "2", Name: "Bob", Email: "nonsense", Phone: "+12015550102"},
		postgrestest.Route{EventType: "MAIL"}, postgrestest.Route{EventType: "MANY"},
		postgrestest.Route{EventType: "TEXT", Channel: notification.SMS},
		postgrestest.Route{EventType: "LATER", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Route{EventType: "SOON", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Route{EventType: "BOTH", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Route{EventType: "BOTH", Channel: notification.SMS})
	o.startAll("--events", "--channels", "email,sms")
	return o
}

// write emits an event of a customer and returns its id.
func (o *operation) write(eventType, customer string, more ...string) string {
	o.t.Helper()
	o.events++
	return o.emit(o.eventID(eventType, o.events), eventType, "CUSTOMER/"+customer, `{"number":1}`, more...)
}

// waits waits until a delivery's workflow has started and is waiting.
func (o *operation) waits(id string) {
	o.t.Helper()
	o.eventually(func() bool {
		description, err := o.temporal.DescribeWorkflow(o.t.Context(), id, "")
		return err == nil && description.HistoryLength > 4
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
	o.says("sending now", "delivery", "send-now", id)
	attempts(2)
	o.says("rescheduled", "delivery", "reschedule", id, "--in", "2h")
	o.says("cancelled", "delivery", "cancel", id)
	o.requireDelivery(id, "CANCELLED", "cancelled")
	require.Zero(o.t, o.accepted()[id])
}

func (o *operation) afterSending() {
	id := o.write("MAIL", "1") + "-customer1-EMAIL"
	o.awaitDelivery(id, "SENT")
	o.fails(1, "a sent message cannot be recalled", "delivery", "cancel", id)
	o.fails(1, "a sent message cannot be recalled", "delivery", "send-now", id)
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
	o.says("sending now", "delivery", "send-now", now)
	o.says("rescheduled", "delivery", "reschedule", soon, "--in", "1s")
	o.awaitDelivery(now, "SENT")
	o.awaitDelivery(soon, "SENT")
}

func (o *operation) retryMended() {
	id := o.write("MAIL", "2") + "-customer2-EMAIL"
	o.awaitDelivery(id, "FAILED")
	require.Error(o.t, o.temporal.GetWorkflow(o.t.Context(), id, "").Get(o.t.Context(), nil)) // the workflow closes a moment after its row
	o.fails(1, "invalid address", "delivery", "retry", id)
	o.exec(`UPDATE recipient SET email = 'bob@example.com', name = 'Robert' WHERE user_id = '2'`)
	defer o.exec(`UPDATE recipient SET email = 'nonsense' WHERE user_id = '2'`)
	o.says("  sent  ", "delivery", "retry", id)
	o.requireDelivery(id, "SENT", "")
	require.Equal(o.t, 1, o.accepted()[id])
	require.Equal(o.t, 1,
		o.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND title = 'Hello Robert' AND recipient_address = 'bob@example.com'`,
			id))
	require.Equal(o.t, 2, o.count(`SELECT count(*) FROM delivery_retry WHERE delivery_id = $1 AND NOT again AND status_before = 'FAILED'`, id))
}

// retryTerminated retries and cancels deliveries whose workflows were terminated in the Web UI:
// their rows are still PENDING.
func (o *operation) retryTerminated() {
	id, other := o.write("LATER", "1")+"-customer1-EMAIL", o.write("LATER", "1")+"-customer1-EMAIL"
	for _, each := range []string{id, other} {
		o.waits(each)
		require.NoError(o.t, o.temporal.TerminateWorkflow(o.t.Context(), each, "", "test"))
		o.requireDelivery(each, "PENDING", "")
		o.fails(1, "has no running workflow", "delivery", "send-now", each)
	}
	o.says("  sent  ", "delivery", "retry", id)
	o.says("only in the table", "delivery", "cancel", other)
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
	require.NoError(o.t,
		o.temporal.GetWorkflow(o.t.Context(), event, "").Get(o.t.Context(), nil)) // the workflow closes a moment after its row
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
	require.Equal(o.t, 1,
		o.count(`SELECT count(*) FROM event_outbox WHERE event_id = $1 AND status = 'FAILED' AND error_message = 'cancelled by an operator'`,
			event))
	o.says("0 events match", "event", "retry", "--all-failed", "--dry-run")
	o.says("no outbox poller is running", "event", "retry", event)
	o.fails(1, "is pending", "event", "retry", event)
	o.starter("poller", "start")
	o.awaitDelivery(event+"-customer1-EMAIL", "SENT")
}

// retryMany retries more than a hundred e-mails of an event after their wrong addresses were corrected.
func (o *operation) retryMany() {
	const many = 101
	id := postgrestest.Expressions{"user_id": "'many-' || i"}
	o.fillMany(many, postgrestest.Recipient{UserType: notification.RestaurantUser, Email: "nonsense"}, id)
	o.fillMany(many, postgrestest.Member{EntityID: "9"}, id)
	o.emit(o.name+"-many", "MANY", "RESTAURANT/9", `{"number":1}`)
	failed := func(status string) int {
		return o.count(`SELECT count(*) FROM notification WHERE event_type = 'MANY' AND status = $1`, status)
	}
	o.eventually(func() bool { return failed("FAILED") == many }, "not all failed")
	o.exec(`UPDATE recipient SET email = 'bob@example.com' WHERE user_id LIKE 'many-%'`)

	o.says("101 deliveries match", "delivery", "retry", "--event-type", "MANY", "--dry-run")
	o.fails(2, "--yes", "delivery", "retry", "--event-type", "MANY")
	require.Equal(o.t, many, failed("FAILED"))
	o.says("done     101", "delivery", "retry", "--event-type", "MANY", "--yes")
	o.eventually(func() bool { return failed("SENT") == many }, "not all were sent")
	o.says("0 deliveries match", "delivery", "retry", "--event-type", "MANY", "--yes")
	require.Equal(o.t, many,
		o.count(`SELECT count(*) FROM delivery_retry r JOIN notification n USING (delivery_id) WHERE n.event_type = 'MANY'`))
}

func (o *operation) cancelMany() {
	o.write("SOON", "1", "--count", "5")
	o.awaitCount(5, `SELECT count(*) FROM notification WHERE event_type = 'SOON' AND status = 'PENDING'`)
	o.says("done     5", "delivery", "cancel", "--event-type", "SOON", "--channel", "email")
	o.awaitCount(5, `SELECT count(*) FROM notification WHERE event_type = 'SOON' AND status = 'CANCELLED'`) // a busy worker takes its time
}

// `starter delivery why` explains the deliveries of one event: between two attempts, in flight,
// in quiet hours, in a digest, not planned, and without a worker.
func TestWhy(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_RETRY_INTERVAL=90s", "SMS_TIMEOUT=1m")
	started := s.starter("poller", "start") // prints a warning and succeeds
	require.Contains(t, started, "no worker polls the task queue "+s.name+"-events")
	require.Contains(t, started, s.name+"-outbox-poller-1")
	s.fill(
		postgrestest.Recipient{Email: "ada@example.com", Phone: "+12025550142", Timezone: "Europe/Rome"},
		postgrestest.Device{UserType: notification.Customer, UserID: "42", Token: "device-42"},
		postgrestest.Preference{UserType: notification.Customer, UserID: "42", Channel: notification.Push, QuietStart: "00:00:01",
			QuietEnd: "00:00"},
		postgrestest.Route{}, postgrestest.Route{Channel: notification.SMS}, postgrestest.Route{Channel: notification.Slack},
		postgrestest.Route{Channel: notification.Push, QuietHoursAction: notification.Defer},
		postgrestest.Route{Channel: notification.WebSocket, Strategy: notification.Aggregate, DigestWindow: time.Hour},
		postgrestest.Template{EventType: "T", Title: "hello", Body: "you"})
	s.fault("EMAIL", `{"status":503}`)
	s.fault("SMS", `{"latency":"50s"}`)
	w := s.startWorker()
	event := s.emit(s.name+"-evt", "T", "CUSTOMER/42", "{}")
	why := func(channel string) string { return s.starter("delivery", "why", event+"-customer42-"+channel) }
	// says waits for an answer that contains all wanted texts.
	says := func(channel string, wanted ...string) {
		var answer string
		s.awaitCount(1, "SELECT count(*) FROM notification WHERE channel = $1", channel)
		missing := func(text string) bool { return !strings.Contains(answer, text) }
		s.eventually(func() bool {
			answer = why(channel)
			return !slices.ContainsFunc(wanted, missing)
		}, "why %s does not say %q", channel, wanted)
		require.NotContains(t, answer, "ada@example.com")
		require.NotContains(t, answer, "+12025550142")
	}

	says("EMAIL", "the next attempt is due at ", ", attempt 2 of 3. `starter delivery send-now",
		"UNAVAILABLE  503   sendgrid is unavailable: 503")
	says("SMS", "attempt 1 of 3 is under way, since ", "-        -     under way")
	says("PUSH", "it is waiting until ", "Europe/Rome: quiet hours. `starter delivery send-now",
		"quiet hours  00:00:01-00:00 Europe/Rome, it is ")
	says("WEBSOCKET", "it is sent in its digest "+s.name+"-digest-customer42-WEBSOCKET-T, which says: 1 of at most 100 joined",
		"AGGREGATE over 1h0m0s")
	slack := s.starter("delivery", "why", "--event", event, "--recipient", "customer/42", "--channel", "slack")
	require.Contains(t, slack, "UNSUPPORTED", slack)
	require.Contains(t, slack, "SLACK may not serve a recipient of type CUSTOMER")
	show := s.starter("delivery", "show", event+"-customer42-EMAIL")
	require.Regexp(t, "task queue +"+s.name+"-email, workers: 1", show)
	require.Regexp(t, "it says +waiting until .*: the last attempt failed, and the next attempt is due then", show)
	s.mend()
	s.seesDeadWorkers(w, event+"-customer42-EMAIL")
}

// seenWithin is the maximum time until every command reports a dead worker.
const seenWithin = 10 * time.Second

// seesDeadWorkers stops and kills workers while a delivery waits. starter reports the missing worker each
// time.
func (s *system) seesDeadWorkers(w *worker, id string) {
	commands := [][]string{{"poller", "status"}, {"delivery", "show", id}, {"delivery", "why", id}}
	says := func(text string, command []string) bool { return strings.Contains(s.starter(command...), text) }
	for _, command := range commands {
		require.False(s.t, says("no worker polls", command), command)
	}

	for _, name := range []string{"stopped", "killed"} {
		if name == "stopped" {
			require.NoError(s.t, w.stop(), "%s", w.output)
		} else {
			s.startWorker().kill()
		}
		ended := time.Now()
		for _, command := range commands {
			asked := time.Now()
			for ; !says("no worker polls the task queue "+s.name+"-", command); asked = time.Now() {
				require.Less(s.t, asked.Sub(ended), seenWithin, "%s: %v does not report the missing worker", name, command)
			}
			s.t.Logf("%s: seen by %v when asked after %s", name, command, asked.Sub(ended).Round(100*time.Millisecond))
			require.Contains(s.t, s.starter(command...), "the last one was seen at ")
		}
	}
	require.Contains(s.t, s.starter("delivery", "why", id), "until a worker serves EMAIL")

	s.startWorker()
	for _, command := range commands {
		s.eventually(func() bool { return !says("no worker polls", command) }, "%v does not see the new worker", command)
	}
}

// Operators find events that reached nobody, or not everybody, by their outcome. After the rules
// are corrected, a retry notifies the missing people. Nobody gets a message twice.
func (s *system) toldNobody(w *worker) {
	s.fill(
		postgrestest.Route{EventType: "VISIT"}, postgrestest.Route{EventType: "HALF"},
		postgrestest.Recipient{UserID: "5", Name: "Bo", Email: "bo@example.com"},
		postgrestest.Target{EventType: "VISIT", UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "patient.id"},
		postgrestest.Target{EventType: "HALF", UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "@aggregate"},
		postgrestest.Target{EventType: "HALF", UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "friend.id"})

	ended := map[notification.EventOutcome]string{
		notification.NoRouting:    s.emit(s.name+"-routing", "UNROUTED", "CUSTOMER/1", `{"number":1}`),
		notification.NoRecipients: s.emit(s.name+"-path", "VISIT", "CUSTOMER/1", `{"customerId":1,"number":1}`),
		notification.EventProblem: s.emit(s.name+"-half", "HALF", "CUSTOMER/1", `{"friendId":5,"number":1}`),
	}
	nobody := s.emit(s.name+"-nobody", "LOAD", "CUSTOMER/999", `{"number":1}`)
	told := s.emit(s.name+"-told", "LOAD", "CUSTOMER/1", `{"number":1}`)
	s.awaitSuccess(ended[notification.NoRouting], ended[notification.NoRecipients], ended[notification.EventProblem], nobody, told)

	status := s.starter("status")
	for outcome, id := range ended {
		s.requireOutcome(outcome, id)
		require.Contains(s.t, status, "starter event list --outcome "+string(outcome))
	}
	for outcome, count := range map[string]int{"NO_ROUTING": 1, "NO_RECIPIENTS": 2, "PROBLEM": 1, "TOLD": 1, "FAILED": 0} {
		line := fmt.Sprintf("herald_events_total{outcome=%q} %d\n", outcome, count)
		s.eventually(func() bool { return strings.Contains(w.metrics(), line) }, "there is no %s", line)
	}
	require.NotContains(s.t, s.starter("event", "list", "--outcome", "no_recipients"), told)
	s.fails(2, "NO_RECIPIENTS, NO_ROUTING, PROBLEM", "event", "list", "--outcome", "nobody")
	s.fails(1, "told everybody that the rules named", "event", "retry", told)

	s.fill(postgrestest.Route{EventType: "UNROUTED"})
	s.exec(`UPDATE event_type_recipients SET entity_id_path = 'customerId' WHERE entity_id_path = 'patient.id'`)
	s.exec(`UPDATE event_type_recipients SET entity_id_path = 'friendId' WHERE entity_id_path = 'friend.id'`)
	require.Contains(s.t, s.starter("event", "retry", ended[notification.NoRouting], "--dry-run"), "would be planned again")
	s.requireOutcome(notification.NoRouting, ended[notification.NoRouting])
	require.Contains(s.t, s.starter("event", "retry", ended[notification.NoRouting], ended[notification.EventProblem]), "is planned again")
	require.Regexp(s.t, `done +2`, s.starter("event", "retry", "--outcome", "no_recipients"))

	mended := []string{ended[notification.NoRouting], ended[notification.NoRecipients], ended[notification.EventProblem]}
	s.awaitCount(len(mended),
		`SELECT count(*) FROM processed_event WHERE event_id = ANY ($1) AND status = 'SUCCESS' AND outcome IS NULL AND problem IS NULL`, mended)
	s.awaitCount(1, `SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'NO_RECIPIENTS'`,
		nobody) // its rules were not corrected
	accepted := s.accepted()
	for _, id := range []string{mended[0] + "-customer1-EMAIL", mended[1] + "-customer1-EMAIL", mended[2] + "-customer1-EMAIL",
		mended[2] + "-customer5-EMAIL"} {
		require.Equal(s.t, 1, accepted[id], id)
	}
	require.Len(s.t, accepted, 4+loadChannels)
	require.Len(s.t, s.take("notification.customer"), 5, "the message of an event is published once")
	s.fails(1, "told everybody", "event", "retry", mended[0])
}

// requireOutcome requires that the lists, show and the workflow have the same outcome.
func (s *system) requireOutcome(outcome notification.EventOutcome, id string) {
	s.t.Helper()
	var result workflows.NotifyResult
	require.NoError(s.t, s.temporal.GetWorkflow(s.t.Context(), id, "").Get(s.t.Context(), &result))
	require.Equal(s.t, outcome, result.Outcome)
	require.Contains(s.t, s.starter("event", "list", "--outcome", string(outcome)), id)
	shown := s.starter("event", "show", id)
	require.Contains(s.t, shown, "SUCCESS ("+string(outcome)+")")
	require.Regexp(s.t, `HeraldOutcome +`+string(outcome), shown)
	require.Contains(s.t, shown, result.Problem)
	require.Contains(s.t, shown, "`starter event retry "+id+"`")
}
