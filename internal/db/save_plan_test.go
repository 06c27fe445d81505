package db_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
)

// toCustomer returns the plan of one e-mail to a customer.
func toCustomer(eventID, userID string) notification.DecidedRecipient {
	mail := planned(notification.Email)
	mail.DeliveryID = notification.DeliveryID(eventID, "customer", userID, notification.Email)
	return notification.DecidedRecipient{
		UserType: notification.Customer, UserID: userID, Entity: notification.Entity{Type: "CUSTOMER", ID: userID},
		Decisions:  map[notification.Channel]notification.Decision{notification.Email: notification.DecisionSelected},
		Deliveries: []notification.PlannedDelivery{mail},
	}
}

func saveOf(t *testing.T, s *db.DB, eventID string, page ...notification.DecidedRecipient) []notification.Delivery {
	t.Helper()
	require.NoError(t, planner.On(s).SavePlan(t.Context(), notification.Event{ID: eventID, Type: "T"}, page))
	deliveries, _ := storedFor(t, s, eventID, page)
	return deliveries
}

// storedFor reads the deliveries of an event to recipients that are still to be made, and
// their range in notification.
func storedFor(t *testing.T, s *db.DB, eventID string, page []notification.DecidedRecipient) (deliveries []notification.Delivery, ids notification.IDRange) {
	t.Helper()
	all := must(attempt.On(s).Undelivered(t.Context(), eventID, 1000))(t)
	for _, d := range all {
		if slices.ContainsFunc(page, func(r notification.DecidedRecipient) bool { return r.UserType == d.UserType && r.UserID == d.UserID }) {
			deliveries = append(deliveries, d)
			ids.Last = postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", d.DeliveryID)
			ids.First = cmp.Or(ids.First, ids.Last)
		}
	}
	return deliveries, ids
}

