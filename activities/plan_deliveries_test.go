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
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

func TestPlanDeliveries(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients[1].Preferences = []notification.Preference{{Channel: notification.Email, Enabled: false},
		{Channel: notification.WebSocket, Enabled: false}}
	result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource}))(t)

	restaurant := notification.Entity{Type: "RESTAURANT", ID: "5"}
	require.Equal(t, []notification.Target{{Entity: restaurant}}, db.asked)
	require.Equal(t, 100, db.limit)
	require.Equal(t, []notification.DecidedRecipient{
		{
			UserType: notification.RestaurantUser, UserID: "10", Entity: restaurant,
			Decisions: map[notification.Channel]notification.Decision{notification.WebSocket: "SELECTED", notification.Email: "SELECTED"},
			Deliveries: []notification.PlannedDelivery{
				{DeliveryID: "evt-1-staff10-WEBSOCKET", Channel: notification.WebSocket, Title: "New reservation", Body: "Table for 4, Ada",
					Strategy: notification.Immediate, Priority: notification.Normal},
				{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, Address: "ada@example.com", Title: "New reservation",
					Body: "Table for 4, Ada", Strategy: notification.Immediate, Priority: notification.Normal},
			},
		},
		{
			UserType: notification.RestaurantUser, UserID: "11", Entity: restaurant,
			Decisions: map[notification.Channel]notification.Decision{notification.WebSocket: "SELECTED", notification.Email: "USER_DISABLED"},
			Deliveries: []notification.PlannedDelivery{
				{DeliveryID: "evt-1-staff11-WEBSOCKET", Channel: notification.WebSocket, Title: "New reservation", Body: "Table for 4, Bob",
					Strategy: notification.Immediate, Priority: notification.Normal},
			},
		},
	}, db.decided)
	require.Equal(t, activities.PlanResult{
		EventType: "RESERVATION_REQUESTED", Aggregate: restaurant,
		Batch: activities.DeliveryBatch{Deliveries: stored(db.decided), Policies: policies},
	}, result)
	for _, private := range []string{"ada@example.com", "Ada", "Table for 4", "New reservation"} {
		require.NotContains(t, string(must(json.Marshal(result))(t)), private, "the history keeps it")
	}
}

// Without recipients or routing, nothing is planned. For a cancelled event, nothing is planned or
// handed out. An event that only cancels another event needs no routing.
func TestPlanDeliveriesForNobody(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		change  func(db *plans)
		outcome notification.EventOutcome
		problem string
	}{
		{name: "no routing", change: func(db *plans) { db.rules.Routing = nil }, outcome: notification.NoRouting,
			problem: "event type RESERVATION_REQUESTED has no rows in event_type_channel_routing"},
		{name: "no recipients", change: func(db *plans) { db.page.Recipients = nil }, outcome: notification.NoRecipients,
			problem: "nobody in the directory is an active recipient of it"},
		{name: "a path to nothing", change: func(db *plans) {
			db.rules.Recipients = []notification.EventRecipients{{EntityType: "RESTAURANT", EntityIDPath: "restaurant.id"}}
			db.page.Recipients = nil
		}, outcome: notification.NoRecipients, problem: "restaurant.id is not in the payload"},
		{name: "a domain aggregate without rules", change: func(db *plans) {
			db.rules.Event.AggregateType = "RESERVATION"
			db.page.Recipients = nil
		}, outcome: notification.NoRecipients, problem: "aggregate type RESERVATION has no default recipients, and event type " +
			"RESERVATION_REQUESTED has no rows in event_type_recipients"},
		{name: "cancelled", change: func(db *plans) { db.rules.Event.CancelledBy = "evt-2" }, outcome: notification.EventCancelled,
			problem: "cancelled by event evt-2"},
		{name: "cancelled, without routing", change: func(db *plans) { db.rules.Event.CancelledBy, db.rules.Routing = "evt-2", nil },
			outcome: notification.EventCancelled, problem: "cancelled by event evt-2"},
		{name: "cancels another event, without routing", change: func(db *plans) { db.rules.Event.Cancels, db.rules.Routing = "evt-0", nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := reservation()
			tt.change(db)
			result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource}))(t)
			require.Equal(t, tt.outcome, result.Outcome)
			require.Equal(t, tt.problem, result.Problem)
			require.Equal(t, "RESERVATION_REQUESTED", result.EventType)
			require.Empty(t, db.decided, "nothing is stored")
			require.Empty(t, result.Batch.Deliveries)
			require.Nil(t, result.Next)
		})
	}
}

// If the time of a delivery cannot be read, the delivery fails with the reason and has no text. The
// other channel's delivery continues.
func TestPlanDeliveriesWithoutItsTime(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Recipients = db.page.Recipients[:1]
	db.rules.Routing[1].Strategy, db.rules.Routing[1].SendAtPath = notification.Delayed, "startsAt"
	must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)

	planned := db.decided[0].Deliveries
	require.Len(t, planned, 2)
	require.Empty(t, planned[0].Problem)
	require.Equal(t, "send_at_path: startsAt is not in the payload", planned[1].Problem)
	require.Zero(t, planned[1].SendAfter)
}

