package db_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/cancel"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/purge"
	"herald/internal/receipts"
	"herald/internal/roomtest"
)

// absent is the state of a row before it exists, and after it was deleted.
const absent = "[*]"

// change is a statement that may change a status.
type change struct {
	name string
	run  func(t *testing.T, s *db.DB) error
}

// transitions are the changes of a status, such as PENDING --> SENT, with the statements that make them.
type transitions map[string][]string

// diagram returns the transitions in the n-th diagram of docs/how-it-works.md.
func diagram(t *testing.T, n int) (found []string) {
	t.Helper()
	document := roomtest.Must(os.ReadFile("../../docs/how-it-works.md"))(t)
	diagrams := regexp.MustCompile("(?s)```mermaid\nstateDiagram-v2\n(.*?)```").FindAllStringSubmatch(string(document), -1)
	require.Len(t, diagrams, 3)
	for line := range strings.Lines(diagrams[n][1]) {
		transition, label, _ := strings.Cut(strings.TrimSpace(line), ": ")
		require.NotEmpty(t, label, line)
		found = append(found, transition)
	}
	return found
}

// all runs each statement on each state, and returns the changes of the status.
func all(t *testing.T, s *db.DB, states map[string]func(), status string, changes []change) transitions {
	t.Helper()
	found := transitions{}
	for _, change := range changes {
		for _, plant := range states {
			plant()
			before := postgrestest.Get[string](t, s, status)
			require.NoError(t, change.run(t, s), "%s of %s", change.name, before)
			if after := postgrestest.Get[string](t, s, status); after != before {
				transition := before + " --> " + after
				found[transition] = append(found[transition], change.name)
			}
		}
	}
	return found
}

// requireDiagram requires that a diagram has exactly these transitions.
func requireDiagram(t *testing.T, n int, found transitions) {
	t.Helper()
	drawn := diagram(t, n)
	for transition, by := range found {
		require.Contains(t, drawn, transition, "docs/how-it-works.md lacks it: %v", by)
	}
	for _, transition := range drawn {
		require.Contains(t, found, transition, "docs/how-it-works.md has it, and no statement does it")
	}
}

// The first two diagrams of docs/how-it-works.md have the transitions of events: exactly the changes that
// the statements make, each on every state.
func TestStatesOfEvents(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	events := event.On(s)
	states := map[string]func(){}
	outboxes := []string{"", "PENDING", "PROCESSED", "FAILED"}
	for _, outbox := range outboxes {
		for _, processed := range []string{"", "PROCESSING", "SUCCESS", "NO_RECIPIENTS", "FAILED"} {
			states[outbox+" "+processed] = func() { plantEvent(t, s, outbox, processed) }
		}
	}
	endClaim := func(outcome notification.ClaimOutcome) change {
		return change{"end a claim as " + string(outcome), func(t *testing.T, _ *db.DB) error {
			t.Helper()
			claimed := roomtest.Must(events.ClaimEvents(t.Context(), "poller", 1, time.Minute))(t)
			results := roomtest.Mapped(claimed, func(e notification.PendingEvent) notification.ClaimResult {
				return notification.ClaimResult{EventID: e.ID, Outcome: outcome, Error: "why"}
			})
			return events.EndClaim(t.Context(), "poller", results)
		}}
	}
	finish := func(end notification.EventEnd) change {
		return change{fmt.Sprintf("finish %+v", end), func(t *testing.T, _ *db.DB) error {
			t.Helper()
			end.EventID = "evt-1"
			if _, err := events.FinishEvent(t.Context(), end); !end.First { // ErrEnded
				return err
			}
			return nil
		}}
	}
	deleteOld := func(table purge.Table) change {
		return change{"purge " + string(table), func(t *testing.T, s *db.DB) error {
			t.Helper()
			return purge.TableCleaner{Store: s, Table: table}.Clean(t.Context(), 0, "", func(int, string) bool { return true })
		}}
	}
	changes := []change{
		{"emit", func(t *testing.T, s *db.DB) error {
			t.Helper()
			if postgrestest.Get[bool](t, s, "SELECT EXISTS (SELECT FROM event_outbox)") {
				return nil
			}
			roomtest.EmitEvent(t, s, "evt-1")
			return nil
		}},
		endClaim(notification.ClaimStarted), endClaim(notification.ClaimFailed), endClaim(notification.ClaimReleased),
		endClaim(notification.ClaimKept),
		finish(notification.EventEnd{Success: true, First: true}), finish(notification.EventEnd{Success: true}), finish(notification.EventEnd{}),
		{"withdraw", func(t *testing.T, _ *db.DB) error { return roomtest.ErrOf(events.WithdrawEvent(t.Context(), "evt-1")) }},
		{"retry", func(t *testing.T, _ *db.DB) error { return roomtest.ErrOf(events.RetryEvent(t.Context(), "evt-1")) }},
		{"begin anew", func(t *testing.T, _ *db.DB) error { return roomtest.ErrOfTwo(events.BeginAnew(t.Context(), "evt-1")) }},
		{"sweep", func(t *testing.T, _ *db.DB) error {
			return events.EndStuckEvent(t.Context(), "evt-1", notification.EventFailed, 0)
		}},
		{"ask for approval", func(t *testing.T, s *db.DB) error {
			return roomtest.ErrOf(planner.On(s).AskApproval(t.Context(), "evt-1"))
		}},
		deleteOld(purge.Outbox), deleteOld(purge.Processed),
	}

	requireDiagram(t, 0, all(t, s, states, "SELECT coalesce((SELECT status FROM event_outbox), '"+absent+"')", changes))
	requireDiagram(t, 1, all(t, s, states, "SELECT coalesce((SELECT status FROM processed_event), '"+absent+"')", changes))
}

