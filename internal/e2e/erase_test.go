package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/relay/kafka/kafkatest"
	"herald/tools/rig"
)

// erasing is an installation with a person whose name, address, number and token contain a word
// that nothing else contains.
type erasing struct {
	*system
	word   string
	broker string
}

func newErasing(t *testing.T) *erasing {
	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "herald-lifecycle", nil)
	file := filepath.Join(t.TempDir(), "sources.yaml")
	require.NoError(t, os.WriteFile(file, []byte("- { name: lifecycle, poll_interval: 100ms, kafka: { topic: herald-lifecycle } }"), 0o600))
	e := &erasing{newSystem(t, "OUTBOX_SOURCES="+file, "KAFKA_BROKERS="+cluster.Address), randomWord(12), cluster.Address}
	e.person()
	e.route("NOW", "EMAIL", "PUSH", "WEBSOCKET", "SMS")
	e.fill(
		postgrestest.Route{EventType: "LATER", Strategy: notification.Delayed, Delay: 24 * time.Hour},
		postgrestest.Route{EventType: "SUM", Strategy: notification.Aggregate, DigestWindow: time.Hour},
		postgrestest.Route{EventType: "OFFER", Channel: notification.WebSocket},
		postgrestest.Route{EventType: "OFFER", OnEscalationOnly: true},
		postgrestest.Escalation{EventType: "OFFER", From: notification.WebSocket, To: notification.Email, After: time.Hour})
	e.exec(`UPDATE notification_template SET body = 'Dear {{.recipient.name}}, {{.payload.note}}' WHERE event_type = '*'`)
	e.starter("source", "migrate", "lifecycle")
	return e
}

// person writes the directory's rows.
func (e *erasing) person() {
	e.t.Helper()
	e.fill(
		postgrestest.Recipient{Name: e.word, Email: e.word + "@example.com", Phone: "+12025550142"},
		postgrestest.Device{UserType: notification.Customer, UserID: "42", Token: e.word})
}

func (e *erasing) event(eventType, name string) string {
	e.t.Helper()
	return e.emit(e.name+"-"+name, eventType, "CUSTOMER/42", fmt.Sprintf(`{"note": "%s"}`, e.word))
}

// absent requires that a text does not contain the word.
func (e *erasing) absent(text, where string) {
	e.t.Helper()
	require.NotContains(e.t, text, e.word, where)
}

// searches looks for the word in all tables, queues, topics and histories.
func (e *erasing) searches() {
	e.searchesTables()
	letters := e.deadLetters()
	require.Len(e.t, letters, 1)
	e.absent(string(letters[0].Body), "dead letter")
	e.awaitCount(0, `SELECT count(*) FROM lifecycle_event WHERE NOT sent`)
	for _, record := range kafkatest.Records(e.t, e.broker, "herald-lifecycle", e.count(`SELECT count(*) FROM lifecycle_event`)) {
		e.absent(string(record.Value), "topic")
	}
	found := must(rig.Workflows(e.t.Context(), e.temporal, fmt.Sprintf("WorkflowId STARTS_WITH '%s'", e.name)))(e.t)
	require.Greater(e.t, len(found), 10)
	for _, execution := range found {
		history := e.history(execution.Execution.WorkflowId).String()
		require.Contains(e.t, history, "json/plain", "payloads are readable")
		e.absent(history, execution.Execution.WorkflowId)
	}
}

func (e *erasing) searchesTables() {
	e.t.Helper()
	for _, table := range postgrestest.List(e.t, e.store,
		"SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'") {
		e.absent(strings.Join(postgrestest.List(e.t, e.store, "SELECT r::text FROM "+table+" r"), "\n"), table)
	}
}

// A person is in every table, and has deliveries that wait, escalate, fail and collect in a digest.
// After the erasure, no table, dead letter, topic, history or log has the person's name, address or
// text. No event, retry or sweep reaches the person, although the application writes them into the
// directory again. Before the erasure, two other people are merged.
func TestErase(t *testing.T) {
	t.Parallel()

	e := newErasing(t)
	w := e.startAll()
	e.mergesPeople()
	now := e.event("NOW", "now")
	e.awaitDeliveries(now, "SENT", 4)
	e.fault("sms", `{"status": 400}`)
	failed := e.event("NOW", "failed")
	e.awaitDelivery(failed+"-customer42-SMS", "FAILED")
	e.awaitDeliveries(failed, "SENT", 3)
	e.mend()
	later, sum, offer := e.event("LATER", "later"), e.event("SUM", "sum"), e.event("OFFER", "offer")
	for _, id := range []string{later, sum} {
		e.awaitDelivery(id+"-customer42-EMAIL", "PENDING")
	}
	e.awaitBegun(sum + "-customer42-EMAIL")
	e.awaitDelivery(offer+"-customer42-WEBSOCKET", "SENT")
	exported := e.starter("recipient", "export", "CUSTOMER/42", "--yes")
	require.Contains(t, exported, e.word+"@example.com")
	require.Contains(t, exported, "Dear "+e.word)
	before := len(e.messages())
	require.NotEmpty(t, e.take("notification.customer"), "consumers have the payloads")

	e.starter("recipient", "erase", "CUSTOMER/42", "--reason", "request 17", "--yes")
	e.awaitSuccess(now, failed, later, sum, offer)
	require.NotContains(t, e.starter("recipient", "erase", "CUSTOMER/42", "--yes"), "keep their payload")

	require.Zero(t, e.count(`SELECT count(*) FROM notification WHERE status = 'PENDING' OR escalates`))
	e.searches()
	e.person()
	again := e.event("NOW", "again")
	e.awaitSuccess(again)
	for _, id := range []string{now + "-customer42-EMAIL", failed + "-customer42-SMS", later + "-customer42-EMAIL"} {
		_, _ = e.tryStarter("delivery", "retry", "--again", id) // refused, or it ends unsent
	}
	e.sweep()
	require.Zero(t, e.count(`SELECT count(*) FROM notification WHERE event_id = $1`, again))
	require.Len(t, e.messages(), before, "nothing reaches an erased person")
	e.starter("recipient", "erase", "CUSTOMER/42", "--yes")
	e.searchesTables()
	e.absent(w.output.String(), "log")
}

// After a merge, a waiting delivery goes to the remaining person. A retry of its event sends nothing to
// either person.
func (e *erasing) mergesPeople() {
	e.fill(
		postgrestest.Recipient{UserID: "43", Email: "other@example.com"}, postgrestest.Recipient{UserID: "44", Email: "double@example.com"})
	later := e.emit(e.name+"-merged", "LATER", "CUSTOMER/44", `{"note": "hello"}`)
	mail := later + "-customer44-EMAIL"
	e.awaitBegun(mail)

	e.starter("recipient", "merge", "CUSTOMER/44", "CUSTOMER/43", "--yes")
	e.starter("delivery", "send-now", mail)
	e.awaitDelivery(mail, "SENT")
	e.awaitSuccess(later)
	_, _ = e.tryStarter("event", "retry", later) // refused: the event was sent to everybody

	messages := e.messages()
	require.Len(e.t, messages, 1)
	require.Equal(e.t, "other@example.com", messages[0].Recipient)
	require.Contains(e.t, e.starter("recipient", "merge", "CUSTOMER/44", "CUSTOMER/43", "--yes"), "nothing is left to move")
}
