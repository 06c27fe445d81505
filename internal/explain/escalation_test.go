package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
)

func TestEscalationSays(t *testing.T) {
	t.Parallel()

	in := func(status string) WorkflowView { return WorkflowView{Status: status} }
	tests := []struct {
		name       string
		escalation Escalation // until an SMS follows
		want       string
	}{
		{"waits", Escalation{Workflow: in(Running), Details: "waiting until 2026-11-22 10:05:00.000Z to be read, then SMS"},
			"waiting until 2026-11-22 10:05:00.000Z to be read, then SMS"},
		{"waits, and no worker answers", Escalation{Workflow: in(Running)}, "waits to be read, then SMS"},
		{"followed", Escalation{Workflow: in(Running), Escalation: report.Escalation{FollowedBy: "d-SMS"}},
			"it did not arrive, and d-SMS follows"},
		{"read", Escalation{Workflow: in(Completed), Ended: notification.EscalationRead},
			"nothing follows: the recipient has read a notification of the event"},
		{"switched off", Escalation{Workflow: in(Completed), Ended: notification.EscalationDropped, Reason: "USER_DISABLED"},
			"nothing follows over SMS: it is USER_DISABLED"},
		{"cancelled", Escalation{Workflow: in("CANCELED")}, "nothing follows: its workflow is CANCELED"},
		{"Temporal is away", Escalation{Workflow: in(Unreachable)},
			"unknown, because Temporal is out of reach; it waits to be read, then SMS, unless the wait has ended"},
		{"not started", Escalation{Workflow: in(Unknown)}, "no escalation runs: its event's workflow has not started it, or it ended long ago"},
	}
	for _, tt := range tests {
		tt.escalation.Escalates, tt.escalation.To, tt.escalation.Until = true, notification.SMS, notification.UntilRead
		require.Equal(t, tt.want, tt.escalation.Says(), tt.name)
	}
	require.Empty(t, (*Escalation)(nil).Says())
	require.Empty(t, (&Escalation{Escalation: report.Escalation{From: "d"}}).Says(), "nothing follows it")
}
