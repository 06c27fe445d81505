package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

var createdAt = time.Date(2026, 11, 21, 10, 0, 0, 123000, time.UTC)

func adopted(id string) notification.AdoptedEvent {
	return notification.AdoptedEvent{ID: id, Type: "OrderCreated", AggregateType: "Order", AggregateID: "5", Payload: []byte(`{"a":1}`), CreatedAt: createdAt}
}

func adopt(t *testing.T, s *postgres.Store, source string, events ...notification.AdoptedEvent) {
	t.Helper()
	refused, err := s.AdoptEvents(t.Context(), source, events)
	require.NoError(t, err)
	require.Empty(t, refused)
}

// acknowledge records an acknowledgement, once however often it is told.
func acknowledge(t *testing.T, s *postgres.Store, id string) {
	t.Helper()
	ages, err := s.Acknowledge(t.Context(), []string{id})
	require.NoError(t, err)
	require.Len(t, ages, 1)
	require.Positive(t, ages[0])
	again, err := s.Acknowledge(t.Context(), []string{id})
	require.NoError(t, err)
	require.Empty(t, again)
}

func claimOf(t *testing.T, s *postgres.Store, source, owner string) []string {
	t.Helper()
	events, err := s.ClaimEventsOf(t.Context(), source, owner, 10, lease)
	require.NoError(t, err)
	return eventIDs(events)
}

// Each poller claims the events of its own source, in the order of their table.
func TestClaimEventsOfASource(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	adopt(t, s, "orders", adopted("o-2"), adopted("o-1"))
	adopt(t, s, "wallet", notification.AdoptedEvent{ID: "wallet-1", Type: "FundsAdded", CreatedAt: createdAt})

	require.Equal(t, []string{"evt-1"}, claim(t, s, "a", 10))
	require.Equal(t, []string{"o-2", "o-1"}, claimOf(t, s, "orders", "b"))
	require.Equal(t, []string{"wallet-1"}, claimOf(t, s, "wallet", "c"))

	event, _, err := s.Event(t.Context(), "wallet-1")
	require.NoError(t, err)
	require.Equal(t, notification.Event{ID: "wallet-1", Type: "FundsAdded", CreatedAt: event.CreatedAt}, event)
	require.True(t, createdAt.Equal(event.CreatedAt), "an event is as old as its row")
}

// A repeat adopts nothing twice, and takes nothing from another source.
func TestAdoptEventsAgain(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emitEvent(t, s, "o-1")
	for range 2 {
		adopt(t, s, "orders", adopted("o-1"), adopted("o-2"))
	}
	require.Equal(t, []string{"herald o-1", "orders o-2"}, list(t, s, "SELECT source || ' ' || event_id FROM event_outbox ORDER BY event_id"))
}

// What only the database can refuse costs the event its payload, and its neighbours nothing.
func TestAdoptEventsThatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()

	payloads := map[string]string{
		"a character that jsonb does not hold": `{"a":"\u0000"}`,
		"a number that jsonb does not hold":    `{"a":1e999999}`,
		"larger once it is written out":        `{"a":[` + strings.Repeat("1,", 120_000) + `1]}`,
	}
	s := postgrestest.New(t)
	n := 0
	for name, payload := range payloads {
		n++
		bad := adopted(fmt.Sprintf("bad-%d", n))
		bad.Payload = []byte(payload)
		require.True(t, notification.IsAdoptable(bad.Payload), name)
		before, after := adopted(fmt.Sprintf("before-%d", n)), adopted(fmt.Sprintf("after-%d", n))
		adopt(t, s, "orders", before, bad, after)
	}
	require.Equal(t, []string{"bad-1", "bad-2", "bad-3"}, list(t, s, "SELECT event_id FROM event_outbox WHERE payload IS NULL AND status = 'PENDING' ORDER BY event_id"))
	require.Equal(t, 6, get[int](t, s, "SELECT count(*) FROM event_outbox WHERE payload IS NOT NULL"))
}

