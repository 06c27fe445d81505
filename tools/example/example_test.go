package example_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
	"herald/starter/seed"
	"herald/tools/example"
)

// load loads the example, and overwrites rows that differ from it.
func load(t *testing.T, db *db.DB, slackURL string) {
	t.Helper()
	overwrite := func(context.Context, map[string]int) error { return nil }
	require.NoError(t, seed.Load(t.Context(), db, slackURL, overwrite))
}

func events(t *testing.T) []example.ExpectedEvent {
	t.Helper()
	events, err := example.Events()
	require.NoError(t, err)
	return events
}

// The example shows every decision, status and outcome.
func TestEventsShowEverything(t *testing.T) {
	t.Parallel()

	decisions := map[notification.Decision]bool{}
	statuses := map[notification.Status]bool{}
	outcomes := map[string]bool{}
	digests := map[string]int{} // by recipient
	names := map[string]bool{}
	for _, event := range events(t) {
		require.False(t, names[event.Name], "%s comes twice", event.Name)
		names[event.Name] = true
		outcomes[event.Expect.Outcome] = true
		for who, channels := range event.Expect.Recipients {
			for channel, expected := range channels {
				require.True(t, channel.Valid(), "%s", channel)
				if expected.Digest {
					digests[who]++
				}
				decisions[expected.Decision] = true
				statuses[expected.Status] = true
			}
		}
	}
	for _, decision := range []notification.Decision{
		notification.DecisionUnsupported, notification.DecisionUserDisabled, notification.DecisionGroupDisabled,
		notification.DecisionRoleRestricted,
		notification.DecisionQuietHours, notification.DecisionMaxRecipients, notification.DecisionNoAddress, notification.DecisionSelected,
	} {
		require.True(t, decisions[decision], "%s is not shown", decision)
	}
	for _, status := range []notification.Status{notification.Sent, notification.Failed, notification.Pending} {
		require.True(t, statuses[status], "%s is not shown", status)
	}
	require.Equal(t, map[string]int{"RESTAURANT_USER/10": 3, "RESTAURANT_USER/11": 3, "RESTAURANT_USER/20": 1}, digests)
	for _, outcome := range []string{example.Completed, example.Running, string(notification.NoRecipients), string(notification.NoRouting)} {
		require.True(t, outcomes[outcome], "%s is not shown", outcome)
	}
}

func TestSeedIsIdempotent(t *testing.T) {
	t.Parallel()

	db := seeded(t)
	before := contents(t, db)

	// A second load restores rows that have changed.
	_, err := db.Pool.Exec(t.Context(),
		"UPDATE recipient_device SET active = false; UPDATE recipient SET locale = 'fr', slack_webhook_url = 'x'")
	require.NoError(t, err)
	require.NotEqual(t, before, contents(t, db))

	load(t, db, "https://hooks.slack.com")
	require.Equal(t, before, contents(t, db))
}

// contents returns every row that the example loads.
func contents(t *testing.T, db *db.DB) []string {
	t.Helper()
	var rows []string
	for _, table := range []string{
		"recipient", "recipient_device", "entity_member", "event_type_recipients", "event_type_channel_routing",
		"entity_notification_settings", "user_notification_preferences", "notification_template",
	} {
		var of []string
		require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT array_agg(r::text ORDER BY r::text) FROM "+table+" r").Scan(&of))
		require.NotEmpty(t, of, table)
		rows = append(rows, of...)
	}
	return rows
}

func plan(t *testing.T, db *db.DB, eventID string) string {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	sources := map[string]activities.Source{notification.HeraldSource: {}}
	acts := &activities.Activities{Sources: sources, Planner: planner.New(planner.On(db), template.Engine{}), Lanes: attempt.On(db)}
	env.RegisterActivity(acts)
	value, err := env.ExecuteActivity(acts.PlanDeliveries, activities.PlanInput{EventID: eventID, Source: notification.HeraldSource})
	require.NoError(t, err)
	var result activities.PlanResult
	require.NoError(t, value.Get(&result))
	require.Nil(t, result.Next, "the example fits on a page")
	return string(result.Outcome)
}
