package activities_test

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

// installation returns a database with one template, and the routing of RESERVATION_REQUESTED from
// the architecture document.
func installation(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	routes(t, s)
	postgrestest.Add(t, s.Pool, postgrestest.Template{Title: "New reservation", Body: "Table for {{.payload.pax}}"})
	return s
}

func routes(t *testing.T, s *db.DB) {
	t.Helper()
	const eventType = "RESERVATION_REQUESTED"
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: eventType, Channel: notification.WebSocket, Mandatory: true}, postgrestest.Route{EventType: eventType},
		postgrestest.Route{EventType: eventType, Channel: notification.Push}, postgrestest.Route{EventType: eventType, Channel: notification.SMS})
}

// person writes a recipient with every address, and as a member of an entity if role is set.
func person(t *testing.T, s *db.DB, userType notification.UserType, userID, entityType, entityID, role string) {
	t.Helper()
	postgrestest.Add(t, s.Pool,
		postgrestest.Recipient{
			UserType: userType, UserID: userID, Name: "Ada", Email: userID + "@example.com", Phone: "+15005550006", Timezone: "Europe/Rome",
		},
		postgrestest.Device{UserType: userType, UserID: userID, Token: "token-" + userID})
	if role != "" {
		roomtest.AddMember(t, s, notification.Entity{Type: entityType, ID: entityID}, userType, userID, role)
	}
}

// employ writes a person who works at restaurant 5.
func employ(t *testing.T, s *db.DB, userID, role string) {
	t.Helper()
	person(t, s, notification.RestaurantUser, userID, "RESTAURANT", "5", role)
}

func insertEvent(t *testing.T, s *db.DB, aggregateType, aggregateID string) {
	t.Helper()
	postgrestest.Add(t, s.Pool,
		postgrestest.Event{Type: "RESERVATION_REQUESTED", AggregateType: aggregateType, AggregateID: aggregateID, Payload: `{"pax": 4}`})
}

// planned runs PlanDeliveries page by page, as the workflow does, and returns the deliveries' ids.
func planned(t *testing.T, s *db.DB) []string {
	t.Helper()
	var after notification.Cursor
	for {
		result := must(plan(planDatabaseOf(s), activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, After: after}))(t)
		require.Empty(t, result.Outcome)
		if result.Next == nil {
			break
		}
		after = *result.Next
	}
	deliveries := must(attempt.On(s).Undelivered(t.Context(), "evt-1", 1000))(t)
	ids := make([]string, len(deliveries))
	for i, d := range deliveries {
		ids[i] = d.DeliveryID
	}
	return ids
}

