package report_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/report"
)

func TestDeliveryFilter(t *testing.T) {
	t.Parallel()

	r := told(t)
	tests := []struct {
		name   string
		filter report.DeliveryFilter
		want   []int64
	}{
		{name: "all", filter: report.DeliveryFilter{}, want: []int64{1, 2, 3, 4}},
		{name: "one status", filter: report.DeliveryFilter{Statuses: []notification.Status{notification.Pending}}, want: []int64{1, 2}},
		{name: "two statuses", filter: report.DeliveryFilter{Statuses: []notification.Status{notification.Failed, notification.Cancelled}}, want: []int64{3, 4}},
		{name: "two channels", filter: report.DeliveryFilter{Channels: []notification.Channel{notification.Email, notification.Push}}, want: []int64{1, 4}},
		{name: "event", filter: report.DeliveryFilter{EventID: "evt-2"}, want: []int64{3, 4}},
		{name: "event type", filter: report.DeliveryFilter{EventType: "RESERVATION_REQUESTED"}, want: []int64{1, 2}},
		{name: "recipient", filter: report.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "10"}, want: []int64{1}},
		{name: "correlation id", filter: report.DeliveryFilter{CorrelationID: "c-3"}, want: []int64{3}},
		{name: "group", filter: report.DeliveryFilter{Entity: notification.Entity{Type: "RESTAURANT", ID: "5"}}, want: []int64{2, 3}},
		{name: "group of another type", filter: report.DeliveryFilter{Entity: notification.Entity{Type: "AGENCY", ID: "5"}}},
		{name: "since is included", filter: report.DeliveryFilter{Since: noon.Add(-time.Hour)}, want: []int64{3, 4}},
		{name: "until is not", filter: report.DeliveryFilter{Until: noon.Add(-time.Hour)}, want: []int64{1, 2}},
		{name: "several conditions", filter: report.DeliveryFilter{Channels: []notification.Channel{notification.SMS}, EventID: "evt-2", Since: noon.Add(-3 * time.Hour)}, want: []int64{3}},
		{name: "none", filter: report.DeliveryFilter{EventID: "evt-3"}},
	}
	for _, tt := range tests {
		require.Equal(t, len(tt.want), must(r.CountDeliveries(t.Context(), tt.filter))(t), tt.name)
		require.Equal(t, tt.want, rowIDs(must(r.DeliveryPage(t.Context(), tt.filter, 10))(t)), tt.name)
	}

	sms := report.DeliveryFilter{Channels: []notification.Channel{notification.SMS, notification.Push}}
	require.Equal(t, []int64{2, 3}, rowIDs(must(r.DeliveryPage(t.Context(), sms, 2))(t)))
	require.Equal(t, []int64{4, 3}, rowIDs(must(r.LatestDeliveries(t.Context(), sms, "", 2))(t).Rows))
	sms.After = 3
	require.Equal(t, []int64{4}, rowIDs(must(r.DeliveryPage(t.Context(), sms, 2))(t)))
	require.Equal(t, []string{"evt-2-customer10-PUSH"}, must(r.DeliveryIDs(t.Context(), "evt-2-", 1))(t))
	require.Equal(t, []string{"evt-3", "evt-2"}, must(r.EventIDs(t.Context(), "evt-", 2))(t))
	require.Empty(t, must(r.EventIDs(t.Context(), "%", 2))(t))
}

func rowIDs(rows []report.DeliveryRow) []int64 {
	var ids []int64
	for _, row := range rows {
		ids = append(ids, int64(row.ID))
	}
	return ids
}

