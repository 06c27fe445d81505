package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/planner"
)

// retries is a RetryStore with one delivery.
type retries struct {
	found  notification.Reopening
	state  notification.ReopenedState
	err    error // of reading
	later  error // of writing
	stored notification.Reopened
}

func (r *retries) Reopening(context.Context, string) (notification.Reopening, error) {
	return r.found, r.err
}

func (r *retries) Reopen(_ context.Context, plan notification.Reopened) (notification.ReopenedState, error) {
	r.stored = plan
	if plan.Problem != "" && r.state.Status == notification.Pending {
		return notification.ReopenedState{Status: notification.Failed, LastError: plan.Problem}, r.later
	}
	return r.state, r.later
}

// refusedMail is an e-mail to Ada that was refused twice and can be reopened.
func refusedMail() *retries {
	return &retries{
		found: notification.Reopening{
			EventID: "evt-1", Channel: notification.Email, HasText: true, Known: true, Active: true,
			Recipient: notification.Recipient{
				UserType: notification.RestaurantUser, UserID: "10", Name: "Ada", Email: "ada@example.com", Locale: "en",
			},
		},
		state: notification.ReopenedState{Status: notification.Pending, Attempts: 2},
	}
}

func reopen(db *retries, plans planner.Rows, again bool) (activities.ReopenResult, error) {
	a := &activities.Activities{Retries: db, Planner: planOf(plans), Policies: policies}
	return run[activities.ReopenResult](a, a.ReopenDelivery, activities.ReopenInput{DeliveryID: "d1", Again: again})
}

// testRun is the run id that the SDK's test environment passes to activities.
const testRun = "default-test-run-id"

func TestReopenDelivery(t *testing.T) {
	t.Parallel()

	db := refusedMail()
	result := must(reopen(db, reservation(), true))(t)

	require.Equal(t, activities.ReopenResult{Status: notification.Pending, AttemptsBefore: 2, Policy: policies[notification.Email]}, result)
	title, body := "New reservation", "Table for 4, Ada"
	require.Equal(t, notification.Reopened{
		DeliveryID: "d1", RunID: testRun, Again: true, Address: "ada@example.com", Title: &title, Body: &body,
	}, db.stored)
}

// A reopened reminder waits until the time in its payload, or its planned time, unless the time is
// past.
func TestReopenDeliveryUntilItsOwnTime(t *testing.T) {
	t.Parallel()

	years, past := time.Now().AddDate(5, 0, 0).UTC().Truncate(time.Second), time.Now().Add(-time.Hour)
	tests := []struct {
		name    string
		visit   string
		planned time.Time
		hasText bool
		purged  bool
		want    time.Time
		problem string
	}{
		{name: "future time", visit: years.Format(time.RFC3339), want: years},
		{name: "past time", visit: past.Format(time.RFC3339)},
		{name: "payload's time past, planned time in the future", visit: past.Format(time.RFC3339), planned: years, hasText: true},
		{name: "unreadable time", visit: "soon", problem: "at is not a time with a zone"},
		{name: "unreadable time, planned before", visit: "soon", planned: years, hasText: true, want: years},
		{name: "purged event, future time", planned: years, hasText: true, purged: true, want: years},
		{name: "purged event, past time", planned: past, hasText: true, purged: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db, rules := refusedMail(), reservation()
			db.found.SendAfter, db.found.HasText = tt.planned, tt.hasText
			db.state.SendAfter = tt.want
			rules.rules.Event.Payload = json.RawMessage(`{"pax": 4, "at": "` + tt.visit + `"}`)
			rules.rules.Event.CreatedAt = time.Now()
			rules.rules.Routing[1].Strategy, rules.rules.Routing[1].SendAtPath = notification.Delayed, "at"
			if tt.purged {
				rules.err, rules.rules = notification.ErrNoEvent, notification.EventSetup{}
			}
			result, err := reopen(db, rules, false)

			if tt.problem != "" {
				requireFailure(t, err, activities.NoText, true, 0)
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, !tt.want.IsZero(), result.Waits)
			require.Equal(t, tt.want.IsZero(), db.stored.SendAfter == nil)
			if !tt.want.IsZero() {
				require.Equal(t, tt.want, db.stored.SendAfter.UTC())
			}
		})
	}
}

