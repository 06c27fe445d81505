package attention

import (
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/report"
)

// Find returns what needs a person, the most urgent first: what stops everything, what is late, what has
// failed, and what somebody has to decide.
func Find(s State) []Finding {
	return slices.Concat(s.stopped(), s.lateEvents(), s.providers(), s.late(), s.failed(), s.rows(), s.answers())
}

// stopped returns why no event is started.
func (s State) stopped() (found []Finding) {
	if !s.PollersKnown {
		return []Finding{{Code: TemporalAway, Fault: Herald}}
	}
	if s.Pollers.Workers == 0 && len(s.Pollers.Pollers) > 0 && s.Pollers.TaskQueue != "" {
		found = append(found, Finding{Code: NoWorker, Fault: Herald, Count: s.Outbox.Pending, Since: s.oldest(s.Outbox.OldestPending)})
	}
	for _, source := range s.Pollers.Idle() {
		found = append(found, Finding{Code: NoPoller, Fault: Herald, Source: source, Count: s.pending(source)})
	}
	for _, p := range s.Pollers.Pollers {
		switch {
		case p.Status == operate.PollerPaused:
			found = append(found, Finding{Code: PollerPaused, Fault: Operator, Source: p.Source, Subject: p.ID, Since: deref(p.Since)})
		case p.Attempt > 1 && p.LastFailure != "":
			found = append(found, Finding{Code: PollerFails, Fault: Herald, Source: p.Source, Subject: p.ID, Detail: p.LastFailure})
		}
	}
	return found
}

// lateEvents returns the sources whose events wait, unless a finding about their pollers explains it, and the
// events that are not planned.
func (s State) lateEvents() (found []Finding) {
	stopped := s.stopped()
	for _, source := range s.sources() {
		explained := func(f Finding) bool { return f.Source == source.Name || f.Source == "" }
		switch {
		case source.Problem != "":
			found = append(found, Finding{Code: SourceAway, Fault: Producer, Source: source.Name, Detail: source.Problem})
		case source.OldestSeconds != nil && *source.OldestSeconds > lateAfter.Seconds() && !slices.ContainsFunc(stopped, explained):
			found = append(found, Finding{
				Code: either(source.Name, LateEvents, LateRows), Fault: Herald, Source: source.Name, Count: *source.Pending,
				Since: s.oldest(time.Duration(*source.OldestSeconds * float64(time.Second))),
			})
		}
	}
	if s.Unplanned.Count > 0 {
		found = append(found, Finding{
			Code: UnplannedEvents, Fault: Unknown, Subject: s.Unplanned.OldestID, Count: s.Unplanned.Count, Since: s.Unplanned.Since,
		})
	}
	return found
}

// sources returns the sources with Herald's own outbox, also if none is configured.
func (s State) sources() []operate.SourceState {
	own := func(source operate.SourceState) bool { return source.Name == notification.HeraldSource }
	if slices.ContainsFunc(s.Sources, own) {
		return s.Sources
	}
	oldest := s.Outbox.OldestPending.Seconds()
	return append([]operate.SourceState{
		{Name: notification.HeraldSource, Pending: &s.Outbox.Pending, OldestSeconds: &oldest, Failed: s.Outbox.Failed},
	}, s.Sources...)
}

// either returns the code for Herald's outbox, or the code for the outbox of another service.
func either(source string, herald, other Code) Code {
	if source == notification.HeraldSource {
		return herald
	}
	return other
}

func (s State) pending(name string) int {
	for _, source := range s.sources() {
		if source.Name == name && source.Pending != nil {
			return *source.Pending
		}
	}
	return 0
}

// providers returns the providers that get no messages, and the senders whose optional messages wait.
func (s State) providers() (found []Finding) {
	for _, p := range s.Providers {
		f := Finding{Channel: p.Channel, Subject: p.Provider}
		for _, group := range s.Late {
			if group.Channel == p.Channel {
				f.People += group.People
			}
		}
		switch {
		case p.Override == notification.ProviderPaused:
			f.Code, f.Fault, f.Detail = ProviderPaused, Operator, p.By
			found = append(found, f)
		case p.Rests > 0 && p.Override == "" && p.RestsFor > -unneededAfter:
			f.Code, f.Fault, f.Detail = CircuitOpen, Provider, p.Failure
			found = append(found, f)
		}
		for _, sender := range p.Senders {
			if sender.PausedAt != nil {
				f.Code, f.Fault, f.Detail, f.Sender, f.Since = SenderPaused, Operator, sender.Figures(), sender.Sender, *sender.PausedAt
				found = append(found, f)
			}
		}
	}
	return found
}