func TestDeliveryRow(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET sent_at = $1, send_after = $1, attempt_count = 3 WHERE id = 4", noon)

	latest := must(r.LatestDeliveries(t.Context(), report.DeliveryFilter{}, "", 1))(t).Rows

	require.Len(t, latest, 1)
	require.True(t, noon.Equal(latest[0].CreatedAt))
	require.True(t, noon.Equal(*latest[0].SentAt))
	require.True(t, noon.Equal(*latest[0].SendAfter))
	latest[0].CreatedAt, latest[0].SentAt, latest[0].SendAfter = time.Time{}, nil, nil
	require.Equal(t, report.DeliveryRow{
		ID: 4, DeliveryID: "evt-2-customer10-PUSH", EventID: "evt-2", EventType: "OTHER", UserType: notification.Customer, UserID: "10",
		CorrelationID: "c-4", EntityType: "RESTAURANT", EntityID: "6",
		Channel: notification.Push, Status: notification.Cancelled, Strategy: notification.Immediate, Priority: notification.Normal,
		Attempts: 3, LastError: "cancelled", DigestID: "digest-1",
	}, latest[0])
	require.Equal(t, "CUSTOMER/10", latest[0].Recipient())
}

func TestLatestEvents(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'PROBLEM', problem = 'no path', updated_at = '2026-11-21 12:00Z'")
	exec(t, r, "INSERT INTO processed_event (event_id, status, outcome, updated_at) VALUES ('evt-3', 'SUCCESS', 'PROBLEM', '2026-11-21 11:30Z')")
	tests := []struct {
		name   string
		filter report.EventFilter
		want   []string
	}{
		{name: "all, bounded", filter: report.EventFilter{}, want: []string{"evt-3", "evt-2"}},
		{name: "status", filter: report.EventFilter{Status: "PENDING"}, want: []string{"evt-3"}},
		{name: "type", filter: report.EventFilter{Type: "RESERVATION_REQUESTED"}, want: []string{"evt-1"}},
		{name: "aggregate", filter: report.EventFilter{Aggregate: notification.Entity{Type: "RESTAURANT", ID: "5"}}, want: []string{"evt-1"}},
		{name: "correlation id", filter: report.EventFilter{CorrelationID: "order-1"}, want: []string{"evt-1"}},
		{name: "since", filter: report.EventFilter{Since: noon.Add(-time.Hour)}, want: []string{"evt-3"}},
		{name: "outcome, by its end", filter: report.EventFilter{Outcome: "PROBLEM"}, want: []string{"evt-1", "evt-3"}},
		{name: "outcome since", filter: report.EventFilter{Outcome: "PROBLEM", Since: noon.Add(-time.Hour)}, want: []string{"evt-3"}},
		{name: "outcome and type", filter: report.EventFilter{Outcome: "PROBLEM", Type: "RESERVATION_REQUESTED"}, want: []string{"evt-1"}},
		{name: "another outcome", filter: report.EventFilter{Outcome: "NO_ROUTING"}},
	}
	for _, tt := range tests {
		var ids []string
		for _, e := range must(r.LatestEvents(t.Context(), tt.filter, "", 2))(t).Rows {
			ids = append(ids, e.EventID)
		}
		require.Equal(t, tt.want, ids, tt.name)
	}
	list := must(r.LatestEvents(t.Context(), report.EventFilter{}, "", 3))(t).Rows
	require.Equal(t, "FAILED no", fmt.Sprint(list[1].Status, " ", list[1].ErrorMessage))
	require.Equal(t, "PROCESSED SUCCESS PROBLEM no path", fmt.Sprint(list[2].Status, " ", list[2].ProcessedStatus, " ", list[2].Outcome, " ", list[2].Problem))
}

