package purge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/purge"
	"herald/internal/receipts"
	"herald/internal/relay"
	"herald/internal/roomtest"
)

// old is the age of all rows in these tests, except the rows of the event "young".
const old = "30 days"

// rest writes an event with a status in the outbox and in processed_event; empty: no
// row.
func rest(t *testing.T, s *db.DB, id, written, started string) {
	t.Helper()
	if written != "" {
		roomtest.EmitEvent(t, s, id)
		postgrestest.Exec(t, s, `
			UPDATE event_outbox
			SET    status = $2,
			       created_at = now() - $3::interval,
			       published_at = CASE $2 WHEN 'PROCESSED' THEN now() END,
			       error_message = CASE $2 WHEN 'FAILED' THEN 'broken' END
			WHERE  event_id = $1`, id, written, ageOf(id))
	}
	if started != "" {
		postgrestest.Exec(t, s, `INSERT INTO processed_event (event_id, status, created_at, updated_at) VALUES ($1, $2, now() - $3::interval, now() - $3::interval)`, id, started, ageOf(id))
	}
}

func ageOf(id string) string {
	if id == "young" {
		return "0"
	}
	return old
}

// told writes a decision about an event for a customer, and a delivery with a status; empty: no
// delivery.
func told(t *testing.T, s *db.DB, id, user, status string) {
	t.Helper()
	postgrestest.Exec(t, s, `
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		VALUES ($1, 'CUSTOMER', $2, now() - $3::interval, '{}')`, id, user, ageOf(id))
	if status == "" {
		return
	}
	delivery := id + "-" + user
	postgrestest.Exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error, sent_at, delivered_at, created_at)
		VALUES ($1, 'T', 'CUSTOMER', $2, 'EMAIL', $3, 't', 'b', $4, 'x', now() - $5::interval, now(), now() - $5::interval)`, id, user, delivery, status, ageOf(id))
	postgrestest.Exec(t, s, `INSERT INTO delivery_attempt (delivery_id, attempt) VALUES ($1, 1)`, delivery)
	postgrestest.Exec(t, s, `INSERT INTO delivery_retry (delivery_id, run_id, again, status_before) VALUES ($1, 'r', false, 'FAILED')`, delivery)
}

// retention is the time for which these tests keep rows.
const retention = 24 * time.Hour

// cleaner returns the cleaner of a table whose outbox has a topic.
func cleaner(s *db.DB, table purge.Table) purge.TableCleaner {
	return purge.TableCleaner{Store: s, Table: table, HasTopic: true}
}

// purgeAll purges rows of a table that are older than a day, and that Count counts. It returns the
// number of deleted rows of each batch that deleted some.
func purgeAll(t *testing.T, s *db.DB, table purge.Table) []int {
	t.Helper()
	counted := roomtest.Must(cleaner(s, table).Count(t.Context(), retention, 100_000))(t)
	var batches []int
	total := 0
	require.NoError(t, cleaner(s, table).Clean(t.Context(), retention, "", func(deleted int, _ string) bool {
		if deleted > 0 {
			batches = append(batches, deleted)
		}
		total += deleted
		return true
	}))
	require.LessOrEqual(t, total, counted, table)
	return batches
}

// atEveryStage returns a store with an event at each possible stage.
func atEveryStage(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	for _, e := range []struct{ id, written, started string }{
		{id: "done", written: "PROCESSED", started: "SUCCESS"},
		{id: "failed", written: "PROCESSED", started: "FAILED"},
		{id: "running", written: "PROCESSED", started: "PROCESSING"},
		{id: "running-purged", started: "PROCESSING"},
		{id: "forgotten", written: "PROCESSED"},
		{id: "gone", started: "SUCCESS"},
		{id: "unknown"},
		{id: "waiting", written: "PENDING"},
		{id: "waiting-again", written: "PENDING", started: "SUCCESS"},
		{id: "unstarted", written: "FAILED"},
		{id: "unstarted-again", written: "FAILED", started: "FAILED"},
		{id: "young", written: "PROCESSED", started: "SUCCESS"},
	} {
		rest(t, s, e.id, e.written, e.started)
		told(t, s, e.id, "told", string(notification.Sent))
		told(t, s, e.id, "untold", "")
	}
	return s
}

func TestPurge(t *testing.T) {
	t.Parallel()

	s := atEveryStage(t)
	for _, status := range []notification.Status{notification.Pending, notification.Failed, notification.Cancelled, notification.Delivered} {
		told(t, s, "done", strings.ToLower(string(status)), string(status))
	}
	postgrestest.Exec(t, s, roomtest.InsertReceipt+`('twilio', 'old', 'done-told', now(), 'delivered', 'DELIVERED', NULL), ('twilio', 'text', NULL, now(), 'STOP', NULL, NULL), ('twilio', 'young', 'done-told', now(), 'read', 'DELIVERED', NULL)`)
	postgrestest.Exec(t, s, "UPDATE delivery_receipt SET received_at = now() - interval '30 days' WHERE receipt_id <> 'young'")
	tests := []struct {
		table purge.Table
		goes  int
		ids   string // of the rows that stay
		stays []string
	}{
		{
			table: purge.Outbox, goes: 2, ids: "SELECT event_id FROM event_outbox ORDER BY 1",
			stays: []string{"done", "running", "unstarted", "unstarted-again", "waiting", "waiting-again", "young"},
		},
		{
			table: purge.Processed, goes: 2, ids: "SELECT event_id FROM processed_event ORDER BY 1",
			stays: []string{"done", "running", "running-purged", "unstarted-again", "waiting-again", "young"},
		},
		{
			table: purge.Notifications, goes: 8, ids: "SELECT delivery_id FROM notification ORDER BY 1",
			stays: []string{
				"done-pending", "running-purged-told", "running-told", "unstarted-again-told", "unstarted-told",
				"waiting-again-told", "waiting-told", "young-told",
			},
		},
		{table: purge.Receipts, goes: 1, ids: "SELECT receipt_id FROM delivery_receipt ORDER BY 1", stays: []string{"text", "young"}},
		{
			table: purge.Decisions, goes: 13, ids: "SELECT event_id || '-' || user_id FROM notification_decision WHERE user_id <> 'untold' ORDER BY 1",
			stays: []string{
				"done-pending", "running-purged-told", "running-told", "unstarted-again-told", "unstarted-told",
				"waiting-again-told", "waiting-told", "young-told",
			},
		},
	}
	for _, tt := range tests { // in sequence: a purge of one table does not affect the next
		require.Equal(t, tt.goes, roomtest.Must(cleaner(s, tt.table).Count(t.Context(), retention, 100))(t), tt.table)
		require.Equal(t, []int{tt.goes}, purgeAll(t, s, tt.table), tt.table)
		require.Equal(t, tt.stays, postgrestest.List(t, s, tt.ids), tt.table)
		require.Empty(t, purgeAll(t, s, tt.table), "a repeat finds nothing")
	}
	for _, table := range []string{"delivery_attempt", "delivery_retry"} {
		require.Equal(t, 8, postgrestest.Get[int](t, s, "SELECT count(*) FROM "+table), table)
	}
}

// A START that somebody replays after a purge does not undo a later STOP.
func TestPurgeKeepsIncomingTextMessages(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t)
	for _, answer := range []notification.OptOut{{MessageID: "SM1", Number: "+393401234567", Lifted: true}, {MessageID: "SM2", Number: "+393401234567"}} {
		require.NoError(t, receipts.On(s).RecordOptOut(t.Context(), answer))
	}
	postgrestest.Exec(t, s, "UPDATE delivery_receipt SET received_at = now() - interval '30 days'")
	require.Empty(t, purgeAll(t, s, purge.Receipts))
	require.NoError(t, receipts.On(s).RecordOptOut(t.Context(), notification.OptOut{MessageID: "SM1", Number: "+393401234567", Lifted: true}))
	require.Equal(t, []string{"OPT_OUT"}, postgrestest.List(t, s, "SELECT reason FROM recipient_suppression"))
}

// While a topic of a source rests, the source's events stay: they show the walk who was notified.
// Herald's own events also stay until their topic has them, unless their topic was removed.
func TestPurgeKeepsEventsThatWaitForTheirTopic(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, id := range []string{"before", "produced", "waits", "told"} {
		rest(t, s, id, "PROCESSED", "SUCCESS")
	}
	postgrestest.Exec(t, s, "UPDATE event_outbox SET source = 'orders' WHERE event_id = 'told'")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET produced_at = now() WHERE event_id = 'produced'")
	postgrestest.Exec(t, s, "INSERT INTO source_start (source, seq) SELECT 'herald', seq FROM event_outbox WHERE event_id = 'before'")
	require.NoError(t, relay.On(s).RestTopic(t.Context(), "orders", relay.RestingTopic{Topic: "t", Wait: time.Microsecond, Error: "unknown"}))
	purgeAll(t, s, purge.Outbox)
	require.ElementsMatch(t, []string{"told", "waits"}, postgrestest.List(t, s, "SELECT event_id FROM event_outbox"))

	require.NoError(t, relay.On(s).WakeTopics(t.Context(), "orders", []string{"t"}))
	purgeAll(t, s, purge.Outbox)
	require.Equal(t, []string{"waits"}, postgrestest.List(t, s, "SELECT event_id FROM event_outbox"))

	withoutTopic := purge.TableCleaner{Store: s, Table: purge.Outbox}
	require.NoError(t, withoutTopic.Clean(t.Context(), retention, "", func(int, string) bool { return true }))
	require.Empty(t, postgrestest.List(t, s, "SELECT event_id FROM event_outbox"))
}

// A purge of a single table deletes the same rows.
func TestPurgeInAnyOrder(t *testing.T) {
	t.Parallel()

	s := atEveryStage(t)
	require.Equal(t, 2, roomtest.Must(cleaner(s, purge.Outbox).Count(t.Context(), retention, 2))(t), "the count is bounded")
	require.Equal(t, []int{10}, purgeAll(t, s, purge.Decisions))
	require.Equal(t, []int{5}, purgeAll(t, s, purge.Notifications))
	require.Equal(t, []int{3}, purgeAll(t, s, purge.Processed))
	require.Equal(t, []int{3}, purgeAll(t, s, purge.Outbox))
}

// The oldest rows are deleted first, a thousand at a time. A locked row blocks nothing, and is
// deleted later.
func TestPurgeInBatches(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `
		INSERT INTO processed_event (event_id, status, created_at, updated_at)
		SELECT 'evt-' || i, 'SUCCESS', at, at
		FROM   generate_series(1, 2500) i, LATERAL (SELECT now() - interval '60 days' + i * interval '1 second') AS old (at)`)
	tx := postgrestest.OpenTx(t, s, "SELECT FROM processed_event WHERE event_id = 'evt-7' FOR UPDATE")

	require.NoError(t, cleaner(s, purge.Processed).Clean(t.Context(), retention, "", func(int, string) bool { return false }))
	require.Equal(t, []string{"evt-7", "evt-1002"}, postgrestest.List(t, s, "SELECT event_id FROM processed_event ORDER BY created_at LIMIT 2"))
	require.Equal(t, []int{1000, 499}, purgeAll(t, s, purge.Processed))
	require.Equal(t, []string{"evt-7"}, postgrestest.List(t, s, "SELECT event_id FROM processed_event"))

	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, []int{1}, purgeAll(t, s, purge.Processed))
}

// A batch reads one page, even if all its rows stay. The next batch begins after that page: in the
// same call, or after a crash. Rows of one moment are in one page.
func TestPurgeReadsPages(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, `
		INSERT INTO processed_event (event_id, status, created_at, updated_at)
		SELECT 'evt-' || i, CASE WHEN i < 12000 THEN 'PROCESSING' ELSE 'SUCCESS' END, at, at
		FROM   generate_series(1, 12001) i, LATERAL (SELECT now() - interval '60 days' + CASE WHEN i > 6000 THEN i ELSE 0 END * interval '1 second') AS old (at)`)
	var cursors []string
	pages := func(after string, most int) (batches []int) {
		require.NoError(t, cleaner(s, purge.Processed).Clean(t.Context(), retention, after, func(deleted int, after string) bool {
			batches, cursors = append(batches, deleted), append(cursors, after)
			return len(batches) < most
		}))
		return batches
	}

	require.Equal(t, []int{0, 0}, pages("", 2))
	require.Equal(t, []int{2}, pages(cursors[1], 10))
	require.Equal(t, 11999, postgrestest.Get[int](t, s, "SELECT count(*) FROM processed_event"))
}

// A row that is open or still needed stays, however old it is.
func TestPurgeKeepsOpenRows(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		table purge.Table
		open  string
		close string
	}{
		"delivery that waited long":              {purge.Notifications, "UPDATE notification SET sent_at = now()", "UPDATE notification SET sent_at = created_at"},
		"delivery with a follow-up":              {purge.Notifications, "INSERT INTO delivery_follow_up (delivery_id, kind) VALUES ('done-told', 'DEAD_LETTER')", "DELETE FROM delivery_follow_up"},
		"delivery of an event that ended late":   {purge.Notifications, "UPDATE processed_event SET updated_at = now()", "UPDATE processed_event SET updated_at = created_at"},
		"decision of an event that ended late":   {purge.Decisions, "UPDATE processed_event SET updated_at = now()", "UPDATE processed_event SET updated_at = created_at"},
		"event that ended late":                  {purge.Outbox, "UPDATE processed_event SET updated_at = now()", "UPDATE processed_event SET updated_at = created_at"},
		"id of an event that ended late":         {purge.Processed, "UPDATE processed_event SET updated_at = now()", "UPDATE processed_event SET updated_at = created_at"},
		"event with a retried delivery":          {purge.Outbox, "UPDATE notification SET status = 'PENDING'", "UPDATE notification SET status = 'SENT'"},
		"id of an event with a retried delivery": {purge.Processed, "UPDATE notification SET status = 'PENDING'", "UPDATE notification SET status = 'SENT'"},
		"writing of an event that waits for approval": {
			purge.Actions,
			"INSERT INTO operator_action (at, actor, command, target) VALUES (now() - interval '30 days', 'ada', 'emit', 'done'); INSERT INTO event_approval (event_id) VALUES ('done')",
			"UPDATE event_approval SET answer = 'REJECTED', answered_by = 'ben', answered_at = now()",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			rest(t, s, "done", "PROCESSED", "SUCCESS")
			told(t, s, "done", "told", string(notification.Sent))
			postgrestest.Exec(t, s, tt.open)
			require.Empty(t, purgeAll(t, s, tt.table))
			postgrestest.Exec(t, s, tt.close)
			require.Equal(t, []int{1}, purgeAll(t, s, tt.table))
		})
	}
}

// An event that is open or failed holds its row. An unknown event does not.
func TestHeldEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, e := range []struct{ id, written, started string }{
		{id: "done", written: "PROCESSED", started: "SUCCESS"},
		{id: "not-told", written: "PROCESSED", started: "FAILED"},
		{id: "running", written: "PROCESSED", started: "PROCESSING"},
		{id: "running-purged", started: "PROCESSING"},
		{id: "waiting", written: "PENDING"},
		{id: "failed", written: "FAILED"},
		{id: "of-another", written: "PROCESSED"},
	} {
		rest(t, s, e.id, e.written, e.started)
	}
	postgrestest.Exec(t, s, "UPDATE event_outbox SET source = 'orders' WHERE event_id <> 'of-another'")

	held := roomtest.Must(relay.On(s).HeldEvents(t.Context(), "orders", []string{"done", "not-told", "running", "running-purged", "waiting", "failed", "of-another", "unknown"}))(t)

	require.ElementsMatch(t, []string{"running", "running-purged", "waiting", "failed"}, held)
}
