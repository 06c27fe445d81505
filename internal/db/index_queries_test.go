package db_test

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/inbox"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/purge"
	"herald/internal/receipts"
	"herald/internal/relay"
	"herald/internal/report"
	"herald/internal/roomtest"
)

// Each index that is not unique needs a statement that reads it, since it costs every
// write. Add a line here for a new index, and drop an index that loses its statement.
func TestEachIndexHasAStatement(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	fillAllTables(t, s)
	listening, asked := roomtest.Heard(t, s)
	indexes := postgrestest.List(t, s, `
		SELECT c.relname
		FROM   pg_index i
		JOIN   pg_class c ON c.oid = i.indexrelid
		WHERE  c.relnamespace = current_schema()::regnamespace
		AND    NOT i.indisunique`)
	slices.Sort(indexes)
	statements := statementsByIndex(listening)
	require.Equal(t, indexes, slices.Sorted(maps.Keys(statements)))

	for index, ask := range statements {
		asked.All = nil
		if err := ask(t.Context()); !errors.Is(err, notification.ErrNoDelivery) {
			require.NoError(t, err, index)
		}
		require.Contains(t, indexesOf(t, s, asked.All), index)
	}
}

// statementsByIndex returns, for each index, a call whose statement reads it.
func statementsByIndex(s *db.DB) map[string]func(ctx context.Context) error {
	r, l, newest := report.Reader{Pool: s.Pool}, list.Reader{Pool: s.Pool}, list.Place{Limit: 20}
	who := notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "7"}
	long := time.Now().Add(-time.Hour)
	purging := func(table purge.Table) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			return (purge.TableCleaner{Store: s, Table: table, HasTopic: true}).Clean(ctx, time.Hour, "", func(int, string) bool { return false })
		}
	}
	deliveries := func(filter list.DeliveryFilter) func(ctx context.Context) error {
		return func(ctx context.Context) error { return roomtest.ErrOf(l.Deliveries(ctx, filter, newest)) }
	}
	events := func(filter list.EventFilter) func(ctx context.Context) error {
		return func(ctx context.Context) error { return roomtest.ErrOf(l.Events(ctx, filter, newest)) }
	}
	retry := func(filter event.RetryFilter) func(ctx context.Context) error {
		return func(ctx context.Context) error { return roomtest.ErrOf(event.On(s).EventsToRetry(ctx, filter, "", 20)) }
	}
	actions := func(filter list.ActionFilter) func(ctx context.Context) error {
		return func(ctx context.Context) error { return roomtest.ErrOf(l.Actions(ctx, filter, newest)) }
	}
	recipients := func(entity notification.Entity, roles ...string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			targets := []notification.Target{{Entity: entity, Roles: roles}}
			return roomtest.ErrOf(planner.On(s).Recipients(ctx, "T", targets, notification.Cursor{}, 20))
		}
	}
	longID := func(ctx context.Context) error {
		return roomtest.ErrOf(receipts.On(s).RecordReceipts(ctx,
			[]notification.Receipt{{Provider: "vonage", ID: "V1/delivered", DeliveryID: strings.Repeat("a", 64), Word: "delivered"}}))
	}
	return map[string]func(ctx context.Context) error{
		"delivery_follow_up_delivery":  purging(purge.Notifications),
		"delivery_receipt_of_delivery": func(ctx context.Context) error { return roomtest.ErrOf(r.DeliveryDetail(ctx, "d7")) },
		"delivery_receipt_received_at": purging(purge.Receipts),
		"entity_follow_in_order":       recipients(roomtest.Restaurant5, notification.Follower),
		"entity_member_in_order":       recipients(roomtest.Restaurant5),
		"entity_member_user":           func(ctx context.Context) error { return roomtest.ErrOf(attempt.On(s).QuietCheck(ctx, "d7")) },
		"event_outbox_cancels":         func(ctx context.Context) error { return roomtest.ErrOf(attempt.On(s).DeliveryState(ctx, "d7")) },
		"event_outbox_claim": func(ctx context.Context) error {
			return roomtest.ErrOf(event.On(s).ClaimEvents(ctx, "a", 10, time.Hour))
		},
		"event_outbox_correlation_id": events(list.EventFilter{CorrelationID: "c7"}),
		"event_outbox_failed_id":      retry(event.RetryFilter{}),
		"event_outbox_latest":         events(list.EventFilter{}),
		"gateway_ticket_expires_at": func(ctx context.Context) error {
			return inbox.On(s).NewTicket(ctx, []byte("new"), who, long, long)
		},
		"merged_recipient_to": func(ctx context.Context) error { return roomtest.ErrOf(person.On(s).SelvesOf(ctx, who)) },
		"notification_collapse": func(ctx context.Context) error {
			return planner.On(s).SavePlan(ctx, notification.Event{ID: "e7", Type: "T", CollapseKey: "k7"},
				[]notification.DecidedRecipient{roomtest.Decided("7", roomtest.Planned(notification.Push))})
		},
		"notification_correlation_id":      deliveries(list.DeliveryFilter{CorrelationID: "c7"}),
		"notification_created_at":          purging(purge.Notifications),
		"notification_decision_decided_at": purging(purge.Decisions),
		"notification_decision_recipient": func(ctx context.Context) error {
			return roomtest.ErrOf(l.RecipientDecisions(ctx, list.RecipientFilter{RecipientKey: who}, 20))
		},
		"notification_failed_child": func(ctx context.Context) error {
			return roomtest.ErrOfTwo(attempt.On(s).ClaimFailed(ctx,
				notification.Part{EventID: "e7", Lane: notification.Lane{Channel: notification.Email}}, 1000, 20))
		},
		"notification_inbox_newest": func(ctx context.Context) error {
			return roomtest.ErrOf(inbox.On(s).InboxPage(ctx, who, notification.InboxFilter{Limit: 20}))
		},
		"notification_long_delivery_id": longID,
		"notification_long_digest_id":   longID,
		"notification_of_digest": func(ctx context.Context) error {
			return roomtest.ErrOf(attempt.On(s).GiveUpDigest(ctx, "digest-7", notification.Failed, "refused"))
		},
		"notification_of_user": deliveries(list.DeliveryFilter{UserType: who.UserType, UserID: who.UserID}),
		"notification_to_aggregate": func(ctx context.Context) error {
			return roomtest.ErrOf(attempt.On(s).DigestQuietCheck(ctx,
				notification.DigestKey{UserType: who.UserType, UserID: who.UserID, Channel: notification.Email, EventType: "T"}))
		},
		"notification_to_deliver": func(ctx context.Context) error {
			return roomtest.ErrOf(attempt.On(s).NextDeliveries(ctx, "e7", notification.Lane{Channel: notification.Email},
				notification.IDRange{}, "", 20))
		},
		"notification_unread_newest": func(ctx context.Context) error { return roomtest.ErrOf(inbox.On(s).Unread(ctx, who)) },
		"notification_unsent": func(ctx context.Context) error {
			_, _, err := event.On(s).StuckDeliveries(ctx, 0, notification.StuckScan{Age: time.Minute, To: time.Now(), Limit: 20})
			return err
		},
		"counted_message_at": func(ctx context.Context) error { return roomtest.ErrOf(purge.On(s).DeleteCounted(ctx, 20)) },
		"counted_message_recipient": func(ctx context.Context) error {
			return planner.On(s).ReadCounted(ctx, notification.Caps{{Channel: notification.Email}},
				[]notification.Recipient{{UserType: who.UserType, UserID: who.UserID}})
		},
		"throttle_ends":              func(ctx context.Context) error { return roomtest.ErrOf(purge.On(s).DeleteThrottles(ctx, 20)) },
		"operator_action_at":         purging(purge.Actions),
		"operator_action_target":     actions(list.ActionFilter{Target: "e7"}),
		"preference_change_at":       purging(purge.Preferences),
		"processed_event_created_at": purging(purge.Processed),
		"processed_event_failed_id":  retry(event.RetryFilter{}),
		"processed_event_outcome_at": events(list.EventFilter{Outcome: notification.NoRecipients}),
		"processed_event_outcome_id": retry(event.RetryFilter{Outcome: notification.NoRecipients}),
		"processed_event_processing": func(ctx context.Context) error {
			return roomtest.ErrOfTwo(event.On(s).StuckEvents(ctx, "", notification.StuckScan{Age: time.Minute, To: time.Now(), Limit: 20}))
		},
		"recipient_device_token": func(ctx context.Context) error {
			return roomtest.ErrOf(inbox.On(s).RegisterDevice(ctx, who, "token-7"))
		},
		"recipient_in_order": recipients(roomtest.Everybody),
		"source_row_failed":  func(ctx context.Context) error { _, _, err := relay.On(s).SourceState(ctx, "orders"); return err },
		"source_row_held": func(ctx context.Context) error {
			return roomtest.ErrOfTwo(relay.On(s).KnownRows(ctx, "orders", []string{"7"}, []int64{7}))
		},
		"recipient_suppression_since": func(ctx context.Context) error {
			return roomtest.ErrOf(l.Suppressions(ctx, list.SuppressionFilter{}, 20))
		},
	}
}

