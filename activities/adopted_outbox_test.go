package activities_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/activities"
	"herald/internal/notification"
)

// Rows become events of their source, once each however many pollers there are. A
// transaction that is rolled back leaves none.
func TestAdoptedOutboxRace(t *testing.T) {
	t.Parallel()

	const n = 300
	s, temporal := orderService(t), &launcher{}
	tx := s.begin(t)
	_, err := tx.Exec(t.Context(), insertOrders, n+1, n+9)
	require.NoError(t, err)
	first, second := poll(t, s.outbox, temporal, eager), poll(t, s.another(), temporal, eager)
	s.orders(t, 1, n)
	await(t, s.herald, n, "source = 'orders' AND status = 'PROCESSED'")
	require.NoError(t, tx.Rollback(t.Context()))

	require.Equal(t, n, first.stop(t).Started+second.stop(t).Started)
	for i := 1; i <= n; i++ {
		require.Equal(t, 1, temporal.count(orderID(i)), i)
	}
	require.Equal(t, n, events(t, s.herald, "event_type = 'OrderCreated' AND aggregate_type = 'Order' AND payload ? 'order' AND created_at < '2026-11-21 10:00:01Z'"))
	require.Equal(t, n, s.rows(t, "status = 'NEW'"), "their topic has none of them yet")
}

// A row that is committed late stands before those that were adopted: the next walk begins
// anew at the oldest.
func TestAdoptedOutboxFindsARowCommittedLate(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{}
	tx := s.begin(t)
	_, err := tx.Exec(t.Context(), insertOrders, 1, 1)
	require.NoError(t, err)
	s.orders(t, 2, 4)
	s.poll(t, temporal)
	await(t, s.herald, 3, "status = 'PROCESSED'")
	require.NoError(t, tx.Commit(t.Context()))
	await(t, s.herald, 4, "status = 'PROCESSED'")
}

// A backlog stays in its own table: no more than 1,000 of a source are open.
func TestAdoptedOutboxIsBounded(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{}
	s.orders(t, 1, notification.MaxOpenRows+50)
	p := s.poll(t, temporal)
	await(t, s.herald, notification.MaxOpenRows, "status = 'PROCESSED'")
	exec(t, s.herald, "UPDATE event_outbox SET acknowledged_at = now() WHERE event_id = ANY ($1)", []string{orderID(1), orderID(500), orderID(1000)})
	s.awaitRows(t, 3, "status = 'SENT'")
	await(t, s.herald, notification.MaxOpenRows+3, "status = 'PROCESSED'")
	p.stop(t)
	require.Equal(t, notification.MaxOpenRows+3, events(t, s.herald, "true"))
}

// What is pending in its own table, and known to Herald.
func TestAdoptedOutboxOfKnownRows(t *testing.T) {
	t.Parallel()

	const failed = "status = 'FAILED', attempt_count = 1, error_message = 'the topic refused it'"
	const withdrawn = "status = 'FAILED', error_message = 'cancelled by an operator'"
	tests := []struct {
		name    string
		known   string // what the event of order 1 is; order 2 is new
		want    string // what becomes of the row
		started int
	}{
		{"a crash between acknowledgement and mark", "status = 'PROCESSED', published_at = now(), acknowledged_at = now()", "status = 'SENT' AND sent_at IS NOT NULL", 0},
		{"set back by its service", failed, "status = 'NEW'", 1},
		{"cancelled before its start", withdrawn, "status = 'FAILED' AND error_message = 'cancelled by an operator'", 0},
		{"cancelled before its start, marked, and set back by its service", withdrawn + ", row_failed_at = now()", "status = 'NEW'", 1},
		{"a crash between its insert and its mark", "status = 'FAILED', error_message = 'the event type is empty'", "status = 'FAILED' AND error_message = 'the event type is empty'", 0},
		{"open", "status = 'PROCESSED', published_at = now()", "status = 'NEW'", 0},
		{"an id of another source", "source = 'wallet'", "status = 'FAILED' AND error_message ~ 'another source'", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s, temporal := orderService(t), &launcher{}
			s.orders(t, 1, 2)
			exec(t, s.herald, "INSERT INTO event_outbox (event_id, source, event_type, created_at) VALUES ($1, 'orders', 'OrderCreated', '2026-11-21 10:00:00.001Z')", orderID(1))
			exec(t, s.herald, "UPDATE event_outbox SET "+tt.known)
			p := s.poll(t, temporal)
			await(t, s.herald, 1, "source = 'orders' AND status = 'PROCESSED' AND event_id = '"+orderID(2)+"'")
			s.awaitRows(t, 1, tt.want+" AND id = '"+orderID(1)+"'")
			if tt.started > 0 {
				await(t, s.herald, 1, "status = 'PROCESSED' AND event_id = '"+orderID(1)+"'")
			}
			p.stop(t)
			require.Equal(t, tt.started, temporal.count(orderID(1)))
		})
	}
}

