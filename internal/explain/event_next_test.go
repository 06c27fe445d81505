package explain

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/report"
)

// For each outcome that the rules cause, the next step names the correction and the command that
// plans the event again. An event that was purged, or that told everybody, has no next step.
func TestNextOfOutcome(t *testing.T) {
	t.Parallel()

	for outcome, want := range map[notification.EventOutcome]string{
		notification.NoRouting: "event_type_channel_routing", notification.NoRecipients: "event_type_recipients", notification.EventProblem: "Correct them",
	} {
		view := EventView{EventDetail: report.EventDetail{EventID: "evt 1", Outbox: &report.LeasedRow{}, Processed: &report.ProcessedRow{Status: "SUCCESS", Outcome: outcome}}}
		require.Contains(t, view.next(), want)
		require.Contains(t, view.next(), "`starter event retry 'evt 1'`", outcome)
		view.Outbox.CancelledBy = "evt-2"
		require.Empty(t, view.next(), "a retry would be refused")
		view.Outbox = nil
		require.Empty(t, view.next(), "a purged event cannot be planned")
	}
	why := Why{EventID: "evt-1", Outbox: &report.LeasedRow{OutboxRow: report.OutboxRow{Status: "PROCESSED"}}, Processed: &report.ProcessedRow{Status: "SUCCESS", Outcome: notification.NoRouting}}
	require.Contains(t, why.nextOfEvent(), "`starter event retry evt-1`", "why tells the same about somebody without a decision")
	why.Outbox.CancelledBy = "evt-2"
	require.NotContains(t, why.nextOfEvent(), "event retry")
	require.Contains(t, nextOfOutcome("evt-1", notification.Incomplete), "sweep")
	for _, outcome := range []notification.EventOutcome{"", notification.EventCancelled, notification.EventFailed} {
		require.Empty(t, nextOfOutcome("evt-1", outcome), outcome)
	}
}

// The next step of a failing activity is a sentence with the cause and the remedy.
func TestNextOfFailingActivity(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	failing := func(text, failureType string) PendingActivity {
		return PendingActivity{Activity: "PlanDeliveries", State: "SCHEDULED", Attempt: 4, NextAttempt: &at, LastFailure: text, FailureType: failureType}
	}
	database := func(text string) PendingActivity { return failing(text, activities.DatabaseFailed) }
	for _, tt := range []struct {
		name string
		of   PendingActivity
		want []string
	}{
		{name: "no column", of: database("read recipients: SQLSTATE 42703: column r.timezone does not exist"), want: []string{"planning failed 3 times, and is tried again at 2026-11-21 08:00:00.000Z", "column", "view", "continues by itself"}},
		{name: "no table", of: database("x: SQLSTATE 42P01"), want: []string{"table", "migrate up"}},
		{name: "no privilege", of: database("x: SQLSTATE 42501"), want: []string{"role", "docs/roles.md"}},
		{name: "another type", of: database("x: SQLSTATE 42883"), want: []string{"type", "cast"}},
		{name: "unreadable value", of: database("x: SQLSTATE 22P02"), want: []string{"type", "cast"}},
		{name: "without a code", of: database("x: a value has another type than expected"), want: []string{"type", "cast"}},
		{name: "slow", of: database("x: SQLSTATE 57014"), want: []string{"30 s", "index"}},
		{name: "constraint", of: database("x: SQLSTATE 23503: constraint c of table t"), want: []string{"constraint"}},
		{name: "trigger", of: database("x: SQLSTATE P0001"), want: []string{"trigger", "log"}},
		{name: "full", of: database("x: SQLSTATE 53100"), want: []string{"disk"}},
		{name: "shutting down", of: database("x: SQLSTATE 57P01"), want: []string{"shutting down"}},
		{name: "unknown code", of: database("x: SQLSTATE XX000"), want: []string{"log"}},
		{name: "unknown source", of: failing("no such source", activities.UnknownSource), want: []string{"worker", "OUTBOX_SOURCES", "KAFKA_BROKERS"}},
		{name: "no database", of: failing("failed to connect: SQLSTATE 42703", "ConnectError"), want: []string{"start it"}},
	} {
		view := EventView{Workflow: WorkflowView{Status: Running}, Pending: []PendingActivity{{Activity: "PublishEvent", Attempt: 1}, tt.of}}
		for _, want := range tt.want {
			require.Contains(t, view.next(), want, tt.name)
		}
	}
	require.Empty(t, EventView{Workflow: WorkflowView{Status: Running}, Pending: []PendingActivity{{Activity: "PlanDeliveries", Attempt: 1}}}.next())
	require.Contains(t, nextOfFailing([]PendingActivity{{Activity: "PublishEvent", State: Started, Attempt: 2, LastFailure: "rabbitmq is busy"}}), "publishing its message failed once, and is being tried again")
	require.Contains(t, nextOfFailing([]PendingActivity{{Activity: "CancelEvent", Attempt: 2, LastFailure: "temporal is busy"}}), "cancelling the other event failed once")
}