// plantEvent leaves evt-1 alone in both tables, a minute old; empty: not in the table.
func plantEvent(t *testing.T, s *db.DB, outbox, processed string) {
	t.Helper()
	postgrestest.Exec(t, s, "DELETE FROM event_approval; DELETE FROM processed_event; DELETE FROM event_outbox")
	past := time.Now().Add(-time.Minute)
	if outbox != "" {
		postgrestest.Add(t, s.Pool, postgrestest.Event{Status: notification.OutboxStatus(outbox), CreatedAt: past})
	}
	row := postgrestest.ProcessedEvent{Status: notification.ProcessedStatus(processed), CreatedAt: past, UpdatedAt: past}
	if processed == string(notification.NoRecipients) {
		row.Status, row.Outcome = notification.ProcessedSuccess, notification.NoRecipients
	}
	if processed != "" {
		postgrestest.Add(t, s.Pool, row)
	}
}

// The third diagram of docs/how-it-works.md has the transitions of deliveries: exactly the changes that the
// statements make, each on every state. It leaves out retries that cannot be planned, and retention: the
// text below the diagram has them.
func TestStatesOfDeliveries(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	states := map[string]func(){absent: func() { plantDelivery(t, s, "", false) }}
	for _, status := range notification.Statuses() {
		states[string(status)] = func() { plantDelivery(t, s, status, false) }
		states["attempt at "+string(status)] = func() { plantDelivery(t, s, status, true) }
	}
	requireDiagram(t, 2, all(t, s, states, "SELECT coalesce((SELECT status FROM notification), '"+absent+"')", deliveryChanges))
}

// staffMessage is the delivery of evt-1 to staff 10 over WEBSOCKET, which receipts and browsers confirm.
const staffMessage = "evt-1-staff10-WEBSOCKET"

// plantDelivery leaves one delivery alone in its table; empty: none. If it is under way, its first attempt
// has not ended. Otherwise its first attempt has ended.
func plantDelivery(t *testing.T, s *db.DB, status notification.Status, underWay bool) {
	t.Helper()
	postgrestest.Exec(t, s,
		"DELETE FROM delivery_receipt; DELETE FROM delivery_follow_up; DELETE FROM notification_decision; DELETE FROM notification")
	if status == "" {
		return
	}
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.WebSocket)))
	roomtest.SetStatus(t, s, staffMessage, status)
	postgrestest.Exec(t, s, "UPDATE notification SET attempt_count = 1, digest_id = 'digest-1'")
	if underWay {
		postgrestest.Exec(t, s,
			"UPDATE notification SET attempt_owner = 'o', attempt_began = now(), attempt_until = now() + interval '1 minute', digest_id = NULL")
	}
}

