package example_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
	"herald/internal/postgres/report"
	"herald/internal/template"
	"herald/outbox"
	"herald/starter/seed"
	"herald/tools/demo"
	"herald/tools/example"
)

// load loads the example, and overwrites rows that differ from it.
func load(t *testing.T, db *postgres.Store, slackURL string) {
	t.Helper()
	scripts, settings := seed.Scripts(slackURL)
	overwrite := func(context.Context, map[string]int) error { return nil }
	require.NoError(t, db.RunScripts(t.Context(), scripts, settings, overwrite))
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
		notification.DecisionUnsupported, notification.DecisionUserDisabled, notification.DecisionGroupDisabled, notification.DecisionRoleRestricted,
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

	// A second load restores rows that Herald or somebody else has changed.
	_, err := db.Pool.Exec(t.Context(), "UPDATE recipient_device SET active = false; UPDATE recipient SET locale = 'fr', slack_webhook_url = 'x'")
	require.NoError(t, err)
	require.NotEqual(t, before, contents(t, db))

	load(t, db, "https://hooks.slack.com")
	require.Equal(t, before, contents(t, db))
}

func TestSeedPutsSlackWhereItIs(t *testing.T) {
	t.Parallel()

	db := postgrestest.New(t)
	load(t, db, "http://127.0.0.1:9090")

	var webhooks []string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "SELECT array_agg(slack_webhook_url) FROM recipient WHERE slack_webhook_url IS NOT NULL").Scan(&webhooks))
	require.Len(t, webhooks, 3)
	for _, webhook := range webhooks {
		require.True(t, strings.HasPrefix(webhook, "http://127.0.0.1:9090/services/T"), webhook)
	}
}

// contents returns every row that the example loads.
func contents(t *testing.T, db *postgres.Store) []string {
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

// Decisions and texts for the example's events are as the example expects. The test does not
// send: it gives each delivery its expected result.
func TestPlansAreAsExpected(t *testing.T) {
	t.Parallel()

	db := seeded(t)
	for _, event := range events(t) {
		t.Run(event.Name, func(t *testing.T) {
			t.Parallel()

			requirePlanned(t, db, event, event.InRun("test"))
		})
	}
}

// requirePlanned writes and plans an event, as a worker would.
func requirePlanned(t *testing.T, db *postgres.Store, event example.ExpectedEvent, written outbox.Event) {
	t.Helper()
	require.NoError(t, db.InsertEvents(t.Context(), []outbox.Event{written}))
	outcome := plan(t, db, written.ID)
	detail, err := report.Reader{Pool: db.Pool}.EventDetail(t.Context(), written.ID, 1000, 0)
	require.NoError(t, err)
	requireRenderedAsExpected(t, event, detail)

	if outcome == "" {
		outcome = event.Expect.Outcome
	}
	require.Empty(t, demo.Deviations(event, demo.Observation{Detail: sent(event, detail), Outcome: outcome}, time.Now()))
}

func plan(t *testing.T, db *postgres.Store, eventID string) string {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	sources := map[string]activities.Source{notification.HeraldSource: {}}
	acts := &activities.Activities{Sources: sources, Plans: db, EventTexts: func(event notification.Event, rows []notification.Template) activities.EventTexts {
		return template.NewSet(event, rows)
	}}
	env.RegisterActivity(acts)
	value, err := env.ExecuteActivity(acts.PlanDeliveries, activities.PlanInput{EventID: eventID})
	require.NoError(t, err)
	var result activities.PlanResult
	require.NoError(t, value.Get(&result))
	require.Nil(t, result.Next, "the example fits on a page")
	return string(result.Outcome)
}

// requireRenderedAsExpected requires that only the deliveries with an expected template error
// have failed.
func requireRenderedAsExpected(t *testing.T, event example.ExpectedEvent, detail report.EventDetail) {
	t.Helper()
	for _, r := range detail.Recipients {
		for channel, d := range r.Deliveries {
			expected := event.Expect.Recipients[r.Name()][channel]
			if strings.HasPrefix(expected.Error, "key ") {
				require.Equal(t, notification.Failed, d.Status)
				continue
			}
			require.Equal(t, notification.Pending, d.Status, "%s: %s", d.DeliveryID, d.LastError)
		}
	}
}

// sent returns the report with the expected results of sending.
func sent(event example.ExpectedEvent, detail report.EventDetail) report.EventDetail {
	for _, r := range detail.Recipients {
		for channel, d := range r.Deliveries {
			expected := event.Expect.Recipients[r.Name()][channel]
			if d.Status == notification.Pending && expected.Status != notification.Pending {
				d.Status, d.LastError = expected.Status, expected.Error
				if expected.Digest {
					d.DigestID = "digest-1"
				}
				r.Deliveries[channel] = d
			}
		}
	}
	return detail
}
