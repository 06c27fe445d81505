package postgres

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Claims look for events from where claims began a moment ago, and once a second at all.
func TestClaimFloor(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	steps := []struct {
		name    string
		at      time.Duration
		from    int64
		claimed []int64
	}{
		{name: "the first claim looks at all", from: 0, claimed: []int64{10, 11}},
		{name: "where there is no floor yet, too", at: 10 * time.Millisecond, from: 0, claimed: []int64{12, 30}},
		{name: "a moment later", at: 260 * time.Millisecond, from: 0, claimed: []int64{31, 40}},
		{name: "where the first claim began", at: 270 * time.Millisecond, from: 10, claimed: []int64{9_000}},
		{name: "another moment later", at: 520 * time.Millisecond, from: 10, claimed: []int64{9_001}},
		{name: "where the third began", at: 530 * time.Millisecond, from: 31},
		{name: "a look at all finds what was committed late", at: time.Second, from: 0, claimed: []int64{7, 8}},
		{name: "there may be more of that", at: 1010 * time.Millisecond, from: 7, claimed: []int64{9, 9_002}},
		{name: "that stays so for a moment", at: 1260 * time.Millisecond, from: 7},
		{name: "which may be two", at: 1510 * time.Millisecond, from: 7},
		{name: "nothing waits: behind all that was claimed", at: 1520 * time.Millisecond, from: 9_003},
		{name: "a second after the last look", at: 2 * time.Second, from: 0},
		{name: "and again", at: 2010 * time.Millisecond, from: 9_003},
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