// The worked examples, from the tables to the rows of notification.
func TestPlanDeliveriesWorkedExamples(t *testing.T) {
	t.Parallel()

	channels := []notification.Channel{notification.WebSocket, notification.Email, notification.Push, notification.SMS}
	quiet := func(t *testing.T, s *db.DB, from, to string) {
		for _, c := range channels {
			postgrestest.Add(t, s.Pool, postgrestest.Preference{UserID: "1", Channel: c, Off: c == notification.SMS, QuietStart: from, QuietEnd: to})
		}
	}
	restaurant := func(t *testing.T, s *db.DB) {
		employ(t, s, "1", "STAFF")
		for _, c := range channels {
			postgrestest.Add(t, s.Pool, postgrestest.GroupSetting{Channel: c, Off: c == notification.SMS, MaxRecipients: new(3)})
		}
		insertEvent(t, s, "RESTAURANT", "5")
	}
	three := func(t *testing.T, s *db.DB) {
		for id, role := range map[string]string{"1": "MANAGER", "2": "CHEF", "3": "WAITER"} {
			employ(t, s, id, role)
			postgrestest.Add(t, s.Pool, postgrestest.Preference{UserID: id, Channel: notification.SMS, Off: true})
		}
		insertEvent(t, s, "RESTAURANT", "5")
	}
	agency := func(t *testing.T, s *db.DB) {
		person(t, s, notification.AgencyUser, "1", "AGENCY", "10", "AGENT")
		postgrestest.Add(t, s.Pool, postgrestest.GroupSetting{EntityType: "AGENCY", EntityID: "10", Channel: notification.Push, Off: true})
		insertEvent(t, s, "AGENCY", "10")
	}
	tests := []struct {
		name    string
		arrange func(t *testing.T, s *db.DB)
		want    []string
		sends   int // rows of notification_channel_send; 0: not counted
	}{
		{name: "three members of staff: 8 messages", arrange: func(t *testing.T, s *db.DB) {
			postgrestest.Add(t, s.Pool, postgrestest.Preference{UserID: "3", Channel: notification.Push, Off: true})
			three(t, s)
		}, want: []string{
			"staff1-WEBSOCKET", "staff1-EMAIL", "staff1-PUSH", "staff2-WEBSOCKET", "staff2-EMAIL", "staff2-PUSH", "staff3-WEBSOCKET", "staff3-EMAIL",
		}, sends: 5},
		{name: "three members of staff: 9 rows and 6 sends", arrange: three, want: []string{
			"staff1-WEBSOCKET", "staff1-EMAIL", "staff1-PUSH", "staff2-WEBSOCKET", "staff2-EMAIL", "staff2-PUSH",
			"staff3-WEBSOCKET", "staff3-EMAIL", "staff3-PUSH",
		}, sends: 6},
		{name: "staff1 by day", arrange: func(t *testing.T, s *db.DB) {
			restaurant(t, s)
			quiet(t, s, "23:59:59.999998", "23:59:59.999999")
		}, want: []string{"staff1-WEBSOCKET", "staff1-EMAIL", "staff1-PUSH"}},
		{name: "staff1 in quiet hours", arrange: func(t *testing.T, s *db.DB) {
			restaurant(t, s)
			quiet(t, s, "00:00", "23:59:59.999999")
		}, want: []string{"staff1-WEBSOCKET"}},
		{name: "a restaurant with an SMS for managers only", arrange: func(t *testing.T, s *db.DB) {
			employ(t, s, "1", "STAFF")
			employ(t, s, "2", "MANAGER")
			postgrestest.Add(t, s.Pool, postgrestest.GroupSetting{Channel: notification.SMS, AllowedRoles: []string{"MANAGER"}})
			insertEvent(t, s, "RESTAURANT", "5")
		}, want: []string{"staff2-WEBSOCKET", "staff2-EMAIL", "staff2-PUSH", "staff2-SMS", "staff1-WEBSOCKET", "staff1-EMAIL", "staff1-PUSH"}},
		{name: "an agency without push", arrange: func(t *testing.T, s *db.DB) {
			agency(t, s)
			person(t, s, notification.AgencyUser, "2", "AGENCY", "10", "ACCOUNTANT")
		}, want: []string{"agent1-WEBSOCKET", "agent1-EMAIL", "agent1-SMS"}},
		{name: "an agency with its manager", arrange: func(t *testing.T, s *db.DB) {
			agency(t, s)
			person(t, s, notification.AgencyUser, "2", "AGENCY", "10", "AGENT")
			person(t, s, notification.AgencyUser, "3", "AGENCY", "10", "MANAGER")
		}, want: []string{
			"agent1-WEBSOCKET", "agent1-EMAIL", "agent1-SMS", "agent2-WEBSOCKET", "agent2-EMAIL", "agent2-SMS", "agent3-WEBSOCKET",
			"agent3-EMAIL", "agent3-SMS",
		}},
		{name: "a customer", arrange: func(t *testing.T, s *db.DB) {
			person(t, s, notification.Customer, "42", "", "", "")
			insertEvent(t, s, "CUSTOMER", "42")
		}, want: []string{"customer42-WEBSOCKET", "customer42-EMAIL", "customer42-PUSH", "customer42-SMS"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := installation(t)
			tt.arrange(t, s)
			got := planned(t, s)
			require.ElementsMatch(t, tt.want, strings.Split(strings.ReplaceAll(strings.Join(got, " "), "evt-1-", ""), " "))
			require.Equal(t, got, planned(t, s), "a repeat returns the same deliveries")
			if tt.sends > 0 {
				require.Equal(t, tt.sends, get[int](t, s, "SELECT count(*) FROM notification_channel_send"))
				require.Equal(t, len(tt.want), get[int](t, s, "SELECT count(*) FROM restaurant_notification"))
			}
		})
	}
}

