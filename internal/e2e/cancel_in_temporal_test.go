package e2e_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	batchpb "go.temporal.io/api/batch/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/internal/notification"
	"herald/workflows"
)

// broadcast is an event that is under way to many customers by e-mail.
type broadcast struct {
	*system
	event, eventType string
	recipients       int
}

// startBroadcast plans an event of a type that no other test has. Its provider is slow, so
// that most of its messages are still to be sent.
func startBroadcast(t *testing.T, recipients int, settings ...string) broadcast {
	t.Helper()
	s := newSystem(t, append([]string{"EMAIL_RATE_LIMIT=20"}, settings...)...)
	b := broadcast{system: s, recipients: recipients, eventType: "NEWS_" + strings.ToUpper(strings.TrimPrefix(s.name, "e2e-"))}
	s.prepareNews(recipients, "EMAIL")
	s.exec(`UPDATE event_type_channel_routing SET event_type = $1`, b.eventType)
	return b
}

// begin writes the event and waits until all of it is planned and some messages are sent.
func (b *broadcast) begin(sent int) {
	b.t.Helper()
	b.startWorker()
	b.scheduled()
	b.event = b.emit(b.name+"-news", b.eventType, "BROADCAST/0", "{}")
	b.awaitCount(b.recipients, `SELECT count(*) FROM notification`)
	b.awaitSome(sent, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
}

// cancel cancels a workflow with Temporal's own client.
func (b *broadcast) cancel(id string) {
	b.t.Helper()
	require.NoError(b.t, b.temporal.CancelWorkflow(b.t.Context(), id, ""), id)
}

// requireCancelled waits for the event's end. From then on nothing is sent, not by a sweep
// either, and the event's counts say what was cancelled.
func (b *broadcast) requireCancelled(processed string) {
	b.t.Helper()
	var result workflows.NotifyResult
	err := b.temporal.GetWorkflow(b.t.Context(), b.event, "").Get(b.t.Context(), &result)
	require.Equal(b.t, processed == "FAILED", err != nil, "%v", err)
	sent := len(b.accepted())
	require.Less(b.t, sent, b.recipients)

	b.exec(`UPDATE processed_event SET created_at = created_at - interval '1 hour'`)
	b.exec(`UPDATE notification SET created_at = created_at - interval '1 hour'`)
	swept := b.sweep()
	require.Zero(b.t, swept.StartedAgain+swept.Closed+swept.Failed)

	require.Len(b.t, b.accepted(), sent, "nothing reaches the provider afterwards")
	require.Equal(b.t, sent, b.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`))
	require.Equal(b.t, b.recipients-sent, b.count(`SELECT count(*) FROM notification WHERE status = 'CANCELLED' AND last_error = $1`, notification.CancelledInTemporal))
	require.Equal(b.t, 1, b.count(`SELECT count(*) FROM processed_event WHERE status = $1`, processed))
	if processed == "SUCCESS" {
		require.Equal(b.t, sent, result.Deliveries[notification.Sent])
		require.Equal(b.t, b.recipients-sent, result.Deliveries[notification.Cancelled])
	}
}

func TestCancelAnEventInTemporal(t *testing.T) {
	t.Parallel()

	b := startBroadcast(t, 300, inBatches)
	b.begin(5)
	b.cancel(b.event)
	b.requireCancelled("FAILED")
}

// A lane is cancelled: its batches, and the rows that no batch has.
func TestCancelALaneInTemporal(t *testing.T) {
	t.Parallel()

	for name, settings := range map[string][]string{"in batches": {inBatches}, "a workflow each": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			b := startBroadcast(t, 300, settings...)
			b.begin(5)
			b.cancel(workflows.LaneID(b.event, notification.Email))
			b.requireCancelled("SUCCESS")
		})
	}
}

// All batches of an event are cancelled. Its lane does not send their rest.
func TestCancelBatchesInTemporal(t *testing.T) {
	t.Parallel()

	b := startBroadcast(t, 300, inBatches)
	b.begin(5)
	b.cancelChildren(workflows.LaneID(b.event, notification.Email))
	b.requireCancelled("SUCCESS")
}

// cancelChildren cancels each child of a lane until the lane has ended, and returns the
// children.
func (b *broadcast) cancelChildren(lane string) (cancelled []string) {
	b.t.Helper()
	b.eventually(func() bool {
		described, err := b.temporal.DescribeWorkflowExecution(b.t.Context(), lane, "")
		if err != nil {
			return false // not begun yet
		}
		for _, child := range described.GetPendingChildren() {
			id := child.GetWorkflowId()
			if !slices.Contains(cancelled, id) && b.temporal.CancelWorkflow(b.t.Context(), id, "") == nil {
				cancelled = append(cancelled, id)
			}
		}
		return described.GetWorkflowExecutionInfo().GetCloseTime() != nil
	}, "the lane does not end")
	require.NotEmpty(b.t, cancelled)
	return cancelled
}

// A delivery that fails for now is cancelled, one in a batch's care and one of a small event.
func TestCancelADeliveryInTemporal(t *testing.T) {
	t.Parallel()

	for name, settings := range map[string][]string{"of a batch": {inBatches}, "of an event": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			b := startBroadcast(t, 20, append(settings, "EMAIL_MAX_ATTEMPTS=100", "EMAIL_RETRY_INTERVAL=1h", "EMAIL_RATE_LIMIT=0")...)
			b.fault("EMAIL", `{"status":503,"rate":0.5}`)
			b.begin(1)
			b.awaitCount(0, `SELECT count(*) FROM notification WHERE status = 'PENDING' AND attempt_count = 0`)
			for _, id := range b.deliveries(`SELECT delivery_id FROM notification WHERE status = 'PENDING'`) {
				b.eventually(func() bool { return b.temporal.CancelWorkflow(t.Context(), id, "") == nil }, "%s has no workflow", id)
			}
			b.mend()
			b.requireCancelled("SUCCESS")
		})
	}
}

// The pages of an event whose deliveries wait are cancelled. Its lane does not send their rest.
func TestCancelPagesInTemporal(t *testing.T) {
	t.Parallel()

	b := startBroadcast(t, 150, "EMAIL_RATE_LIMIT=0")
	b.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', delay = '1 hour'`)
	b.begin(0)
	pages := b.cancelChildren(workflows.LaneID(b.event, notification.Email) + "-waiting")
	require.Contains(t, pages, b.event+"-page-EMAIL-1-waiting")
	b.requireCancelled("SUCCESS")
}

// Temporal takes each query of the operators' document. The batch operation by which the
// document cancels many ends all of an event over one channel.
func TestCancelWhatAQueryFinds(t *testing.T) {
	t.Parallel()

	b := startBroadcast(t, 300, inBatches)
	b.begin(5)
	var cancel string
	for _, query := range documentedQueries(t) {
		_, err := b.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: client.DefaultNamespace, Query: query.text})
		require.NoError(t, err, query.text)
		if query.cancels {
			cancel = strings.NewReplacer("PROMOTION", b.eventType, "SMS", "EMAIL").Replace(query.text)
		}
	}
	require.Contains(t, cancel, b.eventType)
	b.eventually(func() bool {
		found, err := b.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: client.DefaultNamespace, Query: cancel})
		return err == nil && found.GetCount() >= 2
	}, "the query does not find the lane and a batch of it: %s", cancel)

	_, err := b.temporal.WorkflowService().StartBatchOperation(t.Context(), &workflowservice.StartBatchOperationRequest{
		Namespace: client.DefaultNamespace, JobId: uuid.NewString(), Reason: "90 per cent", VisibilityQuery: cancel,
		Operation: &workflowservice.StartBatchOperationRequest_CancellationOperation{CancellationOperation: &batchpb.BatchOperationCancellation{}},
	})
	require.NoError(t, err)
	b.requireCancelled("SUCCESS")
}

type documentedQuery struct {
	text    string
	cancels bool
}

// documentedQueries are those of docs/operations.md.
func documentedQueries(t *testing.T) (queries []documentedQuery) {
	t.Helper()
	document, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`temporal workflow (\w+) --query '([^']+)'`).FindAllStringSubmatch(string(document), -1) {
		queries = append(queries, documentedQuery{found[2], found[1] == "cancel"})
	}
	require.NotEmpty(t, queries)
	return queries
}
