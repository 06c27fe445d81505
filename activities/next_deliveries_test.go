package activities_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// laneStore is a LaneStore that finds one stretch, and keeps the arguments of its calls.
type laneStore struct {
	activities.LaneStore
	stretch    notification.Stretch
	deliveries []notification.Delivery
	next       int64

	ids      notification.IDRange
	only     notification.Status
	limit    int
	part     notification.Part
	reopened notification.Part
}

func (s *laneStore) NextDeliveries(
	_ context.Context, _ string, _ notification.Lane, ids notification.IDRange, only notification.Status, limit int,
) (notification.Stretch, error) {
	s.ids, s.only, s.limit = ids, only, limit
	return s.stretch, nil
}

func (s *laneStore) LaneDeliveries(
	_ context.Context, part notification.Part, only notification.Status, limit int,
) ([]notification.Delivery, int64, error) {
	s.part, s.only, s.limit = part, only, limit
	return s.deliveries, s.next, nil
}

func (s *laneStore) ReopenFailed(_ context.Context, part notification.Part) error {
	s.reopened = part
	return nil
}

// The kind of lane decides the number of deliveries that one workflow gets. A batch of an event
// that is started again retries FAILED deliveries.
func TestNextDeliveries(t *testing.T) {
	t.Parallel()

	mail := policies[notification.Email]
	now, later := notification.Lane{Channel: notification.Email}, notification.Lane{Channel: notification.Email, Waiting: true}
	ids, bulk := notification.IDRange{First: 8, Last: 307}, activities.NextInput{Lane: now, Bulk: true}
	tests := []struct {
		name  string
		in    activities.NextInput
		found notification.Stretch
		limit int
		only  notification.Status
		want  activities.NextResult

		reopened notification.Part
	}{
		{name: "a page that sends", in: activities.NextInput{Lane: now}, found: notification.Stretch{IDRange: ids, Count: 250, Failed: true},
			limit: 250, want: activities.NextResult{IDRange: ids}},
		{name: "a page", in: activities.NextInput{Lane: later}, found: notification.Stretch{IDRange: ids, Count: 500}, limit: 500,
			want: activities.NextResult{IDRange: ids}},
		{name: "a batch", in: bulk, found: notification.Stretch{IDRange: ids, Count: 2000, Priority: notification.Low}, limit: 2000,
			want: activities.NextResult{IDRange: ids, Policy: &mail, Priority: notification.Low}},
		{name: "a part of a batch", in: bulk, found: notification.Stretch{IDRange: ids, Count: 300, Priority: notification.High}, limit: 2000,
			want: activities.NextResult{IDRange: ids, Partial: true, Policy: &mail, Priority: notification.High}},
		{name: "a batch of an event that is started again", in: bulk, found: notification.Stretch{IDRange: ids, Count: 2000, Failed: true},
			limit: 2000, want: activities.NextResult{IDRange: ids, Policy: &mail},
			reopened: notification.Part{EventID: "evt-1", Lane: now, IDs: ids}},
		{name: "nothing", in: bulk, limit: 2000, want: activities.NextResult{Partial: true}},
		{name: "a page of a batch", in: activities.NextInput{Lane: now, Last: 2000, Pending: true}, limit: 250, only: notification.Pending,
			want: activities.NextResult{Partial: true}},
	}
	for _, tt := range tests {
		db := &laneStore{stretch: tt.found}
		a := &activities.Activities{Lanes: db, Policies: policies}
		tt.in.EventID, tt.in.After = "evt-1", 7

		got, err := run[activities.NextResult](a, a.NextDeliveries, tt.in)

		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
		require.Equal(t, []any{notification.IDRange{First: 8, Last: tt.in.Last}, tt.limit, tt.only}, []any{db.ids, db.limit, db.only}, tt.name)
		require.Equal(t, tt.reopened, db.reopened, tt.name)
	}
}