// A page that searches a part of a list tells where the next part begins, unless the part has all rows
// of the filter's times.
func TestPartialPages(t *testing.T) {
	t.Parallel()

	r := told(t)
	r.Searched = 2
	exec(t, r, "INSERT INTO processed_event (event_id, status, outcome, updated_at) SELECT event_id, 'SUCCESS', 'PROBLEM', created_at FROM event_outbox ON CONFLICT (event_id) DO UPDATE SET status = 'SUCCESS', outcome = 'PROBLEM', updated_at = excluded.updated_at")
	exec(t, r, "INSERT INTO operator_action (actor, command, target, at) SELECT 'ada', 'retry', 'evt-1', $1::timestamptz + n * interval '1 hour' FROM generate_series(-2, 0) n", noon)
	events := func(filter report.EventFilter) func(string) (report.Page[string], error) {
		return func(after string) (report.Page[string], error) {
			page, err := r.LatestEvents(t.Context(), filter, after, 1)
			return idsOf(page, func(e report.EventRow) string { return e.EventID }), err
		}
	}
	deliveries := func(filter report.DeliveryFilter) func(string) (report.Page[string], error) {
		return func(after string) (report.Page[string], error) {
			page, err := r.LatestDeliveries(t.Context(), filter, after, 1)
			return idsOf(page, func(d report.DeliveryRow) string { return d.DeliveryID }), err
		}
	}
	actions := func(filter report.ActionFilter) func(string) (report.Page[string], error) {
		return func(after string) (report.Page[string], error) {
			page, err := r.Actions(t.Context(), filter, after, 1)
			return idsOf(page, func(a report.Action) string { return strconv.FormatInt(int64(a.ID), 10) }), err
		}
	}
	failed, early := []notification.Status{notification.Failed}, noon.Add(-150*time.Minute)
	const rare = "RESERVATION_REQUESTED"
	partial := func(through string) report.Page[string] {
		return report.Page[string]{More: true, Partial: true, Through: through}
	}
	for _, tt := range []struct {
		name string
		read func(after string) (report.Page[string], error)
		want []report.Page[string]
	}{
		{"all events", events(report.EventFilter{}), []report.Page[string]{{Rows: []string{"evt-3"}, More: true, Through: "evt-3"}, {Rows: []string{"evt-2"}, More: true, Through: "evt-2"}, {Rows: []string{"evt-1"}}}},
		{"events of a type", events(report.EventFilter{Type: rare}), []report.Page[string]{partial("evt-2"), {Rows: []string{"evt-1"}}}},
		{"ended events of a type", events(report.EventFilter{Type: rare, Outcome: "PROBLEM"}), []report.Page[string]{partial("evt-2"), {Rows: []string{"evt-1"}}}},
		{"events of a source", events(report.EventFilter{Source: "orders"}), []report.Page[string]{partial("evt-2"), {}}},
		{"events of a type since", events(report.EventFilter{Type: rare, Since: noon.Add(-time.Hour)}), []report.Page[string]{{}}},
		{"failed deliveries", deliveries(report.DeliveryFilter{Statuses: failed}), []report.Page[string]{{Rows: []string{"evt-2-customer10-SMS"}, More: true, Partial: true, Through: "3"}, {}}},
		{"deliveries of a type since", deliveries(report.DeliveryFilter{EventType: rare, Since: noon.Add(-time.Hour)}), []report.Page[string]{{}}},
		{"deliveries of a type until", deliveries(report.DeliveryFilter{EventType: rare, Until: early}), []report.Page[string]{{Rows: []string{mail}}}},
		{"deliveries of a person", deliveries(report.DeliveryFilter{UserType: notification.RestaurantUser, UserID: "10"}), []report.Page[string]{{Rows: []string{mail}}}},
		{"deliveries of an event", deliveries(report.DeliveryFilter{EventID: "evt-1"}), []report.Page[string]{{Rows: []string{mail}, More: true, Through: mail}, {Rows: []string{"evt-1-staff11-SMS"}}}},
		{"failed deliveries of an event", deliveries(report.DeliveryFilter{EventID: "evt-1", Statuses: failed}), []report.Page[string]{partial("evt-1-staff11-SMS"), {}}},
		{"actions of eve", actions(report.ActionFilter{Actor: "eve"}), []report.Page[string]{partial("2"), {}}},
		{"actions of eve since", actions(report.ActionFilter{Actor: "eve", Since: noon.Add(-time.Hour)}), []report.Page[string]{{}}},
	} {
		after := ""
		for _, want := range tt.want {
			page, err := tt.read(after)
			require.NoError(t, err, tt.name)
			require.Equal(t, want, page, tt.name)
			after = page.Through
		}
		require.Empty(t, after, tt.name)
		for _, unknown := range []string{"none", "0"} {
			require.ErrorIs(t, errOf(tt.read(unknown)), report.ErrNoPlace, tt.name)
		}
	}
}

