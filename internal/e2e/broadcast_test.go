package e2e_test

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/workflows"
)

// maxHistory is the maximum length of each history of a broadcast, in events.
const maxHistory = 10_000

// recipients is one page and part of a second page. A larger broadcast takes minutes:
// go test ./internal/e2e -run TestBroadcast -recipients 5000
var recipients = flag.Int("recipients", 120, "of the broadcast")

// One event reaches many people over two channels. Each message is sent once, and no history is
// long. --channels and --events divide the work between processes. On every page, the channel without a
// worker does not delay the other channel.
func TestBroadcast(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareNews(*recipients, "EMAIL", "SMS")
	s.startWorker("--events")
	s.startWorker("--channels", "email")
	started := time.Now()
	id := s.emitNews()
	s.awaitCount(*recipients, `SELECT count(*) FROM notification WHERE channel = 'EMAIL' AND status = 'SENT'`)
	require.Equal(t, *recipients, s.count(`SELECT count(*) FROM notification WHERE channel = 'SMS' AND status = 'PENDING'`))
	s.startWorker("--channels", "sms")

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	s.awaitCount(1, `SELECT count(*) FROM event_outbox WHERE status = 'PROCESSED'`)
	var result workflows.NotifyResult
	require.NoError(t, s.temporal.GetWorkflow(ctx, id, "").Get(ctx, &result))
	took := time.Since(started)

	require.Equal(t, 2**recipients, result.Deliveries["SENT"])
	require.Equal(t, 2**recipients, result.Decisions["SELECTED"])
	s.sentOnce(2 * *recipients)
	s.requireShortHistories(id, *recipients > 1000, "EMAIL", "SMS")
	t.Logf("%d deliveries in %s: %.0f/s", 2**recipients, took.Round(time.Millisecond), float64(2**recipients)/took.Seconds())
}

func (s *system) requireShortHistories(eventID string, bulk bool, channels ...notification.Channel) {
	ids := []string{eventID}
	for _, channel := range channels {
		ids = append(ids, workflows.LaneID(eventID, channel))
		if bulk {
			ids = append(ids, workflows.BatchID(eventID, channel, 1))
		}
	}
	longest := 0
	for _, id := range ids {
		described, err := s.temporal.DescribeWorkflow(s.t.Context(), id, "")
		require.NoError(s.t, err, id)
		longest = max(longest, described.HistoryLength)
	}
	s.t.Logf("longest history: %d events", longest)
	require.Less(s.t, longest, maxHistory)
}

// prepareNews inserts many customers who get events of type NEWS over the channels.
func (s *system) prepareNews(recipients int, channels ...notification.Channel) {
	s.customers(recipients)
	s.route("NEWS", channels...)
	s.starter("poller", "start")
}

func (s *system) emitNews() string {
	return s.emit(s.name+"-news", "NEWS", "BROADCAST/0", "{}")
}

// An event is terminated while its deliveries are sent, and retried while they are still closing. The
// new run waits for them, then handles the two deliveries that had not started: it sends one, and
// cancels the other because its recipient is inactive.
func TestTerminatedEventIsRetried(t *testing.T) {
	t.Parallel()

	const recipients = 120 // more than a page, so that the event has a lane
	s := newSystem(t)
	s.prepareNews(recipients, "EMAIL")
	s.fault("email", `{"status":429,"rate":1,"retry_after":"1h"}`)
	s.starter("channel", "use", "sendgrid") // otherwise the provider would rest, and some deliveries would have no attempt
	s.startWorker("--events")
	mails := s.startWorker("--channels", "email")
	id := s.emitNews()
	s.awaitCount(recipients, `SELECT count(*) FROM delivery_attempt WHERE outcome = 'BUSY'`)
	s.eventually(s.noneIsSending, "an attempt does not end") // Herald would repeat an interrupted attempt at once
	mails.kill()                                             // so that no delivery can close
	s.fill(
		postgrestest.Recipient{UserID: "new", Email: "new@example.com"},
		postgrestest.Recipient{UserID: "gone", Email: "gone@example.com", Inactive: true})
	s.lostDelivery(id, "new")
	s.lostDelivery(id, "gone")
	s.exec(`UPDATE notification SET created_at = created_at - interval '2 minutes'`) // so that Herald checks the recipient again

	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), id, "", "an operator's word"))
	s.starter("event", "retry", id)
	s.eventually(func() bool { return s.waitsForHolder(id) }, "the new run does not wait for the old one's lane")
	s.mend()
	s.startWorker("--channels", "email")

	var result workflows.NotifyResult
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), id, "").Get(t.Context(), &result))
	require.Empty(t, result.Outcome)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE status = 'PENDING'`))
	require.Equal(t, []string{id + "-customernew-EMAIL"}, s.deliveries(`SELECT delivery_id FROM notification WHERE status = 'SENT'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE user_id = 'gone' AND status = 'CANCELLED'`))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM processed_event WHERE status = 'SUCCESS' AND outcome IS NULL`))
}

// noneIsSending reports whether Temporal has recorded the end of each attempt.
func (s *system) noneIsSending() bool {
	for _, id := range s.deliveries(`SELECT delivery_id FROM delivery_attempt`) {
		for _, pending := range s.pending(id) {
			if pending.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED {
				return false
			}
		}
	}
	return true
}

// waitsForHolder reports whether an event waits for another workflow that has its child's id.
func (s *system) waitsForHolder(eventID string) bool {
	return slices.ContainsFunc(s.pending(eventID), func(pending *workflowpb.PendingActivityInfo) bool {
		return pending.GetActivityType().GetName() == "AwaitHolder"
	})
}
