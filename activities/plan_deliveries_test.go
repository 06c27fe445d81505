package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	listed  activities.ListInput    // as deliveries were asked for
	next    activities.NextInput    // as NextDeliveries was asked for
	stretch notification.Stretch    // that NextDeliveries finds; zero: a whole one
	inLane  int                     // deliveries in each lane
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

func (p *plans) DeliveriesTo(_ context.Context, _ string, recipients []notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange, error) {
	return stored(recipients), notification.IDRange{First: 1, Last: 100}, p.later
}

func (p *plans) Deliveries(_ context.Context, eventID string, ids notification.IDRange, waiting bool) ([]notification.Delivery, error) {
	p.listed = activities.ListInput{EventID: eventID, IDs: ids, Waiting: waiting}
	return stored(p.decided), p.later
}

func (p *plans) Undelivered(_ context.Context, _ string, limit int) ([]notification.Delivery, error) {
	left := append(p.left, stored(p.decided)...)
	return left[:min(len(left), limit)], p.later
}

func (p *plans) Lanes(context.Context, string) ([]notification.Lane, error) {
	return lanes, p.later
}

func (p *plans) NextDeliveries(_ context.Context, eventID string, lane notification.Lane, after int64, only notification.Status, limit int) (notification.Stretch, error) {
	p.next = activities.NextInput{EventID: eventID, Lane: lane, After: after, Left: only == notification.Pending}
	if p.stretch.Last > 0 {
		return p.stretch, p.later
	}
	return notification.Stretch{IDRange: notification.IDRange{First: after + 1, Last: after + int64(limit)}, Count: limit, Priority: notification.Low}, p.later
}

func (p *plans) LaneExceeds(_ context.Context, _ string, _ notification.Lane, n int) (bool, error) {
	return p.inLane > n, p.later
}

