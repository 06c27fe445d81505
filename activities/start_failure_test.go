package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"herald/internal/notification"
)

// oneEvent is an outbox with one event, which is claimed once.
type oneEvent struct {
	claimed bool
	ended   chan notification.ClaimResult
}

func (o *oneEvent) ClaimEvents(context.Context, string, int, time.Duration) ([]notification.PendingEvent, error) {
	if o.claimed {
		return nil, nil
	}
	o.claimed = true
	return []notification.PendingEvent{{ID: "evt-1", Claims: 1}}, nil
}

func (o *oneEvent) EndClaim(_ context.Context, _ string, results []notification.ClaimResult) error {
	o.ended <- results[0]
	return nil
}

func (o *oneEvent) ListenEvents(context.Context, func()) {}

// Every answer that Temporal can give to the start of a workflow, where the event
// is the only one of its batch.
func TestStartFailure(t *testing.T) {
	t.Parallel()

	outcomes := map[codes.Code]notification.ClaimOutcome{
		codes.OK:                 notification.ClaimStarted,
		codes.InvalidArgument:    notification.ClaimKept, // alone; beside another that was started, it is FAILED
		codes.Canceled:           notification.ClaimReleased,
		codes.DeadlineExceeded:   notification.ClaimReleased,
		codes.NotFound:           notification.ClaimReleased,
		codes.PermissionDenied:   notification.ClaimReleased,
		codes.ResourceExhausted:  notification.ClaimReleased,
		codes.Aborted:            notification.ClaimReleased,
		codes.Unavailable:        notification.ClaimReleased,
		codes.Unauthenticated:    notification.ClaimReleased,
		codes.Unknown:            notification.ClaimKept,
		codes.AlreadyExists:      notification.ClaimKept,
		codes.FailedPrecondition: notification.ClaimReleased,
		codes.OutOfRange:         notification.ClaimKept,
		codes.Unimplemented:      notification.ClaimKept,
		codes.Internal:           notification.ClaimKept,
		codes.DataLoss:           notification.ClaimKept,
	}
	const codesOfGRPC = 17
	require.Len(t, outcomes, codesOfGRPC)
	for code, want := range outcomes {
		err := serviceerror.FromStatus(status.New(code, "why"))
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			requireOutcome(t, err, want)
		})
		if err != nil {
			t.Run(code.String()+" wrapped", func(t *testing.T) {
				t.Parallel()
				requireOutcome(t, fmt.Errorf("start: %w", err), want)
			})
		}
	}
	others := map[string]struct {
		err  error
		want notification.ClaimOutcome
	}{
		"our deadline":        {context.DeadlineExceeded, notification.ClaimReleased},
		"our cancellation":    {fmt.Errorf("start: %w", context.Canceled), notification.ClaimReleased},
		"namespace not found": {serviceerror.NewNamespaceNotFound("herald"), notification.ClaimReleased},
		"id taken":            {&notification.IDTakenError{WorkflowType: "Digest", TaskQueue: "herald-email"}, notification.ClaimFailed},
		"no such attribute":   {serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute HeraldEventType"), notification.ClaimReleased},
		"no gRPC error":       {errors.New("encode payload"), notification.ClaimKept},
	}
	for name, tt := range others {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireOutcome(t, tt.err, tt.want)
		})
	}
}

func requireOutcome(t *testing.T, err error, want notification.ClaimOutcome) {
	t.Helper()
	outbox := &oneEvent{ended: make(chan notification.ClaimResult, 1)}
	p := poll(t, outbox, &launcher{answer: func(notification.PendingEvent) error { return err }}, lazy)
	var got notification.ClaimResult
	select {
	case got = <-outbox.ended:
	case <-time.After(patience):
		require.Fail(t, "the claim does not end")
	}
	p.stop(t)

	text := ""
	if err != nil {
		text = err.Error()
	}
	require.Equal(t, notification.ClaimResult{EventID: "evt-1", Outcome: want, Error: text}, got)
}
