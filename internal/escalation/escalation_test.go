package escalation_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

const push, text = "evt-1-staff10-PUSH", "evt-1-staff10-SMS"

// pushToText is the escalation that the tests configure.
var pushToText = notification.Escalation{From: notification.Push, To: notification.SMS, After: 5 * time.Minute,
	Until: notification.UntilRead, IfUnreachable: true}

// withEscalation returns a store where SMS follows PUSH, with one push message of evt-1 to
// staff 10.
func withEscalation(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	const eventType = "RESERVATION_REQUESTED"
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: eventType}, postgrestest.Route{EventType: eventType, Channel: notification.Push},
		postgrestest.Route{EventType: eventType, Channel: notification.SMS, OnEscalationOnly: true},
		postgrestest.Escalation{EventType: eventType, From: notification.Push})
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Push)))
	return s
}

// toText returns the decision to send an SMS to one of the staff.
func toText(userID string) *notification.DecidedRecipient {
	follower := roomtest.Decided(userID, roomtest.Planned(notification.SMS))
	follower.Entity = roomtest.Restaurant5
	return &follower
}

// follow sends an SMS unless there is one.
func follow(t *testing.T, s *db.DB, id string) (found notification.Escalating, follower *notification.Delivery) {
	t.Helper()
	follower, err := escalation.On(s).Follow(t.Context(), notification.EscalationKey{DeliveryID: id, To: notification.SMS},
		func(now notification.Escalating) *notification.DecidedRecipient {
			if found = now; now.Told {
				return nil
			}
			return toText("10")
		})
	require.NoError(t, err)
	return found, follower
}

// A delivery over a channel that escalates is marked. A digest is not marked, nor a delivery that
// was planned before the escalation existed.
func TestSavePlanMarksEscalatingDeliveries(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	inDigest := roomtest.Planned(notification.Push)
	inDigest.Strategy = notification.Aggregate
	deliveries, ids := roomtest.SavePlan(t, s, roomtest.Decided("11", inDigest),
		roomtest.Decided("12", roomtest.Planned(notification.Push), roomtest.Planned(notification.Email)))
	require.Len(t, deliveries, 3)
	escalations := map[string]*notification.Escalation{}
	for _, d := range deliveries {
		escalations[d.DeliveryID] = d.Escalation
	}
	require.Equal(t, map[string]*notification.Escalation{"evt-1-staff11-PUSH": nil, "evt-1-staff12-PUSH": &pushToText,
		"evt-1-staff12-EMAIL": nil}, escalations)
	require.ElementsMatch(t, []string{"evt-1-staff11-PUSH", "evt-1-staff12-PUSH"}, roomtest.IDsIn(t, s, ids, true), "they wait")
	require.Equal(t, []string{"evt-1-staff12-EMAIL"}, roomtest.IDsIn(t, s, ids, false))

	require.Equal(t, []notification.Lane{{Channel: notification.Email}, {Channel: notification.Push, Waiting: true}},
		roomtest.Must(attempt.On(s).Lanes(t.Context(), "evt-1"))(t))

	postgrestest.Exec(t, s, "DELETE FROM event_type_escalation")
	for _, d := range undelivered(t, s) {
		require.Nil(t, d.Escalation, d.DeliveryID)
	}
}

func undelivered(t *testing.T, s *db.DB) []notification.Delivery {
	t.Helper()
	return roomtest.Must(attempt.On(s).Undelivered(t.Context(), "evt-1", 10))(t)
}

// An event whose workflow was lost checks again whether a sent delivery needs a follower.
func TestUndeliveredContainsEscalatingDeliveries(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	roomtest.SavePlan(t, s, roomtest.Decided("11", roomtest.Planned(notification.Email)))
	roomtest.SetStatus(t, s, push, notification.Sent)
	roomtest.SetStatus(t, s, "evt-1-staff11-EMAIL", notification.Sent)

	left := undelivered(t, s)

	require.Len(t, left, 1)
	require.Equal(t, push, left[0].DeliveryID)
	require.Equal(t, &pushToText, left[0].Escalation)
}