// A rule that finds nobody is reported, and does not stop the other rules.
func TestPlanDeliveriesReportsABrokenRule(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.rules.Recipients = []notification.EventRecipients{{EntityType: "RESTAURANT", EntityIDPath: "restaurantId"},
		{EntityType: "CUSTOMER", EntityIDPath: "customer.id"}}
	result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource}))(t)
	require.Empty(t, result.Outcome)
	require.Equal(t, "customer.id is not in the payload", result.Problem)
	require.Len(t, result.Batch.Deliveries, 4)
}

// Planning reports and counts skipped people once, even if the event has many pages. It plans the
// other recipients.
func TestPlanDeliveriesReportsSkippedPeople(t *testing.T) {
	t.Parallel()

	const doctors, ids = "2 members of RESTAURANT/5 have the user type DOCTOR, which is not in user_type",
		"1 member of RESTAURANT/5 of type GUEST has an id that is empty, longer than 64 bytes or not printable"
	passedOver := []notification.PassedOver{
		{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, UserType: "DOCTOR", Count: 2},
		{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}, UserType: notification.Guest, Known: true, Count: 1},
	}
	db := reservation()
	db.page.PassedOver = passedOver
	result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)
	require.Empty(t, result.Outcome)
	require.Len(t, result.Batch.Deliveries, 4)
	require.Equal(t, doctors+"; "+ids, result.Problem)

	db.page.Recipients = nil
	m := newMeters()
	a := planning(db)
	require.NoError(t, measure(m, a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))
	require.Equal(t, map[string]int64{"herald_recipients_passed_over UNKNOWN_USER_TYPE": 2,
		"herald_recipients_passed_over UNUSABLE_USER_ID": 1}, m.counted())
	result = must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)
	require.Equal(t, notification.NoRecipients, result.Outcome)
	require.Equal(t, doctors+"; "+ids, result.Problem)
}

// A text that cannot be written fails one delivery; the other deliveries continue.
func TestPlanDeliveriesWithABrokenTemplate(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.rules.Templates = append(db.rules.Templates,
		notification.Template{EventType: "*", Channel: "EMAIL", Locale: "it", Title: "t", Body: "{{.payload.children}}"})
	db.page.Recipients[0].Locale = "it"
	require.Len(t, must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource}))(t).Batch.Deliveries, 4,
		"the workflow of the broken delivery gives it up")

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

func TestPlanDeliveriesFailure(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.err = fmt.Errorf("read rules: %w", notification.ErrNoEvent)
	_, err := plan(db, activities.PlanInput{EventID: "evt-404", Source: notification.HeraldSource})
	requireFailure(t, err, activities.NoSuchRow, true, 0)

	_, err = plan(db, activities.PlanInput{EventID: "evt-1", Source: "orders"})
	requireFailure(t, err, activities.UnknownSource, false, 5*time.Second)

	for _, db := range []*plans{{err: errors.New("connection reset")},
		func() *plans { db := reservation(); db.later = errors.New("connection reset"); return db }()} {
		_, err := plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource})
		requireFailure(t, err, "", false, 0)
	}
}

// One call plans as many pages as the input asks for. It returns the lanes with
// deliveries, and the cursor.
func TestPlanDeliveriesOfSeveralPages(t *testing.T) {
	t.Parallel()

	db := reservation()
	db.page.Next = &notification.Cursor{UserID: "11"}
	result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 3}))(t)

	require.Equal(t, 3, db.pages)
	require.Equal(t, 250, db.limit, "pages of a large event are larger")
	require.Equal(t, activities.PlanResult{
		EventType: "RESERVATION_REQUESTED", Aggregate: notification.Entity{Type: "RESTAURANT", ID: "5"}, Lanes: lanes,
		Next: &notification.Cursor{UserID: "11"},
	}, result)
	db.page.Recipients = nil // the recipients have left
	require.Empty(t, must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, After: *result.Next}))(t).Outcome,
		"an earlier page had recipients")
	require.Equal(t, *result.Next, db.after)
}

// losing stores pages, but loses the first result of each.
type losing struct {
	planDatabase
	lost bool
}

func (l *losing) SaveLockedPlan(ctx context.Context, event notification.Event, page notification.RecipientPage,
	keys []notification.Throttle, decide func(notification.Used) ([]notification.DecidedRecipient, error)) error {
	err := l.planDatabase.SaveLockedPlan(ctx, event, page, keys, decide)
	if !l.lost {
		l.lost = true
		return errors.New("connection reset")
	}
	return err
}