func (p *plans) LaneDeliveries(_ context.Context, eventID string, lane notification.Lane, ids notification.IDRange, only notification.Status) ([]notification.Delivery, error) {
	p.listed = activities.ListInput{EventID: eventID, IDs: ids, Waiting: lane.Waiting, Channel: lane.Channel, Left: only == notification.Pending, Failed: only == notification.Failed}
	return stored(p.decided), p.later
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

func TestPlanDeliveries(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients[1].Preferences = []notification.Preference{{Channel: notification.Email, Enabled: false}, {Channel: notification.WebSocket, Enabled: false}}
	result, err := plan(db, activities.PlanInput{EventID: "evt-1"})

	require.NoError(t, err)
	restaurant := notification.Entity{Type: "RESTAURANT", ID: "5"}
	require.Equal(t, []notification.Target{{Entity: restaurant}}, db.asked)
	require.Equal(t, 100, db.limit)
	require.Equal(t, []notification.DecidedRecipient{
		{
			UserType: notification.RestaurantUser, UserID: "10", Entity: restaurant,
			Decisions: map[notification.Channel]notification.Decision{notification.WebSocket: "SELECTED", notification.Email: "SELECTED"},
			Deliveries: []notification.PlannedDelivery{
				{DeliveryID: "evt-1-staff10-WEBSOCKET", Channel: notification.WebSocket, Title: "New reservation", Body: "Table for 4, Ada", Strategy: notification.Immediate, Priority: notification.Normal},
				{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, Address: "ada@example.com", Title: "New reservation", Body: "Table for 4, Ada", Strategy: notification.Immediate, Priority: notification.Normal},
			},
		},
		{
			UserType: notification.RestaurantUser, UserID: "11", Entity: restaurant,
			Decisions: map[notification.Channel]notification.Decision{notification.WebSocket: "SELECTED", notification.Email: "USER_DISABLED"},
			Deliveries: []notification.PlannedDelivery{
				{DeliveryID: "evt-1-staff11-WEBSOCKET", Channel: notification.WebSocket, Title: "New reservation", Body: "Table for 4, Bob", Strategy: notification.Immediate, Priority: notification.Normal},
			},
		},
	}, db.decided)
	require.Equal(t, activities.PlanResult{
		EventType: "RESERVATION_REQUESTED", Aggregate: restaurant,
		Batch:  activities.DeliveryBatch{Deliveries: stored(db.decided), Policies: policies},
		Stored: notification.IDRange{First: 1, Last: 100}, Immediate: 3,
	}, result)
}

// What waits for a delay or for the end of quiet hours is counted apart, on an
// only page and on one of many.
func TestPlanDeliveriesCountsWhatWaits(t *testing.T) {
	t.Parallel()

	quiet := []notification.Preference{{Channel: notification.Email, Enabled: true, QuietHours: always}}
	tests := []struct {
		name               string
		change             func(db *plans)
		immediate, waiting int
	}{
		{name: "nothing waits", change: func(*plans) {}, immediate: 4},
		{name: "a delayed channel", change: func(db *plans) {
			db.rules.Routing[1].Strategy, db.rules.Routing[1].Delay = notification.Delayed, time.Hour
		}, immediate: 2, waiting: 2},
		{name: "quiet hours of one", change: func(db *plans) {
			db.rules.Routing[1].QuietHoursAction = notification.Defer
			db.page.Recipients[0].Preferences = quiet
		}, immediate: 3, waiting: 1},
		{name: "quiet hours that drop", change: func(db *plans) { db.page.Recipients[0].Preferences = quiet }, immediate: 3},
		{name: "everything waits", change: func(db *plans) {
			db.rules.Routing = db.rules.Routing[1:]
			db.rules.Routing[0].Strategy, db.rules.Routing[0].Delay = notification.Delayed, time.Hour
		}, waiting: 2},
		{name: "nobody is left", change: func(db *plans) { db.page.Recipients = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			for _, next := range []*notification.Cursor{nil, {UserID: "11"}} {
				db := reservation()
				tt.change(db)
				db.page.Next = next
				result, err := plan(db, activities.PlanInput{EventID: "evt-1", After: notification.Cursor{UserID: "9"}})

				require.NoError(t, err)
				require.Equal(t, tt.immediate, result.Immediate)
				require.Equal(t, tt.waiting, result.Waiting)
			}
		})
	}
}

// A delivery whose own time cannot be read fails, and says why; it has no text to send.
// The other channel's goes on.
func TestPlanDeliveriesWithoutItsTime(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients = db.page.Recipients[:1]
	db.rules.Routing[1].Strategy, db.rules.Routing[1].SendAtPath = notification.Delayed, "startsAt"
	_, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})

	require.NoError(t, err)
	planned := db.decided[0].Deliveries
	require.Len(t, planned, 2)
	require.Empty(t, planned[0].Problem)
	require.Equal(t, "send_at_path: startsAt is not in the payload", planned[1].Problem)
	require.Zero(t, planned[1].SendAfter)
}

