package activities

import (
	"cmp"
	"context"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// planning is the state that the pages of one activity share.
type planning struct {
	activities *Activities
	setup      notification.EventSetup
	texts      EventTexts
	escalated  EventTexts // nil: not needed yet
	targets    []notification.Target
	result     PlanResult
	read       time.Time // the time by this process's clock when setup.Now was read
}

// now returns the time by the database's clock. The rules use the same clock before an attempt.
func (p *planning) now() time.Time { return p.setup.Now.Add(time.Since(p.read)) }

func (a *Activities) newPlanning(setup notification.EventSetup) *planning {
	event := setup.Event
	p := &planning{activities: a, read: time.Now(), setup: setup, texts: a.EventTexts(setup.Event, setup.Templates)}
	p.result.EventType, p.result.Aggregate = event.Type, notification.Entity{Type: event.AggregateType, ID: event.AggregateID}
	p.result.Outcome, p.result.Problem = setup.Unplanned()
	if p.result.Outcome != "" || len(setup.Routing) == 0 {
		return p
	}
	p.setup.ReadPayload()
	targets, problems := notification.Targets(event, setup.Recipients)
	p.targets, p.result.Problem = targets, strings.Join(problems, "; ")
	return p
}

// passOver reports people whose user type or user id Herald cannot use.
func (p *planning) passOver(ctx context.Context, people []notification.PassedOver) {
	for _, some := range people {
		countPassedOver(ctx, some)
		activity.GetLogger(ctx).Warn("people are passed over", "event_id", p.setup.Event.ID, "problem", some.String())
		if p.result.Problem != "" {
			p.result.Problem += "; "
		}
		p.result.Problem += some.String()
	}
}

// decide applies the rules to a page of recipients and renders the texts of the
// selected deliveries. It leaves out recipients who were decided about before.
func (p *planning) decide(ctx context.Context, page notification.RecipientPage, used notification.Used) ([]notification.DecidedRecipient, error) {
	now := p.now()
	p.setup.Settings = page.Settings
	decided := make([]notification.DecidedRecipient, 0, len(page.Recipients))
	for _, recipient := range page.Recipients {
		activity.RecordHeartbeat(ctx)
		if recipient.Decided {
			continue
		}
		r := notification.NewDecided(recipient)
		for _, choice := range p.setup.Decide(recipient, now, used) {
			r.Add(choice)
			if choice.Decision == notification.DecisionSelected {
				r.Deliveries = append(r.Deliveries, p.planned(ctx, recipient, choice))
			}
		}
		if err := ctx.Err(); err != nil { // no workflow waits for the result, and perhaps only the end of ctx prevented texts
			return nil, err
		}
		decided = append(decided, r)
	}
	return decided, nil
}

func (p *planning) planned(ctx context.Context, recipient notification.Recipient, choice notification.Choice) notification.PlannedDelivery {
	id := notification.DeliveryID(p.setup.Event.ID, recipient.Who, recipient.UserID, choice.Channel)
	delivery := notification.PlannedDelivery{
		DeliveryID: id,
		Channel:    choice.Channel,
		Address:    recipient.Address(choice.Channel),
		Strategy:   choice.Strategy,
		Priority:   choice.Priority,
		SendAfter:  choice.SendAfter(id),
		ExpiresAt:  choice.ExpiresAt,
		Problem:    choice.Problem,
	}
	if route, _ := p.setup.Route(choice.Channel); route.OncePerAddress {
		delivery.AddressHash = recipient.AddressHashes[choice.Channel]
	}
	text, err := p.textsOf(choice).Render(ctx, choice.Channel, recipient)
	if err != nil {
		delivery.Problem = cmp.Or(delivery.Problem, err.Error())
	}
	delivery.Title, delivery.Body, delivery.URL = text.Title, text.Body, text.URL
	return delivery
}

// textsOf returns the texts for a choice.
func (p *planning) textsOf(choice notification.Choice) EventTexts {
	if !choice.Escalated {
		return p.texts
	}
	if p.escalated == nil {
		p.escalated = p.activities.EscalatedTexts(p.setup.Event, p.setup.Templates)
	}
	return p.escalated
}
