package event

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A claim begins where claims began a moment ago. Once a second, a claim looks at all rows.
func TestClaimFloor(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	steps := []struct {
		name    string
		at      time.Duration
		from    int64
		claimed []int64
	}{
		{name: "first claim, at all rows", from: 0, claimed: []int64{10, 11}},
		{name: "second claim, still without a floor", at: 10 * time.Millisecond, from: 0, claimed: []int64{12, 30}},
		{name: "first move of the floor", at: 260 * time.Millisecond, from: 0, claimed: []int64{31, 40}},
		{name: "floor at the start of the first claim", at: 270 * time.Millisecond, from: 10, claimed: []int64{9_000}},
		{name: "second move of the floor", at: 520 * time.Millisecond, from: 10, claimed: []int64{9_001}},
		{name: "floor at the start of the third claim", at: 530 * time.Millisecond, from: 31},
		{name: "claim at all rows, finds late commits", at: time.Second, from: 0, claimed: []int64{7, 8}},
		{name: "floor at the late commits", at: 1010 * time.Millisecond, from: 7, claimed: []int64{9, 9_002}},
		{name: "floor still there", at: 1260 * time.Millisecond, from: 7},
		{name: "floor still there, two intervals later", at: 1510 * time.Millisecond, from: 7},
		{name: "nothing waits: floor after all claimed rows", at: 1520 * time.Millisecond, from: 9_003},
		{name: "claim at all rows, a second later", at: 2 * time.Second, from: 0},
		{name: "floor again", at: 2010 * time.Millisecond, from: 9_003},
	}
	var floor claimFloor
	for _, step := range steps {
		now := start.Add(step.at)
		require.Equal(t, step.from, floor.from(now), step.name)
		var rows []claimedEvent
		for _, seq := range step.claimed {
			rows = append(rows, claimedEvent{Seq: seq})
		}
		floor.claimed(rows, now)
	}
}
