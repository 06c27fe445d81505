package notification_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestTargetsByAggregate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		aggregate string
		want      notification.Target
	}{
		{"RESTAURANT", notification.Target{Entity: notification.Entity{Type: "RESTAURANT", ID: "7"}}},
		{"AGENCY", notification.Target{Entity: notification.Entity{Type: "AGENCY", ID: "7"}, Roles: []string{"AGENT", "MANAGER"}}},
		{"CUSTOMER", notification.Target{UserType: notification.Customer, Entity: notification.Entity{Type: "CUSTOMER", ID: "7"}}},
		{"ADMIN", notification.Target{UserType: notification.Admin, Entity: notification.Entity{Type: "ADMIN", ID: "0"}}},
		{"BROADCAST", notification.Target{Entity: notification.Entity{Type: "BROADCAST", ID: "0"}}},
	}
	for _, tt := range tests {
		t.Run(tt.aggregate, func(t *testing.T) {
			t.Parallel()

			targets, problems := notification.Targets(notification.Event{AggregateType: tt.aggregate, AggregateID: "7"}, nil)

			require.Equal(t, []notification.Target{tt.want}, targets)
			require.Empty(t, problems)
		})
	}
}

func TestTargetsWithoutAny(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		event   notification.Event
		problem string
	}{
		{
			"domain aggregate", notification.Event{Type: "RESERVATION_REQUESTED", AggregateType: "RESERVATION", AggregateID: "100"},
			"aggregate type RESERVATION has no recipients of its own, and event type RESERVATION_REQUESTED has no rows in event_type_recipients",
		},
		{"no id", notification.Event{AggregateType: "RESTAURANT"}, "aggregate_id is empty"},
		{"id too long", notification.Event{AggregateType: "CUSTOMER", AggregateID: strings.Repeat("4", 65)}, "aggregate_id is longer than 64 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			targets, problems := notification.Targets(tt.event, nil)

			require.Empty(t, targets)
			require.Equal(t, []string{tt.problem}, problems)
		})
	}
}

// Where a path leads, for every kind of value.
func TestTargetsPath(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("9", 64)
	tests := []struct {
		name, path, payload string
		want                string // empty: not found
	}{
		{"integer", "restaurantId", `{"restaurantId": 5}`, "5"},
		{"text", "restaurantId", `{"restaurantId": "r-5"}`, "r-5"},
		{"zero", "restaurantId", `{"restaurantId": 0}`, "0"},
		{"more digits than a float has", "restaurantId", `{"restaurantId": 9007199254740993}`, "9007199254740993"},
		{"more digits than an integer has", "restaurantId", `{"restaurantId": 123456789012345678901234567890}`, "123456789012345678901234567890"},
		{"64 digits", "restaurantId", `{"restaurantId": ` + long + `}`, long},
		{"whole, with a point", "restaurantId", `{"restaurantId": 5.0}`, "5"},
		{"whole, with an exponent", "restaurantId", `{"restaurantId": 1.5e3}`, "1500"},
		{"whole, with a negative exponent", "restaurantId", `{"restaurantId": 50E-1}`, "5"},
		{"nested", "customer.id", `{"customer": {"id": 42}}`, "42"},
		{"deeper", "a.b.c", `{"a": {"b": {"c": "x"}}}`, "x"},
		{"fraction", "restaurantId", `{"restaurantId": 5.5}`, ""},
		{"fraction too fine for a float", "restaurantId", `{"restaurantId": 5.00000000000000000001}`, ""},
		{"monstrous exponent", "restaurantId", `{"restaurantId": 1e999999999}`, ""},
		{"monstrous negative exponent", "restaurantId", `{"restaurantId": 1e-999999999}`, ""},
		{"bool", "restaurantId", `{"restaurantId": true}`, ""},
		{"null", "restaurantId", `{"restaurantId": null}`, ""},
		{"empty text", "restaurantId", `{"restaurantId": ""}`, ""},
		{"object", "restaurantId", `{"restaurantId": {"id": 5}}`, ""},
		{"array", "restaurantId", `{"restaurantId": [5]}`, ""},
		{"missing", "restaurantId", `{"customerId": 5}`, ""},
		{"another case", "restaurantId", `{"restaurantid": 5}`, ""},
		{"another style", "restaurantId", `{"restaurant_id": 5}`, ""},
		{"a key with a dot is not a path", "customer.id", `{"customer.id": 42}`, ""},
		{"through a text", "customer.id", `{"customer": "42"}`, ""},
		{"through nothing", "customer.id", `{}`, ""},
		{"no object", "restaurantId", `[5]`, ""},
		{"null payload", "restaurantId", `null`, ""},
		{"no payload", "restaurantId", ``, ""},
		{"no JSON", "restaurantId", `{"restaurantId": 5`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			requireRestaurant(t, notification.Event{Payload: json.RawMessage(tt.payload)}, tt.path, tt.want, tt.path+" is not in the payload")
		})
	}
}

