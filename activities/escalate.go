package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
	"herald/internal/planner"
)

// EscalationStore is the part of the database that Escalate needs.
type EscalationStore interface {
	// Escalating reads the state of a delivery.
	Escalating(ctx context.Context, key notification.EscalationKey) (notification.Escalating, error)
	// Follow locks a delivery, passes it to decide, and stores the recipient that decide returns;
	// nil: it stores nothing. It returns the new delivery; nil: none.
	Follow(
		ctx context.Context, key notification.EscalationKey, decide func(notification.Escalating) *notification.DecidedRecipient,
	) (*notification.Delivery, error)
	// Follower reads the delivery that follows another one; nil: none.
	Follower(ctx context.Context, deliveryID string) (*notification.Delivery, error)
}

// EscalateInput is the input of [Activities.Escalate].
type EscalateInput struct {
	EventID    string
	DeliveryID string // of the delivery that the escalation watches
	UserType   notification.UserType
	UserID     string
	Escalation notification.Escalation
	Since      time.Time // the start of the wait
}

// EscalateResult is the result of [Activities.Escalate].
type EscalateResult struct {
	Outcome notification.EscalationOutcome `json:",omitempty"` // empty: the escalation still waits
	Reason  string                         `json:",omitempty"` // why nothing follows, with the outcome DROPPED

	Until time.Time `json:",omitzero"`  // without an outcome: when to look again
	Wait  string    `json:",omitempty"` // the same time and its reason, for people

	Delivery *notification.Delivery `json:",omitempty"` // the delivery that follows; nil: none
	Policy   DeliveryPolicy         `json:",omitzero"`  // of its channel
}

// Escalate checks whether a delivery reached its recipient. If not, it plans a delivery over
// another channel, by the current rules. It locks the delivery's row while it decides, and the new
// delivery names the first delivery. So a repeat after any crash finds the result of the first
// call. A reader sees either an ended escalation or a planned message.
//
// If that channel cannot reach the recipient either, Escalate tries the channel after it.
//
// In quiet hours Escalate plans nothing: until they end the recipient may still read the first
// message.
func (a *Activities) Escalate(ctx context.Context, in EscalateInput) (EscalateResult, error) {
	now, err := a.Followers.Escalating(ctx, notification.EscalationKey{DeliveryID: in.DeliveryID, To: in.Escalation.To})
	if err != nil {
		return EscalateResult{}, failure(err)
	}
	e := &escalating{Activities: a, in: in}
	due := e.due(now)
	if !due && e.result.Outcome != notification.EscalationFollowed { // FOLLOWED: an earlier call stored it
		return e.end(ctx)
	}
	if due {
		if err := e.readRecipient(ctx); err != nil {
			return EscalateResult{}, err
		}
	}
	for to, more := in.Escalation.To, true; more; to, more = e.instead() {
		if err := e.follow(ctx, to); err != nil {
			return EscalateResult{}, failure(err)
		}
	}
	return e.end(ctx)
}

// follow decides about one channel, and stores the decision and the new delivery.
func (e *escalating) follow(ctx context.Context, to notification.Channel) error {
	e.look(ctx, to)
	if err := ctx.Err(); err != nil { // no workflow waits for the result, and perhaps only the end of ctx prevented the text
		return err
	}
	key := notification.EscalationKey{DeliveryID: e.in.DeliveryID, To: to}
	if e.facts.Limited() {
		key.Limited = e.facts.Setting.Entity
	}
	if e.plan != nil && e.planned.DeliveryID != "" {
		key.Throttle = e.plan.ThrottleKey(e.recipient, to)
	}
	var stored []notification.DecidedRecipient
	follower, err := e.Followers.Follow(ctx, key, func(now notification.Escalating) *notification.DecidedRecipient {
		decided := e.decide(now)
		if decided != nil {
			stored = []notification.DecidedRecipient{*decided}
		}
		return decided
	})
	if err != nil {
		return err
	}
	countNotSent(ctx, stored)
	switch {
	case follower != nil:
		e.result = EscalateResult{Outcome: notification.EscalationFollowed, Delivery: follower, Policy: e.Policies[follower.Channel]}
	case e.result == EscalateResult{}: // another call planned the delivery at the same moment
		e.result.Outcome = notification.EscalationToldSo
	}
	return nil
}

// escalating is the state of one [Activities.Escalate].
type escalating struct {
	*Activities
	in     EscalateInput
	result EscalateResult

	gone      string        // the reason why the rules are not applied; empty: they are
	plan      *planner.Plan // nil: the rules are not applied, see gone
	recipient notification.Recipient

	// For the current channel:
	facts   notification.Facts
	choice  notification.Choice
	planned notification.PlannedDelivery // if it is selected
}