// Herald counts the recipients before a person only as far as necessary, and at most 2,000. If it
// stops there, the answer says so.
func TestWhyCountsEarlierRecipients(t *testing.T) {
	t.Parallel()

	d := directory{DB: postgrestest.New(t)}
	d.exec(t, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')")
	d.exec(t, "INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'RESTAURANT', '5', '{}')")
	d.exec(t, "INSERT INTO recipient (user_type, user_id, email) SELECT 'RESTAURANT_USER', i::text, CASE WHEN i IN (1, 1500, 2200) THEN 'a@example.com' END FROM generate_series(1, 2200) AS i")
	d.exec(t, "INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', '5', user_type, user_id, 'STAFF' FROM recipient")
	d.exec(t, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, max_recipients) VALUES ('RESTAURANT', '5', 'EMAIL', 3)")
	tests := []struct {
		name      string
		limit     int
		userID    string
		uncounted bool
		want      notification.Decision
	}{
		{name: "the first", limit: 1, userID: "1", want: notification.DecisionSelected},
		{name: "few chosen before them", limit: 2, userID: "1500", want: notification.DecisionSelected},
		{name: "limit used up", limit: 1, userID: "1500", want: notification.DecisionMaxRecipients},
		{name: "limit used up long before", limit: 2, userID: "2200", want: notification.DecisionMaxRecipients},
		{name: "too many before them to count", limit: 3, userID: "2200", uncounted: true, want: notification.DecisionSelected},
	}
	for _, tt := range tests { // sequential, because all cases change the same row
		d.exec(t, "UPDATE entity_notification_settings SET max_recipients = $1", tt.limit)

		why, err := Explainer{DB: d.DB, Unreachable: errors.New("down")}.Why(t.Context(),
			report.DecisionKey{EventID: "evt-1", UserType: notification.RestaurantUser, UserID: tt.userID, Channel: notification.Email})

		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, why.Rules.Decision, tt.name)
		require.Equal(t, tt.uncounted, why.Rules.Uncounted, tt.name)
	}
}

// If an event was purged, its delivery's row still has the entity through which the event named the
// recipient. Why explains the rules of this entity.
func TestWhyOfAPurgedEvent(t *testing.T) {
	t.Parallel()

	d := directory{DB: postgrestest.New(t)}
	d.exec(t, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')")
	d.exec(t, "INSERT INTO recipient (user_type, user_id) VALUES ('RESTAURANT_USER', '1'), ('RESTAURANT_USER', '2')")
	d.exec(t, "INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '1', 'STAFF')")
	d.exec(t, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, enabled) VALUES ('RESTAURANT', '5', 'EMAIL', false)")
	d.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body)
		SELECT 'evt-1', 'T', user_type, user_id, 'RESTAURANT', '5', 'EMAIL', 'evt-1-staff' || user_id || '-EMAIL', 'title', 'body' FROM recipient`)
	e := Explainer{DB: d.DB, Unreachable: errors.New("down")}

	member, err := e.WhyDelivery(t.Context(), "evt-1-staff1-EMAIL")
	require.NoError(t, err)
	require.Equal(t, "RESTAURANT/5", member.Rules.SettingsOf)
	require.Equal(t, notification.DecisionGroupDisabled, member.Rules.Decision)

	left, err := e.WhyDelivery(t.Context(), "evt-1-staff2-EMAIL")
	require.NoError(t, err)
	require.Equal(t, []string{"they are not a member of RESTAURANT/5"}, left.Rules.Unreached)
}
