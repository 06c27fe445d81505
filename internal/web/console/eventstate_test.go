package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
)

// The headline of an event names what needs a person before what went well.
func TestStateOf(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	const sent, pending, failed, cancelled = notification.Sent, notification.Pending, notification.Failed, notification.Cancelled
	outbox := func(status notification.OutboxStatus, age time.Duration) explain.EventView {
		v := explain.EventView{}
		v.Outbox = &report.LeasedRow{}
		v.Outbox.Status, v.Outbox.CreatedAt = status, now.Add(-age)
		return v
	}
	processed := func(age time.Duration, counts map[notification.Status]int, outcome notification.EventOutcome) explain.EventView {
		v := outbox(notification.OutboxProcessed, age)
		v.Processed = &report.ProcessedRow{Status: notification.Processing, Outcome: outcome, CreatedAt: now.Add(-age)}
		v.Deliveries.ByStatus = counts
		return v
	}
	large := processed(time.Hour, map[notification.Status]int{sent: 10_000, failed: 20, pending: 9_980}, "")
	large.AtLeast = true
	sending := processed(time.Hour, map[notification.Status]int{sent: 10_000, pending: 10_000}, "")
	sending.AtLeast = true
	for _, tt := range []struct {
		event explain.EventView
		want  eventState
	}{
		{outbox(notification.OutboxPending, time.Second), eventState{"It waits to be started", true}},
		{outbox(notification.OutboxPending, time.Hour), eventState{"It waits to be started", false}},
		{outbox(notification.OutboxFailed, time.Second), eventState{"It could not be started", false}},
		{processed(time.Second, nil, ""), eventState{"It is being planned", true}},
		{processed(time.Hour, nil, ""), eventState{"It is being planned", false}},
		{processed(time.Hour, nil, notification.NoRouting), eventState{"It told nobody: its type has no channel", false}},
		{processed(time.Hour, map[notification.Status]int{sent: 3, failed: 1}, ""), eventState{"1 of 4 deliveries failed", false}},
		{processed(time.Hour, map[notification.Status]int{sent: 3, pending: 1}, ""), eventState{"3 of 4 deliveries sent, 1 to go", true}},
		{processed(time.Hour, map[notification.Status]int{sent: 1, cancelled: 1}, ""),
			eventState{"1 of 2 deliveries sent, the others cancelled", true}},
		{processed(time.Hour, map[notification.Status]int{sent: 1}, ""), eventState{"Sent: 1 delivery", true}},
		{large, eventState{"At least 20 deliveries failed", false}},
		{sending, eventState{"At least 10000 sent, at least 10000 to go", true}},
	} {
		require.Equal(t, tt.want, stateOf(tt.event, now))
	}
}