// The statements of docs/coming-from.md keep the other design's way: a channel that nobody chose is
// off, and the title comes from the payload.
func TestPlanDeliveriesAsInTheOtherDesign(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	routes(t, s)
	person(t, s, notification.Customer, "42", "", "", "")
	document := must(os.ReadFile("../docs/coming-from.md"))(t)
	statements := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(document, -1)
	require.NotEmpty(t, statements)
	for _, statement := range statements {
		exec(t, s, string(statement[1]))
	}
	postgrestest.Add(t, s.Pool,
		postgrestest.Event{Type: "RESERVATION_REQUESTED", Payload: `{"title": "New reservation", "body": "Table for 4"}`})

	require.Equal(t, []string{"evt-1-customer42-WEBSOCKET"}, planned(t, s))
	require.Equal(t, "New reservation: Table for 4", get[string](t, s, "SELECT title || ': ' || body FROM notification"))
}

// Planning 250 people in three pages plans each person once, and applies the entity's limit over
// all pages.
func TestPlanDeliveriesOfManyPages(t *testing.T) {
	t.Parallel()

	s := installation(t)
	postgrestest.AddMany(t, s.Pool, 250, postgrestest.Recipient{UserType: notification.RestaurantUser},
		postgrestest.Expressions{"user_id": "i", "email": "i || '@example.com'"})
	postgrestest.AddMany(t, s.Pool, 250, postgrestest.Member{},
		postgrestest.Expressions{"user_id": "i", "role": "CASE i WHEN 250 THEN 'MANAGER' ELSE 'STAFF' END"})
	postgrestest.Add(t, s.Pool, postgrestest.GroupSetting{MaxRecipients: new(150)})
	insertEvent(t, s, "RESTAURANT", "5")

	ids := planned(t, s)

	require.Len(t, ids, 250+150)
	require.Contains(t, ids, "evt-1-staff250-EMAIL", "managers come first")
	require.Contains(t, ids, "evt-1-staff149-EMAIL")
	require.NotContains(t, ids, "evt-1-staff150-EMAIL")
	require.Equal(t, 100, get[int](t, s,
		"SELECT count(*) FROM notification_decision WHERE channels->>'EMAIL' = 'MAX_RECIPIENTS' AND channels->>'SMS' = 'NO_ADDRESS'"))
}

// Of people with one address, only the first gets the message, on later pages too. SLACK does so by
// default. A repeat decides the same. The address counts as suppressions compare it.
func TestPlanDeliveriesOncePerAddress(t *testing.T) {
	t.Parallel()

	s := installation(t)
	exec(t, s, "DELETE FROM event_type_channel_routing")
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.Slack},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", OncePerAddress: true},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.SMS, ThrottleWindow: time.Hour})
	postgrestest.AddMany(t, s.Pool, 250, postgrestest.Recipient{UserType: notification.RestaurantUser, Phone: "+41791234567"},
		postgrestest.Expressions{
			"user_id": "i", "email": "CASE i % 2 WHEN 0 THEN 'Desk@example.com' ELSE ' desk@EXAMPLE.com' END",
			"slack_webhook_url": "'https://hooks.slack.com/services/T/B/' || CASE i WHEN 230 THEN 'other' ELSE 'team' END",
		})
	postgrestest.AddMany(t, s.Pool, 250, postgrestest.Member{}, postgrestest.Expressions{"user_id": "i"})
	postgrestest.Add(t, s.Pool, postgrestest.Preference{UserID: "1", Off: true})
	insertEvent(t, s, "RESTAURANT", "5")

	ids := planned(t, s)

	require.Len(t, ids, 250+1+2)
	require.Subset(t, ids, []string{"evt-1-staff1-SLACK", "evt-1-staff230-SLACK", "evt-1-staff2-EMAIL"})
	require.Equal(t, 248, get[int](t, s,
		"SELECT count(*) FROM notification_decision WHERE channels ->> 'SLACK' = 'SAME_ADDRESS' AND channels ->> 'SMS' = 'SELECTED'"))
	require.Equal(t, "SAME_ADDRESS", get[string](t, s, "SELECT channels ->> 'EMAIL' FROM notification_decision WHERE user_id = '250'"))
	require.Equal(t, ids, planned(t, s), "a repeat")
	exec(t, s, "UPDATE recipient SET active = false WHERE user_id = '1'")
	require.Equal(t, ids, planned(t, s), "a repeat after the first has left")
}

// planDatabase is the part of the database that planning needs.
type planDatabase interface {
	planner.Rows
	activities.LaneStore
}

// planDatabaseOf returns the real one.
func planDatabaseOf(s *db.DB) planDatabase {
	return struct {
		planner.Rows
		activities.LaneStore
	}{planner.On(s), attempt.On(s)}
}