// due reports whether it is time for another delivery. If not, it sets the result to the reason.
func (e *escalating) due(now notification.Escalating) bool {
	e.result = EscalateResult{}
	e.result.Outcome, e.result.Until = now.Evaluate(e.in.Escalation, e.in.Since)
	if !e.result.Until.IsZero() {
		e.result.Wait = notification.InstantText(e.result.Until) + e.in.Escalation.Then()
	}
	return e.result == EscalateResult{}
}

// end counts an escalation that has ended.
func (e *escalating) end(ctx context.Context) (EscalateResult, error) {
	if e.result.Outcome != "" {
		escalations(activity.GetMetricsHandler(ctx), e.in.Escalation, e.result.Outcome).Inc(1)
		activity.GetLogger(ctx).Info("escalation ended", "delivery_id", e.in.DeliveryID, "outcome", e.result.Outcome, "reason", e.result.Reason)
	}
	return e.result, nil
}

// readRecipient reads the recipient and the rules as planning would read them now.
func (e *escalating) readRecipient(ctx context.Context) error {
	plan, err := e.Planner.Event(ctx, e.in.EventID)
	if errors.Is(err, notification.ErrNoEvent) {
		e.gone = "its event was purged"
		return nil
	}
	if err != nil {
		return err
	}
	if plan.Outcome == notification.EventCancelled {
		e.gone = plan.Problem
		return nil
	}
	person, found, err := plan.Person(ctx, notification.RecipientKey{UserType: e.in.UserType, UserID: e.in.UserID})
	if err != nil {
		return err
	}
	if !found {
		e.gone = notification.NoLongerRecipient
		return nil
	}
	e.plan, e.recipient = plan, person
	return nil
}

// look applies the rules to one channel, and renders the text.
func (e *escalating) look(ctx context.Context, to notification.Channel) {
	if e.plan == nil {
		return
	}
	if _, routed := e.plan.Route(to); !routed {
		e.gone = string(to) + " is no longer routed"
		return
	}
	e.facts = e.plan.Facts(e.recipient, to, e.plan.Time(), nil)
	if e.choice = e.escalatedChoice(); e.choice.Decision == notification.DecisionSelected {
		e.planned = e.plan.Delivery(ctx, e.recipient, e.choice)
	}
}

func (e *escalating) escalatedChoice() notification.Choice {
	choice := e.facts.Choice()
	choice.Escalated = true
	return choice
}

// instead returns the channel to try next if the last channel cannot reach the recipient.
func (e *escalating) instead() (to notification.Channel, escalates bool) {
	if e.plan == nil || e.result.Outcome != notification.EscalationDropped {
		return "", false
	}
	return e.plan.Instead(e.choice)
}

// decide decides about the locked row, and returns the recipient to store; nil: none.
func (e *escalating) decide(now notification.Escalating) *notification.DecidedRecipient {
	if !e.due(now) {
		return nil
	}
	if e.gone != "" {
		e.result = EscalateResult{Outcome: notification.EscalationDropped, Reason: e.gone}
		return nil
	}
	e.facts.Selected, e.facts.Recipient.Throttles = now.Selected, now.Throttles
	e.choice = e.escalatedChoice()
	choice := e.choice
	decided := notification.NewDecided(e.recipient)
	decided.Add(choice)
	switch until := e.planned.SendAfter; {
	case choice.Decision != notification.DecisionSelected:
		e.result = EscalateResult{Outcome: notification.EscalationDropped, Reason: string(choice.Decision)}
	case !until.IsZero() && choice.Strategy != notification.Delayed: // quiet hours
		wait := notification.WaitText(choice.Wait.Until, e.facts.Now, e.recipient.Timezone, notification.WaitQuietHours)
		e.result = EscalateResult{Until: until.UTC(), Wait: wait + "; if it was not read by then, " + string(choice.Channel) + " follows"}
		return nil
	default:
		decided.Deliveries = []notification.PlannedDelivery{e.planned}
	}
	return &decided
}

// CancelFollowerInput is the input of [Activities.CancelFollower].
type CancelFollowerInput struct {
	DeliveryID string // of the delivery that the escalation watches
}

// CancelFollower cancels the delivery that follows another one, if [Activities.Escalate] stored it. The
// worker of Escalate may have died before the cancelled escalation heard of the delivery.
func (a *Activities) CancelFollower(ctx context.Context, in CancelFollowerInput) error {
	follower, err := a.Followers.Follower(ctx, in.DeliveryID)
	if err != nil || follower == nil {
		return err
	}
	_, err = a.GiveUp(ctx, GiveUpInput{
		DeliveryID: follower.DeliveryID, Channel: follower.Channel, Status: notification.Cancelled,
		Reason: string(notification.CancelledInTemporal),
	})
	return err
}
