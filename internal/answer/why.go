package answer

import (
	"context"
	"time"

	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/report"
)

// WhyRequest names a delivery, or a decision, or a recipient.
type WhyRequest struct {
	Delivery  string `json:"delivery,omitempty" jsonschema:"explain this delivery: its id"`
	Event     string `json:"event,omitempty" jsonschema:"with recipient and channel: explain this decision, also if no delivery was planned"`
	Recipient string `json:"recipient,omitempty" jsonschema:"such as CUSTOMER/42; alone: list what was decided about them, the latest first"`
	Channel   string `json:"channel,omitempty" jsonschema:"such as EMAIL or SMS"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the number of decisions to list, at most 200; default 50"`
}

// Why is either the explanation of one decision, or a recipient's decisions.
type Why struct {
	Explanation *Explanation `json:"explanation,omitempty"`
	Decisions   []Decided    `json:"decisions,omitempty"`
	More        bool         `json:"more,omitempty"` // there are older decisions
}

// Explanation tells why a recipient got, or did not get, an event over a channel.
type Explanation struct {
	EventID   string                `json:"event_id"`
	EventType string                `json:"event_type"`
	Outbox    *Outbox               `json:"outbox"`          // null: the row was purged
	Processed *Processed            `json:"processed_event"` // null: the event was not started yet
	Recipient string                `json:"recipient"`
	Channel   notification.Channel  `json:"channel"`
	Decision  notification.Decision `json:"decision"` // empty: there is none
	DecidedAt *time.Time            `json:"decided_at"`
	Meaning   string                `json:"meaning"`
	Rules     Rules                 `json:"rules_now"`
	Delivery  *Delivery             `json:"delivery"` // null: none was planned
	OwnTime   *time.Time            `json:"own_time,omitempty"`
	ErasedAt  *time.Time            `json:"erased_at,omitempty"`
	Next      string                `json:"next"`
}

// Rules are the current rules about one recipient and channel.
type Rules struct {
	RecipientKnown  bool                   `json:"recipient_known"`
	RecipientActive bool                   `json:"recipient_active"`
	Named           bool                   `json:"named"`  // the event names them
	Entity          string                 `json:"entity"` // through which the event names them
	RoutedChannels  []notification.Channel `json:"routed_channels"`
	Mandatory       bool                   `json:"mandatory"`
	Strategy        notification.Strategy  `json:"delivery_strategy"` // empty: the event's type does not use this channel
	CategoryOff     bool                   `json:"category_off"`
	HasAddress      bool                   `json:"has_address"`
	Quiet           bool                   `json:"quiet_now"`
	QuietUntil      *time.Time             `json:"quiet_until"`
	Findings        []Finding              `json:"rules"`        // in order: the first one that applies decides
	Decision        notification.Decision  `json:"decision_now"` // empty: there would be none
	Instead         notification.Channel   `json:"instead,omitempty"`
}

// Finding is the finding of one rule.
type Finding struct {
	Rule    notification.Decision `json:"rule"` // the decision if it applies
	Applies bool                  `json:"applies"`
	LooksAt string                `json:"looks_at"`
}

// Decided is one decision about a recipient.
type Decided struct {
	DecidedAt   time.Time             `json:"decided_at"`
	EventID     string                `json:"event_id"`
	EventType   string                `json:"event_type"` // empty: the event was purged
	Channel     notification.Channel  `json:"channel"`
	Decision    notification.Decision `json:"decision"`
	Meaning     string                `json:"meaning"`
	DeliveryID  string                `json:"delivery_id"` // empty: none was planned, or it was purged
	Status      notification.Status   `json:"status"`
	SendAfter   *time.Time            `json:"send_after"`
	SentAt      *time.Time            `json:"sent_at"`
	ThrottledBy string                `json:"throttled_by,omitempty"`
}

// Why explains a delivery or a decision, or lists the decisions about a recipient.
func (r Reader) Why(ctx context.Context, in WhyRequest) (Why, error) {
	limit, err := limited(in.Limit, most)
	if err != nil {
		return Why{}, err
	}
	channel, err := channelOf(in.Channel)
	if err != nil {
		return Why{}, err
	}
	if in.Delivery != "" && in.Event+in.Recipient+in.Channel == "" {
		why, err := r.Explain.WhyDelivery(ctx, in.Delivery)
		return r.explained(why, err)
	}
	if in.Delivery != "" || in.Recipient == "" || in.Event != "" && channel == "" {
		return Why{}, wrong("the request names no delivery, decision or recipient",
			"give delivery; or event, recipient and channel; or recipient alone, with a channel if you like")
	}
	who, err := recipientOf(in.Recipient)
	if err != nil {
		return Why{}, err
	}
	if in.Event != "" {
		why, err := r.Explain.Why(ctx, report.DecisionKey{EventID: in.Event, UserType: who.UserType, UserID: who.UserID, Channel: channel})
		return r.explained(why, err)
	}
	rows, err := r.lists().RecipientDecisions(ctx, list.RecipientFilter{RecipientKey: who, Channel: channel}, limit+1)
	if err != nil {
		return Why{}, err
	}
	return Why{Decisions: each(rows[:min(limit, len(rows))], func(d list.RecipientDecision) Decided {
		return Decided{
			d.DecidedAt, d.EventID, d.EventType, d.Channel, d.Decision, d.Decision.Meaning(d.Channel, who.UserType), d.DeliveryID, d.Status,
			d.SendAfter, d.SentAt, d.ThrottledBy,
		}
	}), More: len(rows) > limit}, nil
}

// explained copies an explanation, whose sentences quote nobody.
func (r Reader) explained(why explain.Why, err error) (Why, error) {
	if err != nil {
		return Why{}, err
	}
	why = why.Unquoted(time.Now())
	found := &Explanation{
		EventID: why.EventID, EventType: why.EventType, Outbox: outboxOf(why.Outbox), Processed: processedOf(why.Processed),
		Recipient: why.Recipient, Channel: why.Channel, Decision: why.Decision, DecidedAt: why.DecidedAt, Meaning: why.Meaning,
		Rules: rulesOf(why.Rules), OwnTime: why.OwnTime, ErasedAt: why.ErasedAt, Next: why.Next,
	}
	if why.Delivery != nil {
		delivery := deliveryOf(*why.Delivery, why.Workflow, why.Escalation, usual)
		found.Delivery = &delivery
	}
	return Why{Explanation: found}, nil
}

func rulesOf(now explain.RulesNow) Rules {
	found := Rules{
		RecipientKnown: now.RecipientKnown, RecipientActive: now.RecipientActive, Named: len(now.Unreached) == 0, Entity: now.Entity,
		RoutedChannels: now.RoutedChannels, CategoryOff: now.CategoryOff, HasAddress: now.HasAddress, Quiet: now.Quiet,
		QuietUntil: now.QuietUntil, Decision: now.Decision, Instead: now.Instead,
		Findings: each(now.Findings, func(f notification.Finding) Finding { return Finding{f.Decision, f.Applies, f.Subject} }),
	}
	if now.Routing != nil {
		found.Mandatory, found.Strategy = now.Routing.Mandatory, now.Routing.Strategy
	}
	return found
}
