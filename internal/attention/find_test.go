package attention_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attention"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/report"
)

var now = time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)

// Each problem has its code and its fault.
func TestFind(t *testing.T) {
	t.Parallel()

	email, late, few := notification.Email, 120.0, 2
	running := operate.Pollers{TaskQueue: "herald-events", Workers: 1, Pollers: []operate.Poller{
		{ID: "p", Source: "herald", Status: operate.PollerRunning},
	}}
	of := func(change func(*operate.Poller)) operate.Pollers {
		pollers := running
		pollers.Pollers = []operate.Poller{running.Pollers[0]}
		change(&pollers.Pollers[0])
		return pollers
	}
	group := report.AttemptGroup{Channel: email, Count: 3, People: 2}
	tests := []struct {
		name  string
		state attention.State
		want  []attention.Code
		fault attention.Fault
	}{
		{"all is well", attention.State{Sweep: notification.Sweep{At: now}}, nil, ""},
		{"pending for a moment", attention.State{Outbox: notification.OutboxState{Pending: 1, OldestPending: time.Second}}, nil, ""},
		{"pending", attention.State{Outbox: notification.OutboxState{Pending: 1, OldestPending: time.Hour}},
			[]attention.Code{attention.LateEvents}, attention.Herald},
		{"no poller explains late events", attention.State{
			Outbox:  notification.OutboxState{Pending: 1, OldestPending: time.Hour},
			Pollers: of(func(p *operate.Poller) { p.Status = operate.PollerNotStarted }),
		}, []attention.Code{attention.NoPoller}, attention.Herald},
		{"no worker", attention.State{Pollers: operate.Pollers{TaskQueue: "q", Pollers: running.Pollers}},
			[]attention.Code{attention.NoWorker}, attention.Herald},
		{"paused", attention.State{Pollers: of(func(p *operate.Poller) { p.Status = operate.PollerPaused })},
			[]attention.Code{attention.PollerPaused}, attention.Operator},
		{"poller fails", attention.State{Pollers: of(func(p *operate.Poller) { p.Attempt, p.LastFailure = 2, "x" })},
			[]attention.Code{attention.PollerFails}, attention.Herald},
		{"source away", attention.State{Sources: []operate.SourceState{{Name: "orders", Problem: "x"}}},
			[]attention.Code{attention.SourceAway}, attention.Producer},
		{"source late", attention.State{Sources: []operate.SourceState{{Name: "orders", Pending: &few, OldestSeconds: &late}}},
			[]attention.Code{attention.LateRows}, attention.Herald},
		{"source failed", attention.State{Sources: []operate.SourceState{{Name: "orders", Failed: 1}}},
			[]attention.Code{attention.FailedRows}, attention.Unknown},
		{"topics", attention.State{Sources: []operate.SourceState{{Name: "orders", Resting: 1}}},
			[]attention.Code{attention.TopicsRest}, attention.Provider},
		{"failed events", attention.State{Outbox: notification.OutboxState{Failed: 1}},
			[]attention.Code{attention.FailedEvents}, attention.Unknown},
		{"circuit", attention.State{Providers: []operate.ProviderView{{Channel: email, ProviderState: notification.ProviderState{Rests: 1}}}},
			[]attention.Code{attention.CircuitOpen}, attention.Provider},
		{"nobody needs the provider", attention.State{Providers: []operate.ProviderView{
			{Channel: email, ProviderState: notification.ProviderState{Rests: 1, RestsFor: -time.Hour}},
		}}, nil, ""},
		{"paused provider", attention.State{Providers: []operate.ProviderView{
			{Channel: email, ProviderState: notification.ProviderState{Override: notification.ProviderPaused}},
		}}, []attention.Code{attention.ProviderPaused}, attention.Operator},
		{"retried and late", attention.State{Late: []report.AttemptGroup{{Channel: email, Outcome: notification.OutcomeSent}}},
			[]attention.Code{attention.LateDeliveries}, attention.Unknown},
		{"paused sender explains late deliveries", attention.State{
			Late: []report.AttemptGroup{group},
			Providers: []operate.ProviderView{
				{Channel: email, Senders: []notification.SenderState{
					{Sender: "news@example.com", PausedAt: &now}, {Sender: "shop@example.com"},
				}},
			},
		}, []attention.Code{attention.SenderPaused}, attention.Operator},
		{"late", attention.State{Late: []report.AttemptGroup{{Channel: email, Outcome: notification.OutcomeBusy}}},
			[]attention.Code{attention.LateDeliveries}, attention.Provider},
		{"late without an attempt", attention.State{Late: []report.AttemptGroup{group}},
			[]attention.Code{attention.LateDeliveries}, attention.Herald},
		{"no text", attention.State{Failed: []report.AttemptGroup{{Channel: email, NoText: true}}},
			[]attention.Code{attention.NoTexts}, attention.Rules},
		{"bounced", attention.State{Failed: []report.AttemptGroup{{Channel: email, Receipt: true, Outcome: notification.OutcomeSent}}},
			[]attention.Code{attention.BouncedByReceipt}, attention.Data},
		{"failed without an attempt", attention.State{Failed: []report.AttemptGroup{group}},
			[]attention.Code{attention.FailedDeliveries}, attention.Unknown},
		{"told nobody", attention.State{Ended: []report.OutcomeCount{{Outcome: notification.NoRouting, Count: 1}}},
			[]attention.Code{attention.UntoldEvents}, attention.Rules},
		{"ended early", attention.State{Ended: []report.OutcomeCount{{Outcome: notification.EventFailed, Count: 1}}},
			[]attention.Code{attention.EndedEarly}, attention.Unknown},
		{"not planned", attention.State{Unplanned: report.UnplannedEvents{Count: 1, OldestID: "evt-1", Since: now.Add(-time.Hour)}},
			[]attention.Code{attention.UnplannedEvents}, attention.Unknown},
		{"ambiguous", attention.State{Sweep: notification.Sweep{At: now, Ambiguous: 1}}, []attention.Code{attention.AmbiguousRows}, attention.Herald},
		{"stale sweep", attention.State{Sweep: notification.Sweep{At: now.Add(-time.Hour)}}, []attention.Code{attention.StaleSweep},
			attention.Herald},
		{"follow-ups", attention.State{FollowUps: notification.FollowUpState{Pending: 1, OldestPending: time.Hour}},
			[]attention.Code{attention.LateFollowUps}, attention.Herald},
		{"approval", attention.State{Awaiting: []report.AwaitingEvent{{EventID: "evt-1", All: 1}}}, []attention.Code{attention.Approvals},
			attention.Operator},
	}
	seen := []attention.Code{attention.TemporalAway}
	for _, tt := range tests {
		seen = append(seen, tt.want...)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.state.Now, tt.state.PollersKnown = now, true
			if tt.state.Pollers.Pollers == nil {
				tt.state.Pollers = running
			}
			var codes []attention.Code
			for _, f := range attention.Find(tt.state) {
				codes = append(codes, f.Code)
				require.Equal(t, tt.fault, f.Fault)
			}
			require.Equal(t, tt.want, codes)
		})
	}
	require.ElementsMatch(t, attention.Codes(), slices.Compact(slices.Sorted(slices.Values(seen))))
	require.Equal(t, []attention.Finding{{Code: attention.TemporalAway, Fault: attention.Herald}}, attention.Find(attention.State{Now: now}))
}

// Each outcome of an attempt has a fault, by its type and not by its text.
func TestFaultsOfOutcomes(t *testing.T) {
	t.Parallel()

	for outcome, want := range map[notification.AttemptOutcome]attention.Fault{
		notification.OutcomeRefused: attention.Data, notification.OutcomeBusy: attention.Provider,
		notification.OutcomeUnreachable: attention.Provider, notification.OutcomeUnavailable: attention.Provider,
		notification.OutcomeAmbiguous: attention.Provider, notification.OutcomeAccount: attention.Account,
		notification.OutcomeOff: attention.Herald, notification.OutcomeLost: attention.Herald, notification.OutcomeError: attention.Unknown,
	} {
		found := attention.Find(attention.State{Now: now, PollersKnown: true, Failed: []report.AttemptGroup{{Outcome: outcome}}})
		require.Len(t, found, 1)
		require.Equal(t, want, found[0].Fault, outcome)
	}
}