// A row that cannot be an event fails alone, in both tables, and says why.
func TestAdoptedOutboxOfARowThatCannotBeAdopted(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{}
	s.orders(t, 1, 3)
	exec(t, s.business, `UPDATE outbox SET event_type = E'Order\x1b[2J' WHERE id = $1`, orderID(2))
	exec(t, s.business, `UPDATE outbox SET payload = 'no JSON' WHERE id = $1`, orderID(3))
	p := s.poll(t, temporal)
	await(t, s.herald, 2, "status = 'PROCESSED'")
	p.stop(t)

	require.Equal(t, 1, s.rows(t, "status = 'FAILED' AND error_message ~ 'event type' AND id = '"+orderID(2)+"'"))
	require.Equal(t, 1, events(t, s.herald, "status = 'FAILED' AND error_message ~ 'event type' AND event_id = '"+orderID(2)+"'"))
	require.Equal(t, 1, events(t, s.herald, "payload IS NULL AND event_id = '"+orderID(3)+"'"))
	require.Zero(t, temporal.count(orderID(2)))
}

// A row that its table does not let be marked holds up none of its neighbours.
func TestAdoptedOutboxOfARowThatCannotBeMarked(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{}
	exec(t, s.business, "ALTER TABLE outbox ADD CHECK (status IN ('NEW', 'SENT'))")
	s.orders(t, 1, 2)
	exec(t, s.business, "UPDATE outbox SET event_type = '' WHERE id = $1", orderID(1))
	p := s.poll(t, temporal)
	await(t, s.herald, 1, "status = 'PROCESSED'")
	s.orders(t, 3, 4)
	await(t, s.herald, 3, "status = 'PROCESSED'")
	p.stop(t)
	require.Equal(t, 1, events(t, s.herald, "status = 'FAILED' AND error_message ~ 'event type'"))
}

// A row that Herald's database refuses fails alone in its own table.
func TestAdoptedOutboxOfARowThatHeraldsDatabaseRefuses(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{}
	exec(t, s.herald, "ALTER TABLE event_outbox ADD CONSTRAINT not_this_one CHECK (event_id <> '"+orderID(2)+"')")
	s.orders(t, 1, 3)
	p := s.poll(t, temporal)
	await(t, s.herald, 2, "status = 'PROCESSED'")
	s.awaitRows(t, 1, "status = 'FAILED' AND error_message ~ 'not_this_one' AND id = '"+orderID(2)+"'")
	p.stop(t)
	require.Zero(t, temporal.count(orderID(2)))
}

// Ids that are unique in their table alone have the name of their source before them; one
// that a producer of Herald's took is another event.
func TestAdoptedOutboxOfWallets(t *testing.T) {
	t.Parallel()

	s, temporal := walletHub(t), &launcher{}
	exec(t, s.herald, `INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('wallet-2', 'T', 'CUSTOMER', 5, '{}')`)
	exec(t, s.business, `INSERT INTO outbox (event_type, payload, correlation_id) VALUES ('FundsAdded', '{}', 'c-1'), ('FundsAdded', '{}', NULL), ('FundsAdded', '{}', NULL)`)
	p := s.poll(t, temporal)
	await(t, s.herald, 2, "source = 'wallet' AND status = 'PROCESSED'")
	await(t, s.herald, 1, "source = 'wallet' AND status = 'FAILED' AND event_id = 'wallet-2~wallet' AND error_message ~ 'wallet-2'")
	p.stop(t)

	require.Equal(t, 1, temporal.count("wallet-1"))
	require.Zero(t, temporal.count("wallet-2"))
	require.Equal(t, 1, temporal.count("wallet-3"))
	require.Equal(t, 3, s.rows(t, "NOT sent"))
}

