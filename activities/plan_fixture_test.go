package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"herald/activities"
	"herald/internal/notification"
)

// plans is a PlanStore with one event and one page of recipients.
type plans struct {
	rules notification.EventSetup
	page  notification.RecipientPage
	err   error // of EventSetup
	later error // of everything behind it

	asked   []notification.Target
	after   notification.Cursor
	limit   int
	decided []notification.DecidedRecipient
	people  int                     // recipients of the event
	counted []int                   // limits of the counts of recipients
	left    []notification.Delivery // by an earlier planning
	pages   int                     // how many were read
}

func (p *plans) EventSetup(context.Context, string) (notification.EventSetup, error) {
	return p.rules, p.err
}

func (p *plans) Recipients(_ context.Context, _ string, targets []notification.Target, after notification.Cursor, limit int) (notification.RecipientPage, error) {
	p.asked, p.after, p.limit = targets, after, limit
	p.pages++
	return p.page, p.later
}

func (p *plans) SavePlan(_ context.Context, _ notification.Event, page []notification.DecidedRecipient) error {
	p.decided = page
	return p.later
}

func (p *plans) Undelivered(_ context.Context, _ string, limit int) ([]notification.Delivery, error) {
	left := append(p.left, stored(p.decided)...)
	return left[:min(len(left), limit)], p.later
}

func (p *plans) Lanes(context.Context, string) ([]notification.Lane, error) {
	return lanes, p.later
}

func (p *plans) CountRecipients(_ context.Context, targets []notification.Target, limit int) (int, error) {
	p.counted = append(p.counted, limit)
	return min(p.people, limit), p.later
}

var lanes = []notification.Lane{{Channel: notification.WebSocket}, {Channel: notification.Email, Waiting: true}}

// stored is what a store returns for a page.
func stored(page []notification.DecidedRecipient) []notification.Delivery {
	var deliveries []notification.Delivery
	for _, r := range page {
		for _, d := range r.Deliveries {
			deliveries = append(deliveries, notification.Delivery{DeliveryID: d.DeliveryID, Channel: d.Channel, UserType: r.UserType, UserID: r.UserID, Priority: d.Priority, SendAfter: d.SendAfter})
		}
	}
	return deliveries
}

var policies = map[notification.Channel]activities.DeliveryPolicy{
	notification.WebSocket: {TaskQueue: "herald-websocket", AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 1}},
	notification.Email:     {TaskQueue: "herald-email", AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2, Timeout: 10 * time.Second}},
}

// planner plans the events of Herald's own outbox.
func planner(db activities.PlanStore) *activities.Activities {
	sources := map[string]activities.Source{notification.HeraldSource: {}}
	return &activities.Activities{Sources: sources, Plans: db, EventTexts: eventTexts, Policies: policies}
}

func plan(db activities.PlanStore, in activities.PlanInput) (activities.PlanResult, error) {
	a := planner(db)
	in.Pages = max(in.Pages, 1)
	return run[activities.PlanResult](a, a.PlanDeliveries, in)
}

// reservation is an event of restaurant 5 that goes out by websocket, which is
// mandatory, and by mail, to two of its staff.
func reservation() *plans {
	return &plans{
		rules: notification.EventSetup{
			Event:     notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", Payload: json.RawMessage(`{"pax": 4, "restaurantId": 5}`)},
			Routing:   []notification.Routing{{Channel: notification.WebSocket, Mandatory: true, Strategy: notification.Immediate}, {Channel: notification.Email, Strategy: notification.Immediate}},
			Supported: map[notification.Channel][]notification.UserType{notification.WebSocket: {notification.RestaurantUser}, notification.Email: {notification.RestaurantUser}},
			Templates: []notification.Template{{EventType: "*", Channel: "*", Locale: "en", Title: "New reservation", Body: "Table for {{.payload.pax}}, {{.recipient.name}}"}},
		},
		page: notification.RecipientPage{Recipients: []notification.Recipient{staff("10", "Ada"), staff("11", "Bob")}},
	}
}

func staff(id, name string) notification.Recipient {
	return notification.Recipient{
		UserType: notification.RestaurantUser, Who: "staff", UserID: id, Roles: []string{"STAFF"}, Entity: notification.Entity{Type: "RESTAURANT", ID: "5"},
		Name: name, Email: strings.ToLower(name) + "@example.com", Locale: "en",
	}
}
