package notification_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Without rows for its type, an event's aggregate names the recipients.
func TestTargetsByAggregate(t *testing.T) {
	t.Parallel()

	tests := []struct {
		aggregate, id string
		want          notification.Target
		problem       string
	}{
		{aggregate: "RESTAURANT", id: "7", want: notification.Target{Entity: notification.Entity{Type: "RESTAURANT", ID: "7"}}},
		{aggregate: "AGENCY", id: "7",
			want: notification.Target{Entity: notification.Entity{Type: "AGENCY", ID: "7"}, Roles: []string{"AGENT", "MANAGER"}}},
		{aggregate: "CUSTOMER", id: "7",
			want: notification.Target{UserType: notification.Customer, Entity: notification.Entity{Type: "CUSTOMER", ID: "7"}}},
		{aggregate: "ADMIN", id: "7",
			want: notification.Target{UserType: notification.Admin, Entity: notification.Entity{Type: "ADMIN", ID: "0"}}},
		{aggregate: "BROADCAST", id: "7", want: notification.Target{Entity: notification.Entity{Type: "BROADCAST", ID: "0"}}},
		{aggregate: "RESERVATION", id: "7",
			problem: "aggregate type RESERVATION has no default recipients, and event type T has no rows in event_type_recipients"},
		{aggregate: "RESTAURANT", problem: "aggregate_id is empty"},
		{aggregate: "CUSTOMER", id: strings.Repeat("4", 65), problem: "aggregate_id is longer than 64 bytes"},
	}
	for _, tt := range tests {
		targets, problems := notification.Targets(notification.Event{Type: "T", AggregateType: tt.aggregate, AggregateID: tt.id}, nil)
		if tt.problem == "" {
			require.Equal(t, []notification.Target{tt.want}, targets)
			require.Empty(t, problems)
		} else {
			require.Empty(t, targets)
			require.Equal(t, []string{tt.problem}, problems)
		}
	}
}

// A path reads every kind of value.
func TestTargetsPath(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("9", 64)
	tests := []struct {
		name, path, payload string
		want                string // empty: not found
	}{
		{name: "integer", path: "restaurantId", payload: `{"restaurantId": 5}`, want: "5"},
		{name: "text", path: "restaurantId", payload: `{"restaurantId": "r-5"}`, want: "r-5"},
		{name: "zero", path: "restaurantId", payload: `{"restaurantId": 0}`, want: "0"},
		{name: "more digits than a float has", path: "restaurantId", payload: `{"restaurantId": 9007199254740993}`, want: "9007199254740993"},
		{name: "more digits than an integer has", path: "restaurantId", payload: `{"restaurantId": 123456789012345678901234567890}`,
			want: "123456789012345678901234567890"},
		{name: "64 digits", path: "restaurantId", payload: `{"restaurantId": ` + long + `}`, want: long},
		{name: "whole, with a point", path: "restaurantId", payload: `{"restaurantId": 5.0}`, want: "5"},
		{name: "whole, with an exponent", path: "restaurantId", payload: `{"restaurantId": 1.5e3}`, want: "1500"},
		{name: "whole, with a negative exponent", path: "restaurantId", payload: `{"restaurantId": 50E-1}`, want: "5"},
		{name: "nested", path: "customer.id", payload: `{"customer": {"id": 42}}`, want: "42"},
		{name: "two levels down", path: "a.b.c", payload: `{"a": {"b": {"c": "x"}}}`, want: "x"},
		{name: "fraction", path: "restaurantId", payload: `{"restaurantId": 5.5}`},
		{name: "fraction too fine for a float", path: "restaurantId", payload: `{"restaurantId": 5.00000000000000000001}`},
		{name: "monstrous exponent", path: "restaurantId", payload: `{"restaurantId": 1e999999999}`},
		{name: "monstrous negative exponent", path: "restaurantId", payload: `{"restaurantId": 1e-999999999}`},
		{name: "bool", path: "restaurantId", payload: `{"restaurantId": true}`},
		{name: "null", path: "restaurantId", payload: `{"restaurantId": null}`},
		{name: "empty text", path: "restaurantId", payload: `{"restaurantId": ""}`},
		{name: "object", path: "restaurantId", payload: `{"restaurantId": {"id": 5}}`},
		{name: "array", path: "restaurantId", payload: `{"restaurantId": [5]}`},
		{name: "missing", path: "restaurantId", payload: `{"customerId": 5}`},
		{name: "another letter case", path: "restaurantId", payload: `{"restaurantid": 5}`},
		{name: "another style", path: "restaurantId", payload: `{"restaurant_id": 5}`},
		{name: "a key with a dot is not a path", path: "customer.id", payload: `{"customer.id": 42}`},
		{name: "a path through a text", path: "customer.id", payload: `{"customer": "42"}`},
		{name: "a path through a missing key", path: "customer.id", payload: `{}`},
		{name: "payload without an object", path: "restaurantId", payload: `[5]`},
		{name: "null payload", path: "restaurantId", payload: `null`},
		{name: "no payload", path: "restaurantId", payload: ``},
		{name: "malformed payload", path: "restaurantId", payload: `{"restaurantId": 5`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			requireRestaurant(t, notification.Event{Payload: json.RawMessage(tt.payload)}, tt.path, tt.want, tt.path+" is not in the payload")
		})
	}
}