// faults is the fault of each outcome of an attempt.
var faults = map[notification.AttemptOutcome]Fault{
	notification.OutcomeRefused:     Data,
	notification.OutcomeBusy:        Provider,
	notification.OutcomeUnreachable: Provider,
	notification.OutcomeUnavailable: Provider,
	notification.OutcomeAmbiguous:   Provider,
	notification.OutcomeAccount:     Account,
	notification.OutcomeOff:         Herald,
	notification.OutcomeLost:        Herald,
	notification.OutcomeError:       Unknown,
}

// faultOf returns the fault of the outcome of the last attempt, which may be absent or [notification.OutcomeSent].
func faultOf(outcome notification.AttemptOutcome) Fault {
	if fault, known := faults[outcome]; known {
		return fault
	}
	return Unknown
}

// late returns the deliveries that should have been sent. A delivery that waits for its provider or its
// sender has no attempt, and the finding about these explains it. Otherwise, Herald did not try.
func (s State) late() (found []Finding) {
	providers := s.providers()
	for _, group := range s.Late {
		explains := func(f Finding) bool { return f.Channel == group.Channel }
		switch {
		case group.Outcome != "":
			found = append(found, of(LateDeliveries, faultOf(group.Outcome), group))
		case !slices.ContainsFunc(providers, explains):
			found = append(found, of(LateDeliveries, Herald, group))
		}
	}
	return found
}

func (s State) failed() (found []Finding) {
	for _, group := range s.Failed {
		switch {
		case group.NoText:
			found = append(found, of(NoTexts, Rules, group))
		case group.Receipt:
			found = append(found, of(BouncedByReceipt, Data, group))
		default:
			found = append(found, of(FailedDeliveries, faultOf(group.Outcome), group))
		}
	}
	return found
}

func of(code Code, fault Fault, g report.AttemptGroup) Finding {
	return Finding{
		Code: code, Fault: fault, Since: g.Since, Count: g.Count, People: g.People, Channel: g.Channel, Subject: g.Provider, Outcome: g.Outcome,
		Status: g.ProviderStatus,
	}
}

// rows returns the events and rows that stay as they are until somebody acts.
func (s State) rows() (found []Finding) {
	for _, source := range s.sources() {
		if source.Failed > 0 {
			found = append(found, Finding{
				Code: either(source.Name, FailedEvents, FailedRows), Fault: Unknown, Source: source.Name, Count: source.Failed,
			})
		}
		if source.Resting > 0 {
			found = append(found, Finding{Code: TopicsRest, Fault: Provider, Source: source.Name, Count: source.Resting})
		}
	}
	for _, ended := range s.Ended {
		f := Finding{Code: UntoldEvents, Fault: Rules, Count: ended.Count, Event: ended.Outcome}
		if ended.Outcome == notification.EventFailed {
			f.Code, f.Fault = EndedEarly, Unknown
		}
		found = append(found, f)
	}
	if s.Sweep.Ambiguous > 0 {
		found = append(found, Finding{Code: AmbiguousRows, Fault: Herald, Count: s.Sweep.Ambiguous, Since: s.Sweep.At})
	}
	if !s.Sweep.At.IsZero() && s.Now.Sub(s.Sweep.At) > staleAfter {
		found = append(found, Finding{Code: StaleSweep, Fault: Herald, Since: s.Sweep.At})
	}
	if s.FollowUps.OldestPending > lateAfter {
		found = append(found,
			Finding{Code: LateFollowUps, Fault: Herald, Count: s.FollowUps.Pending, Since: s.oldest(s.FollowUps.OldestPending)})
	}
	return found
}

func (s State) answers() []Finding {
	if len(s.Awaiting) == 0 {
		return nil
	}
	return []Finding{{Code: Approvals, Fault: Operator, Count: s.Awaiting[0].All, Since: s.Awaiting[0].AskedAt}}
}

// oldest returns when something of this age began; zero: there is nothing.
func (s State) oldest(age time.Duration) time.Time {
	if age == 0 {
		return time.Time{}
	}
	return s.Now.Add(-age)
}

func deref(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