// Without a topic, the start of the workflow is what the table waits for.
func TestAdoptedOutboxWithoutATopic(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{answer: func(event notification.PendingEvent) error {
		if event.ID == orderID(2) {
			return serviceerror.NewInvalidArgument("bad id")
		}
		return nil
	}}
	s.outbox.Source.Kafka = nil
	s.orders(t, 1, 3)
	p := s.poll(t, temporal)
	s.awaitRows(t, 2, "status = 'SENT'")
	s.awaitRows(t, 1, "status = 'FAILED' AND error_message ~ 'bad id'")
	await(t, s.herald, 1, "status = 'FAILED'")
	p.stop(t)
	require.Equal(t, 2, events(t, s.herald, "acknowledged_at IS NOT NULL"))
}

// While the business's database is away, what was adopted before is started; new rows
// follow once it is back.
func TestAdoptedOutboxWithoutItsDatabase(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{answer: func(notification.PendingEvent) error { return serviceerror.NewUnavailable("not yet") }}
	s.orders(t, 1, 2)
	p := s.poll(t, temporal)
	await(t, s.herald, 2, "status = 'PENDING'")
	p.stop(t)

	exec(t, s.business, "ALTER TABLE outbox RENAME TO away")
	temporal = &launcher{}
	p = s.poll(t, temporal)
	await(t, s.herald, 2, "status = 'PROCESSED'")
	exec(t, s.business, "ALTER TABLE away RENAME TO outbox")
	s.orders(t, 3, 3)
	await(t, s.herald, 3, "status = 'PROCESSED'")
	p.stop(t)
}

// An event that cannot be started does not keep its neighbours claimed while its row cannot
// be marked. It is claimed again, and fails once its table is back.
func TestAdoptedOutboxEndsWhatItCanWithoutItsDatabase(t *testing.T) {
	t.Parallel()

	s := orderService(t)
	s.orders(t, 1, 2)
	claimed, err := s.outbox.ClaimEvents(t.Context(), "a", 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, claimed, 2)
	results := []notification.ClaimResult{
		{EventID: orderID(1), Outcome: notification.ClaimFailed, Error: "bad id"},
		{EventID: orderID(2), Outcome: notification.ClaimStarted},
	}

	exec(t, s.business, "ALTER TABLE outbox RENAME TO away")
	require.Error(t, s.outbox.EndClaim(t.Context(), "a", results))
	require.Equal(t, 1, events(t, s.herald, "status = 'PROCESSED' AND event_id = '"+orderID(2)+"'"))
	require.Equal(t, 1, events(t, s.herald, "status = 'PENDING' AND lease_owner = 'a' AND event_id = '"+orderID(1)+"'"))

	exec(t, s.business, "ALTER TABLE away RENAME TO outbox")
	require.NoError(t, s.outbox.EndClaim(t.Context(), "a", results))
	require.Equal(t, 1, events(t, s.herald, "status = 'FAILED' AND event_id = '"+orderID(1)+"'"))
	require.Equal(t, 1, s.rows(t, "status = 'FAILED' AND error_message = 'bad id'"))
}

var _ activities.Outbox = (*activities.AdoptedOutbox)(nil)

// A walk that was cut short goes on where it was, and passes over what waits for an operator.
func TestAdoptedOutboxPassesOverManyRows(t *testing.T) {
	t.Parallel()

	s, temporal := walletHub(t), &launcher{}
	exec(t, s.business, `INSERT INTO outbox (event_type, payload) SELECT 'FundsAdded', '{}' FROM generate_series(1, 2500)`)
	exec(t, s.herald, `INSERT INTO event_outbox (event_id, source, event_type, status, error_message) SELECT 'wallet-' || n, 'wallet', 'FundsAdded', 'FAILED', 'refused' FROM generate_series(1, 2499) AS n`)
	p := poll(t, s.outbox, temporal, activities.Source{Interval: 10 * time.Millisecond, BatchSize: 10})
	await(t, s.herald, 1, "status = 'PROCESSED'")
	p.stop(t)
	require.Equal(t, 1, temporal.count("wallet-2500"))
}

// tableAndThen is a table after whose first reading something happens, before anybody knows
// what was read.
type tableAndThen struct {
	activities.SourceTable
	then func()
	once sync.Once
}

func (t *tableAndThen) Pending(ctx context.Context, after string, limit int) ([]notification.SourceKey, error) {
	defer t.once.Do(t.then)
	return t.SourceTable.Pending(ctx, after, limit)
}

