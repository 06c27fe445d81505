package e2e_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/workflows"
)

// maxHistory is the limit for a history of a broadcast, in events.
const maxHistory = 10_000

// recipients fill two pages and a part of a third; a larger broadcast takes
// minutes: go test ./internal/e2e -run TestBroadcast -recipients 5000
var recipients = flag.Int("recipients", 220, "of the broadcast")

// TestBroadcast tells many people about an event over two channels. Everybody is told
// once, and no history is long.
func TestBroadcast(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.broadcast(*recipients, 15*time.Minute)
}

func (s *system) broadcast(recipients int, within time.Duration) {
	s.prepareNews(recipients, "EMAIL", "SMS")
	s.startWorker()

	started := time.Now()
	id := s.emitNews()
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	s.awaitCount(1, `SELECT count(*) FROM event_outbox WHERE status = 'PROCESSED'`)
	var result workflows.NotifyResult
	require.NoError(s.t, s.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result))
	took := time.Since(started)

	require.Equal(s.t, 2*recipients, result.Deliveries["SENT"])
	require.Equal(s.t, 2*recipients, result.Decisions["SELECTED"])
	accepted := s.accepted()
	require.Len(s.t, accepted, 2*recipients)
	for delivery, times := range accepted {
		require.Equal(s.t, 1, times, delivery)
	}
	s.requireShortHistories(id, recipients > 1000, "EMAIL", "SMS")
	s.t.Logf("%d deliveries in %s: %.0f/s", 2*recipients, took.Round(time.Millisecond), float64(2*recipients)/took.Seconds())
}

func (s *system) requireShortHistories(eventID string, bulk bool, channels ...notification.Channel) {
	ids := []string{eventID}
	for _, channel := range channels {
		ids = append(ids, workflows.LaneID(eventID, channel))
		if bulk {
			ids = append(ids, workflows.BatchID(eventID, channel, 1))
		}
	}
	longest := int64(0)
	for _, id := range ids {
		described, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), id, "")
		require.NoError(s.t, err, id)
		longest = max(longest, described.GetWorkflowExecutionInfo().GetHistoryLength())
	}
	s.t.Logf("longest history: %d events", longest)
	require.Less(s.t, longest, int64(maxHistory))
}

func TestCancelledEvent(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', delay = '1 hour' WHERE channel_type <> 'PUSH'`)
	s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("cancel", 1)
	id := s.eventID("cancel", 0)
	s.eventually(func() bool {
		return s.count(`SELECT count(*) FROM notification WHERE channel = 'PUSH' AND status = 'SENT'`) == 1 && s.running(id) == 3
	}, "the push was not sent, or the others do not wait")

	require.NoError(t, s.temporal.CancelWorkflow(t.Context(), id, ""))
	require.Error(t, s.temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil))

	require.Equal(t, 2, s.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE status = 'FAILED'`))
	require.Len(t, s.accepted(), 1)
}

// running counts the workflows of an event and its deliveries that have not ended.
func (s *system) running(eventID string) int {
	open := 0
	for _, id := range []string{eventID, eventID + "-customer1-EMAIL", eventID + "-customer1-SMS"} {
		described, err := s.temporal.DescribeWorkflowExecution(s.t.Context(), id, "")
		if err == nil && described.GetWorkflowExecutionInfo().GetCloseTime() == nil {
			open++
		}
	}
	return open
}