// fillAllTables writes the data of a month: many rows that are done, and a few of every other kind.
func fillAllTables(t *testing.T, s *db.DB) {
	t.Helper()
	for _, sql := range []string{`
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, error_message, created_at,
		                          correlation_id, cancels, source, acknowledged_at)
		SELECT 'e' || i, 'T', 'RESTAURANT', '5', '{}', CASE i % 100 WHEN 1 THEN 'PENDING' WHEN 2 THEN 'FAILED' ELSE 'PROCESSED' END,
		       CASE WHEN i % 100 NOT IN (1, 2) THEN now() END,
		       CASE i % 100 WHEN 2 THEN 'refused' END, now() - i * interval '1 minute', CASE WHEN i % 10 = 0 THEN 'c' || i END,
		       CASE WHEN i % 100 = 3 THEN 'e' || i + 1 END,
		       CASE WHEN i % 4 = 0 THEN 'orders' ELSE 'herald' END, CASE WHEN i % 100 <> 4 THEN now() END
		FROM   generate_series(1, 20000) AS i`, `
		INSERT INTO processed_event (event_id, status, outcome, created_at, updated_at)
		SELECT event_id, CASE WHEN seq % 100 = 5 THEN 'PROCESSING' WHEN seq % 100 = 6 THEN 'FAILED' ELSE 'SUCCESS' END,
		       CASE WHEN seq % 100 = 7 THEN 'NO_RECIPIENTS' END, created_at, created_at
		FROM   event_outbox
		WHERE  status = 'PROCESSED'`, `
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		SELECT event_id, 'RESTAURANT_USER', (seq % 1000)::text, created_at, '{"EMAIL":"SELECTED"}' FROM event_outbox`, `
		INSERT INTO notification (event_id, event_type, correlation_id, user_type, user_id, channel, delivery_id, title, body, status,
		                          last_error, strategy, attempt_count, created_at, sent_at, available_at, read_at, digest_id, collapse_key,
		                          collapse_seq)
		SELECT event_id, 'T', correlation_id, 'RESTAURANT_USER', (seq % 1000)::text, CASE WHEN seq % 2 = 1 THEN 'WEBSOCKET' ELSE 'EMAIL' END,
		       'd' || seq, 't', 'b',
		       CASE seq % 100 WHEN 8 THEN 'PENDING' WHEN 10 THEN 'FAILED' ELSE 'SENT' END, CASE seq % 100 WHEN 10 THEN 'refused' END,
		       CASE WHEN seq % 100 = 8 THEN 'AGGREGATE' ELSE 'IMMEDIATE' END,
		       1, created_at, created_at, created_at, CASE WHEN seq % 20 <> 1 THEN now() END, CASE WHEN seq % 40 = 0 THEN 'digest-' || seq END,
		       CASE WHEN seq % 10 = 7 THEN 'k' || seq END, CASE WHEN seq % 10 = 7 THEN seq END
		FROM   event_outbox`, `
		INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, at, received_at, status)
		SELECT 'sendgrid', 'r' || i, 'd' || i, now(), now() - i * interval '1 minute', 'processed' FROM generate_series(1, 20000) AS i`, `
		INSERT INTO delivery_follow_up (delivery_id, kind) SELECT 'd' || i, 'DEAD_LETTER' FROM generate_series(1, 5000) AS i`, `
		INSERT INTO merged_recipient (user_type, user_id, to_user_type, to_user_id)
		SELECT 'GUEST', i::text, 'CUSTOMER', (i % 1000)::text FROM generate_series(1, 5000) AS i`, `
		INSERT INTO operator_action (at, actor, command, target) SELECT now() - i * interval '1 minute', 'ada', 'retry', 'e' || i
		FROM   generate_series(1, 5000) AS i`, `
		INSERT INTO preference_change (at, user_type, user_id, setting, old_value, new_value)
		SELECT now() - i * interval '1 minute', 'RESTAURANT_USER', (i % 1000)::text, 'ENABLED', 'true', 'false'
		FROM   generate_series(1, 5000) AS i`, `
		INSERT INTO recipient_suppression (channel, address_hash, reason, since)
		SELECT 'EMAIL', sha256(i::text::bytea), 'BOUNCE', now() - i * interval '1 minute' FROM generate_series(1, 5000) AS i`, `
		INSERT INTO source_row (source, row_key, event_id, key_hash, refusals, error, failed_at)
		SELECT 'orders', i::text, i::text, i, 1, 'refused', CASE WHEN i % 100 = 0 THEN now() END FROM generate_series(1, 5000) AS i`, `
		INSERT INTO throttle (user_type, user_id, event_type, channel_type, throttle_key, ends_at)
		SELECT 'RESTAURANT_USER', i::text, 'T', 'EMAIL', '', now() + (i - 5) * interval '1 minute' FROM generate_series(1, 5000) AS i`, `
		INSERT INTO frequency_cap (channel_type, at_most, per) VALUES ('EMAIL', 3, '1 day')`, `
		INSERT INTO counted_message (message_id, user_type, user_id, channel_type, category, at, waits)
		SELECT 'm' || i, 'RESTAURANT_USER', (i % 100)::text, 'EMAIL', '', now() - (i - 5) * interval '1 minute', false
		FROM   generate_series(1, 5000) AS i`, `
		INSERT INTO gateway_ticket (ticket_hash, user_type, user_id, token_expires_at, expires_at)
		SELECT sha256(i::text::bytea), 'RESTAURANT_USER', '7', now(), now() + (i - 100) * interval '1 second'
		FROM   generate_series(1, 5000) AS i`, `
		INSERT INTO recipient (user_type, user_id) SELECT 'RESTAURANT_USER', i::text FROM generate_series(1, 20000) AS i`, `
		INSERT INTO recipient_device (user_type, user_id, token) SELECT user_type, user_id, 'token-' || user_id FROM recipient`, `
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', CASE WHEN i % 2 = 0 THEN '5' ELSE i::text END, 'RESTAURANT_USER', i::text, 'STAFF'
		FROM   generate_series(1, 20000) AS i`, `
		INSERT INTO entity_follow (entity_type, entity_id, user_type, user_id)
		SELECT entity_type, entity_id, user_type, user_id FROM entity_member`, `
		INSERT INTO entity_mute (entity_type, entity_id, user_type, user_id)
		SELECT entity_type, entity_id, user_type, user_id FROM entity_member LIMIT 5000`,
		"VACUUM ANALYZE",
	} {
		postgrestest.Exec(t, s, sql)
	}
}

