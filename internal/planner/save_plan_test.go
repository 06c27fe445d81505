package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

// Event e with customer 5-customer7, event e-customer5 with customer 7, and a third pair
// have one delivery id. The later two fail with that reason, however often they are planned.
func TestSavePlanWithATakenID(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	const id = "e-customer5-customer7-customer8-EMAIL"
	first := roomtest.SaveOf(t, s, "e-customer5-customer7", roomtest.ToCustomer("e-customer5-customer7", "8"))
	require.Equal(t, id, first[0].DeliveryID)

	for range 2 {
		second := roomtest.SaveOf(t, s, "e-customer5", roomtest.ToCustomer("e-customer5", "7-customer8"), roomtest.ToCustomer("e-customer5", "9"))
		third := roomtest.SaveOf(t, s, "e", roomtest.ToCustomer("e", "5-customer7-customer8"))
		require.Len(t, second, 2)
		require.Equal(t, "e-customer5-customer9-EMAIL", second[1].DeliveryID, "the other recipient of the page is planned")
		for _, later := range []notification.Delivery{second[0], third[0]} {
			require.Equal(t,
				fmt.Sprintf("%s~%d", id, postgrestest.Get[int](t, s, "SELECT id FROM notification WHERE delivery_id = $1", later.DeliveryID)),
				later.DeliveryID)
			require.Equal(t, roomtest.Row{
				Status: "FAILED", Address: new("to-EMAIL"),
				Error: new("the id " + id + " is taken by the delivery of event e-customer5-customer7 to CUSTOMER/8"),
			}, roomtest.Delivery(t, s, later.DeliveryID))
		}
	}
	require.Equal(t, "PENDING", roomtest.Delivery(t, s, id).Status)
	require.Equal(t, 4, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
	require.Equal(t, 4, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
}

// If two pairs are planned at once, one may fail, and its repeat succeeds.
func TestSavePlanWithATakenIDSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.SideBySide(t, 2, func(i int) error {
		pair := [][2]string{{"e", "5-customer7"}, {"e-customer5", "7"}}[i]
		plan := func() error {
			return planner.On(s).SavePlan(t.Context(), notification.Event{ID: pair[0], Type: "T"},
				[]notification.DecidedRecipient{roomtest.ToCustomer(pair[0], pair[1])})
		}
		if plan() == nil {
			return nil
		}
		return plan()
	})
	require.Equal(t, 1, postgrestest.Get[int](t, s,
		"SELECT count(*) FROM notification WHERE status = 'PENDING' AND delivery_id = 'e-customer5-customer7-EMAIL'"))
	require.Equal(t, 1, postgrestest.Get[int](t, s,
		"SELECT count(*) FROM notification WHERE status = 'FAILED' AND delivery_id = 'e-customer5-customer7-EMAIL~' || id"))
}

// Deliveries that outlive a purge of decisions stay. A new plan adds the missing ones.
func TestSavePlanAfterAPurgeOfDecisions(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.SavePlan(t, s, roomtest.Decided("9", roomtest.Planned(notification.Email)))
	postgrestest.Exec(t, s, "DELETE FROM notification_decision")
	changed := roomtest.Planned(notification.Email)
	changed.Body = "changed"

	again, _ := roomtest.SavePlan(t, s, roomtest.Decided("9", changed, roomtest.Planned(notification.SMS)))

	require.Len(t, again, 2)
	require.Equal(t, new("body"), roomtest.Delivery(t, s, "evt-1-staff9-EMAIL").Body)
	require.Equal(t, "PENDING", roomtest.Delivery(t, s, "evt-1-staff9-SMS").Status)
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
}

func TestSavePlan(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	at := time.Date(2099, 11, 22, 7, 0, 0, 123456000, time.UTC)
	later := roomtest.Planned(notification.Email)
	later.Strategy, later.Priority, later.SendAfter = notification.Delayed, notification.High, at
	bare := roomtest.Planned(notification.Push)
	bare.Address = ""
	broken := notification.PlannedDelivery{
		Channel: notification.SMS, Address: "+1", Strategy: notification.Immediate, Priority: notification.Low, Problem: "no key pax",
	}
	page := []notification.DecidedRecipient{roomtest.Decided("10", later, bare), roomtest.Decided("9", broken), roomtest.Decided("8")}

	deliveries, ids := roomtest.SavePlan(t, s, page...)

	want := []notification.Delivery{
		{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, UserType: notification.RestaurantUser, UserID: "10",
			Priority: notification.High, Later: true},
		{DeliveryID: "evt-1-staff10-PUSH", Channel: notification.Push, UserType: notification.RestaurantUser, UserID: "10",
			Priority: notification.Normal},
		{DeliveryID: "evt-1-staff9-SMS", Channel: notification.SMS, UserType: notification.RestaurantUser, UserID: "9",
			Priority: notification.Low},
	}
	require.ElementsMatch(t, want, deliveries)
	require.Equal(t, []string{"evt-1-staff10-EMAIL"}, roomtest.IDsIn(t, s, ids, true))
	require.ElementsMatch(t, []string{"evt-1-staff10-PUSH", "evt-1-staff9-SMS"}, roomtest.IDsIn(t, s, ids, false))

	require.Equal(t, roomtest.Row{Status: "PENDING", Title: new("title"), Body: new("body"), Address: new("to-EMAIL")},
		roomtest.Delivery(t, s, "evt-1-staff10-EMAIL"))
	require.Equal(t, roomtest.Row{Status: "PENDING", Title: new("title"), Body: new("body")}, roomtest.Delivery(t, s, "evt-1-staff10-PUSH"))
	require.Equal(t, roomtest.Row{Status: "FAILED", Error: new("no key pax"), Address: new("+1")}, roomtest.Delivery(t, s, "evt-1-staff9-SMS"))
	require.Equal(t, "DELAYED", postgrestest.Get[string](t, s, "SELECT strategy FROM notification WHERE channel = 'EMAIL'"))
	require.Equal(t, "RESERVATION_REQUESTED", postgrestest.Get[string](t, s, "SELECT event_type FROM notification WHERE channel = 'EMAIL'"))
	require.JSONEq(t, `{"EMAIL": "SELECTED", "PUSH": "SELECTED", "SLACK": "NO_ADDRESS"}`,
		postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '10'"))
	require.JSONEq(t, `{"SLACK": "NO_ADDRESS"}`,
		postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '8'"))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(correlation_id) FROM notification"), "the event has none")

	deliveries, ids = roomtest.SavePlan(t, s) // for nobody
	require.Empty(t, deliveries)
	require.Zero(t, ids)
}

// A delivery that cannot be sent does not wait for its own time or for the end of quiet
// hours. Its workflow ends at once, and it can be retried.
func TestSavePlanOfUnsendableDeliveries(t *testing.T) {
	t.Parallel()

	for _, strategy := range []notification.Strategy{notification.Delayed, notification.Immediate} {
		s := postgrestest.New(t)
		broken := roomtest.Planned(notification.Email)
		broken.Strategy, broken.SendAfter, broken.Problem = strategy, time.Now().AddDate(5, 0, 0), "no key pax"
		taken := roomtest.Planned(notification.SMS)
		taken.Strategy, taken.SendAfter = strategy, broken.SendAfter
		roomtest.SavePlan(t, s, roomtest.Decided("8", roomtest.Planned(notification.SMS)))
		postgrestest.Exec(t, s, "UPDATE notification SET delivery_id = 'evt-1-staff9-SMS'")

		deliveries, ids := roomtest.SavePlan(t, s, roomtest.Decided("9", broken, taken))

		require.Len(t, deliveries, 2)
		require.Empty(t, roomtest.IDsIn(t, s, ids, true), strategy)
		for _, d := range deliveries {
			require.False(t, d.Waits(), d.DeliveryID)
			require.Equal(t, "FAILED", roomtest.Delivery(t, s, d.DeliveryID).Status)
		}
	}
}

// A repeat changes nothing, even if a setting has changed meanwhile.
func TestSavePlanRepeated(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	first, ids := roomtest.SavePlan(t, s, roomtest.Decided("9", roomtest.Planned(notification.Email), roomtest.Planned(notification.SMS)),
		roomtest.Decided("10"))
	changed := roomtest.Planned(notification.Email)
	changed.Body = "changed"

	again, sameIDs := roomtest.SavePlan(t, s, roomtest.Decided("9", changed, roomtest.Planned(notification.Push)),
		roomtest.Decided("10", roomtest.Planned(notification.Email)))

	require.Equal(t, first, again)
	require.Equal(t, ids, sameIDs)
	require.Equal(t, new("body"), roomtest.Delivery(t, s, "evt-1-staff9-EMAIL").Body)
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
	require.JSONEq(t, `{"SLACK": "NO_ADDRESS"}`,
		postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '10'"))
}

// An attempt that timed out may still run at the same time as its repeat.
func TestSavePlanSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	plans := make([][]notification.Delivery, 4)
	roomtest.SideBySide(t, len(plans), func(i int) error {
		var page []notification.DecidedRecipient
		for user := range 50 {
			page = append(page, roomtest.Decided(fmt.Sprint(user), roomtest.Planned(notification.Email)))
		}
		err := planner.On(s).SavePlan(t.Context(), roomtest.Event1, page)
		if err == nil {
			plans[i], err = attempt.On(s).Undelivered(t.Context(), roomtest.Event1.ID, 1000)
		}
		return err
	})

	require.Len(t, plans[0], 50)
	for _, plan := range plans[1:] {
		require.Equal(t, plans[0], plan)
	}
}

// A plan is stored whole or not at all.
func TestSavePlanStoresAllOrNothing(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	refused := roomtest.Planned(notification.SMS)
	refused.Priority = "URGENT"
	err := planner.On(s).SavePlan(t.Context(), roomtest.Event1,
		[]notification.DecidedRecipient{roomtest.Decided("9", roomtest.Planned(notification.Email)), roomtest.Decided("10", refused)})
	require.ErrorContains(t, err, "notification_priority")
	require.NotContains(t, err.Error(), "to-SMS")
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
}
