package list_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

func TestDeliveryFilter(t *testing.T) {
	t.Parallel()

	r := list.Reader{Pool: roomtest.TwoEvents(t).Pool}
	sms := []notification.Channel{notification.SMS}
	tests := []struct {
		name   string
		filter list.DeliveryFilter
		want   []int64
	}{
		{"all", list.DeliveryFilter{}, []int64{1, 2, 3, 4}},
		{"one status", list.DeliveryFilter{Statuses: []notification.Status{notification.Pending}}, []int64{1, 2}},
		{"two statuses", list.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Cancelled}}, []int64{3, 4}},
		{"two channels", list.DeliveryFilter{Channels: []notification.Channel{notification.Email, notification.Push}}, []int64{1, 4}},
		{"event", list.DeliveryFilter{EventID: "evt-2"}, []int64{3, 4}},
		{"event type", list.DeliveryFilter{EventType: "RESERVATION_REQUESTED"}, []int64{1, 2}},
		{"recipient", list.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "10"}, []int64{1}},
		{"correlation id", list.DeliveryFilter{CorrelationID: "c-3"}, []int64{3}},
		{"group", list.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}}, []int64{2, 3}},
		{"group of another type", list.DeliveryFilter{Entity: notification.Entity{Type: "AGENCY", ID: "5"}}, nil},
		{"since is included", list.DeliveryFilter{Since: roomtest.Noon.Add(-time.Hour)}, []int64{3, 4}},
		{"until is not", list.DeliveryFilter{Until: roomtest.Noon.Add(-time.Hour)}, []int64{1, 2}},
		{"several conditions", list.DeliveryFilter{Channels: sms, EventID: "evt-2", Since: roomtest.Noon.Add(-3 * time.Hour)}, []int64{3}},
		{"none", list.DeliveryFilter{EventID: "evt-3"}, nil},
	}
	for _, tt := range tests {
		require.Equal(t, len(tt.want), roomtest.Must(r.CountDeliveries(t.Context(), tt.filter))(t), tt.name)
		require.Equal(t, tt.want, rowIDs(roomtest.Must(r.DeliveriesAfter(t.Context(), tt.filter, 0, 10))(t)), tt.name)
	}

	filter := list.DeliveryFilter{Channels: append(sms, notification.Push)}
	require.Equal(t, []int64{2, 3}, rowIDs(roomtest.Must(r.DeliveriesAfter(t.Context(), filter, 0, 2))(t)))
	require.Equal(t, []int64{4}, rowIDs(roomtest.Must(r.DeliveriesAfter(t.Context(), filter, 3, 2))(t)))
	require.Equal(t, []int64{4, 3}, rowIDs(roomtest.Must(r.Deliveries(t.Context(), filter, list.Place{Limit: 2}))(t).Rows))
}

func rowIDs(rows []report.DeliveryRow) []int64 {
	return roomtest.Mapped(rows, func(d report.DeliveryRow) int64 { return int64(d.ID) })
}