// indexesOf returns the indexes that the database reads for statements.
func indexesOf(t *testing.T, s *db.DB, asked []pgx.TraceQueryStartData) (names []string) {
	t.Helper()
	for _, statement := range asked {
		if verb, _, _ := strings.Cut(strings.TrimSpace(statement.SQL), " "); verb == "begin" || verb == "commit" || verb == "rollback" {
			continue
		}
		nodes, _ := planOf(t, s, statement)
		for _, node := range nodes {
			if node.Index != "" {
				names = append(names, node.Index)
			}
		}
	}
	return names
}

// The latest events are read from the end of an index, whatever their number. A search for rare ones
// reads a part of that index.
func TestLatestEventsByIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.AddMany(t, s.Pool, 20_000, postgrestest.Event{AggregateType: "ADMIN", AggregateID: "1", Status: notification.OutboxProcessed},
		postgrestest.Expressions{"event_id": "'evt-' || i", "created_at": "now() - (20000 - i) * interval '1 second'"})
	postgrestest.Exec(t, s, "ANALYZE event_outbox")
	latest := func(s *db.DB) list.Reader { return list.Reader{Pool: s.Pool, Searched: 1000} }
	for name, tt := range map[string]struct {
		ask  func(*db.DB) error
		part bool // of the index
		two  bool // statements: the first one finds the end of the search
	}{
		"list": {ask: func(s *db.DB) error {
			return roomtest.ErrOf(latest(s).Events(t.Context(), list.EventFilter{}, list.Place{Limit: 50}))
		}},
		"check": {ask: func(s *db.DB) error {
			return roomtest.ErrOf(report.Reader{Pool: s.Pool}.RecentTypes(t.Context(), 7*24*time.Hour, []string{notification.HeraldSource}))
		}, part: true},
		"later page": {ask: func(s *db.DB) error {
			return roomtest.ErrOf(latest(s).Events(t.Context(), list.EventFilter{}, list.Place{After: "evt-9000", Limit: 50}))
		}, part: true},
		"rare type": {ask: func(s *db.DB) error {
			return roomtest.ErrOf(latest(s).Events(t.Context(), list.EventFilter{Type: "RARE"}, list.Place{After: "evt-9000", Limit: 50}))
		}, part: true, two: true},
		"rare aggregate": {ask: func(s *db.DB) error {
			rare := list.EventFilter{Aggregate: notification.Entity{Type: "ADMIN", ID: "2"}, Since: time.Now().Add(-24 * time.Hour)}
			return roomtest.ErrOf(latest(s).Events(t.Context(), rare, list.Place{Limit: 50}))
		}, part: true, two: true},
	} {
		plans := roomtest.AllPlansOf(t, s, tt.ask)
		if tt.two {
			require.Regexp(t, `(?s)^Index Scan.*event_outbox_latest on event_outbox e\b`, plans[len(plans)-2], name)
		}
		plan := plans[len(plans)-1]
		require.Contains(t, plan, "event_outbox_latest", name)
		require.NotContains(t, plan, "Seq Scan on event_outbox", name)
		require.Equal(t, tt.part, regexp.MustCompile(`event_outbox_latest.*\n +Index Cond: `).MatchString(plan), plan)
	}
}