// A result lands in the history: ids and options, no address and no text.
func TestPlanDeliveriesKeepsTextOutOfTheHistory(t *testing.T) {
	t.Parallel()

	result, err := plan(reservation(), activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	history, err := json.Marshal(result)
	require.NoError(t, err)
	require.Contains(t, string(history), "evt-1-staff10-EMAIL")
	for _, private := range []string{"ada@example.com", "Ada", "Table for 4", "New reservation"} {
		require.NotContains(t, string(history), private)
	}
}

// The budget of max_recipients goes with the cursor from page to page, and no
// page but an only one returns its deliveries.
func TestPlanDeliveriesInPages(t *testing.T) {
	t.Parallel()

	most := 3
	db := reservation()
	db.page.Settings = []notification.Setting{{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, Channel: notification.Email, Enabled: true, MaxRecipients: &most}}
	db.page.Next = &notification.Cursor{Rank: 1, Number: 11, UserID: "11", UserType: notification.RestaurantUser}
	first, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.Empty(t, first.Batch)
	require.NotZero(t, first.Stored)
	want := notification.Cursor{Rank: 1, Number: 11, UserID: "11", UserType: notification.RestaurantUser, Used: notification.Used{"RESTAURANT/5 EMAIL": 2, "RESTAURANT/5 WEBSOCKET": 2}}
	require.Equal(t, &want, first.Next)

	db.page.Recipients, db.page.Next = []notification.Recipient{staff("12", "Cleo"), staff("13", "Dan")}, nil
	last, err := plan(db, activities.PlanInput{EventID: "evt-1", After: *first.Next})
	require.NoError(t, err)
	require.Equal(t, want, db.after)
	require.Empty(t, last.Batch)
	require.Nil(t, last.Next)
	require.Equal(t, notification.DecisionSelected, db.decided[0].Decisions[notification.Email])
	require.Equal(t, notification.DecisionMaxRecipients, db.decided[1].Decisions[notification.Email])
	require.Equal(t, notification.DecisionSelected, db.decided[1].Decisions[notification.WebSocket])

	db.page.Recipients = nil // who was there is gone
	empty, err := plan(db, activities.PlanInput{EventID: "evt-1", After: *first.Next})
	require.NoError(t, err)
	require.Empty(t, empty.Outcome, "the event has had recipients")
}

func TestPlanDeliveriesForNobody(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		change  func(db *plans)
		outcome notification.EventOutcome
		problem string
	}{
		{name: "no routing", change: func(db *plans) { db.rules.Routing = nil }, outcome: notification.NoRouting, problem: "event type RESERVATION_REQUESTED has no rows in event_type_channel_routing"},
		{name: "nobody there", change: func(db *plans) { db.page.Recipients = nil }, outcome: notification.NoRecipients, problem: "nobody in the directory is an active recipient of it"},
		{name: "a path that finds nothing", change: func(db *plans) {
			db.rules.Recipients = []notification.EventRecipients{{EntityType: "RESTAURANT", EntityIDPath: "restaurant.id"}}
			db.page.Recipients = nil
		}, outcome: notification.NoRecipients, problem: "restaurant.id is not in the payload"},
		{name: "a domain aggregate without rules", change: func(db *plans) {
			db.rules.Event.AggregateType = "RESERVATION"
			db.page.Recipients = nil
		}, outcome: notification.NoRecipients, problem: "aggregate type RESERVATION has no recipients of its own, and event type RESERVATION_REQUESTED has no rows in event_type_recipients"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := reservation()
			tt.change(db)
			result, err := plan(db, activities.PlanInput{EventID: "evt-1"})
			require.NoError(t, err)
			require.Equal(t, tt.outcome, result.Outcome)
			require.Equal(t, tt.problem, result.Problem)
			require.Equal(t, "RESERVATION_REQUESTED", result.EventType)
			require.Empty(t, db.decided, "nothing is stored")
		})
	}
}

// One rule that finds nothing does not silence the others, but is told.
func TestPlanDeliveriesTellsOfABrokenRule(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.rules.Recipients = []notification.EventRecipients{{EntityType: "RESTAURANT", EntityIDPath: "restaurantId"}, {EntityType: "CUSTOMER", EntityIDPath: "customer.id"}}
	result, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.Empty(t, result.Outcome)
	require.Equal(t, "customer.id is not in the payload", result.Problem)
	require.Len(t, result.Batch.Deliveries, 4)
}

// People whom nobody can tell are named and counted, once for an event of many pages,
// and do not silence the others.
func TestPlanDeliveriesTellsOfPeoplePassedOver(t *testing.T) {
	t.Parallel()

	const doctors, ids = "2 members of RESTAURANT/5 have the user type DOCTOR, which is not in user_type", "1 member of RESTAURANT/5 of type GUEST has an id that is empty, longer than 64 bytes or not printable"
	passedOver := []notification.PassedOver{
		{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, UserType: "DOCTOR", Count: 2},
		{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, UserType: notification.Guest, Known: true, Count: 1},
	}
	db := reservation()
	db.page.PassedOver = passedOver
	result, err := plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
	require.NoError(t, err)
	require.Empty(t, result.Outcome)
	require.Len(t, result.Batch.Deliveries, 4)
	require.Equal(t, doctors+"; "+ids, result.Problem)

	db.page.Recipients = nil
	m := newMeters()
	a := planner(db)
	require.NoError(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Pages: 1}))
	require.Equal(t, map[string]int64{"herald_recipients_passed_over UNKNOWN_USER_TYPE": 2, "herald_recipients_passed_over UNUSABLE_USER_ID": 1}, m.counted())
	result, err = plan(db, activities.PlanInput{EventID: "evt-1", Pages: 1})
	require.NoError(t, err)
	require.Equal(t, notification.NoRecipients, result.Outcome)
	require.Equal(t, doctors+"; "+ids, result.Problem)
}

