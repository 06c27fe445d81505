package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
	"herald/internal/planner"
)

const (
	// pageSize is the number of recipients in a page. If the input asks for several pages, the
	// event is large, and a page has largePageSize recipients: that takes a fifth less time for
	// each recipient.
	pageSize, largePageSize = 100, 250
	// pageDeliveries limits the deliveries that an event, or a page of waiting deliveries, starts
	// as children: a quarter of Temporal's limit, and about 5,000 events of history.
	pageDeliveries = 500
)

// PlanInput is the input of [Activities.PlanDeliveries].
type PlanInput struct {
	EventID string
	Source  string              // the outbox of the event
	After   notification.Cursor // the zero value: the first page
	Pages   int                 `json:",omitempty"` // the maximum number of pages to plan
}

// PlanResult is the result of [Activities.PlanDeliveries].
type PlanResult struct {
	EventType string
	Aggregate notification.Entity
	// NO_RECIPIENTS, NO_ROUTING, AWAITING_APPROVAL, REJECTED, or CANCELLED by another event; empty: there may be deliveries
	Outcome notification.EventOutcome `json:",omitempty"`
	Problem string                    `json:",omitempty"` // the reason for Outcome, or the faults of rules that name recipients

	Bulk  bool                 `json:",omitempty"` // only for the first page: the event has more recipients than BULK_THRESHOLD
	Batch DeliveryBatch        // all deliveries to send, if one workflow can send them; otherwise empty
	Lanes []notification.Lane  `json:",omitempty"` // with an empty Batch: the lanes that have deliveries now
	Next  *notification.Cursor `json:",omitempty"` // nil: this was the last page

	AskedAt time.Time `json:",omitzero"` // with AWAITING_APPROVAL: when the event began to wait
}

// DeliveryBatch holds deliveries, and the policies of their channels.
type DeliveryBatch struct {
	Deliveries []notification.Delivery
	Policies   map[notification.Channel]DeliveryPolicy
}

// PlanDeliveries plans some pages of an event's recipients. It reads the recipients and their
// settings, applies the rules, renders the texts and stores the result, in four round trips for
// each page. It ends early when half of its time is used. A repeat keeps the decisions that the
// first call stored. PlanDeliveries uses the source only for a check: a worker plans only for the
// sources in its settings.
func (a *Activities) PlanDeliveries(ctx context.Context, in PlanInput) (PlanResult, error) {
	if _, err := sourceNamed(a.Sources, in.Source); err != nil {
		return PlanResult{}, err
	}
	plan, err := a.Planner.Event(ctx, in.EventID)
	if err != nil {
		return PlanResult{}, failure(err)
	}
	p := &planning{Plan: plan, activities: a, in: in}
	switch {
	case p.Outcome == notification.EventCancelled, p.Outcome == notification.EventRejected: // hand out no deliveries, planned ones included
		return p.answer(), nil
	case p.Outcome == "" && in.After.UserID == "" && p.ApprovalOver != nil && p.Event.Answer == "":
		if err := p.askApproval(ctx); err != nil || p.Outcome != "" {
			return p.answer(), err
		}
	}
	if p.Outcome == "" && len(p.Routing) > 0 {
		if err := p.savePages(ctx); err != nil {
			return PlanResult{}, err
		}
	}
	return p.handOut(ctx)
}

// planning is the state of one [Activities.PlanDeliveries].
type planning struct {
	*planner.Plan
	activities *Activities
	in         PlanInput
	result     PlanResult
}

// answer returns the result, as far as it is known.
func (p *planning) answer() PlanResult {
	result := p.result
	result.EventType, result.Aggregate = p.Event.Type, notification.Entity{Type: p.Event.AggregateType, ID: p.Event.AggregateID}
	result.Outcome, result.Problem = p.Outcome, p.Problem
	return result
}

// savePages decides about page after page, up to the input's number of pages, and stores the decisions.
func (p *planning) savePages(ctx context.Context) error {
	started, after, size := time.Now(), p.in.After, pageSize
	if p.in.Pages > 1 {
		size = largePageSize
	}
	for page := 1; ; page++ {
		found, err := p.Page(ctx, after, size)
		if err != nil {
			return err
		}
		passOver(ctx, p.Plan, found.PassedOver)
		if len(found.Recipients) == 0 && after.UserID == "" {
			p.Nobody()
			return nil
		}
		if after.UserID == "" {
			if p.result.Bulk, err = p.isBulk(ctx, found); err != nil {
				return err
			}
		}
		if err := p.savePage(ctx, found); err != nil {
			return err
		}
		if p.result.Next == nil || page >= p.in.Pages || halfOver(ctx, started) {
			return nil
		}
		after = *p.result.Next
		p.activities.singles.waitForSingles(ctx)
	}
}

// passOver reports people whose user type or user id Herald cannot use.
func passOver(ctx context.Context, plan *planner.Plan, people []notification.PassedOver) {
	for _, some := range people {
		countPassedOver(ctx, some)
		activity.GetLogger(ctx).Warn("people are passed over", "event_id", plan.Event.ID, "problem", some.String())
	}
	plan.PassOver(people)
}

// isBulk reports whether an event has more recipients than BULK_THRESHOLD. It stops counting
// above the threshold, and counts nothing if the first page shows the answer.
func (p *planning) isBulk(ctx context.Context, first notification.RecipientPage) (bool, error) {
	onPage, threshold := len(first.Recipients), p.activities.BulkThreshold
	if threshold == 0 || onPage > threshold || first.Next == nil {
		return threshold > 0 && onPage > threshold, nil
	}
	count, err := p.activities.Planner.Rows.CountRecipients(ctx, p.Targets, threshold+1)
	activity.RecordHeartbeat(ctx)
	return count > threshold, err
}

// halfOver reports whether half of the time from started to ctx's deadline is over.
func halfOver(ctx context.Context, started time.Time) bool {
	deadline, found := ctx.Deadline()
	return found && time.Since(started) > time.Until(deadline)
}

func (p *planning) savePage(ctx context.Context, found notification.RecipientPage) error {
	decided, err := p.Save(ctx, found, func() { activity.RecordHeartbeat(ctx) })
	if err != nil {
		return err
	}
	countNotSent(ctx, decided)
	activity.RecordHeartbeat(ctx)
	p.result.Next = found.Next
	activity.GetLogger(ctx).Info("planned", "event_id", p.Event.ID, "recipients", len(found.Recipients))
	return nil
}

// handOut adds the deliveries to send. It reads them from the rows, because an earlier planning may
// have stored deliveries to people who have left since.
func (p *planning) handOut(ctx context.Context) (PlanResult, error) {
	result, eventID := p.answer(), p.Event.ID
	if p.in.After.UserID == "" && result.Next == nil && !result.Bulk {
		deliveries, err := p.activities.Lanes.Undelivered(ctx, eventID, pageDeliveries+1)
		if err != nil {
			return PlanResult{}, err
		}
		if len(deliveries) <= pageDeliveries {
			result.Batch = newDeliveryBatch(deliveries, p.activities.Policies)
			return result, nil
		}
	}
	lanes, err := p.activities.Lanes.Lanes(ctx, eventID)
	result.Lanes = lanes
	return result, err
}

func newDeliveryBatch(deliveries []notification.Delivery, policies map[notification.Channel]DeliveryPolicy) DeliveryBatch {
	batch := DeliveryBatch{Deliveries: deliveries, Policies: map[notification.Channel]DeliveryPolicy{}}
	for _, d := range deliveries {
		batch.Policies[d.Channel] = policies[d.Channel]
	}
	return batch
}
