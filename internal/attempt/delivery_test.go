package attempt_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/escalation"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// operations holds everything that can happen to a delivery. Each operation returns the
// status that it reports, if any.
var operations = map[string]func(t *testing.T, s *db.DB, id string) notification.Status{
	"read": func(t *testing.T, s *db.DB, id string) notification.Status {
		return roomtest.Must(attempt.On(s).DeliveryState(t.Context(), id))(t).Status
	},
	"begin": func(t *testing.T, s *db.DB, id string) notification.Status {
		attempt := roomtest.Begin(t, s, id, 0)
		require.Equal(t, attempt.Due(), attempt.Number == 1, "only due deliveries are counted")
		return attempt.Status
	},
	"fail":      giveUp(notification.Failed),
	"cancel":    giveUp(notification.Cancelled),
	"sent":      endedAs(notification.OutcomeSent),
	"refused":   endedAs(notification.OutcomeRefused),
	"ambiguous": endedAs(notification.OutcomeAmbiguous),
}

func giveUp(status notification.Status) func(t *testing.T, s *db.DB, id string) notification.Status {
	return func(t *testing.T, s *db.DB, id string) notification.Status {
		return roomtest.Must(attempt.On(s).GiveUp(t.Context(), id, status, "why"))(t)
	}
}

// endedAs ends an attempt that began before the delivery got its status.
func endedAs(outcome notification.AttemptOutcome) func(t *testing.T, s *db.DB, id string) notification.Status {
	return func(t *testing.T, s *db.DB, id string) notification.Status {
		postgrestest.Exec(t, s,
			"UPDATE notification SET attempt_count = 1, attempt_owner = 'o', attempt_began = now(), attempt_until = now() "+
				"WHERE delivery_id = $1", id)
		roomtest.EndAs(t, s, notification.AttemptResult{DeliveryID: id, Number: 1, Outcome: outcome, Detail: "why"})
		return ""
	}
}

// Each operation is checked for each status. A status only climbs.
func TestDeliveryStates(t *testing.T) {
	t.Parallel()

	const pending, sent, delivered = notification.Pending, notification.Sent, notification.Delivered
	const failed, cancelled = notification.Failed, notification.Cancelled
	statuses := []notification.Status{pending, sent, delivered, failed, cancelled}
	same := map[notification.Status]notification.Status{}
	tests := []struct {
		operation string
		changes   map[notification.Status]notification.Status // other statuses stay
		explains  []notification.Status                       // statuses with a new last_error
	}{
		{operation: "read", changes: same},
		{operation: "begin", changes: same},
		{operation: "fail", changes: map[notification.Status]notification.Status{pending: failed},
			explains: []notification.Status{pending, failed}},
		{operation: "cancel", changes: map[notification.Status]notification.Status{pending: cancelled, failed: cancelled},
			explains: []notification.Status{pending, failed}},
		// If a provider had it before the cancellation, it is sent for good.
		{operation: "sent", changes: map[notification.Status]notification.Status{pending: sent, failed: sent, cancelled: sent},
			explains: []notification.Status{pending, failed, cancelled, delivered}},
		{operation: "refused", changes: same, explains: []notification.Status{pending, failed}},
		{operation: "ambiguous", changes: same, explains: []notification.Status{pending, failed}},
	}
	require.Len(t, tests, len(operations))
	s := postgrestest.New(t)
	for _, tt := range tests {
		for _, before := range statuses {
			id := notification.DeliveryID("evt-1", "staff", tt.operation+string(before), notification.Email)
			roomtest.SavePlan(t, s, roomtest.Decided(tt.operation+string(before), roomtest.Planned(notification.Email)))
			roomtest.SetStatus(t, s, id, before)
			wantError := roomtest.Delivery(t, s, id).Error
			if slices.Contains(tt.explains, before) {
				wantError = new("why")
			}
			after, changes := tt.changes[before]
			if !changes {
				after = before
			}

			reported := operations[tt.operation](t, s, id)

			got := roomtest.Delivery(t, s, id)
			require.Equal(t, string(after), got.Status, "%s of %s", tt.operation, before)
			require.Contains(t, []notification.Status{after, ""}, reported, "%s of %s", tt.operation, before)
			require.Equal(t, wantError, got.Error, "%s of %s", tt.operation, before)
			require.Equal(t, after == sent || after == delivered, got.Sent, "%s of %s", tt.operation, before)
			letters := postgrestest.Get[int](t, s, "SELECT count(*) FROM delivery_follow_up WHERE kind = 'DEAD_LETTER' AND delivery_id = $1", id)
			require.Equal(t, tt.operation == "fail" && after == failed, letters == 1, "%s of %s has %d dead letters", tt.operation, before, letters)
		}
	}
}

