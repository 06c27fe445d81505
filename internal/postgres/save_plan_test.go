package postgres_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// toCustomer is the plan of one e-mail to a customer.
func toCustomer(eventID, userID string) notification.DecidedRecipient {
	mail := planned(notification.Email)
	mail.DeliveryID = notification.DeliveryID(eventID, notification.Customer, userID, notification.Email)
	return notification.DecidedRecipient{
		UserType: notification.Customer, UserID: userID, Entity: notification.Entity{Type: "CUSTOMER", ID: userID},
		Decisions:  map[notification.Channel]notification.Decision{notification.Email: notification.DecisionSelected},
		Deliveries: []notification.PlannedDelivery{mail},
	}
}

func saveOf(t *testing.T, s *postgres.Store, eventID string, page ...notification.DecidedRecipient) []notification.Delivery {
	t.Helper()
	deliveries, _, err := s.SavePlan(t.Context(), notification.Event{ID: eventID, Type: "T"}, page)
	require.NoError(t, err)
	return deliveries
}

func TestSavePlanStoresFacts(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for id, correlation := range map[string]string{"evt-1": "c-1", "evt-2": ""} {
		_, _, err := s.SavePlan(t.Context(), notification.Event{ID: id, Type: "T", CorrelationID: correlation}, []notification.DecidedRecipient{toCustomer(id, "7")})
		require.NoError(t, err)
	}
	require.Equal(t, "CUSTOMER/7", get[string](t, s, "SELECT DISTINCT entity_type || '/' || entity_id FROM notification"))
	require.Equal(t, ptr("c-1"), get[*string](t, s, "SELECT correlation_id FROM notification WHERE event_id = 'evt-1'"))
	require.Nil(t, get[*string](t, s, "SELECT correlation_id FROM notification WHERE event_id = 'evt-2'"))
}

// Event e with customer 5-customer7, event e-customer5 with customer 7, and a
// third pair, spell one id. The later two say so, however often they are planned.
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
		require.Equal(t, "e-customer5-customer9-EMAIL", second[1].DeliveryID, "its neighbour is planned as ever")
		for _, later := range []notification.Delivery{second[0], third[0]} {
			require.Equal(t, fmt.Sprintf("%s~%d", id, get[int](t, s, "SELECT id FROM notification WHERE delivery_id = $1", later.DeliveryID)), later.DeliveryID)
			require.Equal(t, row{
				Status: "FAILED", Address: ptr("to-EMAIL"),
				Error: ptr("the id " + id + " is taken by the delivery of event e-customer5-customer7 to CUSTOMER/8"),
			}, delivery(t, s, later.DeliveryID))
		}
	}
	require.Equal(t, "PENDING", delivery(t, s, id).Status)
	require.Equal(t, 4, get[int](t, s, "SELECT count(*) FROM notification"))
	require.Equal(t, 4, get[int](t, s, "SELECT count(*) FROM notification_decision"))
}

// Of two that are planned at once, one may fail, and its repeat ends well.
func TestSavePlanWithATakenIDSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var group errgroup.Group
	for event, user := range map[string]string{"e": "5-customer7", "e-customer5": "7"} {
		group.Go(func() (err error) {
			for range 2 {
				if _, _, err = s.SavePlan(t.Context(), notification.Event{ID: event, Type: "T"}, []notification.DecidedRecipient{toCustomer(event, user)}); err == nil {
					return nil
				}
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'PENDING' AND delivery_id = 'e-customer5-customer7-EMAIL'"))
	require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM notification WHERE status = 'FAILED' AND delivery_id = 'e-customer5-customer7-EMAIL~' || id"))
}

// What a purge of decisions has left of an earlier plan stands; what that lacks is added.
func TestSavePlanAfterAPurgeOfDecisions(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	savePlan(t, s, decided("9", planned(notification.Email)))
	exec(t, s, "DELETE FROM notification_decision")
	changed := planned(notification.Email)
	changed.Body = "changed"

	again, _ := savePlan(t, s, decided("9", changed, planned(notification.SMS)))

	require.Len(t, again, 2)
	require.Equal(t, ptr("body"), delivery(t, s, "evt-1-staff9-EMAIL").Body)
	require.Equal(t, "PENDING", delivery(t, s, "evt-1-staff9-SMS").Status)
	require.Equal(t, 1, get[int](t, s, "SELECT count(*) FROM notification_decision"))
}