// deliveryChanges are the statements that change notification.status.
var deliveryChanges = []change{
	{"plan", func(t *testing.T, s *db.DB) error { return plan(t, s, "") }},
	{"plan without a text", func(t *testing.T, s *db.DB) error { return plan(t, s, "no template") }},
	{"end: sent", func(t *testing.T, s *db.DB) error { return endWith(t, s, notification.OutcomeSent, false) }},
	{"end: busy", func(t *testing.T, s *db.DB) error { return endWith(t, s, notification.OutcomeBusy, false) }},
	{"end: refused", func(t *testing.T, s *db.DB) error { return endWith(t, s, notification.OutcomeRefused, true) }},
	{"drop by a rule", func(t *testing.T, s *db.DB) error {
		dropped := notification.Attempt{Owner: "o", Message: notification.Message{DeliveryID: staffMessage},
			Verdict: notification.Verdict{Dropped: "EXPIRED"}}
		return attempt.On(s).ReleaseAttempts(t.Context(), []notification.Attempt{dropped})
	}},
	{"give up: failed", func(t *testing.T, s *db.DB) error { return giveUp(t, s, notification.Failed) }},
	{"give up: cancelled", func(t *testing.T, s *db.DB) error { return giveUp(t, s, notification.Cancelled) }},
	{"give up its digest: failed", func(t *testing.T, s *db.DB) error {
		return roomtest.ErrOf(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", notification.Failed, "why"))
	}},
	{"give up its digest: cancelled", func(t *testing.T, s *db.DB) error {
		return roomtest.ErrOf(attempt.On(s).GiveUpDigest(t.Context(), "digest-1", notification.Cancelled, "why"))
	}},
	{"cancel its event", func(t *testing.T, s *db.DB) error {
		return roomtest.ErrOfTwo(event.On(s).CancelPart(t.Context(), staffMessages, notification.CancelledInTemporal, cancel.Chunk))
	}},
	{"erase its person", func(t *testing.T, s *db.DB) error {
		return roomtest.ErrOf(person.On(s).EraseDeliveries(t.Context(), roomtest.Staff10, 0))
	}},
	{"receipt: delivered", func(t *testing.T, s *db.DB) error { return receive(t, s, notification.Delivered) }},
	{"receipt: failed", func(t *testing.T, s *db.DB) error { return receive(t, s, notification.Failed) }},
	{"acknowledge", func(t *testing.T, s *db.DB) error {
		ack := notification.Acknowledgement{ID: idOfMessage(t, s), RecipientKey: roomtest.Staff10}
		return inbox.On(s).MarkDelivered(t.Context(), []notification.Acknowledgement{ack})
	}},
	{"read", func(t *testing.T, s *db.DB) error {
		err := inbox.On(s).MarkRead(t.Context(), roomtest.Staff10, idOfMessage(t, s))
		if errors.Is(err, notification.ErrNoNotification) { // the inbox does not show it
			return nil
		}
		return err
	}},
	{"retry", func(t *testing.T, s *db.DB) error { return reopenMessage(t, s, false) }},
	{"send again", func(t *testing.T, s *db.DB) error { return reopenMessage(t, s, true) }},
	{"reopen its batch", func(t *testing.T, s *db.DB) error { return attempt.On(s).ReopenFailed(t.Context(), staffMessages) }},
}

// staffMessages are the deliveries of evt-1 over WEBSOCKET.
var staffMessages = notification.Part{EventID: "evt-1", Lane: notification.Lane{Channel: notification.WebSocket}}

func plan(t *testing.T, s *db.DB, problem string) error {
	t.Helper()
	delivery := roomtest.Planned(notification.WebSocket)
	delivery.Problem = problem
	return planner.On(s).SavePlan(t.Context(), roomtest.Event1, []notification.DecidedRecipient{roomtest.Decided("10", delivery)})
}

func endWith(t *testing.T, s *db.DB, outcome notification.AttemptOutcome, giveUp bool) error {
	t.Helper()
	if idOfMessage(t, s) == 0 {
		return nil
	}
	result := notification.AttemptResult{DeliveryID: staffMessage, Number: 1, Owner: "o", Outcome: outcome, Detail: "why", GiveUp: giveUp}
	return roomtest.ErrOf(attempt.On(s).EndAttempts(t.Context(), []notification.AttemptResult{result}))
}

func giveUp(t *testing.T, s *db.DB, status notification.Status) error {
	t.Helper()
	if idOfMessage(t, s) == 0 {
		return nil
	}
	return roomtest.ErrOf(attempt.On(s).GiveUp(t.Context(), staffMessage, status, "why"))
}

func receive(t *testing.T, s *db.DB, status notification.Status) error {
	t.Helper()
	receipt := notification.Receipt{Provider: "p", ID: "r", DeliveryID: staffMessage, Word: "word", Status: status, Detail: "why"}
	return roomtest.ErrOf(receipts.On(s).RecordReceipts(t.Context(), []notification.Receipt{receipt}))
}

func reopenMessage(t *testing.T, s *db.DB, again bool) error {
	t.Helper()
	if idOfMessage(t, s) == 0 {
		return nil
	}
	title, body := "title", "body"
	return roomtest.ErrOf(attempt.On(s).Reopen(t.Context(),
		notification.Reopened{DeliveryID: staffMessage, RunID: "run", Again: again, Title: &title, Body: &body}))
}

// idOfMessage returns notification.id of the delivery; 0: there is none.
func idOfMessage(t *testing.T, s *db.DB) int64 {
	t.Helper()
	return postgrestest.Get[int64](t, s, "SELECT coalesce((SELECT id FROM notification), 0)")
}
