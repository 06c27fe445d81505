package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

func TestEscalationSays(t *testing.T) {
	t.Parallel()

	row := report.Escalation{Escalates: true, To: notification.SMS, Until: notification.UntilRead}
	in := func(status string) *Escalation {
		return &Escalation{Escalation: row, Workflow: WorkflowView{Status: status}}
	}
	with := func(status string, change func(*Escalation)) *Escalation {
		e := in(status)
		change(e)
		return e
	}
	tests := []struct {
		name       string
		escalation *Escalation
		want       string
	}{
		{name: "none"},
		{name: "follows another, and nothing follows it", escalation: &Escalation{Escalation: report.Escalation{From: "d"}}},
		{name: "waits", escalation: with(Running, func(e *Escalation) {
			e.Details = "waiting until 2026-11-22 10:05:00.000Z to be read, then SMS"
		}), want: "waiting until 2026-11-22 10:05:00.000Z to be read, then SMS"},
		{name: "waits, and no worker answers", escalation: in(Running), want: "waits to be read, then SMS"},
		{name: "followed", escalation: with(Running, func(e *Escalation) { e.FollowedBy = "d-SMS" }), want: "it did not arrive, and d-SMS follows"},
		{name: "read", escalation: with(Completed, func(e *Escalation) { e.Ended = notification.EscalationRead }), want: "nothing follows: the recipient has read a notification of the event"},
		{name: "switched off", escalation: with(Completed, func(e *Escalation) {
			e.Ended, e.Reason = notification.EscalationDropped, "USER_DISABLED"
		}), want: "nothing follows over SMS: it is USER_DISABLED"},
		{name: "cancelled", escalation: in("CANCELED"), want: "nothing follows: its workflow is CANCELED"},
		{name: "Temporal is away", escalation: in(Unreachable), want: "not known, since Temporal is out of reach; it waits to be read, then SMS, unless that has ended"},
		{name: "not started", escalation: in(Unknown), want: "nothing waits for it: its event's workflow starts that, or it has ended long ago"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, tt.escalation.Says(), tt.name)
	}
}