// Event e with customer 5-customer7, event e-customer5 with customer 7, and a third pair
// have one delivery id. The later two fail with that reason, however often they are planned.
func TestSavePlanWithATakenID(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	const id = "e-customer5-customer7-customer8-EMAIL"
	first := saveOf(t, s, "e-customer5-customer7", toCustomer("e-customer5-customer7", "8"))
	require.Equal(t, id, first[0].DeliveryID)

	for range 2 {
		second := saveOf(t, s, "e-customer5", toCustomer("e-customer5", "7-customer8"), toCustomer("e-customer5", "9"))
		third := saveOf(t, s, "e", toCustomer("e", "5-customer7-customer8"))
		require.Len(t, second, 2)
		require.Equal(t, "e-customer5-customer9-EMAIL", second[1].DeliveryID, "the other recipient of the page is planned")
		for _, later := range []notification.Delivery{second[0], third[0]} {
			require.Equal(t, fmt.Sprintf("%s~%d", id, postgrestest.Get[int](t, s, "SELECT id FROM notification WHERE delivery_id = $1", later.DeliveryID)), later.DeliveryID)
			require.Equal(t, row{
				Status: "FAILED", Address: ptr("to-EMAIL"),
				Error: ptr("the id " + id + " is taken by the delivery of event e-customer5-customer7 to CUSTOMER/8"),
			}, delivery(t, s, later.DeliveryID))
		}
	}
	require.Equal(t, "PENDING", delivery(t, s, id).Status)
	require.Equal(t, 4, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
	require.Equal(t, 4, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
}

// If two pairs are planned at once, one may fail, and its repeat succeeds.
func TestSavePlanWithATakenIDSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	sideBySide(t, 2, func(i int) error {
		pair := [][2]string{{"e", "5-customer7"}, {"e-customer5", "7"}}[i]
		plan := func() error {
			return planner.On(s).SavePlan(t.Context(), notification.Event{ID: pair[0], Type: "T"}, []notification.DecidedRecipient{toCustomer(pair[0], pair[1])})
		}
		if plan() == nil {
			return nil
		}
		return plan()
	})
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'PENDING' AND delivery_id = 'e-customer5-customer7-EMAIL'"))
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'FAILED' AND delivery_id = 'e-customer5-customer7-EMAIL~' || id"))
}

// Deliveries that outlive a purge of decisions stay. A new plan adds the missing ones.
func TestSavePlanAfterAPurgeOfDecisions(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	savePlan(t, s, decided("9", planned(notification.Email)))
	postgrestest.Exec(t, s, "DELETE FROM notification_decision")
	changed := planned(notification.Email)
	changed.Body = "changed"

	again, _ := savePlan(t, s, decided("9", changed, planned(notification.SMS)))

	require.Len(t, again, 2)
	require.Equal(t, ptr("body"), delivery(t, s, "evt-1-staff9-EMAIL").Body)
	require.Equal(t, "PENDING", delivery(t, s, "evt-1-staff9-SMS").Status)
	require.Equal(t, 1, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
}

// decided returns a recipient of evt-1 with one selected channel for each delivery.
func decided(userID string, deliveries ...notification.PlannedDelivery) notification.DecidedRecipient {
	return decidedOf(event1.ID, userID, deliveries...)
}

// decidedOf is like decided, for any event.
func decidedOf(eventID, userID string, deliveries ...notification.PlannedDelivery) notification.DecidedRecipient {
	r := notification.DecidedRecipient{
		UserType: notification.RestaurantUser, UserID: userID,
		Decisions: map[notification.Channel]notification.Decision{notification.Slack: notification.DecisionNoAddress},
	}
	for _, d := range deliveries {
		d.DeliveryID = notification.DeliveryID(eventID, "staff", userID, d.Channel)
		r.Decisions[d.Channel] = notification.DecisionSelected
		r.Deliveries = append(r.Deliveries, d)
	}
	return r
}

// planned returns a delivery that can be sent at once.
func planned(channel notification.Channel) notification.PlannedDelivery {
	return notification.PlannedDelivery{
		Channel: channel, Address: "to-" + string(channel), Title: "title", Body: "body",
		Strategy: notification.Immediate, Priority: notification.Normal,
	}
}

func savePlan(t *testing.T, s *db.DB, page ...notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange) {
	t.Helper()
	require.NoError(t, planner.On(s).SavePlan(t.Context(), event1, page))
	return storedFor(t, s, event1.ID, page)
}

func TestSavePlan(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	at := time.Date(2099, 11, 22, 7, 0, 0, 123456000, time.UTC)
	later := planned(notification.Email)
	later.Strategy, later.Priority, later.SendAfter = notification.Delayed, notification.High, at
	bare := planned(notification.Push)
	bare.Address = ""
	broken := notification.PlannedDelivery{Channel: notification.SMS, Address: "+1", Strategy: notification.Immediate, Priority: notification.Low, Problem: "no key pax"}
	page := []notification.DecidedRecipient{decided("10", later, bare), decided("9", broken), decided("8")}

	deliveries, ids := savePlan(t, s, page...)

	want := []notification.Delivery{
		{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.High, Later: true},
		{DeliveryID: "evt-1-staff10-PUSH", Channel: notification.Push, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.Normal},
		{DeliveryID: "evt-1-staff9-SMS", Channel: notification.SMS, UserType: notification.RestaurantUser, UserID: "9", Priority: notification.Low},
	}
	require.ElementsMatch(t, want, deliveries)
	require.Equal(t, []string{"evt-1-staff10-EMAIL"}, read(t, s, ids, true))
	require.ElementsMatch(t, []string{"evt-1-staff10-PUSH", "evt-1-staff9-SMS"}, read(t, s, ids, false))

	require.Equal(t, row{Status: "PENDING", Title: ptr("title"), Body: ptr("body"), Address: ptr("to-EMAIL")}, delivery(t, s, "evt-1-staff10-EMAIL"))
	require.Equal(t, row{Status: "PENDING", Title: ptr("title"), Body: ptr("body")}, delivery(t, s, "evt-1-staff10-PUSH"))
	require.Equal(t, row{Status: "FAILED", Error: ptr("no key pax"), Address: ptr("+1")}, delivery(t, s, "evt-1-staff9-SMS"))
	require.Equal(t, "DELAYED", postgrestest.Get[string](t, s, "SELECT strategy FROM notification WHERE channel = 'EMAIL'"))
	require.Equal(t, "RESERVATION_REQUESTED", postgrestest.Get[string](t, s, "SELECT event_type FROM notification WHERE channel = 'EMAIL'"))
	require.JSONEq(t, `{"EMAIL": "SELECTED", "PUSH": "SELECTED", "SLACK": "NO_ADDRESS"}`, postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '10'"))
	require.JSONEq(t, `{"SLACK": "NO_ADDRESS"}`, postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '8'"))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(correlation_id) FROM notification"), "the event has none")

	deliveries, ids = savePlan(t, s) // for nobody
	require.Empty(t, deliveries)
	require.Zero(t, ids)
}

// A delivery that cannot be sent does not wait for its own time or for the end of quiet
// hours. Its workflow ends at once, and it can be retried.
func TestSavePlanOfUnsendableDeliveries(t *testing.T) {
	t.Parallel()

	for _, strategy := range []notification.Strategy{notification.Delayed, notification.Immediate} {
		s := postgrestest.New(t)
		broken := planned(notification.Email)
		broken.Strategy, broken.SendAfter, broken.Problem = strategy, time.Now().AddDate(5, 0, 0), "no key pax"
		taken := planned(notification.SMS)
		taken.Strategy, taken.SendAfter = strategy, broken.SendAfter
		savePlan(t, s, decided("8", planned(notification.SMS)))
		postgrestest.Exec(t, s, "UPDATE notification SET delivery_id = 'evt-1-staff9-SMS'")

		deliveries, ids := savePlan(t, s, decided("9", broken, taken))

		require.Len(t, deliveries, 2)
		require.Empty(t, read(t, s, ids, true), strategy)
		for _, d := range deliveries {
			require.False(t, d.Waits(), d.DeliveryID)
			require.Equal(t, "FAILED", delivery(t, s, d.DeliveryID).Status)
		}
	}
}

// A repeat changes nothing, even if a setting has changed meanwhile.
func TestSavePlanRepeated(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	first, ids := savePlan(t, s, decided("9", planned(notification.Email), planned(notification.SMS)), decided("10"))
	changed := planned(notification.Email)
	changed.Body = "changed"

	again, sameIDs := savePlan(t, s, decided("9", changed, planned(notification.Push)), decided("10", planned(notification.Email)))

	require.Equal(t, first, again)
	require.Equal(t, ids, sameIDs)
	require.Equal(t, ptr("body"), delivery(t, s, "evt-1-staff9-EMAIL").Body)
	require.Equal(t, 2, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
	require.JSONEq(t, `{"SLACK": "NO_ADDRESS"}`, postgrestest.Get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '10'"))
}

// An attempt that timed out may still run at the same time as its repeat.
func TestSavePlanSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	plans := make([][]notification.Delivery, 4)
	sideBySide(t, len(plans), func(i int) error {
		var page []notification.DecidedRecipient
		for user := range 50 {
			page = append(page, decided(fmt.Sprint(user), planned(notification.Email)))
		}
		err := planner.On(s).SavePlan(t.Context(), event1, page)
		if err == nil {
			plans[i], err = attempt.On(s).Undelivered(t.Context(), event1.ID, 1000)
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
	refused := planned(notification.SMS)
	refused.Priority = "URGENT"
	err := planner.On(s).SavePlan(t.Context(), event1, []notification.DecidedRecipient{decided("9", planned(notification.Email)), decided("10", refused)})
	require.ErrorContains(t, err, "notification_priority")
	require.NotContains(t, err.Error(), "to-SMS")
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification"))
}

// read returns the ids of a page's deliveries that wait, or that do not.
func read(t *testing.T, s *db.DB, ids notification.IDRange, waiting bool) []string {
	t.Helper()
	return idsOf(inRange(t, s, ids, waiting))
}

// inRange reads the deliveries of evt-1 in a range that wait, or that do not.
func inRange(t *testing.T, s *db.DB, ids notification.IDRange, waiting bool) (found []notification.Delivery) {
	t.Helper()
	for _, channel := range notification.Channels() {
		part := notification.Part{EventID: "evt-1", Lane: notification.Lane{Channel: channel, Waiting: waiting}, IDs: ids}
		deliveries, _, err := attempt.On(s).LaneDeliveries(t.Context(), part, "", 1000)
		require.NoError(t, err)
		found = append(found, deliveries...)
	}
	return found
}

// row holds the columns of a delivery that tests check.
type row struct {
	Status                      string
	Attempts                    int
	Title, Body, Address, Error *string
	ProviderID                  *string
	Sent                        bool // sent_at is set
}

func delivery(t *testing.T, s *db.DB, id string) row {
	t.Helper()
	return must(db.One(t.Context(), s.Pool, "read delivery", pgx.RowToStructByPos[row], `
		SELECT status, attempt_count, title, body, recipient_address, last_error, provider_message_id, sent_at IS NOT NULL
		FROM   notification
		WHERE  delivery_id = $1`, id))(t)
}
