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

// rest writes an event with a status in the outbox and in processed_event; empty: no
// row.
func rest(t *testing.T, s *db.DB, id string, written notification.OutboxStatus, started notification.ProcessedStatus) {
	t.Helper()
	if written != "" {
		postgrestest.Add(t, s.Pool, postgrestest.Event{ID: id, Status: written, CreatedAt: past(id)})
	}
	if started != "" {
		postgrestest.Add(t, s.Pool, postgrestest.ProcessedEvent{ID: id, Status: started, CreatedAt: past(id), UpdatedAt: past(id)})
	}
}

// past returns when the rows of an event were written.
func past(id string) time.Time {
	if id == "young" {
		return time.Now()
	}
	return time.Now().AddDate(0, 0, -30)
}

// told writes a decision about an event for a customer, and a delivery with a status; empty: no
// delivery.
func told(t *testing.T, s *db.DB, id, user string, status notification.Status) {
	t.Helper()
	postgrestest.Add(t, s.Pool, postgrestest.Decisions{EventID: id, UserID: user, DecidedAt: past(id)})
	if status == "" {
		return
	}
	delivery := id + "-" + user
	postgrestest.Add(t, s.Pool,
		postgrestest.Delivery{ID: delivery, EventID: id, UserID: user, Status: status, SentAt: past(id), DeliveredAt: time.Now(),
			CreatedAt: past(id)},
		postgrestest.Attempt{DeliveryID: delivery}, postgrestest.Retry{DeliveryID: delivery})
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
	for _, e := range []struct {
		id      string
		written notification.OutboxStatus
		started notification.ProcessedStatus
	}{
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
		told(t, s, e.id, "told", notification.Sent)
		told(t, s, e.id, "untold", "")
	}
	return s
}

func TestPurge(t *testing.T) {
	t.Parallel()

	s := atEveryStage(t)
	for _, status := range []notification.Status{notification.Pending, notification.Failed, notification.Cancelled, notification.Delivered} {
		told(t, s, "done", strings.ToLower(string(status)), status)
	}
	text := postgrestest.Receipt{Provider: "twilio", ID: "text", Status: "STOP", ReceivedAt: past("text")}
	postgrestest.Add(t, s.Pool,
		postgrestest.Receipt{ID: "old", DeliveryID: "done-told", Outcome: notification.Delivered, ReceivedAt: past("old")},
		postgrestest.Receipt{ID: "young", DeliveryID: "done-told", Status: "read", Outcome: notification.Delivered})
	postgrestest.AddMany(t, s.Pool, 1, text, postgrestest.Expressions{"delivery_id": "NULL"})
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
			table: purge.Decisions, goes: 13,
			ids: "SELECT event_id || '-' || user_id FROM notification_decision WHERE user_id <> 'untold' ORDER BY 1",
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
	for _, answer := range []notification.OptOut{{MessageID: "SM1", Number: "+393401234567", Lifted: true},
		{MessageID: "SM2", Number: "+393401234567"}} {
		require.NoError(t, receipts.On(s).RecordOptOut(t.Context(), answer))
	}
	postgrestest.Exec(t, s, "UPDATE delivery_receipt SET received_at = now() - interval '30 days'")
	require.Empty(t, purgeAll(t, s, purge.Receipts))
	require.NoError(t, receipts.On(s).RecordOptOut(t.Context(), notification.OptOut{MessageID: "SM1", Number: "+393401234567", Lifted: true}))
	require.Equal(t, []string{"OPT_OUT"}, postgrestest.List(t, s, "SELECT reason FROM recipient_suppression"))
}

