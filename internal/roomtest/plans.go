package roomtest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
)

// Decided returns a recipient of evt-1 with one selected channel for each delivery.
func Decided(userID string, deliveries ...notification.PlannedDelivery) notification.DecidedRecipient {
	return DecidedOf(Event1.ID, userID, deliveries...)
}

// DecidedOf is like Decided, for any event.
func DecidedOf(eventID, userID string, deliveries ...notification.PlannedDelivery) notification.DecidedRecipient {
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

// Planned returns a delivery that can be sent at once.
func Planned(channel notification.Channel) notification.PlannedDelivery {
	return notification.PlannedDelivery{
		Channel: channel, Address: "to-" + string(channel), Title: "title", Body: "body",
		Strategy: notification.Immediate, Priority: notification.Normal,
	}
}

// ToCustomer returns the plan of one e-mail to a customer.
func ToCustomer(eventID, userID string) notification.DecidedRecipient {
	mail := Planned(notification.Email)
	mail.DeliveryID = notification.DeliveryID(eventID, "customer", userID, notification.Email)
	return notification.DecidedRecipient{
		UserType: notification.Customer, UserID: userID, Entity: notification.Entity{Type: "CUSTOMER", ID: userID},
		Decisions:  map[notification.Channel]notification.Decision{notification.Email: notification.DecisionSelected},
		Deliveries: []notification.PlannedDelivery{mail},
	}
}

func SavePlan(t *testing.T, s *db.DB, page ...notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange) {
	t.Helper()
	require.NoError(t, planner.On(s).SavePlan(t.Context(), Event1, page))
	return storedFor(t, s, Event1.ID, page)
}

func SaveOf(t *testing.T, s *db.DB, eventID string, page ...notification.DecidedRecipient) []notification.Delivery {
	t.Helper()
	require.NoError(t, planner.On(s).SavePlan(t.Context(), notification.Event{ID: eventID, Type: "T"}, page))
	deliveries, _ := storedFor(t, s, eventID, page)
	return deliveries
}

// storedFor reads the deliveries of an event to recipients that are still to be made, and
// their range in notification.
func storedFor(t *testing.T, s *db.DB, eventID string, page []notification.DecidedRecipient) (deliveries []notification.Delivery,
	ids notification.IDRange) {
	t.Helper()
	all := Must(attempt.On(s).Undelivered(t.Context(), eventID, 1000))(t)
	for _, d := range all {
		if slices.ContainsFunc(page, func(r notification.DecidedRecipient) bool { return r.UserType == d.UserType && r.UserID == d.UserID }) {
			deliveries = append(deliveries, d)
			ids.Last = postgrestest.Get[int64](t, s, "SELECT id FROM notification WHERE delivery_id = $1", d.DeliveryID)
			ids.First = cmp.Or(ids.First, ids.Last)
		}
	}
	return deliveries, ids
}

func IDsOf(deliveries []notification.Delivery) []string {
	return Mapped(deliveries, func(d notification.Delivery) string { return d.DeliveryID })
}

// IDsIn returns the ids of a page's deliveries that wait, or that do not.
func IDsIn(t *testing.T, s *db.DB, ids notification.IDRange, waiting bool) []string {
	t.Helper()
	return IDsOf(inRange(t, s, ids, waiting))
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

const Mail = "evt-1-staff10-EMAIL"

// PlanMail plans one delivery of evt-1, to staff 10 by mail.
func PlanMail(t *testing.T, s *db.DB) {
	t.Helper()
	SavePlan(t, s, Decided("10", Planned(notification.Email)))
}

func StaffMail(i int) string { return fmt.Sprintf("evt-1-staff%d-EMAIL", i) }

// PlanWaitedMail plans one delivery by mail to staff 10 of restaurant 5, two minutes ago, by an
// optional route.
func PlanWaitedMail(t *testing.T, s *db.DB) {
	t.Helper()
	SavePlan(t, s, Decided("10", Planned(notification.Email)))
	AddMember(t, s, Restaurant5, notification.RestaurantUser, "10", "CHEF")
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'new@example.com', timezone = 'Europe/Rome'")
	postgrestest.Exec(t, s, "UPDATE notification SET created_at = now() - interval '2 minutes', entity_type = 'RESTAURANT', entity_id = '5'")
	postgrestest.Add(t, s.Pool, postgrestest.Route{EventType: "RESERVATION_REQUESTED"})
}

// Past moves the planning of deliveries to two minutes ago.
const Past = "UPDATE notification SET created_at = now() - interval '2 minutes'"

// LargeEvent returns a store with evt-1 and ten recipients: each has a mail, every second
// mail is sent later, and the first has an SMS. Three mails have ended.
func LargeEvent(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	for i := range 10 {
		mail, others := Planned(notification.Email), []notification.PlannedDelivery{}
		if i%2 == 1 {
			mail.SendAfter = time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if i == 0 {
			others = append(others, Planned(notification.SMS))
		}
		SavePlan(t, s, Decided(fmt.Sprint(i), append(others, mail)...))
	}
	SaveOf(t, s, "evt-2", ToCustomer("evt-2", "7"))
	SetStatus(t, s, "evt-1-staff0-EMAIL", notification.Sent)
	SetStatus(t, s, "evt-1-staff2-EMAIL", notification.Failed)
	SetStatus(t, s, "evt-1-staff3-EMAIL", notification.Cancelled)
	return s
}

var MailLane = notification.Lane{Channel: notification.Email}

var LaterMailLane = notification.Lane{Channel: notification.Email, Waiting: true}
