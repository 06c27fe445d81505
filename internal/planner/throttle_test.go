package planner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/purge"
	"herald/internal/roomtest"
)

// alarm plans a mail about the n-th event of restaurant 5 to member 10, unless an earlier mail was
// planned within an hour. It returns that earlier delivery.
func alarm(t *testing.T, s *db.DB, n int) (instead string, err error) {
	t.Helper()
	event := notification.Event{ID: fmt.Sprint("alarm-", n), Type: "ALARM"}
	id := event.ID + "-staff10-EMAIL"
	keys := []notification.Throttle{{ThrottleKey: notification.ThrottleKey{UserType: notification.RestaurantUser, UserID: "10",
		Channel: notification.Email, Key: "k"}, DeliveryID: id, Window: time.Hour}}
	people := []notification.Recipient{{UserType: notification.RestaurantUser, UserID: "10"}}
	err = planner.On(s).SaveLockedPlan(t.Context(), event, notification.RecipientPage{Recipients: people}, keys,
		func(notification.Used) ([]notification.DecidedRecipient, error) {
			recipient := roomtest.DecidedOf(event.ID, "10", roomtest.Planned(notification.Email))
			if last := people[0].Throttles; len(last) > 0 {
				instead = last[0].DeliveryID
			}
			if instead != "" && instead != id {
				recipient.Deliveries = nil
				recipient.Decisions = map[notification.Channel]notification.Decision{notification.Email: notification.DecisionThrottled}
				recipient.ThrottledBy = map[notification.Channel]string{notification.Email: instead}
			}
			return []notification.DecidedRecipient{recipient}, nil
		})
	return instead, err
}

// One of many concurrent events notifies the recipient. The other events' decisions name its delivery.
func TestSaveLockedPlan(t *testing.T) {
	t.Parallel()

	const alarms = 100
	s := postgrestest.New(t)
	roomtest.SideBySide(t, alarms, func(n int) error { return roomtest.ErrOf(alarm(t, s, n)) })

	sent := postgrestest.List(t, s, "SELECT delivery_id FROM notification")
	require.Len(t, sent, 1)
	require.Equal(t, alarms-1,
		postgrestest.Get[int](t, s,
			`SELECT count(*) FROM notification_decision WHERE channels = '{"EMAIL": "THROTTLED"}' `+
				`AND throttled_by = jsonb_build_object('EMAIL', $1::text)`, sent[0]))
	require.Equal(t, 1,
		postgrestest.Get[int](t, s, "SELECT count(*) FROM throttle WHERE delivery_id = $1 AND ends_at - began_at = '1 hour'", sent[0]))
}

// A repeat of the first event, after a crash, changes nothing. A failure stores nothing.
func TestSaveLockedPlanRepeated(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	broken := errors.New("no text")
	keys := []notification.Throttle{{ThrottleKey: notification.ThrottleKey{UserType: notification.RestaurantUser, UserID: "10",
		Channel: notification.Email}}}
	err := planner.On(s).SaveLockedPlan(t.Context(), notification.Event{ID: "e", Type: "ALARM"}, notification.RecipientPage{}, keys,
		func(notification.Used) ([]notification.DecidedRecipient, error) {
			return nil, broken
		})
	require.ErrorIs(t, err, broken)
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM throttle"))

	require.Empty(t, roomtest.Must(alarm(t, s, 1))(t))
	before := postgrestest.Get[time.Time](t, s, "SELECT began_at FROM throttle")
	require.Equal(t, "alarm-1-staff10-EMAIL", roomtest.Must(alarm(t, s, 1))(t))
	require.Equal(t, "alarm-1-staff10-EMAIL", roomtest.Must(alarm(t, s, 2))(t))
	require.True(t, before.Equal(postgrestest.Get[time.Time](t, s, "SELECT began_at FROM throttle")))

	keys = append(keys, keys[0])
	keys[0].UserID, keys[1].Key = "11", "k"
	last := roomtest.Must(planner.On(s).Throttles(t.Context(), "ALARM", keys))(t)
	require.Len(t, last, 1)
	require.Equal(t, "alarm-1-staff10-EMAIL", last[0].DeliveryID)
}

// A delivery that is stored as FAILED while the next event waits for its row throttles nothing.
func TestSaveLockedPlanSeesTheEndOfTheLastDelivery(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.Empty(t, roomtest.Must(alarm(t, s, 1))(t))
	roomtest.SetStatus(t, s, "alarm-1-staff10-EMAIL", notification.Cancelled)
	other := postgrestest.OpenTx(t, s, "UPDATE throttle SET delivery_id = 'alarm-2-staff10-EMAIL'")
	postgrestest.Add(t, other, postgrestest.Delivery{
		ID: "alarm-2-staff10-EMAIL", EventID: "alarm-2", EventType: "ALARM", UserType: notification.RestaurantUser, UserID: "10",
		Status: notification.Failed,
	})
	var instead string
	roomtest.CommitDuring(t, s, other, func() (err error) {
		instead, err = alarm(t, s, 3)
		return err
	})

	require.Empty(t, instead)
	require.Equal(t, "alarm-3-staff10-EMAIL", postgrestest.Get[string](t, s, "SELECT delivery_id FROM throttle"))
}

// A delivery that failed or was cancelled throttles nothing: the next event is the first again.
func TestThrottleOfAnUnsentDelivery(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Failed, notification.Cancelled} {
		s := postgrestest.New(t)
		require.Empty(t, roomtest.Must(alarm(t, s, 1))(t))
		roomtest.SetStatus(t, s, "alarm-1-staff10-EMAIL", status)

		require.Empty(t, roomtest.Must(alarm(t, s, 2))(t), status)
		require.Equal(t, "alarm-2-staff10-EMAIL", roomtest.Must(alarm(t, s, 3))(t))
	}
}

func TestDeleteThrottles(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.AddMany(t, s.Pool, 10, postgrestest.Throttle{},
		postgrestest.Expressions{"user_id": "i", "ends_at": "now() + (i - 5) * interval '1 hour'"})

	require.Equal(t, 3, roomtest.Must(purge.On(s).DeleteThrottles(t.Context(), 3))(t))
	require.Equal(t, 1, roomtest.Must(purge.On(s).DeleteThrottles(t.Context(), 3))(t))
	require.Equal(t, 6, postgrestest.Get[int](t, s, "SELECT count(*) FROM throttle WHERE ends_at >= now() - interval '1 minute'"))
}