// An event that is refused without its payload too stays out alone.
func TestAdoptEventsThatTheDatabaseRefusesAltogether(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	bad := adopted("bad")
	bad.Type = ""
	refused, err := s.AdoptEvents(t.Context(), "orders", []notification.AdoptedEvent{adopted("before"), bad, adopted("after")})
	require.NoError(t, err)
	require.Len(t, refused, 1)
	require.Contains(t, refused["bad"], "event_outbox_event_type_length")
	require.Equal(t, []string{"after", "before"}, list(t, s, "SELECT event_id FROM event_outbox ORDER BY event_id"))
}

func TestKnownEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	unadopted := adopted("unadopted")
	unadopted.Problem = "no"
	adopt(t, s, "orders", adopted("failed"))
	require.Equal(t, []string{"failed"}, claimOf(t, s, "orders", "a"))
	end(t, s, "a", notification.ClaimStarted, "failed")
	require.NoError(t, s.FailAtSink(t.Context(), "failed", "the topic refused it"))
	exec(t, s, "DELETE FROM processed_event")
	adopt(t, s, "orders", adopted("pending"), unadopted, adopted("sent"), adopted("withdrawn"), adopted("ending"), adopted("ended"))
	acknowledge(t, s, "sent")
	withdrawn, err := s.WithdrawEvent(t.Context(), "withdrawn")
	require.NoError(t, err)
	require.True(t, withdrawn)
	exec(t, s, "INSERT INTO processed_event (event_id, status, updated_at) VALUES ('ending', 'FAILED', now()), ('ended', 'FAILED', now() - interval '1 minute')")

	known, err := s.KnownEvents(t.Context(), []string{"evt-1", "pending", "failed", "unadopted", "sent", "withdrawn", "ending", "ended", "unheard-of"})
	require.NoError(t, err)
	for id, event := range known {
		require.Equal(t, id != "evt-1", event.CreatedAt.Equal(createdAt), id)
		event.CreatedAt = time.Time{}
		known[id] = event
	}
	require.Equal(t, map[string]notification.KnownEvent{
		"evt-1":     {ID: "evt-1", Source: "herald", Status: notification.OutboxPending, Ended: true},
		"pending":   {ID: "pending", Source: "orders", Status: notification.OutboxPending, Ended: true},
		"failed":    {ID: "failed", Source: "orders", Status: notification.OutboxFailed, Ended: true}, // at its topic
		"unadopted": {ID: "unadopted", Source: "orders", Status: notification.OutboxFailed, Unfit: "no", Ended: true},
		"sent":      {ID: "sent", Source: "orders", Status: notification.OutboxPending, Acknowledged: true, Ended: true},
		"withdrawn": {ID: "withdrawn", Source: "orders", Status: notification.OutboxFailed, Cancelled: "cancelled by an operator", Ended: true},
		"ending":    {ID: "ending", Source: "orders", Status: notification.OutboxPending},
		"ended":     {ID: "ended", Source: "orders", Status: notification.OutboxPending, Ended: true},
	}, known)
}

// The mark of a cancelled event in its own table is recorded while it is cancelled, and is
// forgotten once it is retried.
func TestRowsFailed(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	adopt(t, s, "orders", adopted("cancelled"), adopted("failed"), adopted("open"), adopted("sent"))
	exec(t, s, "UPDATE event_outbox SET status = 'PROCESSED', published_at = now(), attempt_count = 1, acknowledged_at = CASE event_id WHEN 'sent' THEN now() END WHERE event_id <> 'failed'")
	exec(t, s, "UPDATE event_outbox SET status = 'FAILED', error_message = 'the topic refused it', attempt_count = 1 WHERE event_id = 'failed'")
	exec(t, s, "INSERT INTO processed_event (event_id, status, outcome, updated_at) SELECT event_id, CASE event_id WHEN 'open' THEN 'PROCESSING' ELSE 'FAILED' END, 'CANCELLED', now() - interval '1 minute' FROM event_outbox")
	emitEvent(t, s, "evt-2")

	known := func() notification.KnownEvent {
		found, err := s.KnownEvents(t.Context(), []string{"cancelled"})
		require.NoError(t, err)
		event := found["cancelled"]
		event.CreatedAt = time.Time{} // TestKnownEvents has it
		return event
	}
	cancelled := notification.KnownEvent{ID: "cancelled", Source: "orders", Status: notification.OutboxProcessed, Cancelled: "cancelled by an operator", Ended: true}
	require.Equal(t, cancelled, known())
	require.NoError(t, s.RowsFailed(t.Context(), []string{"cancelled", "failed", "open", "sent"}))
	require.Equal(t, []string{"cancelled"}, list(t, s, "SELECT event_id FROM event_outbox WHERE row_failed_at IS NOT NULL"))
	cancelled.RowFailed = true
	exec(t, s, "UPDATE event_outbox SET cancels = 'cancelled' WHERE event_id = 'evt-2'")
	cancelled.Unfit = "cancelled by event evt-2"
	require.Equal(t, cancelled, known())

	retried, err := s.RetryEvent(t.Context(), "cancelled")
	require.NoError(t, err)
	require.True(t, retried)
	require.Equal(t, notification.KnownEvent{ID: "cancelled", Source: "orders", Status: notification.OutboxPending, Ended: true}, known())
}