// A text that fails fails one delivery; its neighbours go on.
func TestPlanDeliveriesWithABrokenTemplate(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.rules.Templates = append(db.rules.Templates, notification.Template{EventType: "*", Channel: "EMAIL", Locale: "it", Title: "t", Body: "{{.payload.children}}"})
	db.page.Recipients[0].Locale = "it"
	result, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.Len(t, result.Batch.Deliveries, 4, "the broken one too: its workflow gives it up")

	problems := map[string]string{}
	for _, r := range db.decided {
		for _, d := range r.Deliveries {
			if d.Problem != "" {
				problems[d.DeliveryID] = d.Problem
				require.Empty(t, d.Body)
				continue
			}
			require.NotEmpty(t, d.Body)
		}
	}
	require.Len(t, problems, 1)
	require.Contains(t, problems["evt-1-staff10-EMAIL"], "*/EMAIL/it")
	require.Contains(t, problems["evt-1-staff10-EMAIL"], "children")
}

// A zone that nobody knows is UTC: it costs no message.
func TestPlanDeliveriesInAnUnknownZone(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients[0].Timezone = "europe/rome"
	db.page.Recipients[0].Preferences = []notification.Preference{{Channel: notification.Email, Enabled: true, QuietHours: never}}
	_, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	require.NotEmpty(t, db.decided[0].Deliveries)
	for _, d := range db.decided[0].Deliveries {
		require.Empty(t, d.Problem)
	}
}

func TestPlanDeliveriesFailure(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.err = fmt.Errorf("read rules: %w", notification.ErrNoEvent)
	_, err := plan(db, activities.PlanInput{EventID: "evt-404"})
	requireFailure(t, err, activities.NoSuchRow, true, 0)

	_, err = plan(db, activities.PlanInput{EventID: "evt-1", Source: "orders"})
	requireFailure(t, err, activities.UnknownSource, false, 5*time.Second)

	for _, db := range []*plans{{err: errors.New("connection reset")}, func() *plans { db := reservation(); db.later = errors.New("connection reset"); return db }()} {
		_, err := plan(db, activities.PlanInput{EventID: "evt-1"})
		requireFailure(t, err, "", false, 0)
	}
}

func TestListDeliveries(t *testing.T) {
	t.Parallel()

	db := reservation()
	_, err := plan(db, activities.PlanInput{EventID: "evt-1"})
	require.NoError(t, err)
	a := &activities.Activities{Plans: db, EventTexts: eventTexts, Policies: policies}
	ids := notification.IDRange{First: 1, Last: 100}
	for _, in := range []activities.ListInput{
		{EventID: "evt-1", IDs: ids}, {EventID: "evt-1", IDs: ids, Waiting: true},
		{EventID: "evt-1", IDs: ids, Channel: notification.SMS}, {EventID: "evt-1", IDs: ids, Channel: notification.SMS, Failed: true}, {EventID: "evt-1", IDs: ids, Channel: notification.SMS, Waiting: true, Left: true},
	} {
		batch, err := run[activities.DeliveryBatch](a, a.ListDeliveries, in)
		require.NoError(t, err)
		require.Equal(t, in, db.listed)
		require.Equal(t, activities.DeliveryBatch{Deliveries: stored(db.decided), Policies: policies}, batch)
	}
}