// A lane without deliveries is orphaned if its event does not have it any more. After the planning, or
// with deliveries, NextDeliveries does not ask Temporal.
func TestNextDeliveriesOfAnOrphan(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	mails := notification.Lane{Channel: notification.Email}
	planning := activities.NextInput{EventID: "evt-1", Lane: mails, Planning: true}
	for _, tt := range []struct {
		name     string
		in       activities.NextInput
		count    int
		event    activities.Executions // nil: not asked
		orphaned bool
		err      error
	}{
		{name: "the event has the lane", in: planning, event: executions{hasChild: true}},
		{name: "the event does not have the lane", in: planning, event: executions{}, orphaned: true},
		{name: "Temporal does not answer", in: planning, event: executions{err: down}, err: down},
		{name: "deliveries", in: planning, count: 1},
		{name: "all are planned", in: activities.NextInput{EventID: "evt-1", Lane: mails}},
	} {
		a := &activities.Activities{Lanes: &laneStore{stretch: notification.Stretch{Count: tt.count}}, Executions: tt.event}

		got, err := run[activities.NextResult](a, a.NextDeliveries, tt.in)

		require.Equal(t, tt.err != nil, err != nil, tt.name)
		require.Equal(t, tt.orphaned, got.Orphaned, tt.name)
	}
}

func TestListDeliveries(t *testing.T) {
	t.Parallel()

	part := notification.Part{
		EventID: "evt-1", Lane: notification.Lane{Channel: notification.Email, Waiting: true}, IDs: notification.IDRange{First: 1, Last: 100},
	}
	mails := []notification.Delivery{{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email}}
	for _, pending := range []bool{false, true} {
		db := &laneStore{deliveries: mails, next: 70}
		a := &activities.Activities{Lanes: db, Policies: policies}
		got := must(run[activities.ListResult](a, a.ListDeliveries, activities.ListInput{Part: part, Pending: pending}))(t)
		own := map[notification.Channel]activities.DeliveryPolicy{notification.Email: policies[notification.Email]}
		require.Equal(t, activities.ListResult{DeliveryBatch: activities.DeliveryBatch{Deliveries: mails, Policies: own}, Next: 70}, got)
		require.Equal(t, part, db.part)
		require.Equal(t, pending, db.only == notification.Pending)
		require.Equal(t, 250, db.limit)
	}
}

// Herald decides once, before it plans the first page, whether an event goes in batches. It counts
// recipients up to the threshold, and not at all if the first page shows the answer.
func TestPlanDeliveriesDecidesOnceOnBatches(t *testing.T) {
	t.Parallel()

	further := &notification.Cursor{UserID: "11"}
	tests := []struct {
		name      string
		threshold int
		people    int
		next      *notification.Cursor
		after     notification.Cursor
		counted   []int
		bulk      bool
	}{
		{name: "no threshold", people: 1_000_000, next: further},
		{name: "all on one page", threshold: 2, people: 2},
		{name: "all on one page, above the threshold", threshold: 1, people: 2, bulk: true},
		{name: "first page above the threshold", threshold: 1, people: 2000, next: further, bulk: true},
		{name: "as many as the threshold", threshold: 1000, people: 1000, next: further, counted: []int{1001}},
		{name: "more than the threshold", threshold: 1000, people: 1_000_000, next: further, counted: []int{1001}, bulk: true},
		{name: "the last page", threshold: 1000, people: 1_000_000, after: *further},
		{name: "a later page", threshold: 1000, people: 1_000_000, next: further, after: *further},
	}
	for _, tt := range tests {
		db := reservation()
		db.people, db.page.Next = tt.people, tt.next
		a := planning(db)
		a.BulkThreshold = tt.threshold

		planned, err := run[activities.PlanResult](a, a.PlanDeliveries,
			activities.PlanInput{EventID: "evt-1", Source: notification.HeraldSource, After: tt.after, Pages: 1})

		require.NoError(t, err, tt.name)
		require.Equal(t, tt.bulk, planned.Bulk, tt.name)
		require.Equal(t, tt.counted, db.counted, tt.name)
		inLanes := tt.bulk || tt.next != nil || tt.after.UserID != ""
		require.Equal(t, inLanes, len(planned.Lanes) > 0, tt.name)
		require.Equal(t, inLanes, len(planned.Batch.Deliveries) == 0, tt.name)
	}
}
