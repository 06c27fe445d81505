package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
)

// The number of deliveries in a lane decides how they are made, as soon as it can.
func TestNextDeliveriesSizes(t *testing.T) {
	t.Parallel()

	whole := notification.IDRange{First: 8, Last: 507}
	now, later := notification.Lane{Channel: notification.Email}, notification.Lane{Channel: notification.Email, Waiting: true}
	tests := []struct {
		name      string
		threshold int
		inLane    int
		in        activities.NextInput
		want      activities.LaneSize
	}{
		{name: "more than the threshold", threshold: 1000, inLane: 1001, in: activities.NextInput{Lane: now}, want: activities.LaneBulk},
		{name: "as many as the threshold, and all planned", threshold: 1000, inLane: 1000, in: activities.NextInput{Lane: now, Planned: true}, want: activities.LaneSmall},
		{name: "as many as the threshold, and more may come", threshold: 1000, inLane: 1000, in: activities.NextInput{Lane: now}, want: activities.LaneOpen},
		{name: "no threshold", inLane: 1_000_000, in: activities.NextInput{Lane: now}, want: activities.LaneSmall},
		{name: "a lane that waits", threshold: 1000, inLane: 1_000_000, in: activities.NextInput{Lane: later}, want: activities.LaneSmall},
		{name: "it was large when it had more to do", threshold: 1000, inLane: 3, in: activities.NextInput{Lane: now, Planned: true, Left: true, Size: activities.LaneBulk}, want: activities.LaneBulk},
		{name: "it was small when the threshold was another", threshold: 10, inLane: 1000, in: activities.NextInput{Lane: now, Size: activities.LaneSmall}, want: activities.LaneSmall},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			db := reservation()
			db.inLane = tt.inLane
			tt.in.EventID, tt.in.After = "evt-1", 7
			a := &activities.Activities{Plans: db, Policies: policies, BulkThreshold: tt.threshold}

			got, err := run[activities.NextResult](a, a.NextDeliveries, tt.in)

			require.NoError(t, err)
			want := activities.NextResult{IDRange: whole, Size: tt.want}
			if tt.want == activities.LaneBulk {
				mail := policies[notification.Email]
				want.Policy, want.Priority = &mail, notification.Low
			}
			require.Equal(t, want, got)
			require.Equal(t, activities.NextInput{EventID: "evt-1", Lane: tt.in.Lane, After: 7, Left: tt.in.Left}, db.next)
		})
	}
}

// A lane in batches gets less than a whole one only where it asks for that.
func TestNextDeliveriesFillsBatches(t *testing.T) {
	t.Parallel()

	for _, fewer := range []bool{false, true} {
		db := reservation()
		db.stretch = notification.Stretch{IDRange: notification.IDRange{First: 8, Last: 9}, Count: 2, Failed: true}
		a := &activities.Activities{Plans: db, Policies: policies, BulkThreshold: 1}
		in := activities.NextInput{EventID: "evt-1", Lane: notification.Lane{Channel: notification.Email}, Size: activities.LaneBulk, Fewer: fewer}

		got, err := run[activities.NextResult](a, a.NextDeliveries, in)

		require.NoError(t, err)
		require.Equal(t, fewer, got.Last == 9)
		require.Equal(t, fewer, got.Failed)
		require.Equal(t, activities.LaneBulk, got.Size)
	}
}

// An event with few recipients, of whom more than the threshold are told over one channel at
// once, has lanes, which send them in batches.
func TestPlanDeliveriesInBatches(t *testing.T) {
	t.Parallel()

	for threshold, inBatches := range map[int]bool{0: false, 1: true, 2: false} {
		db := reservation()
		a := planner(db)
		a.BulkThreshold = threshold
		planned, err := run[activities.PlanResult](a, a.PlanDeliveries, activities.PlanInput{EventID: "evt-1", Pages: 1})
		require.NoError(t, err)
		require.Equal(t, inBatches, len(planned.Lanes) > 0)
		require.Equal(t, inBatches, len(planned.Batch.Deliveries) == 0)
	}
}