// A row that fails after it was read as pending was not set back by its service.
func TestAdoptedOutboxOfRowsThatFailMeanwhile(t *testing.T) {
	t.Parallel()

	s, temporal, orders := orderService(t), &launcher{}, &ordered{}
	s.orders(t, 1, 3)
	exec(t, s.herald, `
		INSERT INTO event_outbox (event_id, source, event_type, status, published_at, attempt_count)
		VALUES ($1, 'orders', 'OrderCreated', 'PROCESSED', now(), 1), ($2, 'orders', 'OrderCreated', 'PROCESSED', now(), 1)`, orderID(1), orderID(2))
	exec(t, s.herald, "INSERT INTO processed_event (event_id) VALUES ($1)", orderID(1)) // its workflow runs, the other's was never started
	s.outbox.Topics = orders
	s.outbox.Table = &tableAndThen{SourceTable: s.table, then: func() {
		require.NoError(t, s.table.MarkFailed(t.Context(), []string{orderID(1), orderID(2)}, "refused"))
		exec(t, s.herald, "UPDATE event_outbox SET status = 'FAILED', published_at = NULL, sink_attempts = 1, error_message = 'refused'")
	}}

	p := s.poll(t, temporal)
	await(t, s.herald, 1, "status = 'PROCESSED' AND event_id = '"+orderID(3)+"'")
	p.stop(t)
	require.Zero(t, orders.count())
	require.Equal(t, 2, events(t, s.herald, "status = 'FAILED'"))
}

// Events that were cancelled while they waited for their topic end in their own table, too,
// each once, even if a row cannot be marked. What its service sets back after that begins
// again, unless another event takes it back.
func TestAdoptedOutboxOfCancelledEvents(t *testing.T) {
	t.Parallel()

	s, temporal := orderService(t), &launcher{}
	s.orders(t, 1, 6)
	exec(t, s.herald, `
		INSERT INTO event_outbox (event_id, source, event_type, status, published_at, attempt_count)
		SELECT '00000000-0000-4000-8000-' || lpad(n::text, 12, '0'), 'orders', 'OrderCreated', 'PROCESSED', now(), 1
		FROM   generate_series(1, 5) AS n`)
	exec(t, s.herald, `
		INSERT INTO processed_event (event_id, status, outcome, updated_at)
		SELECT event_id, 'FAILED', CASE row_number() OVER (ORDER BY event_id) WHEN 4 THEN 'FAILED' ELSE 'CANCELLED' END, now() - interval '1 minute'
		FROM   event_outbox`)
	exec(t, s.herald, "UPDATE processed_event SET updated_at = now() + interval '1 hour' WHERE event_id = $1", orderID(5)) // its workflow ends
	exec(t, s.herald, "INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, cancels) VALUES ('evt-9', 'T', 'ADMIN', '1', '{}', $1)", orderID(3))
	exec(t, s.business, "ALTER TABLE outbox ADD CONSTRAINT not_this_one CHECK (id <> '"+orderID(2)+"' OR status <> 'FAILED')")
	p := s.poll(t, temporal)
	const by = "status = 'FAILED' AND error_message = 'cancelled by "
	s.awaitRows(t, 1, by+"an operator' AND id = '"+orderID(1)+"'")
	s.awaitRows(t, 1, by+"event evt-9' AND id = '"+orderID(3)+"'")
	s.awaitRows(t, 1, "status = 'FAILED' AND error_message = 'its workflow has failed'")
	await(t, s.herald, 1, "status = 'PROCESSED' AND event_id = '"+orderID(6)+"'")
	await(t, s.herald, 3, "row_failed_at IS NOT NULL")
	require.Equal(t, 3, s.rows(t, "status = 'NEW'"), "one that cannot be marked, one that ends, and one that waits for its topic")

	exec(t, s.business, "UPDATE outbox SET status = 'NEW' WHERE status = 'FAILED'")
	await(t, s.herald, 2, "row_failed_at IS NULL AND attempt_count = 1 AND status = 'PROCESSED' AND event_id IN ('"+orderID(1)+"', '"+orderID(4)+"')")
	s.awaitRows(t, 1, by+"event evt-9'")
	p.stop(t)
	require.Equal(t, 1, temporal.count(orderID(1)))
	require.Equal(t, 1, temporal.count(orderID(4)))
	for _, n := range []int{2, 3, 5} {
		require.Zero(t, temporal.count(orderID(n)), n)
	}
}
