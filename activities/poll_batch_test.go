package activities_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// While Temporal is out of reach, or refuses everybody, which is nobody's own failure,
// the whole backlog waits, uncounted, and goes on when Temporal works again.
func TestPollOutboxSystemicFailure(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		failure error
		untried bool // the rest of a batch is given back at once
	}{
		{name: "out of reach", failure: serviceerror.NewUnavailable("connection refused"), untried: true},
		{name: "refused", failure: serviceerror.NewInvalidArgument("the task queue is too long")},
		{name: "search attribute", failure: serviceerror.NewInvalidArgument("search attribute HeraldEventType is not defined"), untried: true},
		{name: "internal", failure: serviceerror.NewInternal("who knows")},
		{name: "not Temporal's", failure: errors.New("encode payload")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			const n = 50
			s := postgrestest.New(t)
			var refused atomic.Int32
			var broken atomic.Bool
			broken.Store(true)
			temporal := &launcher{answer: func(notification.PendingEvent) error {
				if broken.Load() {
					refused.Add(1)
					return tt.failure
				}
				return nil
			}}
			emit(t, s, 1, n)
			p := poll(t, s, temporal, eager)
			require.Eventually(t, func() bool { return refused.Load() >= 3 }, patience, time.Millisecond)
			await(t, s, n, "status = 'PENDING' AND attempt_count = 0 AND lease_owner IS NULL")
			broken.Store(false)
			await(t, s, n, "status = 'PROCESSED' AND attempt_count = 1 AND error_message IS NULL")

			result := p.stop(t)
			require.Equal(t, n, result.Started)
			require.GreaterOrEqual(t, result.Released, n)
			require.Equal(t, tt.untried, int(refused.Load()) < result.Released)
			require.Zero(t, result.Failed)
		})
	}
}

// One event alone may be at fault itself, and may not be tried for ever.
func TestPollOutboxOneEventAlone(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	temporal := &launcher{answer: func(notification.PendingEvent) error { return serviceerror.NewInvalidArgument("bad id") }}
	emit(t, s, 1, 1)
	p := poll(t, s, temporal, eager)
	for claims := 1; claims <= 10; claims++ {
		await(t, s, 1, fmt.Sprintf("status = 'PENDING' AND attempt_count = %d AND lease_until > now() AND error_message = 'bad id'", claims))
		endLeases(t, s)
	}
	await(t, s, 1, "status = 'FAILED' AND error_message = 'claimed 10 times without an end'")

	require.Equal(t, 1, p.stop(t).Failed)
	require.Equal(t, 10, temporal.count("evt-1"))
}

// An id that another workflow has is its event's own failure, whatever becomes of
// the others, and says who has it.
func TestPollOutboxIDTaken(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	var broken atomic.Bool
	broken.Store(true)
	temporal := &launcher{answer: func(event notification.PendingEvent) error {
		switch {
		case event.ID == "evt-1" || event.ID == "evt-2":
			return &notification.IDTakenError{WorkflowType: "Digest", TaskQueue: "herald-email"}
		case broken.Load():
			return serviceerror.NewInternal("who knows")
		default:
			return nil
		}
	}}
	emit(t, s, 1, 4)
	p := poll(t, s, temporal, eager)
	await(t, s, 2, "status = 'FAILED' AND error_message = 'the id is taken by the workflow Digest of task queue herald-email'")
	await(t, s, 2, "status = 'PENDING' AND attempt_count = 0")
	broken.Store(false)
	await(t, s, 2, "status = 'PROCESSED'")

	require.Equal(t, 2, p.stop(t).Failed)
}