func idsOf[T any](page report.Page[T], id func(T) string) report.Page[string] {
	ids := report.Page[string]{More: page.More, Partial: page.Partial, Through: page.Through}
	for _, row := range page.Rows {
		ids.Rows = append(ids.Rows, id(row))
	}
	return ids
}

// The list shows an event whose workflow runs for long without a decision.
func TestLatestEventsThatAreUndecided(t *testing.T) {
	t.Parallel()

	r := told(t)
	undecided := func() bool {
		list := must(r.LatestEvents(t.Context(), report.EventFilter{Type: "RESERVATION_REQUESTED"}, "", 1))(t).Rows
		return list[0].Undecided
	}
	exec(t, r, "UPDATE processed_event SET status = 'PROCESSING', created_at = now() - interval '2 minutes'")
	require.False(t, undecided(), "something is decided")
	exec(t, r, "DELETE FROM notification_decision")
	require.True(t, undecided())
	exec(t, r, "UPDATE processed_event SET created_at = now()")
	require.False(t, undecided(), "the event has just begun")
	exec(t, r, "DELETE FROM processed_event")
	require.False(t, undecided(), "the event has not begun")
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const mail = "evt-1-staff10-EMAIL"

// told returns a separate database with two events. evt-1 of restaurant 5 was decided for
// staff 9, who gets nothing, and for staff 10 and 11. evt-2 went to customer 10. Their four
// deliveries, 1 to 4, were planned an hour apart, the last at noon.
func told(t *testing.T) report.Reader {
	t.Helper()
	r := report.Reader{Pool: postgrestest.New(t).Pool}
	exec(t, r, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, status, published_at, attempt_count, error_message, created_at)
		VALUES ('evt-1', 'RESERVATION_REQUESTED', 'RESTAURANT', '5', '{}', 'order-1', 'PROCESSED', now(), 1, NULL, '2026-11-21 09:00Z'),
		       ('evt-2', 'OTHER', 'RESTAURANT', '6', '{}', NULL, 'FAILED', NULL, 3, 'no', '2026-11-21 10:00Z'),
		       ('evt-3', 'OTHER', 'RESTAURANT', '6', '{}', NULL, 'PENDING', NULL, 0, NULL, '2026-11-21 11:00Z');
		INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'PROCESSING');
		INSERT INTO notification_decision (event_id, user_type, user_id, channels)
		VALUES ('evt-1', 'RESTAURANT_USER', '10', '{"EMAIL": "SELECTED", "SLACK": "NO_ADDRESS"}'),
		       ('evt-1', 'RESTAURANT_USER', '11', '{"SMS": "SELECTED"}'),
		       ('evt-1', 'RESTAURANT_USER', '9', '{"EMAIL": "USER_DISABLED"}');
		INSERT INTO notification (id, event_id, event_type, correlation_id, user_type, user_id, entity_type, entity_id, channel, delivery_id,
		                          title, body, recipient_address, status, last_error, digest_id)
		OVERRIDING SYSTEM VALUE
		VALUES (1, 'evt-1', 'RESERVATION_REQUESTED', NULL, 'RESTAURANT_USER', '10', NULL, NULL, 'EMAIL', 'evt-1-staff10-EMAIL', 'a', 'b', 'c', 'PENDING', NULL, NULL),
		       (2, 'evt-1', 'RESERVATION_REQUESTED', 'c-2', 'RESTAURANT_USER', '11', 'RESTAURANT', '5', 'SMS', 'evt-1-staff11-SMS', 'a', 'b', 'c', 'PENDING', NULL, NULL),
		       (3, 'evt-2', 'OTHER', 'c-3', 'CUSTOMER', '10', 'RESTAURANT', '5', 'SMS', 'evt-2-customer10-SMS', 'a', 'b', 'c', 'FAILED', 'twilio refused: 400 21211', NULL),
		       (4, 'evt-2', 'OTHER', 'c-4', 'CUSTOMER', '10', 'RESTAURANT', '6', 'PUSH', 'evt-2-customer10-PUSH', 'a', 'b', NULL, 'CANCELLED', 'cancelled', 'digest-1')`)
	exec(t, r, "UPDATE notification SET created_at = $1::timestamptz - (4 - id) * interval '1 hour'", noon)
	return r
}

func exec(t *testing.T, r report.Reader, sql string, params ...any) {
	t.Helper()
	must(r.Pool.Exec(t.Context(), sql, params...))(t)
}

func TestDeliveryCounts(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, "UPDATE notification SET created_at = now() - (4 - id) * interval '1 hour', channel = 'SMS' WHERE channel <> 'PUSH'")

	counts := must(r.DeliveryCounts(t.Context(), 150*time.Minute))(t)
	require.Equal(t, []report.DeliveryCount{
		{Channel: notification.SMS, Status: notification.Failed, Count: 1},
		{Channel: notification.SMS, Status: notification.Pending, Count: 1},
	}, counts)
	counts = must(r.DeliveryCounts(t.Context(), 5*time.Hour))(t)
	require.Equal(t, 2, counts[1].Count, "the older one is counted too")
	counts = must(r.DeliveryCounts(t.Context(), 0))(t)
	require.Equal(t, []report.DeliveryCount{}, counts)
}

func TestIncompleteEvents(t *testing.T) {
	t.Parallel()

	r := told(t)
	require.Zero(t, must(r.IncompleteEvents(t.Context()))(t))
	exec(t, r, "UPDATE processed_event SET status = 'SUCCESS', outcome = 'INCOMPLETE'")
	require.Equal(t, 1, must(r.IncompleteEvents(t.Context()))(t))
}

func TestActions(t *testing.T) {
	t.Parallel()

	r := told(t)
	exec(t, r, `
		INSERT INTO operator_action (actor, command, target, detail, at)
		VALUES ('ada', 'event retry', 'evt-1', '', '2026-11-21 10:00Z'),
		       ('ada', 'event cancel', 'evt-2', 'in bulk', '2026-11-21 11:00Z'),
		       ('eve', 'event retry', 'evt-1', '', '2026-11-21 12:00Z')`)
	tests := []struct {
		name   string
		filter report.ActionFilter
		want   []string
	}{
		{name: "all, bounded", filter: report.ActionFilter{}, want: []string{"eve event retry evt-1", "ada event cancel evt-2"}},
		{name: "actor", filter: report.ActionFilter{Actor: "ada"}, want: []string{"ada event cancel evt-2", "ada event retry evt-1"}},
		{name: "command", filter: report.ActionFilter{Command: "event cancel"}, want: []string{"ada event cancel evt-2"}},
		{name: "target", filter: report.ActionFilter{Target: "evt-2"}, want: []string{"ada event cancel evt-2"}},
		{name: "since is included", filter: report.ActionFilter{Since: noon}, want: []string{"eve event retry evt-1"}},
		{name: "several conditions", filter: report.ActionFilter{Actor: "eve", Target: "evt-2"}},
	}
	for _, tt := range tests {
		var got []string
		for _, a := range must(r.Actions(t.Context(), tt.filter, "", 2))(t).Rows {
			got = append(got, a.Actor+" "+a.Command+" "+a.Target)
		}
		require.Equal(t, tt.want, got, tt.name)
	}
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// must returns the value of a call and fails the test if the call has failed.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}
