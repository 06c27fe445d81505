package postgres_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// statements are what a store was heard to ask.
type statements struct {
	mu    sync.Mutex
	heard []pgx.TraceQueryStartData
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, data)
	return ctx
}

func (*statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, pgx.TraceQueryStartData{SQL: data.SQL, Args: data.Args})
}

func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// heard is a second store on the database of s, and what it asks.
func heard(t *testing.T, s *postgres.Store) (*postgres.Store, *statements) {
	t.Helper()
	of := &statements{}
	config := s.Pool.Config()
	config.ConnConfig.Tracer = of
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &postgres.Store{Pool: pool}, of
}

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

// Of a table of 200,000 rows, no question about an inbox reads more than an index leads to:
// neither of somebody who has a quarter of them, nor of somebody who has a few or none.
func TestInboxReadsByIndex(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	exec(t, s, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, attempt_count, created_at, available_at, sent_at, read_at)
		SELECT 'e' || i, 'T', 'RESTAURANT_USER', CASE WHEN i % 4 = 0 THEN '10' ELSE (20 + i % 2000)::text END, CASE WHEN i % 3 = 0 THEN 'EMAIL' ELSE 'WEBSOCKET' END, 'd' || i, 'title', 'body',
		       'SENT', 1, $1::timestamptz + i * interval '1 second', $1::timestamptz + i * interval '1 second', $1::timestamptz + i * interval '1 second', CASE WHEN i % 50 <> 0 THEN $1::timestamptz END
		FROM   generate_series(1, 200000) AS i`, inboxStart)
	exec(t, s, "VACUUM ANALYZE notification")
	listening, asked := heard(t, s)
	const inbox, unread = "notification_inbox", "notification_unread"
	middle := notification.InboxPosition{AvailableAt: inboxStart.Add(100_000 * time.Second), ID: 100_000}

	for _, userID := range []string{"10", "21", "nobody"} {
		who := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: userID}
		one := func() int64 {
			page, err := s.InboxAfter(ctx, who, middle, false, 1)
			require.NoError(t, err)
			if len(page.Items) == 0 {
				return 404
			}
			return page.Items[0].NotificationID
		}()
		tests := []struct {
			name  string
			ask   func() error
			index string // by which it reads notification, where not by id
			from  bool   // from a place on
		}{
			{name: "page", ask: func() error { _, err := listening.InboxPage(ctx, who, notification.InboxFilter{Limit: 20}); return err }, index: inbox},
			{name: "later page", ask: func() error {
				_, err := listening.InboxPage(ctx, who, notification.InboxFilter{Before: one, Limit: 20})
				return err
			}, index: inbox, from: true},
			{name: "unread page", ask: func() error {
				_, err := listening.InboxPage(ctx, who, notification.InboxFilter{Unread: true, Limit: 20})
				return err
			}, index: unread},
			{name: "catch-up", ask: func() error { _, err := listening.InboxAfter(ctx, who, middle, false, 100); return err }, index: inbox, from: true},
			{name: "unread catch-up", ask: func() error { _, err := listening.InboxAfter(ctx, who, middle, true, 100); return err }, index: unread, from: true},
			{name: "unread position", ask: func() error { _, err := listening.UnreadPosition(ctx, who, notification.MaxUnread); return err }, index: unread},
			{name: "count", ask: func() error { _, err := listening.Unread(ctx, who); return err }, index: unread},
			{name: "read", ask: func() error { return listening.MarkRead(ctx, who, one) }},
			{name: "all read", ask: func() error { return listening.MarkAllRead(ctx, who, one) }, index: unread, from: true},
			{name: "acknowledged", ask: func() error {
				return listening.MarkDelivered(ctx, []notification.Acknowledgement{{ID: one, RecipientKey: who}, {ID: one + 1, RecipientKey: who}})
			}},
		}
		for _, tt := range tests {
			asked.heard = nil
			if err := tt.ask(); userID != "nobody" {
				require.NoError(t, err, tt.name)
			}
			require.NotEmpty(t, asked.heard, tt.name)
			for _, statement := range asked.heard {
				requireIndex(t, s, tt.name+" of "+userID, statement, tt.index, tt.from)
			}
		}
	}
}

// requireIndex requires that a statement reads notification by this index, from a place
// on or not, or by id.
func requireIndex(t *testing.T, s *postgres.Store, name string, statement pgx.TraceQueryStartData, index string, from bool) {
	t.Helper()
	var text string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+statement.SQL, statement.Args...).Scan(&text))
	var plans []struct{ Plan planNode }
	require.NoError(t, json.Unmarshal([]byte(text), &plans))
	by := 0
	for _, node := range plans[0].Plan.all() {
		if node.Relation == "notification" && node.Type != "ModifyTable" {
			require.NotEqual(t, "Seq Scan", node.Type, "%s: %s", name, text)
		}
		if strings.Contains(node.By, "(id = ") {
			by++ // one row
		} else if node.Index == "notification_once" {
			require.Contains(t, node.By, "event_id = ", "%s: what one recipient was sent of one event: %s", name, text)
		} else if strings.HasPrefix(node.Index, "notification_") {
			require.Equal(t, from, strings.Contains(node.By, "ROW("), "%s: %s", name, text)
			require.Equal(t, index, node.Index, "%s: %s", name, text)
			by++
		}
	}
	require.Positive(t, by, "%s: %s", name, text)
}
