package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"

	"herald/internal/notification"
	"herald/workflows"
)

// Temporal's histories say who or what cancelled a workflow, and why: an operator, another event, or a
// newer event with the same collapse key.
func TestReasonInHistories(t *testing.T) {
	t.Parallel()

	o := newOperation(t)
	o.system = o.with("HERALD_ACTOR=ada")
	mail := func(event string) string {
		return notification.DeliveryID(event, "customer", "1", notification.Email)
	}

	delivery := mail(o.write("LATER", "1"))
	o.waits(delivery)
	o.starter("delivery", "cancel", delivery, "--reason", "the guest called")
	require.Equal(t, cancelRequest{"ada", "delivery cancel by ada: the guest called"}, o.cancelRequest(delivery))

	event := o.write("LATER", "1")
	o.waits(mail(event))
	o.starter("event", "cancel", event)
	require.Equal(t, cancelRequest{"ada", "event cancel by ada"}, o.cancelRequest(event))

	event = o.write("LATER", "1")
	o.waits(mail(event))
	other := o.write("LATER", "2", "--cancels", event)
	o.awaitDeliveries(event, "CANCELLED", 1)
	o.eventually(func() bool { return o.cancelRequest(event).cause == "cancelled by event "+other }, "the history has no reason")

	event = o.write("LATER", "1", "--collapse-key", "status")
	o.waits(mail(event))
	o.write("LATER", "1", "--collapse-key", "status")
	o.eventually(func() bool { return o.cancelRequest(mail(event)).cause == "replaced by a newer event" }, "the history has no reason")

	o.starter("poller", "stop", "--reason", "an upgrade")
	require.Equal(t, cancelRequest{"ada", "poller stop by ada: an upgrade"},
		o.cancelRequest(workflows.PollerID(o.name, notification.HeraldSource, 1)))
}

// cancelRequest is a request to cancel, as Temporal stores it.
type cancelRequest struct{ identity, cause string }

// cancelRequest returns the request to cancel a workflow's last run; empty: there is none.
func (s *system) cancelRequest(id string) cancelRequest {
	s.t.Helper()
	for _, event := range s.history(id).GetEvents() {
		if requested, ok := event.GetAttributes().(*historypb.HistoryEvent_WorkflowExecutionCancelRequestedEventAttributes); ok {
			asked := requested.WorkflowExecutionCancelRequestedEventAttributes
			return cancelRequest{asked.GetIdentity(), asked.GetCause()}
		}
	}
	return cancelRequest{}
}
