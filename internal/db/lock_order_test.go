package db_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/event"
	"herald/internal/inbox"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
	"herald/internal/receipts"
	"herald/internal/roomtest"
)

// contended are 16 mails and 16 WEBSOCKET messages about the events v1 to v4 to staff 10 to 13, which
// several statements lock.
const contended = `
	DELETE FROM delivery_follow_up; DELETE FROM delivery_receipt; DELETE FROM notification_decision; DELETE FROM notification; DELETE
	       FROM throttle;
	DELETE FROM event_outbox;
	INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, collapse_key)
	SELECT 'v' || e, 'ORDER_STATUS', 'RESTAURANT', '5', '{}', 'order-7' FROM generate_series(1, 5) AS e ORDER BY e;
	INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, strategy, digest_id, escalates,
	                          collapse_key, collapse_seq, attempt_count, attempt_owner, attempt_began, attempt_until, available_at)
	SELECT o.event_id, o.event_type, 'RESTAURANT_USER', u::text, c, o.event_id || '-staff' || u || '-' || c, 't', 'b', 'AGGREGATE',
	       'digest-1', true, o.collapse_key, o.seq, 1, 'o', now() - interval '1 minute', now() - interval '1 second', now()
	FROM   event_outbox o, generate_series(10, 13) AS u, unnest(ARRAY['EMAIL', 'WEBSOCKET']) AS c
	WHERE  o.event_id <> 'v5'
	ORDER BY o.seq, u, c;
	UPDATE notification SET title = 'moved' WHERE id % 3 = 0; -- rows are not in the order of their ids
	INSERT INTO throttle (user_type, user_id, event_type, channel_type, throttle_key)
	SELECT 'RESTAURANT_USER', u::text, 'ORDER_STATUS', 'SMS', '' FROM generate_series(10, 13) AS u`

// contendedIDs returns the ids of contended, in the reverse order.
func contendedIDs() (ids []string) {
	for event := 4; event >= 1; event-- {
		for user := 13; user >= 10; user-- {
			ids = append(ids, fmt.Sprintf("v%d-staff%d-EMAIL", event, user))
		}
	}
	return ids
}

// lockers are the statements that lock several rows of contended.
var lockers = map[string]func(ctx context.Context, s *db.DB) error{
	"plan": func(ctx context.Context, s *db.DB) error {
		v5 := notification.Event{ID: "v5", Type: "ORDER_STATUS", CollapseKey: "order-7"}
		return planner.On(s).SavePlan(ctx, v5, roomtest.Mapped([]string{"13", "12", "11", "10"},
			func(id string) notification.DecidedRecipient { return roomtest.Version(v5, id, notification.SMS) }))
	},
	"locked plan": func(ctx context.Context, s *db.DB) error {
		v5 := notification.Event{ID: "v5", Type: "ORDER_STATUS", CollapseKey: "order-7"}
		var page notification.RecipientPage
		var decided []notification.DecidedRecipient
		for _, id := range []string{"13", "12", "11", "10"} {
			page.Recipients = append(page.Recipients, notification.Recipient{UserType: notification.RestaurantUser, Who: "staff", UserID: id})
			decided = append(decided, roomtest.Version(v5, id, notification.SMS))
		}
		keys := roomtest.Mapped(page.Recipients, func(r notification.Recipient) notification.Throttle { return smsKey("v5", r.UserID) })
		return planner.On(s).SaveLockedPlan(ctx, v5, page, keys,
			func(notification.Used) ([]notification.DecidedRecipient, error) { return decided, nil })
	},
	"follow": func(ctx context.Context, s *db.DB) error {
		key := smsKey("v2", "10")
		_, err := escalation.On(s).Follow(ctx, notification.EscalationKey{DeliveryID: "v2-staff10-EMAIL", To: notification.SMS, Throttle: &key},
			func(notification.Escalating) *notification.DecidedRecipient {
				follower := roomtest.Version(notification.Event{ID: "v2"}, "10", notification.SMS)
				return &follower
			})
		return err
	},
	"begin": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(attempt.On(s).BeginAttempts(ctx, notification.Begin{DeliveryIDs: contendedIDs(), Owner: "p", Lease: time.Minute}))
	},
	"end": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(attempt.On(s).EndAttempts(ctx, roomtest.Mapped(contendedIDs(), func(id string) notification.AttemptResult {
			return notification.AttemptResult{DeliveryID: id, Number: 1, Owner: "o", Outcome: notification.OutcomeRefused,
				Detail: "no", GiveUp: true}
		})))
	},
	"release": func(ctx context.Context, s *db.DB) error {
		return attempt.On(s).ReleaseAttempts(ctx, roomtest.Mapped(contendedIDs(), func(id string) notification.Attempt {
			return notification.Attempt{Owner: "o", Message: notification.Message{DeliveryID: id}}
		}))
	},
	"seal": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(attempt.On(s).SealDigest(ctx, notification.Sealing{
			DigestID: "digest-2", Key: notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email,
				EventType: "ORDER_STATUS"},
			Fits: func(notification.Digest, []notification.DigestItem) bool { return true },
		}))
	},
	"give up a digest": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(attempt.On(s).GiveUpDigest(ctx, "digest-1", notification.Failed, "no"))
	},
	"cancel": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOfTwo(event.On(s).CancelPart(ctx, contendedPart, notification.CancelledInTemporal, 100))
	},
	"claim failures": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOfTwo(attempt.On(s).ClaimFailed(ctx, contendedPart, 10, 10))
	},
	"reopen failures": func(ctx context.Context, s *db.DB) error { return attempt.On(s).ReopenFailed(ctx, contendedPart) },
	"merge": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(person.On(s).MergeTable(ctx, roomtest.Staff("10"), roomtest.Staff("99"), person.DeliveryTable))
	},
	"merge throttles": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(person.On(s).MergeTable(ctx, roomtest.Staff("10"), roomtest.Staff("99"), "throttle"))
	},
	"erase throttles": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(person.On(s).ErasePerson(ctx, roomtest.Staff("10"), "throttle"))
	},
	"receipts": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(receipts.On(s).RecordReceipts(ctx, roomtest.Mapped(contendedIDs(), func(id string) notification.Receipt {
			return notification.Receipt{Provider: "sendgrid", ID: id, DeliveryID: id, At: time.Now(), Word: "bounce", Status: notification.Failed}
		})))
	},
	"acknowledge": func(ctx context.Context, s *db.DB) error {
		ids, err := db.Collect(ctx, s.Pool, "read ids", pgx.RowTo[int64],
			"SELECT id FROM notification WHERE channel = 'WEBSOCKET' AND user_id = '10' ORDER BY id DESC")
		if err != nil {
			return err
		}
		return inbox.On(s).MarkDelivered(ctx, roomtest.Mapped(ids, func(id int64) notification.Acknowledgement {
			return notification.Acknowledgement{ID: id, RecipientKey: roomtest.Staff("10")}
		}))
	},
	"read all": func(ctx context.Context, s *db.DB) error {
		last, err := db.One(ctx, s.Pool, "read last id", pgx.RowTo[int64],
			"SELECT coalesce(max(id), 0) FROM notification WHERE channel = 'WEBSOCKET' AND user_id = '10'")
		if err != nil {
			return err
		}
		if err = inbox.On(s).MarkAllRead(ctx, roomtest.Staff("10"), last); errors.Is(err, notification.ErrNoNotification) {
			return nil // it was merged
		}
		return err
	},
	"erase": func(ctx context.Context, s *db.DB) error {
		return roomtest.ErrOf(person.On(s).EraseDeliveries(ctx, roomtest.Staff("10"), 0))
	},
}