// A page that searches a part of a list tells where the next part begins, unless the part has all rows
// of the filter's times.
func TestPartialPages(t *testing.T) {
	t.Parallel()

	s := roomtest.TwoEvents(t)
	postgrestest.Exec(t, s, `
		INSERT INTO processed_event (event_id, status, outcome, updated_at)
		SELECT event_id, 'SUCCESS', 'PROBLEM', created_at
		FROM   event_outbox
		ON CONFLICT (event_id) DO UPDATE SET status = 'SUCCESS', outcome = 'PROBLEM', updated_at = excluded.updated_at`)
	postgrestest.Exec(t, s, `
		INSERT INTO operator_action (actor, command, target, at)
		SELECT 'ada', 'retry', 'evt-1', $1::timestamptz + n * interval '1 hour'
		FROM   generate_series(-2, 0) n`, roomtest.Noon)
	r := list.Reader{Pool: s.Pool, Searched: 2}
	events := pages(t, r.Events, func(e list.EventRow) string { return e.EventID })
	deliveries := pages(t, r.Deliveries, func(d report.DeliveryRow) string { return d.DeliveryID })
	actions := pages(t, r.Actions, func(a list.Action) string { return fmt.Sprint(a.ID) })
	failed, recent, early := []notification.Status{notification.Failed}, roomtest.Noon.Add(-time.Hour), roomtest.Noon.Add(-150*time.Minute)
	const rare, first, second = "RESERVATION_REQUESTED", roomtest.Mail, "evt-1-staff11-SMS"
	person := list.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "10"}
	ofEvent, failedOfEvent := list.DeliveryFilter{EventID: "evt-1"}, list.DeliveryFilter{EventID: "evt-1", Statuses: failed}
	for _, tt := range []struct {
		name string
		read func(after string) (list.Page[string], error)
		want []string
	}{
		{"all events", events(list.EventFilter{}), []string{"[evt-3] after evt-3", "[evt-2] after evt-2", "[evt-1]"}},
		{"events of a type", events(list.EventFilter{Type: rare}), []string{"[] searched through evt-2", "[evt-1]"}},
		{"ended events of a type", events(list.EventFilter{Type: rare, Outcome: "PROBLEM"}), []string{"[] searched through evt-2", "[evt-1]"}},
		{"events of a source", events(list.EventFilter{Source: "orders"}), []string{"[] searched through evt-2", "[]"}},
		{"events of a type since", events(list.EventFilter{Type: rare, Since: recent}), []string{"[]"}},
		{"failed deliveries", deliveries(list.DeliveryFilter{Statuses: failed}), []string{"[evt-2-customer10-SMS] searched through 3", "[]"}},
		{"deliveries of a type since", deliveries(list.DeliveryFilter{EventType: rare, Since: recent}), []string{"[]"}},
		{"deliveries of a type until", deliveries(list.DeliveryFilter{EventType: rare, Until: early}), []string{"[" + first + "]"}},
		{"deliveries of a person", deliveries(person), []string{"[" + first + "]"}},
		{"deliveries of an event", deliveries(ofEvent), []string{"[" + first + "] after " + first, "[" + second + "]"}},
		{"failed deliveries of an event", deliveries(failedOfEvent), []string{"[] searched through " + second, "[]"}},
		{"actions of eve", actions(list.ActionFilter{Actor: "eve"}), []string{"[] searched through 2", "[]"}},
		{"actions of eve since", actions(list.ActionFilter{Actor: "eve", Since: recent}), []string{"[]"}},
	} {
		after := ""
		for _, want := range tt.want {
			page := roomtest.Must(tt.read(after))(t)
			require.Equal(t, want, textOf(page), tt.name)
			after = page.Through
		}
		require.Empty(t, after, tt.name)
		for _, unknown := range []string{"none", "0"} {
			require.ErrorIs(t, roomtest.ErrOf(tt.read(unknown)), list.ErrNoPlace, tt.name)
		}
	}
}

// pages returns a function that reads the pages of a list, with one row each, as the rows' ids.
func pages[F, T any](
	t *testing.T, read func(context.Context, F, list.Place) (list.Page[T], error), id func(T) string,
) func(F) func(string) (list.Page[string], error) {
	return func(filter F) func(string) (list.Page[string], error) {
		return func(after string) (list.Page[string], error) {
			page, err := read(t.Context(), filter, list.Place{After: after, Limit: 1})
			return list.Page[string]{Rows: roomtest.Mapped(page.Rows, id), More: page.More, Partial: page.Partial, Through: page.Through}, err
		}
	}
}

func textOf(page list.Page[string]) string {
	switch {
	case page.Partial && page.More:
		return fmt.Sprint(page.Rows, " searched through ", page.Through)
	case page.More:
		return fmt.Sprint(page.Rows, " after ", page.Through)
	default:
		return fmt.Sprint(page.Rows, page.Through)
	}
}

// The list shows an event whose workflow runs for long without a decision.
func TestLatestEventsThatAreUndecided(t *testing.T) {
	t.Parallel()

	s := roomtest.TwoEvents(t)
	r := list.Reader{Pool: s.Pool}
	undecided := func() bool {
		page := roomtest.Must(r.Events(t.Context(), list.EventFilter{Type: "RESERVATION_REQUESTED"}, list.Place{Limit: 1}))(t)
		return page.Rows[0].Undecided
	}
	postgrestest.Exec(t, s, "UPDATE processed_event SET status = 'PROCESSING', created_at = now() - interval '2 minutes'")
	require.False(t, undecided(), "something is decided")
	postgrestest.Exec(t, s, "DELETE FROM notification_decision")
	require.True(t, undecided())
	postgrestest.Exec(t, s, "UPDATE processed_event SET created_at = now()")
	require.False(t, undecided(), "the event has just begun")
	postgrestest.Exec(t, s, "DELETE FROM processed_event")
	require.False(t, undecided(), "the event has not begun")
}
