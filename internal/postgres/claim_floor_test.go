package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Claims look for events from where they began a second or two ago, and once a second at all.
func TestClaimFloor(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	steps := []struct {
		name    string
		at      time.Duration
		from    int64
		all     bool
		claimed []int64
	}{
		{name: "the first claim", from: 0, all: true, claimed: []int64{10, 11}},
		{name: "it knows of no floor yet", at: 10 * time.Millisecond, from: 0, claimed: []int64{12, 30}},
		{name: "a second later", at: time.Second, from: 0, all: true, claimed: []int64{31, 40}},
		{name: "where the first look began", at: 1100 * time.Millisecond, from: 10, claimed: []int64{9_000}},
		{name: "a row that was committed late is found", at: 2 * time.Second, from: 0, all: true, claimed: []int64{7, 9_001}},
		{name: "where the second look began", at: 2500 * time.Millisecond, from: 31},
		{name: "nothing waits", at: 3 * time.Second, from: 0, all: true},
		{name: "the late row still counts", at: 3100 * time.Millisecond, from: 7},
		{name: "still nothing", at: 4 * time.Second, from: 0, all: true},
		{name: "behind all that was claimed", at: 4100 * time.Millisecond, from: 9_002},
	}
	var floor claimFloor
	for _, step := range steps {
		from, all := floor.from(start.Add(step.at))
		require.Equal(t, step.from, from, step.name)
		require.Equal(t, step.all, all, step.name)
		var rows []claimedEvent
		for _, seq := range step.claimed {
			rows = append(rows, claimedEvent{Seq: seq})
		}
		floor.claimed(rows, all)
	}
}

// Each source has a floor of its own: the rows of one say nothing of those of another.
func TestClaimFloorOfEachSource(t *testing.T) {
	t.Parallel()

	var floors claimFloors
	require.Same(t, floors.of("herald"), floors.of("herald"))
	require.NotSame(t, floors.of("herald"), floors.of("orders"))
}