var contendedPart = notification.Part{EventID: "v2", Lane: notification.Lane{Channel: notification.Email, Waiting: true}}

func smsKey(eventID, userID string) notification.Throttle {
	key := notification.ThrottleKey{UserType: notification.RestaurantUser, UserID: userID, Channel: notification.SMS}
	return notification.Throttle{ThrottleKey: key, DeliveryID: eventID + "-staff" + userID + "-SMS", Window: time.Hour}
}

// ofThrottles are the lockers that lock rows of throttle.
var ofThrottles = []string{"locked plan", "follow", "merge throttles", "erase throttles"}

// Every statement locks deliveries by id, and then the others. So no two of them wait for each other.
// A third session holds a row in their middle, so that both have locked what comes before it.
func TestLockOrder(t *testing.T) {
	t.Parallel()

	names := slices.Sorted(maps.Keys(lockers))
	for i, one := range names {
		t.Run(one, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			for _, two := range names[i:] {
				for _, status := range []string{"PENDING", "FAILED"} {
					for _, held := range []string{
						"notification WHERE delivery_id = 'v2-staff10-EMAIL'", "notification WHERE delivery_id = 'v2-staff11-EMAIL'",
						"throttle WHERE user_id = '10'",
					} {
						if strings.HasPrefix(held, "throttle") && (status == "FAILED" || !slices.Contains(ofThrottles, two)) {
							continue
						}
						postgrestest.Exec(t, s, contended)
						postgrestest.Exec(t, s, "UPDATE notification SET status = $1, last_error = CASE $1 WHEN 'FAILED' THEN 'no' END", status)
						requireNoDeadlock(t, s, "SELECT FROM "+held+" FOR UPDATE", lockers[one], lockers[two], one+" and "+two+" of "+status)
					}
				}
			}
		})
	}
}

// requireNoDeadlock runs two statements while a row is held, until both wait for a lock or have ended.
func requireNoDeadlock(t *testing.T, s *db.DB, held string, one, two func(context.Context, *db.DB) error, name string) {
	t.Helper()
	holder := postgrestest.OpenTx(t, s, held)
	ended := make(chan struct{}, 2)
	var group errgroup.Group
	for _, statement := range []func(context.Context, *db.DB) error{one, two} {
		group.Go(func() error {
			defer func() { ended <- struct{}{} }()
			return statement(t.Context(), s)
		})
	}
	require.Eventually(t, func() bool {
		return len(ended)+postgrestest.Get[int](t, s,
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") >= 2
	}, time.Minute, 2*time.Millisecond, name)
	require.NoError(t, holder.Rollback(t.Context()))
	err := group.Wait()
	refused, found := errors.AsType[*pgconn.PgError](err)
	require.False(t, found && refused.Code == "40P01", "%s: %v", name, err)
	require.NoError(t, err, name)
}
