package db_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/receipts"
	"herald/internal/roomtest"
)

// planNode is a part of a plan.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	By       string     `json:"Index Cond"`
	Plans    []planNode `json:"Plans"`
}

func (n planNode) all() []planNode {
	nodes := []planNode{n}
	for _, child := range n.Plans {
		nodes = append(nodes, child.all()...)
	}
	return nodes
}

// planOf returns the parts of the plan for a statement, and its text.
func planOf(t *testing.T, s *db.DB, statement pgx.TraceQueryStartData) ([]planNode, string) {
	t.Helper()
	text := postgrestest.Get[string](t, s, "EXPLAIN (FORMAT JSON) "+statement.SQL, statement.Args...)
	var plans []struct{ Plan planNode }
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	return plans[0].Plan.all(), text
}

// In a table of 40,000 rows, every inbox query reads only what an index leads to. This
// holds for a recipient with a quarter of the rows, and for one with few or none.
func TestInboxReadsByIndex(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	roomtest.PlantInbox(t, s, 40_000, postgrestest.Expressions{
		"user_id": "CASE WHEN i % 4 = 0 THEN '10' ELSE (20 + i % 2000)::text END",
		"channel": "CASE WHEN i % 3 = 0 THEN 'EMAIL' ELSE 'WEBSOCKET' END",
		"read_at": "CASE WHEN i % 50 <> 0 THEN '2026-11-22 08:00Z'::timestamptz END",
	})
	postgrestest.Exec(t, s, "VACUUM ANALYZE notification")
	listening, asked := roomtest.Heard(t, s)
	room := inbox.On(listening)
	const newest, unread = "notification_inbox_newest", "notification_unread_newest"
	middle := notification.InboxPosition{AvailableAt: roomtest.InboxStart.Add(20_000 * time.Second), ID: 20_000}

	for _, userID := range []string{"10", "21", "nobody"} {
		who := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: userID}
		one := func() int64 {
			page := roomtest.Must(inbox.On(s).InboxAfter(ctx, who, middle, false, 1))(t)
			if len(page.Items) == 0 {
				return 404
			}
			return int64(page.Items[0].NotificationID)
		}()
		tests := []struct {
			name  string
			ask   func() error
			index string // the index for notification, unless it reads by id
			from  bool   // starts from a position
		}{
			{name: "page", ask: func() error { return roomtest.ErrOf(room.InboxPage(ctx, who, notification.InboxFilter{Limit: 20})) },
				index: newest},
			{name: "later page", ask: func() error {
				return roomtest.ErrOf(room.InboxPage(ctx, who, notification.InboxFilter{Before: one, Limit: 20}))
			}, index: newest, from: true},
			{name: "unread page", ask: func() error {
				return roomtest.ErrOf(room.InboxPage(ctx, who, notification.InboxFilter{Unread: true, Limit: 20}))
			}, index: unread},
			{name: "catch-up", ask: func() error { return roomtest.ErrOf(room.InboxAfter(ctx, who, middle, false, 100)) },
				index: newest, from: true},
			{name: "unread catch-up", ask: func() error { return roomtest.ErrOf(room.InboxAfter(ctx, who, middle, true, 100)) },
				index: unread, from: true},
			{name: "unread position", ask: func() error { return roomtest.ErrOf(room.UnreadPosition(ctx, who, notification.MaxUnread)) },
				index: unread},
			{name: "count", ask: func() error { return roomtest.ErrOf(room.Unread(ctx, who)) }, index: unread},
			{name: "read", ask: func() error { return room.MarkRead(ctx, who, one) }},
			{name: "all read", ask: func() error { return room.MarkAllRead(ctx, who, one) }, index: unread, from: true},
			{name: "acknowledged", ask: func() error {
				return room.MarkDelivered(ctx, []notification.Acknowledgement{{ID: one, RecipientKey: who}, {ID: one + 1, RecipientKey: who}})
			}},
		}
		for _, tt := range tests {
			asked.All = nil
			if err := tt.ask(); userID != "nobody" {
				require.NoError(t, err, tt.name)
			}
			require.NotEmpty(t, asked.All, tt.name)
			for _, statement := range asked.All {
				requireIndex(t, s, tt.name+" of "+userID, statement, tt.index, tt.from)
			}
		}
	}
}