// Open is what waits for its start or its broker. What was acknowledged, failed or was
// cancelled makes room for others.
func TestOpenEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	failed := adopted("failed")
	failed.Problem = "no"
	adopt(t, s, "orders", adopted("pending"), adopted("started"), adopted("sent"), adopted("cancelled"), failed)
	adopt(t, s, "wallet", adopted("of another"))
	acknowledge(t, s, "sent")
	exec(t, s, "UPDATE event_outbox SET status = 'PROCESSED', published_at = now() WHERE event_id IN ('started', 'cancelled')")
	exec(t, s, "INSERT INTO processed_event (event_id, status) VALUES ('started', 'PROCESSING'), ('cancelled', 'FAILED')")

	open, err := s.OpenEvents(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, 2, open)
	count, err := s.FailedEvents(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, 1, count)
}

// A broker refuses, and refuses for good; an operator begins anew.
func TestFailAtSink(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	adopt(t, s, "orders", adopted("o-1"))
	require.Equal(t, []string{"o-1"}, claimOf(t, s, "orders", "a"))
	for want := 1; want <= 2; want++ {
		refusals, err := s.CountRefusal(t.Context(), "o-1")
		require.NoError(t, err)
		require.Equal(t, want, refusals)
	}
	require.NoError(t, s.FailAtSink(t.Context(), "o-1", "the topic refused it"))
	state, err := s.SinkState(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, notification.SinkState{Failed: "the topic refused it"}, state)

	known, err := s.KnownEvents(t.Context(), []string{"o-1"})
	require.NoError(t, err)
	require.True(t, known["o-1"].Refused)
	require.False(t, known["o-1"].Ended, "its workflow runs, whatever its claim has recorded")
	require.NoError(t, s.ReopenAtSink(t.Context(), "o-1"))
	require.Equal(t, []string{"PROCESSED 0"}, list(t, s, "SELECT concat_ws(' ', status, sink_attempts, error_message) FROM event_outbox WHERE published_at IS NOT NULL"))
	require.NoError(t, s.FailAtSink(t.Context(), "o-1", "the topic refused it"))

	end(t, s, "a", notification.ClaimStarted, "o-1") // the claim ends after the workflow
	require.Equal(t, outboxRow{Status: notification.OutboxFailed, Claims: 1, Error: ptr("the topic refused it")}, outbox(t, s, "o-1"))

	retried, err := s.RetryEvent(t.Context(), "o-1")
	require.NoError(t, err)
	require.True(t, retried)
	require.Zero(t, get[int](t, s, "SELECT sink_attempts FROM event_outbox"))
	acknowledge(t, s, "o-1")
	require.NoError(t, s.FailAtSink(t.Context(), "o-1", "too late"))
	require.Equal(t, outboxRow{Status: notification.OutboxPending}, outbox(t, s, "o-1"))

	_, err = s.SinkState(t.Context(), "unheard-of")
	require.ErrorIs(t, err, notification.ErrNoEvent)
	_, err = s.CountRefusal(t.Context(), "unheard-of")
	require.ErrorIs(t, err, notification.ErrNoEvent)
}