// While a topic of a source rests, the source's events stay: they show the relay who was notified.
// Herald's own events also stay until their topic has them, unless their topic was removed.
func TestPurgeKeepsEventsThatWaitForTheirTopic(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, id := range []string{"before", "produced", "waits", "told"} {
		rest(t, s, id, "PROCESSED", "SUCCESS")
	}
	postgrestest.Exec(t, s, "UPDATE event_outbox SET source = 'orders' WHERE event_id = 'told'")
	postgrestest.Exec(t, s, "UPDATE event_outbox SET produced_at = now() WHERE event_id = 'produced'")
	postgrestest.AddMany(t, s.Pool, 1, postgrestest.SourceStart{},
		postgrestest.Expressions{"seq": "(SELECT seq FROM event_outbox WHERE event_id = 'before')"})
	require.NoError(t, relay.On(s).BackOffTopic(t.Context(), "orders", relay.TopicBackOff{Topic: "t", Wait: time.Microsecond, Error: "unknown"}))
	purgeAll(t, s, purge.Outbox)
	require.ElementsMatch(t, []string{"told", "waits"}, postgrestest.List(t, s, "SELECT event_id FROM event_outbox"))

	require.NoError(t, relay.On(s).EndBackOffs(t.Context(), "orders", []string{"t"}))
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
	const at = "now() - interval '60 days' + i * interval '1 second'"
	postgrestest.AddMany(t, s.Pool, 2500, postgrestest.ProcessedEvent{Status: notification.ProcessedSuccess},
		postgrestest.Expressions{"event_id": "'evt-' || i", "created_at": at, "updated_at": at})
	tx := postgrestest.OpenTx(t, s, "SELECT FROM processed_event WHERE event_id = 'evt-7' FOR UPDATE")

	require.NoError(t, cleaner(s, purge.Processed).Clean(t.Context(), retention, "", func(int, string) bool { return false }))
	require.Equal(t, []string{"evt-7", "evt-1002"},
		postgrestest.List(t, s, "SELECT event_id FROM processed_event ORDER BY created_at LIMIT 2"))
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
	const at = "now() - interval '60 days' + CASE WHEN i > 6000 THEN i ELSE 0 END * interval '1 second'"
	postgrestest.AddMany(t, s.Pool, 12_001, postgrestest.ProcessedEvent{}, postgrestest.Expressions{
		"event_id": "'evt-' || i", "status": "CASE WHEN i < 12000 THEN 'PROCESSING' ELSE 'SUCCESS' END", "created_at": at, "updated_at": at,
	})
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

	const late, ended = "UPDATE processed_event SET updated_at = now()", "UPDATE processed_event SET updated_at = created_at"
	const retried, sent = "UPDATE notification SET status = 'PENDING'", "UPDATE notification SET status = 'SENT'"
	for name, tt := range map[string]struct {
		table purge.Table
		rows  []postgrestest.Row
		open  string
		close string
	}{
		"delivery that waited long": {
			table: purge.Notifications, open: "UPDATE notification SET sent_at = now()", close: "UPDATE notification SET sent_at = created_at",
		},
		"delivery with a follow-up": {
			table: purge.Notifications, rows: []postgrestest.Row{postgrestest.FollowUp{DeliveryID: "done-told"}},
			close: "DELETE FROM delivery_follow_up",
		},
		"delivery of an event that ended late":   {table: purge.Notifications, open: late, close: ended},
		"decision of an event that ended late":   {table: purge.Decisions, open: late, close: ended},
		"event that ended late":                  {table: purge.Outbox, open: late, close: ended},
		"id of an event that ended late":         {table: purge.Processed, open: late, close: ended},
		"event with a retried delivery":          {table: purge.Outbox, open: retried, close: sent},
		"id of an event with a retried delivery": {table: purge.Processed, open: retried, close: sent},
		"writing of an event that waits for approval": {
			table: purge.Actions,
			rows: []postgrestest.Row{
				postgrestest.Action{At: past("done"), Command: "emit", Target: "done"}, postgrestest.EventApproval{EventID: "done"},
			},
			close: "UPDATE event_approval SET answer = 'REJECTED', answered_by = 'ben', answered_at = now()",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			rest(t, s, "done", "PROCESSED", "SUCCESS")
			told(t, s, "done", "told", notification.Sent)
			postgrestest.Add(t, s.Pool, tt.rows...)
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
	for _, e := range []struct {
		id      string
		written notification.OutboxStatus
		started notification.ProcessedStatus
	}{
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

	held := roomtest.Must(relay.On(s).HeldEvents(t.Context(), "orders",
		[]string{"done", "not-told", "running", "running-purged", "waiting", "failed", "of-another", "unknown"}))(t)

	require.ElementsMatch(t, []string{"running", "running-purged", "waiting", "failed"}, held)
}