// requireIndex requires that a statement reads notification by this index, or by id. With
// from, it starts at a position.
func requireIndex(t *testing.T, s *db.DB, name string, statement pgx.TraceQueryStartData, index string, from bool) {
	t.Helper()
	nodes, text := planOf(t, s, statement)
	by := 0
	for _, node := range nodes {
		if node.Relation == "notification" && node.Type != "ModifyTable" {
			require.NotEqual(t, "Seq Scan", node.Type, "%s: %s", name, text)
		}
		if strings.Contains(node.By, "(id = ") {
			by++ // one row
		} else if node.Index == "notification_once" {
			require.Contains(t, node.By, "event_id = ", "%s: one recipient's rows of one event: %s", name, text)
		} else if strings.HasPrefix(node.Index, "notification_") {
			require.Equal(t, from, strings.Contains(node.By, "ROW("), "%s: %s", name, text)
			require.Equal(t, index, node.Index, "%s: %s", name, text)
			by++
		}
	}
	require.Positive(t, by, "%s: %s", name, text)
}

// The statements of an event and its deliveries are planned a few times and then no more.
// This holds even if one event has nearly all rows. Planning takes longer than running.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()

	const rounds = 12 // Postgres plans the first five of a connection anew in any case
	s := postgrestest.New(t)
	roomtest.Plant(t, s, 5000, postgrestest.Delivery{}, postgrestest.Expressions{"event_id": "'broadcast'"})
	for i := range rounds {
		roomtest.EmitEvent(t, s, fmt.Sprint("evt-", i))
	}
	postgrestest.Exec(t, s, "VACUUM ANALYZE")
	config := s.Pool.Config()
	config.MaxConns = 1 // plans belong to one connection
	pool := roomtest.Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	defer pool.Close()
	one := &db.DB{Pool: pool}

	for i := range rounds {
		runEvent(t, one, fmt.Sprint("evt-", i))
	}

	require.Empty(t, postgrestest.List(t, one, "SELECT statement FROM pg_prepared_statements WHERE custom_plans > 5"))
	require.NotEmpty(t, postgrestest.List(t, one, "SELECT statement FROM pg_prepared_statements WHERE generic_plans > 5"))
}

// A plan may date from when a table was empty, or when all deliveries were SENT. It must
// not read all rows when there are more, or when a broadcast is PENDING. The plan stays
// until somebody analyzes the table.
func TestKeptPlansOfTablesThatGrow(t *testing.T) {
	t.Parallel()

	const few, many = 100, 5000                                                                     // rows
	one, s, err := db.OpenTwo(t.Context(), postgrestest.URL(t)+"&pool_max_conns=2", "one", "other") // one connection each
	require.NoError(t, err)
	defer one.Close()
	defer s.Close()
	for _, table := range postgrestest.List(t, s, "SELECT quote_ident(relname) FROM pg_stat_user_tables") {
		postgrestest.Exec(t, s, "ALTER TABLE "+table+" SET (autovacuum_enabled = false)")
	}
	roomtest.Plant(t, s, many, postgrestest.Delivery{Attempts: 1, Status: notification.Sent},
		postgrestest.Expressions{"event_id": "'sent-' || i", "delivery_id": "'s' || i"})
	postgrestest.Exec(t, s, "VACUUM ANALYZE notification")
	for i := range 8 {
		roomtest.EmitEvent(t, s, fmt.Sprint("evt-", i))
		runEvent(t, one, fmt.Sprint("evt-", i))
	}
	roomtest.EmitMany(t, s, many)
	roomtest.Plant(t, s, many, postgrestest.Delivery{Attempts: 1}, nil)
	postgrestest.AddMany(t, s.Pool, many, postgrestest.Attempt{}, postgrestest.Expressions{"delivery_id": "'d' || i"})
	read := func() map[string]int {
		for _, session := range []*db.DB{one, s} { // both have written
			postgrestest.Exec(t, session, "SELECT pg_stat_force_next_flush()")
		}
		found := map[string]int{}
		var name string
		var tuples int
		require.NoError(t, db.Each(t.Context(), s.Pool, "read statistics", []any{&name, &tuples}, func() { found[name] = tuples }, `
			SELECT relname, seq_tup_read FROM pg_stat_user_tables
			UNION ALL
			SELECT indexrelname, idx_tup_read FROM pg_stat_user_indexes`))
		return found
	}
	before := read()

	roomtest.EmitEvent(t, s, "evt-last")
	runEvent(t, one, "evt-last")

	for name, tuples := range read() {
		require.Less(t, tuples-before[name], few, name)
	}
}