// requireRestaurant asserts that an event names the restaurant at a path. If want is empty, the
// event must name nobody, because of problem.
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

// The first path with a value counts. @aggregate is the event's aggregate, if its type is the
// row's type.
func TestTargetsFirstPathWithAValue(t *testing.T) {
	t.Parallel()

	const all = "restaurantId, restaurant_id,@aggregate"
	tests := []struct {
		name, path, aggregateType, payload string
		want, problem                      string
	}{
		{name: "the first", path: all, aggregateType: "RESTAURANT", payload: `{"restaurantId": 5, "restaurant_id": 6}`, want: "5"},
		{name: "the second", path: all, aggregateType: "RESTAURANT", payload: `{"restaurant_id": 6}`, want: "6"},
		{name: "another order of paths", path: "restaurant_id,restaurantId", aggregateType: "RESTAURANT",
			payload: `{"restaurantId": 5, "restaurant_id": 6}`, want: "6"},
		{name: "null counts as missing", path: all, aggregateType: "RESERVATION", payload: `{"restaurantId": null, "restaurant_id": 6}`,
			want: "6"},
		{name: "the aggregate", path: all, aggregateType: "RESTAURANT", payload: `{}`, want: "7"},
		{name: "the aggregate alone", path: "@aggregate", aggregateType: "RESTAURANT", payload: `{"@aggregate": 9}`, want: "7"},
		{name: "the aggregate first", path: "@aggregate,restaurantId", aggregateType: "RESTAURANT", payload: `{"restaurantId": 5}`, want: "7"},
		{name: "an aggregate of another type", path: "@aggregate,restaurantId", aggregateType: "RESERVATION", payload: `{"restaurantId": 5}`,
			want: "5"},
		{name: "none of the paths", path: all, aggregateType: "RESERVATION", payload: `{"restaurant": 5}`,
			problem: "the event has none of restaurantId, restaurant_id, @aggregate for RESTAURANT"},
		{name: "only an aggregate of another type", path: "@aggregate", aggregateType: "RESERVATION", payload: `{}`,
			problem: "the aggregate is not of type RESTAURANT"},
		{name: "the value at the path is too long", path: "long,restaurantId", aggregateType: "RESTAURANT",
			payload: `{"long": "` + strings.Repeat("x", 65) + `", "restaurantId": 5}`, problem: "long is longer than 64 bytes"},
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
	managers := notification.EventRecipients{
		UserType: notification.RestaurantUser, EntityType: "RESTAURANT", EntityIDPath: "restaurantId", Roles: []string{"MANAGER"},
	}
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