// The deliveries of an event are read in the order of an index. A search for rare ones reads a part of
// that index.
func TestDeliveriesOfAnEventByIndex(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Plant(t, s, 20_000, postgrestest.Delivery{},
		postgrestest.Expressions{"event_id": "CASE WHEN i <= 10000 THEN 'broadcast' ELSE 'e' || i END"})
	postgrestest.Exec(t, s, "VACUUM ANALYZE notification")
	all := list.DeliveryFilter{EventID: "broadcast"}
	sent := list.DeliveryFilter{EventID: "broadcast", Statuses: []notification.Status{notification.Sent}}
	const ofEvent, after = `Index Cond: \(+event_id = 'broadcast'`, ` AND \(ROW\(user_type, user_id, channel\) > `
	const through = `.* AND \(ROW\(user_type, user_id, channel\) <= `
	for _, tt := range []struct {
		filter list.DeliveryFilter
		after  string
		want   string
		sort   bool // of the few that fit
	}{
		{filter: all, want: ofEvent},
		{filter: all, after: "d5000", want: ofEvent + `::text\)` + after},
		{filter: sent, after: "d5000", want: ofEvent + `::text\)` + after + through, sort: true},
	} {
		plans := roomtest.AllPlansOf(t, s, func(s *db.DB) error {
			l := list.Reader{Pool: s.Pool, Searched: 1000}
			return roomtest.ErrOf(l.Deliveries(t.Context(), tt.filter, list.Place{After: tt.after, Limit: 50}))
		})
		plan := plans[len(plans)-1]
		if tt.sort {
			require.Regexp(t, `notification_once.*\n +`+ofEvent+`::text\)`+after, plans[len(plans)-2], "the end of the search")
		}
		require.Regexp(t, `notification_once.*\n +`+tt.want, plan)
		require.Equal(t, tt.sort, strings.Contains(plan, "Sort"), plan)
		require.NotContains(t, plan, "Seq Scan")
	}
	inOrder := roomtest.AllPlansOf(t, s, func(s *db.DB) error {
		return roomtest.ErrOf(list.Reader{Pool: s.Pool}.DeliveriesAfter(t.Context(), all, 5000, 50))
	})
	require.Contains(t, inOrder[0], "Index Scan using notification_pkey", "a page of many does not sort all of them")
}

// Each index costs every write of its table. An index that is the beginning of another one
// saves nothing more.
func TestNoIndexIsAPrefixOfAnother(t *testing.T) {
	t.Parallel()

	require.Empty(t, postgrestest.List(t, postgrestest.New(t), `
		SELECT shorter.indexrelid::regclass || ' of ' || longer.indexrelid::regclass
		FROM   pg_index shorter
		JOIN   pg_index longer USING (indrelid)
		JOIN   pg_class c ON c.oid = indrelid AND c.relnamespace = 'public'::regnamespace
		WHERE  NOT shorter.indisunique
		AND    shorter.indexprs IS NULL
		AND    starts_with(longer.indkey::text, shorter.indkey::text || ' ')
		AND    starts_with(longer.indoption::text, shorter.indoption::text || ' ')
		AND    pg_get_expr(shorter.indpred, indrelid) IS NOT DISTINCT FROM pg_get_expr(longer.indpred, indrelid)`))
}