// For a delivery that ended meanwhile, ReopenDelivery returns the status.
func TestReopenDeliveryThatWasSent(t *testing.T) {
	t.Parallel()

	db := refusedMail()
	db.state = notification.ReopenedState{Status: notification.Sent, Attempts: 3}
	require.Equal(t, notification.Sent, must(reopen(db, reservation(), false))(t).Status)
	require.False(t, db.stored.Again)
}

// A delivery that cannot be planned fails permanently, with a reason that contains no address and
// no text.
func TestReopenDeliveryWithAProblem(t *testing.T) {
	t.Parallel()

	broken := reservation()
	broken.rules.Templates[0].Body = "Table for {{.payload.guests}}"
	purged, malformed := &plans{err: notification.ErrNoEvent}, reservation()
	malformed.rules.Event.Payload = json.RawMessage(`{"pax": "Table for 4"`) // the failure must not quote the payload
	tests := []struct {
		name     string
		change   func(r *notification.Reopening)
		plans    *plans
		want     string
		keepText bool
	}{
		{name: "gone", change: func(r *notification.Reopening) { r.Known = false }, plans: reservation(),
			want: "the recipient is no longer in the directory", keepText: true},
		{name: "inactive", change: func(r *notification.Reopening) { r.Active = false }, plans: reservation(),
			want: "the recipient is no longer active", keepText: true},
		{name: "no address", change: func(r *notification.Reopening) { r.Recipient.Email = "" }, plans: reservation(),
			want: "the recipient has no e-mail address", keepText: true},
		{name: "no device", change: func(r *notification.Reopening) { r.Channel = notification.Push }, plans: reservation(),
			want: "the recipient has no active device", keepText: true},
		{name: "no text", change: func(*notification.Reopening) {}, plans: broken, want: "guests"},
		{name: "no JSON", change: func(*notification.Reopening) {}, plans: malformed, want: "the payload is not JSON"},
		{name: "no text and no event", change: func(r *notification.Reopening) { r.HasText = false }, plans: purged,
			want: "it has no text, and its event was purged", keepText: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := refusedMail()
			tt.change(&db.found)
			_, err := reopen(db, tt.plans, false)

			requireFailure(t, err, activities.NoText, true, 0)
			require.ErrorContains(t, err, tt.want)
			require.Contains(t, db.stored.Problem, tt.want)
			require.Equal(t, tt.keepText, db.stored.KeepText)
			require.Nil(t, db.stored.Body)
		})
	}
}

// A websocket needs no address. If the event was purged, the delivery keeps its text.
func TestReopenDeliveryKeepsTheText(t *testing.T) {
	t.Parallel()

	db := refusedMail()
	db.found.Channel, db.found.Recipient.Email = notification.WebSocket, ""
	require.Equal(t, policies[notification.WebSocket], must(reopen(db, &plans{err: notification.ErrNoEvent}, false))(t).Policy)
	require.Equal(t, notification.Reopened{DeliveryID: "d1", RunID: testRun, KeepText: true}, db.stored)
}

func TestReopenDeliveryWithoutDatabase(t *testing.T) {
	t.Parallel()

	down := errors.New("connection reset")
	for _, tt := range []struct {
		arrange   func(db *retries, plans *plans)
		want      string
		permanent bool
	}{
		{arrange: func(db *retries, _ *plans) { db.err = down }},
		{arrange: func(_ *retries, plans *plans) { plans.err = down }},
		{arrange: func(db *retries, _ *plans) { db.later = down }},
		{arrange: func(db *retries, _ *plans) { db.err = notification.ErrNoDelivery }, want: activities.NoSuchRow, permanent: true},
		{arrange: func(db *retries, _ *plans) { db.later = notification.ErrNoDelivery }, want: activities.NoSuchRow, permanent: true},
	} {
		db, rules := refusedMail(), reservation()
		tt.arrange(db, rules)
		_, err := reopen(db, rules, false)
		requireFailure(t, err, tt.want, tt.permanent, 0)
	}
}
