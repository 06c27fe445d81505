package explain

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

// Each outcome, and each failing activity, has a sentence with the correction and the command. An
// event that was purged or cancelled, or that told everybody, has none.
func TestNextOfAnEvent(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var out strings.Builder
	note := func(name string, view EventView) {
		view.EventID = "evt 1"
		fmt.Fprintf(&out, "%s: %s\n", name, view.next())
	}
	for _, outcome := range append(notification.EventOutcomes(), "") {
		ended := &report.ProcessedRow{Status: "SUCCESS", Outcome: outcome}
		note("outcome "+string(outcome), EventView{EventDetail: report.EventDetail{Outbox: outbox("PROCESSED", ""), Processed: ended}})
		note("cancelled, outcome "+string(outcome),
			EventView{EventDetail: report.EventDetail{Outbox: cancelledRow("PROCESSED"), Processed: ended}})
		note("purged, outcome "+string(outcome), EventView{EventDetail: report.EventDetail{Processed: ended}})
	}
	planning := report.EventDetail{Processed: &report.ProcessedRow{Status: notification.Processing}}
	note("awaits approval", EventView{EventDetail: planning, Approval: &notification.Approval{AskedAt: at}})
	for _, failure := range []string{
		"read recipients: SQLSTATE 42703: column r.timezone does not exist", "x: SQLSTATE 42P01",
		"x: SQLSTATE 42501", "x: SQLSTATE 42883", "x: SQLSTATE 22P02",
		"x: a value has another type than expected", "x: SQLSTATE 57014", "x: SQLSTATE 55P03", "x: SQLSTATE 23503: constraint c of table t",
		"x: SQLSTATE 40001", "x: SQLSTATE P0001",
		"x: SQLSTATE 53100", "x: SQLSTATE 57P01", "x: SQLSTATE 08006", "x: SQLSTATE XX000",
	} {
		p := PendingActivity{Activity: "PlanDeliveries", State: "SCHEDULED", Attempt: 4, NextAttempt: &at, LastFailure: failure}
		p.FailureType = activities.DatabaseFailed
		note(failure, EventView{Workflow: WorkflowView{Status: Running}, Pending: []PendingActivity{{Activity: "PublishEvent", Attempt: 1}, p}})
	}
	for _, p := range []PendingActivity{
		{Activity: "PlanDeliveries", State: "SCHEDULED", Attempt: 4, LastFailure: "no such source", FailureType: activities.UnknownSource},
		{Activity: "FinishEvent", State: Paused, Attempt: 3, LastFailure: "failed to connect: SQLSTATE 42703", FailureType: "ConnectError"},
		{Activity: "PublishEvent", State: Started, Attempt: 2, LastFailure: "rabbitmq is busy"},
		{Activity: "CancelEvent", Attempt: 2, LastFailure: "temporal is busy"},
		{Activity: "AnswerApproval", Attempt: 2, LastFailure: "temporal is busy"},
		{Activity: "ReadPage", Attempt: 2, LastFailure: "temporal is busy"},
		{Activity: "PlanDeliveries", Attempt: 1},
	} {
		note(p.Activity, EventView{Workflow: WorkflowView{Status: Running}, Pending: []PendingActivity{p}})
	}
	roomtest.Golden(t, "event_next", out.String())
}

// Herald counts the recipients before a person only as far as necessary, and at most 2,000. If it
// stops there, the answer says so.
func TestWhyCountsEarlierRecipients(t *testing.T) {
	t.Parallel()

	d := directory{DB: postgrestest.New(t)}
	d.exec(t, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')")
	d.exec(t,
		"INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ('evt-1', 'T', 'RESTAURANT', '5', '{}')")
	d.exec(t,
		"INSERT INTO recipient (user_type, user_id, email) SELECT 'RESTAURANT_USER', i::text, CASE WHEN i IN (1, 1500, 2200) THEN "+
			"'a@example.com' END FROM generate_series(1, 2200) AS i")
	d.exec(t,
		"INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', '5', user_type, user_id, 'STAFF' "+
			"FROM recipient")
	d.exec(t,
		"INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, max_recipients) VALUES ('RESTAURANT', '5', 'EMAIL', 3)")
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
	d.exec(t,
		"INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '1', "+
			"'STAFF')")
	d.exec(t,
		"INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, enabled) VALUES ('RESTAURANT', '5', 'EMAIL', false)")
	d.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body)
		SELECT 'evt-1', 'T', user_type, user_id, 'RESTAURANT', '5', 'EMAIL', 'evt-1-staff' || user_id || '-EMAIL', 'title', 'body'
		       FROM recipient`)
	e := Explainer{DB: d.DB, Unreachable: errors.New("down")}

	member, err := e.WhyDelivery(t.Context(), "evt-1-staff1-EMAIL")
	require.NoError(t, err)
	require.Equal(t, "RESTAURANT/5", member.Rules.SettingsOf)
	require.Equal(t, notification.DecisionGroupDisabled, member.Rules.Decision)

	left, err := e.WhyDelivery(t.Context(), "evt-1-staff2-EMAIL")
	require.NoError(t, err)
	require.Equal(t, []string{"they are not a member of RESTAURANT/5"}, left.Rules.Unreached)

	d.exec(t, "INSERT INTO entity_follow (entity_type, entity_id, user_type, user_id) VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '2')")
	d.exec(t, "UPDATE notification SET member_role = 'FOLLOWER' WHERE user_id = '2'")
	follower, err := e.WhyDelivery(t.Context(), "evt-1-staff2-EMAIL")
	require.NoError(t, err)
	require.Empty(t, follower.Rules.Unreached)
	require.Equal(t, "you follow restaurant 5", follower.Reason)
}