// plans is a planDatabase with one event and one page of recipients. It has no throttles, caps or
// approvals.
type plans struct {
	planDatabase
	rules notification.EventSetup
	page  notification.RecipientPage
	named notification.RecipientPage
	err   error // of EventSetup
	later error // of all later calls

	asked   []notification.Target
	after   notification.Cursor
	limit   int
	decided []notification.DecidedRecipient
	people  int                     // recipients of the event
	counted []int                   // the limits of CountRecipients
	left    []notification.Delivery // deliveries of an earlier planning
	pages   int                     // the number of pages that were read
}

func (p *plans) EventSetup(context.Context, string) (notification.EventSetup, error) {
	return p.rules, p.err
}

func (p *plans) Recipients(_ context.Context, _ string, targets []notification.Target, after notification.Cursor,
	limit int) (notification.RecipientPage, error) {
	p.asked, p.after, p.limit = targets, after, limit
	p.pages++
	return p.page, p.later
}

func (p *plans) Named(context.Context, string, []notification.Target, notification.UserType, string) (notification.RecipientPage, error) {
	return p.named, nil
}

func (p *plans) SavePlan(_ context.Context, _ notification.Event, page []notification.DecidedRecipient) error {
	p.decided = page
	return p.later
}

func (p *plans) SaveLockedPlan(_ context.Context, _ notification.Event, _ notification.RecipientPage, _ []notification.Throttle,
	decide func(notification.Used) ([]notification.DecidedRecipient, error)) (err error) {
	p.decided, err = decide(notification.Used{})
	return cmp.Or(err, p.later)
}

func (p *plans) AddressHolders(context.Context, notification.EventSetup, []notification.Recipient) (notification.AddressHolders, error) {
	return notification.AddressHolders{}, nil
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

// stored holds a store's answer for a page.
func stored(page []notification.DecidedRecipient) []notification.Delivery {
	var deliveries []notification.Delivery
	for _, r := range page {
		for _, d := range r.Deliveries {
			deliveries = append(deliveries, notification.Delivery{DeliveryID: d.DeliveryID, Channel: d.Channel, UserType: r.UserType,
				UserID: r.UserID, Priority: d.Priority, Later: !d.SendAfter.IsZero()})
		}
	}
	return deliveries
}

var policies = map[notification.Channel]activities.DeliveryPolicy{
	notification.WebSocket: {TaskQueue: "herald-websocket", AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 1}},
	notification.Email: {TaskQueue: "herald-email",
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2, Timeout: 10 * time.Second}},
}

// planOf returns a planner with the texts of tests.
func planOf(rows planner.Rows) planner.Planner {
	return planner.Planner{Rows: rows, EventTexts: eventTexts, EscalatedTexts: escalatedTexts}
}

// planning plans the events of Herald's own outbox.
func planning(db planDatabase) *activities.Activities {
	sources := map[string]activities.Source{notification.HeraldSource: {}}
	return &activities.Activities{Sources: sources, Planner: planOf(db), Lanes: db, Policies: policies}
}

func plan(db planDatabase, in activities.PlanInput) (activities.PlanResult, error) {
	a := planning(db)
	in.Pages = max(in.Pages, 1)
	return run[activities.PlanResult](a, a.PlanDeliveries, in)
}

// reservation is an event for two staff of restaurant 5. It is sent by websocket, which is
// mandatory, and by e-mail.
func reservation() *plans {
	return &plans{
		rules: notification.EventSetup{
			Now: time.Now(),
			Event: notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5",
				Payload: json.RawMessage(`{"pax": 4, "restaurantId": 5}`)},
			Routing: []notification.Routing{{Channel: notification.WebSocket, Mandatory: true, Strategy: notification.Immediate},
				{Channel: notification.Email, Strategy: notification.Immediate}},
			Supported: map[notification.Channel][]notification.UserType{notification.WebSocket: {notification.RestaurantUser},
				notification.Email: {notification.RestaurantUser}},
			Templates: []notification.Template{{EventType: "*", Channel: "*", Locale: "en", Title: "New reservation",
				Body: "Table for {{.payload.pax}}, {{.recipient.name}}"}},
		},
		page: notification.RecipientPage{Recipients: []notification.Recipient{staff("10", "Ada"), staff("11", "Bob")}},
	}
}

func staff(id, name string) notification.Recipient {
	return notification.Recipient{
		UserType: notification.RestaurantUser, Who: "staff", UserID: id, Roles: []string{"STAFF"}, Name: name,
		Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, Email: strings.ToLower(name) + "@example.com", Locale: "en",
	}
}