// The queue of dead letters does not get the failures of best-effort channels.
func TestGiveUpOfEachChannel(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, channel := range notification.Channels() {
		roomtest.SavePlan(t, s, roomtest.Decided(string(channel), roomtest.Planned(channel)))
		id := notification.DeliveryID("evt-1", "staff", string(channel), channel)
		require.Equal(t, notification.Failed, roomtest.Must(attempt.On(s).GiveUp(t.Context(), id, notification.Failed, "why"))(t))
		require.Equal(t, !channel.BestEffort(), postgrestest.Get[bool](t, s,
			"SELECT EXISTS (SELECT FROM delivery_follow_up WHERE delivery_id = $1)", id), "%s", channel)
	}
}

func TestNoSuchDelivery(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	for name, of := range map[string]func(id string) error{
		"state": func(id string) error { return roomtest.ErrOf(attempt.On(s).DeliveryState(ctx, id)) },
		"give up": func(id string) error {
			return roomtest.ErrOf(attempt.On(s).GiveUp(ctx, id, notification.Failed, "why"))
		},
		"quiet check": func(id string) error { return roomtest.ErrOf(attempt.On(s).QuietCheck(ctx, id)) },
		"digest":      func(id string) error { return roomtest.ErrOf(attempt.On(s).DigestPlace(ctx, id)) },
		"follow": func(id string) error {
			return roomtest.ErrOf(escalation.On(s).Follow(ctx, notification.EscalationKey{DeliveryID: id, To: notification.SMS}, nil))
		},
		"reopening": func(id string) error { return roomtest.ErrOf(attempt.On(s).Reopening(ctx, id)) },
		"reopen": func(id string) error {
			return roomtest.ErrOf(attempt.On(s).Reopen(ctx, notification.Reopened{DeliveryID: id, RunID: "run-1"}))
		},
	} {
		require.ErrorIs(t, of("d404"), notification.ErrNoDelivery, name)
	}
}

// The current rules decide whether a message is optional, its category and the kind of a push,
// for single messages and digests. A message without a routing row is not optional.
func TestCurrentRulesOfAMessage(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name       string
		routes     []postgrestest.Route
		categories []postgrestest.Row
		category   string
		optional   bool
		push       notification.PushKind
	}{
		{name: "no routing row"},
		{name: "optional", routes: []postgrestest.Route{{}}, optional: true},
		{name: "optional only over another channel", routes: []postgrestest.Route{
			{Mandatory: true, PushKind: notification.PushData}, {Channel: notification.SMS, PushKind: notification.PushData},
		}},
		{
			name: "optional, with a category", category: "reservations", optional: true,
			routes: []postgrestest.Route{{PushKind: notification.PushData}},
			categories: []postgrestest.Row{
				postgrestest.Category{EventType: "RESERVATION_REQUESTED", Category: "reservations"}, postgrestest.Category{EventType: "OTHER"},
			},
		},
		{name: "a notification", routes: []postgrestest.Route{{Channel: notification.Push, Mandatory: true}},
			push: notification.PushNotification},
		{name: "data", push: notification.PushData, routes: []postgrestest.Route{
			{Channel: notification.Push, Mandatory: true, PushKind: notification.PushData},
		}},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		roomtest.Empty(t, s)
		for _, route := range tt.routes {
			route.EventType = "RESERVATION_REQUESTED"
			postgrestest.Add(t, s.Pool, route)
		}
		postgrestest.Add(t, s.Pool, tt.categories...)
		roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Push), roomtest.Planned(notification.Email)))
		single := roomtest.Begin(t, s, roomtest.Mail, 0).Message
		require.Equal(t, []any{tt.category, tt.optional, notification.PushKind("")}, []any{single.Category, single.Optional, single.PushKind},
			tt.name)
		require.Equal(t, tt.push, roomtest.Begin(t, s, "evt-1-staff10-PUSH", 0).Message.PushKind, tt.name)
	}
}