// runEvent runs the statements of an event with three deliveries. A batch sends two of them.
func runEvent(t *testing.T, s *db.DB, eventID string) {
	t.Helper()
	ctx := t.Context()
	roomtest.Must(planner.On(s).EventSetup(ctx, eventID))(t)
	page := []notification.DecidedRecipient{roomtest.ToCustomer(eventID, "1"), roomtest.ToCustomer(eventID, "2"),
		roomtest.ToCustomer(eventID, "3")}
	require.NoError(t, planner.On(s).SavePlan(ctx, notification.Event{ID: eventID, Type: "T"}, page))
	stored := roomtest.Must(attempt.On(s).Undelivered(ctx, eventID, 500))(t)
	require.Len(t, stored, 3)
	next := roomtest.Must(attempt.On(s).NextDeliveries(ctx, eventID, roomtest.MailLane, notification.IDRange{}, "", 500))(t)
	ids := next.IDRange
	part := notification.Part{EventID: eventID, Lane: roomtest.MailLane, IDs: ids}
	require.NoError(t, roomtest.ErrOfTwo(attempt.On(s).LaneDeliveries(ctx, part, "", 250)))
	alone := stored[0].DeliveryID
	roomtest.EndAs(t, s, roomtest.SentAt(roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{alone}})[0].Number, alone)[0])
	batch := roomtest.Must(attempt.On(s).BatchDeliveries(ctx, eventID, stored[0].Channel, ids))(t)
	require.Len(t, batch, 2)
	roomtest.BeginBatch(t, s, batch)
	roomtest.EndGroup(t, s, roomtest.SentAt(1, batch...))
	roomtest.Must(attempt.On(s).HasRemainingRows(ctx, eventID, notification.Email, ids))(t)
	require.NoError(t, roomtest.ErrOfTwo(attempt.On(s).ClaimFailed(ctx, part, 1000, 250)))
	require.NoError(t, roomtest.ErrOfTwo(event.On(s).CancelPart(ctx, part, notification.CancelledInTemporal, 1000)))
	roomtest.Must(event.On(s).FinishEvent(ctx, notification.EventEnd{EventID: eventID, Success: true}))(t)
}

// Among 40,000 deliveries, recording receipts reads only the deliveries that they name,
// alone and in digests.
func TestReceiptsReadByIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Plant(t, s, 40_000, postgrestest.Delivery{Status: notification.Sent, Attempts: 1}, postgrestest.Expressions{
		"provider_message_id": "'m' || i", "digest_id": "CASE WHEN i % 10 = 0 THEN 'digest-' || i / 40 END",
	})
	postgrestest.AddMany(t, s.Pool, 40_000, postgrestest.Receipt{Status: "processed"},
		postgrestest.Expressions{"receipt_id": "'r' || i", "delivery_id": "'d' || i", "message_id": "'m' || i"})
	postgrestest.Exec(t, s, "VACUUM ANALYZE notification, delivery_receipt")
	listening, asked := roomtest.Heard(t, s)
	var given []notification.Receipt
	for n := range 200 {
		r := roomtest.Bounce(fmt.Sprint("b-", n))
		r.DeliveryID, r.MessageID = fmt.Sprint("d", n*7+1), fmt.Sprint("m", n*7+1)
		if n%20 == 0 {
			r.DeliveryID, r.MessageID = fmt.Sprint("digest-", n+1), ""
		}
		given = append(given, r)
	}

	require.Len(t, roomtest.Must(receipts.On(listening).RecordReceipts(t.Context(), given))(t), 200)
	read := map[string]int{}
	for _, statement := range asked.All {
		if len(statement.Args) == 0 {
			continue // begin, commit
		}
		nodes, text := planOf(t, s, statement)
		for _, node := range nodes {
			if node.Relation == "notification" || node.Relation == "delivery_receipt" {
				require.False(t, strings.Contains(node.Type, "Seq Scan"), text)
				read[node.Relation]++
			}
		}
	}
	require.Greater(t, read["notification"], 2, "locked, read and moved: %v", read)
	require.Greater(t, read["delivery_receipt"], 1, "stored, and asked for the reason: %v", read)
}
