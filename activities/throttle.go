package activities

import (
	"context"

	"herald/internal/notification"
)

// savePage stores the decisions about a page. If a throttle window limits deliveries of the page,
// it locks their throttle keys and decides again: another event may have told the recipients
// meanwhile.
func (p *planning) savePage(ctx context.Context, page notification.RecipientPage, before notification.Used) (decided []notification.DecidedRecipient, used notification.Used, err error) {
	plans := p.activities.Plans
	if p.setup.HasThrottle() {
		p.written = map[string]notification.PlannedDelivery{}
		if err := plans.ReadThrottles(ctx, p.setup.Event.Type, page.Recipients); err != nil {
			return nil, nil, err
		}
	}
	if len(p.setup.Caps) > 0 {
		if err := plans.ReadCounted(ctx, p.setup.Caps, page.Recipients); err != nil {
			return nil, nil, err
		}
	}
	if err := p.readHolders(ctx, page.Recipients); err != nil {
		return nil, nil, err
	}
	decided, used, err = p.decide(ctx, page, before, p.now())
	if err != nil {
		return nil, nil, err
	}
	keys := p.throttled(decided)
	if len(keys) == 0 {
		return decided, used, plans.SavePlan(ctx, p.setup.Event, decided)
	}
	err = plans.SaveThrottledPlan(ctx, p.setup.Event, keys, func(last []notification.Throttle) (_ []notification.DecidedRecipient, err error) {
		notification.AddThrottles(page.Recipients, last)
		decided, used, err = p.decide(ctx, page, before, p.now())
		return decided, err
	})
	return decided, used, err
}

// throttled returns the deliveries that a throttle window limits.
func (p *planning) throttled(decided []notification.DecidedRecipient) []notification.Throttle {
	if !p.setup.HasThrottle() {
		return nil
	}
	var keys []notification.Throttle
	for _, recipient := range decided {
		for _, delivery := range recipient.Deliveries {
			if key := p.throttleOf(recipient.UserType, recipient.UserID, delivery); key != nil {
				keys = append(keys, *key)
			}
		}
	}
	return keys
}

// throttleOf returns the throttle key of a delivery; nil: no throttle window limits the delivery.
func (p *planning) throttleOf(userType notification.UserType, userID string, delivery notification.PlannedDelivery) *notification.Throttle {
	route, _ := p.setup.Route(delivery.Channel)
	key, window := route.Throttle()
	if window == 0 {
		return nil
	}
	return &notification.Throttle{
		ThrottleKey: notification.ThrottleKey{UserType: userType, UserID: userID, Channel: delivery.Channel, Key: key},
		DeliveryID:  delivery.DeliveryID, Window: window,
	}
}

// readHolders reads which recipients, of earlier pages too, get the messages at the addresses of people.
func (p *planning) readHolders(ctx context.Context, people []notification.Recipient) (err error) {
	p.holders, err = p.activities.Plans.AddressHolders(ctx, p.setup, people)
	return err
}