// A repeat finds the result of the first call, and stores nothing.
func TestFollow(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	postgrestest.Exec(t, s, "UPDATE notification SET correlation_id = 'c-1'")
	postgrestest.Add(t, s.Pool,
		postgrestest.Escalation{EventType: "RESERVATION_REQUESTED", From: notification.SMS, To: notification.Email, After: time.Hour,
			Until: notification.UntilDelivered})
	want := &notification.Delivery{
		DeliveryID: text, Channel: notification.SMS, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.Normal,
		Escalation: &notification.Escalation{From: notification.SMS, To: notification.Email, After: time.Hour, Until: notification.UntilDelivered,
			IfUnreachable: true},
	}

	before, first := follow(t, s, push)
	require.Equal(t, notification.Escalating{Now: before.Now, EventType: "RESERVATION_REQUESTED", Status: notification.Pending}, before)
	require.Equal(t, want, first)
	require.Equal(t, want, roomtest.Must(escalation.On(s).Follower(t.Context(), push))(t))
	again, second := follow(t, s, push)
	require.True(t, again.Told && again.Followed)
	require.Equal(t, want, second)

	require.Equal(t, push, postgrestest.Get[string](t, s, "SELECT escalated_from FROM notification WHERE delivery_id = $1", text))
	require.Equal(t, "c-1 RESTAURANT/5 PENDING", postgrestest.Get[string](t, s,
		"SELECT concat_ws(' ', correlation_id, entity_type || '/' || entity_id, status) FROM notification WHERE delivery_id = $1", text))
	require.JSONEq(t, `{"PUSH": "SELECTED", "SLACK": "NO_ADDRESS", "SMS": "SELECTED"}`,
		postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision"))
}

// A merge moves a delivery while its escalation runs. The delivery that follows goes to the first
// person, and a repeat finds it.
func TestFollowAfterAMerge(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	postgrestest.Exec(t, s, "UPDATE notification SET user_id = '11'")
	for range 2 {
		_, follower := follow(t, s, push)
		require.NotNil(t, follower)
		require.Equal(t, text, follower.DeliveryID)
		require.Equal(t, "10", follower.UserID)
	}
}

// An earlier message of the event over the other channel does not count as the follower.
func TestFollowFindsAnEarlierMessage(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	roomtest.SavePlan(t, s, roomtest.Decided("11", roomtest.Planned(notification.Push), roomtest.Planned(notification.SMS)))

	found, follower := follow(t, s, "evt-1-staff11-PUSH")

	require.True(t, found.Told)
	require.False(t, found.Followed)
	require.Nil(t, follower)
}

// The decision sees a recipient who reads a notification meanwhile, or the reader waits for it.
func TestFollowSeesAReader(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	roomtest.SetStatus(t, s, push, notification.Sent)
	reader := postgrestest.OpenTx(t, s, "UPDATE notification SET read_at = now() WHERE delivery_id = $1", push)
	var found notification.Escalating
	roomtest.CommitDuring(t, s, reader, func() error {
		_, err := escalation.On(s).Follow(context.WithoutCancel(t.Context()), notification.EscalationKey{DeliveryID: push, To: notification.SMS},
			func(now notification.Escalating) *notification.DecidedRecipient {
				found = now
				return nil
			})
		return err
	})
	require.True(t, found.Read)
}

// Reading any notification of the event counts. Notifications of other people or other
// events do not.
func TestEscalatingIsRead(t *testing.T) {
	t.Parallel()

	for id, want := range map[string]bool{"evt-1-staff10-WEBSOCKET": true, "evt-1-staff11-WEBSOCKET": false,
		"evt-2-staff10-WEBSOCKET": false} {
		s := withEscalation(t)
		roomtest.SavePlan(t, s, roomtest.Decided("10"), roomtest.Decided("11", roomtest.Planned(notification.WebSocket)))
		postgrestest.AddMany(t, s.Pool, 2, postgrestest.Delivery{
			UserType: notification.RestaurantUser, UserID: "10", Channel: notification.WebSocket, Status: notification.Sent,
		}, postgrestest.Expressions{"event_id": "'evt-' || i", "delivery_id": "'evt-' || i || '-staff10-WEBSOCKET'"})
		postgrestest.Exec(t, s,
			"UPDATE notification SET status = 'DELIVERED', sent_at = now(), delivered_at = now(), read_at = now() WHERE delivery_id = $1", id)

		require.Equal(t, want,
			roomtest.Must(escalation.On(s).Escalating(t.Context(), notification.EscalationKey{DeliveryID: push, To: notification.SMS}))(t).Read, id)
	}
}

// If an entity allows one recipient, concurrent decisions take turns, and the later one
// counts the earlier.
func TestFollowTakesTurns(t *testing.T) {
	t.Parallel()

	s := withEscalation(t)
	roomtest.SavePlan(t, s, roomtest.Decided("11", roomtest.Planned(notification.Push)))
	roomtest.SideBySide(t, 2, func(i int) error {
		user := []string{"10", "11"}[i]
		key := notification.EscalationKey{DeliveryID: notification.DeliveryID("evt-1", "staff", user, notification.Push), To: notification.SMS,
			Limited: roomtest.Restaurant5}
		_, err := escalation.On(s).Follow(context.WithoutCancel(t.Context()), key,
			func(now notification.Escalating) *notification.DecidedRecipient {
				if now.Selected > 0 {
					return nil
				}
				return toText(user)
			})
		return err
	})
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE channel = 'SMS'"))
}

// A delivery that was dropped because its recipient can no longer be reached is
// unreachable.
func TestEscalatingUnreachable(t *testing.T) {
	t.Parallel()

	for reason, want := range map[string]bool{"NO_ADDRESS": true, "SUPPRESSED": true, "USER_DISABLED": false, "cancelled": false} {
		s := withEscalation(t)
		postgrestest.Exec(t, s, "UPDATE notification SET status = 'CANCELLED', last_error = $1", reason)
		now, err := escalation.On(s).Escalating(t.Context(), notification.EscalationKey{DeliveryID: push, To: notification.SMS})
		require.NoError(t, err)
		require.Equal(t, want, now.Unreachable, reason)
	}
}

// Escalations of one event type may follow one another, but never return to their start.
func TestEscalationsRefuseCircles(t *testing.T) {
	t.Parallel()

	const row = `INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) ` +
		`VALUES ('%T', '%F', '%D', '5 minutes', 'READ')`
	from := func(eventType, from, to string) string {
		return strings.NewReplacer("%T", eventType, "%F", from, "%D", to).Replace(row)
	}
	s := postgrestest.New(t)
	for _, channel := range []notification.Channel{notification.Push, notification.SMS, notification.Email, notification.Slack} {
		postgrestest.Add(t, s.Pool, postgrestest.Route{EventType: "A", Channel: channel}, postgrestest.Route{EventType: "B", Channel: channel})
	}
	postgrestest.Exec(t, s, from("A", "PUSH", "SMS"))
	postgrestest.Exec(t, s, from("A", "SMS", "EMAIL"))
	postgrestest.Exec(t, s, from("B", "EMAIL", "PUSH"))

	refused := func(sql string) {
		t.Helper()
		_, err := s.Pool.Exec(t.Context(), sql)
		var problem *pgconn.PgError
		require.ErrorAs(t, err, &problem, sql)
		require.Equal(t, "event_type_escalation_no_circle", problem.ConstraintName)
	}
	refused(from("A", "EMAIL", "PUSH"))
	refused(from("A", "EMAIL", "SMS"))
	refused(from("A", "SLACK", "SLACK"))
	refused(`UPDATE event_type_escalation SET to_channel = 'PUSH' WHERE event_type = 'A' AND from_channel = 'SMS'`)
	postgrestest.Exec(t, s, `UPDATE event_type_escalation SET to_channel = 'SLACK' WHERE event_type = 'A' AND from_channel = 'SMS'`)
	postgrestest.Exec(t, s, from("A", "EMAIL", "PUSH"))

	// If two would close a circle together, the second waits for the first, and is refused.
	first := postgrestest.OpenTx(t, s, from("B", "PUSH", "SMS"))
	second := make(chan error, 1)
	go func() {
		_, err := s.Pool.Exec(t.Context(), from("B", "SMS", "EMAIL"))
		second <- err
	}()
	roomtest.AwaitLock(t, s)
	require.NoError(t, first.Commit(t.Context()))
	require.ErrorContains(t, <-second, "closes a circle")
}