// A page that is planned again counts the stored decisions for max_recipients, not what the
// rules say today. So does an event that an operator retries.
func TestPlanDeliveriesTwiceKeepsMaxRecipients(t *testing.T) {
	t.Parallel()

	s := installation(t)
	for i := range 103 {
		employ(t, s, fmt.Sprint(i+1), "STAFF")
	}
	postgrestest.Add(t, s.Pool, postgrestest.GroupSetting{MaxRecipients: new(1)})
	insertEvent(t, s, "RESTAURANT", "5")
	in := activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 2}
	db := &losing{planDatabase: planDatabaseOf(s)}

	_, err := plan(db, in)
	require.Error(t, err)
	postgrestest.Add(t, s.Pool,
		postgrestest.Preference{UserID: "1", Off: true},
		postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "0", Email: "new@example.com"},
		postgrestest.Member{UserID: "0", Role: "MANAGER"})
	must(plan(db, in))(t)
	must(plan(db, in))(t)

	require.Equal(t, []string{"1"}, postgrestest.List(t, s, "SELECT user_id FROM notification WHERE channel = 'EMAIL'"))
	require.Equal(t, 104, postgrestest.Get[int](t, s, "SELECT count(*) FROM notification_decision"))
}

// A throttle window that ends while the event waits for its row throttles nothing, and the event begins
// the next window.
func TestPlanDeliveriesDecidesUnderTheLock(t *testing.T) {
	t.Parallel()

	s := installation(t)
	exec(t, s, "UPDATE event_type_channel_routing SET throttle_window = '1 second' WHERE channel_type = 'EMAIL'")
	employ(t, s, "1", "STAFF")
	insertEvent(t, s, "RESTAURANT", "5")
	const before, eventType = "evt-0-staff1-EMAIL", "RESERVATION_REQUESTED"
	postgrestest.Add(t, s.Pool,
		postgrestest.Delivery{ID: before, EventID: "evt-0", EventType: eventType, UserType: notification.RestaurantUser, UserID: "1"},
		postgrestest.Throttle{UserID: "1", EventType: eventType, DeliveryID: before, BeganAt: time.Now(), EndsAt: time.Now().Add(time.Second)})
	other := postgrestest.OpenTx(t, s, "SELECT FROM throttle FOR UPDATE")
	time.AfterFunc(1100*time.Millisecond, func() { _ = other.Rollback(context.Background()) })

	require.Contains(t, planned(t, s), "evt-1-staff1-EMAIL")
	require.Equal(t, "evt-1-staff1-EMAIL", postgrestest.Get[string](t, s, "SELECT delivery_id FROM throttle"))
}

// For an event of one page the result holds all deliveries from the rows, if one workflow can send
// them.
func TestPlanDeliveriesOfOnePage(t *testing.T) {
	t.Parallel()

	for left, inLanes := range map[int]bool{0: false, 1: false, 496: false, 497: true} { // in addition to the four that are planned
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			t.Parallel()

			db := reservation()
			for range left {
				db.left = append(db.left, notification.Delivery{Channel: notification.Email})
			}
			result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)
			require.Nil(t, result.Next)
			if inLanes {
				require.Equal(t, lanes, result.Lanes)
				require.Empty(t, result.Batch)
				return
			}
			require.Empty(t, result.Lanes)
			require.Len(t, result.Batch.Deliveries, left+4)
			require.Equal(t, policies, result.Batch.Policies)
		})
	}
}

// Recipients who leave after the planning keep their deliveries, even if the event has no
// recipients any more.
func TestPlanDeliveriesKeepsDeliveriesToPeopleWhoLeft(t *testing.T) {
	t.Parallel()

	for outcome, change := range map[notification.EventOutcome]func(db *plans){
		notification.NoRouting:    func(db *plans) { db.rules.Routing = nil },
		notification.NoRecipients: func(db *plans) { db.page.Recipients = nil },
	} {
		db := reservation()
		db.left = []notification.Delivery{{DeliveryID: "evt-1-staff9-EMAIL", Channel: notification.Email}}
		change(db)
		result := must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)
		require.Equal(t, outcome, result.Outcome)
		require.Equal(t, db.left, result.Batch.Deliveries)
	}
}

// Planning stops when its activity has ended, and stores no page of which it could not render the
// texts.
func TestPlanDeliveriesCancelled(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	db := reservation()
	a := planning(db)
	_, err := runWithin[activities.PlanResult](ctx, a, a.PlanDeliveries,
		activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1})
	require.ErrorContains(t, err, "cancel")
	require.Empty(t, db.decided)
}

// A slow template is rendered three times, not once for each recipient. Other templates are
// rendered as usual.
func TestPlanDeliveriesWithASlowTemplate(t *testing.T) {
	t.Parallel()

	db := reservation()
	slow := strings.Repeat("{{range $.payload.many}}", 8) + strings.Repeat("{{end}}", 8)
	db.rules.Event.Payload = []byte(`{"pax": 4, "restaurantId": 5, "many": [` + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + `]}`)
	db.rules.Templates = append(db.rules.Templates,
		notification.Template{EventType: "*", Channel: "EMAIL", Locale: "en", Title: "t", Body: slow})
	db.page.Recipients = nil
	for i := range 50 {
		db.page.Recipients = append(db.page.Recipients, staff(fmt.Sprint(i), "Ada"))
	}
	must(plan(db, activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, Pages: 1}))(t)
	for _, r := range db.decided {
		require.Empty(t, r.Deliveries[0].Problem)
		require.Equal(t, "template */EMAIL/en: body: took longer than 100 ms", r.Deliveries[1].Problem)
	}
}
