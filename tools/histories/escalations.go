package main

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// escalations returns the ends of escalations, started alone and by an event.
func escalations() []*scenario {
	const timer, signalled, looked = enums.EVENT_TYPE_TIMER_STARTED, enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
	waits := activities.EscalateResult{Until: time.Now().UTC().Add(time.Hour), Wait: "08:00 Europe/Rome: quiet hours; if it was not read by then, SMS follows"}
	read := activities.EscalateResult{Outcome: notification.EscalationRead}
	dropped := activities.EscalateResult{Outcome: notification.EscalationDropped, Reason: string(notification.DecisionUserDisabled)}

	settle := signal(workflows.Settled, nil)
	ofRead := escalation("escalate_read", time.Hour, waits, read)
	ofRead.meanwhile = []step{waiting, settle, showing(timer, signalled, looked, timer), settle}
	ofCancelled := escalation("escalate_cancelled", time.Hour)
	ofCancelled.meanwhile = []step{waiting, cancel}
	late := escalation("escalate_cancelled_late", 0, activities.EscalateResult{Outcome: notification.EscalationFollowed})
	late.holds, late.meanwhile = true, []step{underWay, cancel, askedToStop, release}

	followed := event("notify_escalated", escalating())
	followed.looks = []activities.EscalateResult{{Until: time.Now().UTC(), Wait: "at once"}, {Outcome: notification.EscalationFollowed}}
	followed.also = map[string]string{"-staff10-PUSH-escalation": "escalate_followed"}
	settled := event("notify_escalation_settled", escalating())
	settled.looks = []activities.EscalateResult{{Outcome: notification.EscalationDelivered}}
	return []*scenario{ofRead, ofCancelled, late, escalation("escalate_dropped", 0, dropped), followed, settled}
}

// escalation returns the scenario of an escalation with these results, in turn.
func escalation(name string, after time.Duration, looks ...activities.EscalateResult) *scenario {
	in := workflows.EscalateInput{EventType: "RESERVATION_REQUESTED", UserType: notification.RestaurantUser, UserID: "10", Escalation: pushToSMS(after)}
	return &scenario{name: name, workflow: workflows.Escalate, queue: workflows.EventsQueue(prefix), looks: looks, input: []any{in}}
}

func pushToSMS(after time.Duration) notification.Escalation {
	return notification.Escalation{From: notification.Push, To: notification.SMS, After: after, Until: notification.UntilRead}
}

// escalating returns the only page of an event, with one delivery that escalates.
func escalating() activities.PlanResult {
	then := pushToSMS(time.Hour)
	return activities.PlanResult{Batch: activities.DeliveryBatch{Deliveries: []notification.Delivery{{Channel: notification.Push, Escalation: &then}}}}
}

// Escalate returns the scenario's result. The next channel is SMS.
func (a *actors) Escalate(ctx context.Context, in activities.EscalateInput) (activities.EscalateResult, error) {
	s := a.of(in.DeliveryID)
	n := int(s.polls.Add(1))
	if n > len(s.looks) {
		return activities.EscalateResult{}, fmt.Errorf("%s looks %d times", s.name, n)
	}
	if s.holds {
		if err := s.hold(ctx); err != nil {
			return activities.EscalateResult{}, err
		}
	}
	found := s.looks[n-1]
	if found.Outcome == notification.EscalationFollowed {
		follower := batch(in.EventID, "10", []notification.Channel{notification.SMS})
		found.Delivery, found.Policy = &follower.Deliveries[0], follower.Policies[notification.SMS]
	}
	return found, nil
}