// requireRestaurant asserts that an event names the restaurant at a path; want is
// empty where it names nobody, because of a problem.
func requireRestaurant(t *testing.T, event notification.Event, path, want, problem string) {
	t.Helper()
	targets, problems := notification.Targets(event, []notification.EventRecipients{{EntityType: "RESTAURANT", EntityIDPath: path}})
	if want == "" {
		require.Empty(t, targets)
		require.Equal(t, []string{problem}, problems)
		return
	}
	require.Empty(t, problems)
	require.Equal(t, []notification.Target{{Entity: notification.Entity{Type: "RESTAURANT", ID: want}}}, targets)
}

// Of several paths the first that is there counts, and @aggregate is the
// event's own aggregate, where that is of the row's type.
func TestTargetsSeveralPaths(t *testing.T) {
	t.Parallel()

	const all = "restaurantId, restaurant_id,@aggregate"
	tests := []struct {
		name, path, aggregateType, payload string
		want, problem                      string
	}{
		{"the first", all, "RESTAURANT", `{"restaurantId": 5, "restaurant_id": 6}`, "5", ""},
		{"the second", all, "RESTAURANT", `{"restaurant_id": 6}`, "6", ""},
		{"the order is the row's", "restaurant_id,restaurantId", "RESTAURANT", `{"restaurantId": 5, "restaurant_id": 6}`, "6", ""},
		{"null is not there", all, "RESERVATION", `{"restaurantId": null, "restaurant_id": 6}`, "6", ""},
		{"the aggregate", all, "RESTAURANT", `{}`, "7", ""},
		{"the aggregate alone", "@aggregate", "RESTAURANT", `{"@aggregate": 9}`, "7", ""},
		{"the aggregate first", "@aggregate,restaurantId", "RESTAURANT", `{"restaurantId": 5}`, "7", ""},
		{"an aggregate of another type", "@aggregate,restaurantId", "RESERVATION", `{"restaurantId": 5}`, "5", ""},
		{"nowhere", all, "RESERVATION", `{"restaurant": 5}`, "", "the event has none of restaurantId, restaurant_id, @aggregate for RESTAURANT"},
		{"only an aggregate of another type", "@aggregate", "RESERVATION", `{}`, "", "the aggregate is not of type RESTAURANT"},
		{"the one that is there is too long", "long,restaurantId", "RESTAURANT", `{"long": "` + strings.Repeat("x", 65) + `", "restaurantId": 5}`, "", "long is longer than 64 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			event := notification.Event{AggregateType: tt.aggregateType, AggregateID: "7", Payload: json.RawMessage(tt.payload)}
			requireRestaurant(t, event, tt.path, tt.want, tt.problem)
		})
	}
}

func TestTargetsByRules(t *testing.T) {
	t.Parallel()

	event := notification.Event{
		AggregateType: "RESERVATION",
		Payload:       json.RawMessage(`{"restaurantId": 5, "customer": {"id": 42}, "long": "` + strings.Repeat("x", 65) + `"}`),
	}
	managers := notification.EventRecipients{UserType: notification.RestaurantUser, EntityType: "RESTAURANT", EntityIDPath: "restaurantId", Roles: []string{"MANAGER"}}
	anyRole, noRole := managers, managers
	anyRole.Roles, noRole.Roles = nil, []string{}
	rules := []notification.EventRecipients{
		managers,
		{UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "customer.id"},
		managers, // named twice, told once
		anyRole,
		noRole,
		{EntityType: "ADMIN"},
		{UserType: notification.Customer, EntityType: "BROADCAST", EntityIDPath: "ignored"},
		{EntityType: "AGENCY", EntityIDPath: "agencyId"},
		{EntityType: "AGENCY", EntityIDPath: "agencyId"},
		{EntityType: "AGENCY", EntityIDPath: "long"},
		{EntityType: "AGENCY"},
	}

	targets, problems := notification.Targets(event, rules)

	require.Equal(t, []notification.Target{
		{UserType: notification.RestaurantUser, Entity: restaurant5, Roles: []string{"MANAGER"}},
		{UserType: notification.Customer, Entity: notification.Entity{Type: "CUSTOMER", ID: "42"}},
		{UserType: notification.RestaurantUser, Entity: restaurant5},
		{UserType: notification.RestaurantUser, Entity: restaurant5, Roles: []string{}},
		{Entity: notification.Entity{Type: "ADMIN", ID: "0"}},
		{UserType: notification.Customer, Entity: notification.Entity{Type: "BROADCAST", ID: "0"}},
	}, targets)
	require.Equal(t, []string{
		"agencyId is not in the payload",
		"long is longer than 64 bytes",
		"a row of event_type_recipients for AGENCY has no entity_id_path",
	}, problems)
}

// Rules replace what the aggregate would say, even where they find nobody.
func TestTargetsRulesBeatTheAggregate(t *testing.T) {
	t.Parallel()

	event := notification.Event{AggregateType: "RESTAURANT", AggregateID: "5", Payload: json.RawMessage(`{}`)}
	targets, problems := notification.Targets(event, []notification.EventRecipients{{EntityType: "CUSTOMER", EntityIDPath: "customerId"}})
	require.Empty(t, targets)
	require.Equal(t, []string{"customerId is not in the payload"}, problems)
}
