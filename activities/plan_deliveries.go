package activities

import (
	"cmp"
	"context"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
	"herald/internal/template"
)

// PlanStore is what planning needs of the database.
type PlanStore interface {
	EventRules(ctx context.Context, eventID string) (notification.EventRules, error)
	Recipients(ctx context.Context, eventType string, targets []notification.Target, after notification.Cursor, limit int) (notification.RecipientPage, error)
	SavePlan(ctx context.Context, event notification.Event, page []notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange, error)
	Deliveries(ctx context.Context, eventID string, ids notification.IDRange, waiting bool) ([]notification.Delivery, error)
}

// pageSize is how many recipients are planned at once. With five channels each,
// a page has at most 500 deliveries: a quarter of what Temporal allows one
// workflow as open children, and about 5,000 events of history.
const pageSize = 100

// PlanInput is the input of [Activities.PlanDeliveries].
type PlanInput struct {
	EventID string
	After   notification.Cursor // the zero value: the first page
}

// Outcomes of an event that reaches nobody, for HeraldOutcome.
const (
	NoRecipients = "NO_RECIPIENTS"
	NoRouting    = "NO_ROUTING"
)

// PlanResult is the result of [Activities.PlanDeliveries].
type PlanResult struct {
	EventType string
	Aggregate notification.Entity
	Outcome   string `json:",omitempty"` // NO_RECIPIENTS or NO_ROUTING; empty: there may be deliveries
	Problem   string `json:",omitempty"` // why, or what was wrong with some of the recipients' rules

	Batch     DeliveryBatch        // of the event's only page; empty where there are several
	Stored    notification.IDRange // where this page's deliveries are
	Immediate int                  // how many of them are to be sent at once
	Waiting   int                  // how many wait for a time of their own
	Next      *notification.Cursor `json:",omitempty"` // nil: this was the last page
}

// DeliveryBatch is deliveries, and how those of each channel are made.
type DeliveryBatch struct {
	Deliveries []notification.Delivery
	Policies   map[notification.Channel]DeliveryPolicy
}

// PlanDeliveries plans one page of an event's recipients: it reads them with
// all that concerns them, applies the rules, renders the texts and stores the
// result, in three round trips however many they are. A repeat returns what the
// first call stored.
func (a *Activities) PlanDeliveries(ctx context.Context, in PlanInput) (PlanResult, error) {
	rules, err := a.Plans.EventRules(ctx, in.EventID)
	if err != nil {
		return PlanResult{}, failure(err)
	}
	event := rules.Event
	result := PlanResult{EventType: event.Type, Aggregate: notification.Entity{Type: event.AggregateType, ID: event.AggregateID}}
	if len(rules.Routing) == 0 {
		result.Outcome, result.Problem = NoRouting, "event type "+event.Type+" has no rows in event_type_channel_routing"
		return result, nil
	}
	targets, problems := notification.Targets(event, rules.Recipients)
	result.Problem = strings.Join(problems, "; ")
	page, err := a.Plans.Recipients(ctx, event.Type, targets, in.After, pageSize)
	if err != nil {
		return PlanResult{}, err
	}
	if len(page.Recipients) == 0 && in.After.UserID == "" {
		result.Outcome, result.Problem = NoRecipients, cmp.Or(result.Problem, "nobody in the directory is an active recipient of it")
		return result, nil
	}
	decided, used := decide(rules, page, in.After.Used, time.Now())
	deliveries, stored, err := a.Plans.SavePlan(ctx, event, decided)
	if err != nil {
		return PlanResult{}, err
	}
	result.Stored, result.Next = stored, page.Next
	result.count(deliveries)
	if result.Next != nil {
		result.Next.Used = used
	} else if in.After.UserID == "" {
		result.Batch = a.batch(deliveries)
	}
	activity.GetLogger(ctx).Info("planned", "event_id", event.ID, "recipients", len(page.Recipients), "deliveries", len(deliveries))
	return result, nil
}

func (r *PlanResult) count(deliveries []notification.Delivery) {
	for _, d := range deliveries {
		if d.Waits() {
			r.Waiting++
		} else {
			r.Immediate++
		}
	}
}

// ListInput is the input of [Activities.ListDeliveries].
type ListInput struct {
	EventID string
	IDs     notification.IDRange
	Waiting bool // those that wait for a time of their own; else those to be sent at once
}

// ListDeliveries returns the deliveries of one planned page.
func (a *Activities) ListDeliveries(ctx context.Context, in ListInput) (DeliveryBatch, error) {
	deliveries, err := a.Plans.Deliveries(ctx, in.EventID, in.IDs, in.Waiting)
	if err != nil {
		return DeliveryBatch{}, err
	}
	return a.batch(deliveries), nil
}

func (a *Activities) batch(deliveries []notification.Delivery) DeliveryBatch {
	policies := map[notification.Channel]DeliveryPolicy{}
	for _, d := range deliveries {
		policies[d.Channel] = a.Policies[d.Channel]
	}
	return DeliveryBatch{Deliveries: deliveries, Policies: policies}
}

// decide applies the rules to a page of recipients and renders the texts of
// what was selected. It returns how much of max_recipients is used after them.
func decide(rules notification.EventRules, page notification.RecipientPage, before notification.Used, now time.Time) ([]notification.DecidedRecipient, notification.Used) {
	used := before.Clone()
	event := rules.Event
	texts := template.NewSet(event, rules.Templates)
	decisions := notification.Rules{Routing: rules.Routing, Supported: rules.Supported, Settings: page.Settings}
	decided := make([]notification.DecidedRecipient, 0, len(page.Recipients))
	for _, recipient := range page.Recipients {
		r := notification.DecidedRecipient{
			UserType: recipient.UserType, UserID: recipient.UserID, Entity: recipient.Entity,
			Decisions: map[notification.Channel]notification.Decision{},
		}
		for _, choice := range decisions.Decide(recipient, now, used) {
			r.Decisions[choice.Channel] = choice.Decision
			if choice.Decision == notification.DecisionSelected {
				r.Deliveries = append(r.Deliveries, planned(event, recipient, choice, texts))
			}
		}
		decided = append(decided, r)
	}
	return decided, used
}

func planned(event notification.Event, recipient notification.Recipient, choice notification.Choice, texts *template.Set) notification.PlannedDelivery {
	id := notification.DeliveryID(event.ID, recipient.UserType, recipient.UserID, choice.Channel)
	delivery := notification.PlannedDelivery{
		DeliveryID: id,
		Channel:    choice.Channel,
		Address:    recipient.Address(choice.Channel),
		Strategy:   choice.Strategy,
		Priority:   choice.Priority,
		SendAfter:  choice.SendAfter(id),
	}
	text, err := texts.Render(choice.Channel, recipient)
	if err != nil {
		delivery.Problem = err.Error()
	}
	delivery.Title, delivery.Body = text.Title, text.Body
	return delivery
}
