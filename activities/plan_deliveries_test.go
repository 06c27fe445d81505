package activities_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

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
		Batch: activities.DeliveryBatch{Deliveries: stored(db.decided), Policies: policies},
	}, result)
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
	require.Equal(t, lanes, first.Lanes)
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
