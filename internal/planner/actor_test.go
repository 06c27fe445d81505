package planner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

// Planning tells neither the person who caused an event nor the people in exclude.
func TestActorAndExcludedAreNotTold(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, id := range []string{"1", "2", "3"} {
		postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: id, Email: "ada@example.com", Phone: "+12025550110"})
	}
	postgrestest.Add(t, s.Pool, postgrestest.Route{}, postgrestest.Route{Channel: notification.SMS, Mandatory: true, TellActor: true},
		postgrestest.Template{}, postgrestest.Event{
			AggregateType: "BROADCAST", AggregateID: "0", ActorType: notification.RestaurantUser, ActorID: "1", Exclude: []string{"RESTAURANT_USER/2", "GUEST/3"},
		})
	plan, err := planner.New(planner.On(s), template.Engine{}).Event(t.Context(), "evt-1")
	require.NoError(t, err)
	page, err := plan.Page(t.Context(), notification.Cursor{}, 10)
	require.NoError(t, err)
	_, err = plan.Save(t.Context(), page, func() {})
	require.NoError(t, err)

	require.Equal(t, []string{
		`1 {"SMS": "SELECTED", "EMAIL": "ACTOR"}`, `2 {"SMS": "EXCLUDED", "EMAIL": "EXCLUDED"}`, `3 {"SMS": "SELECTED", "EMAIL": "SELECTED"}`,
	}, postgrestest.List(t, s, "SELECT user_id || ' ' || channels FROM notification_decision ORDER BY user_id"))
	require.Equal(t, []string{"1 SMS", "3 EMAIL", "3 SMS"},
		postgrestest.List(t, s, "SELECT user_id || ' ' || channel FROM notification ORDER BY 1"))

	trace, err := plan.Trace(t.Context(), notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "1"}, notification.Email, plan.Time())
	require.NoError(t, err)
	require.Equal(t, notification.DecisionActor, trace.Decision)
}
