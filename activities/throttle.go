package activities

import (
	"context"

	"herald/internal/notification"
)

// savePage decides about a page, and stores the decisions. If earlier messages or a limit of recipients
// matter, it decides while the rows that it reads are locked.
func (p *planning) savePage(ctx context.Context, page notification.RecipientPage) (decided []notification.DecidedRecipient, err error) {
	plans, keys := p.activities.Plans, p.setup.ThrottleKeys(page.Recipients)
	if len(p.setup.Caps) > 0 {
		if err := plans.ReadCounted(ctx, p.setup.Caps, page.Recipients); err != nil {
			return nil, err
		}
	}
	if err := p.readHolders(ctx, page.Recipients); err != nil {
		return nil, err
	}
	decide := func(used notification.Used) (_ []notification.DecidedRecipient, err error) {
		decided, err = p.decide(ctx, page, used)
		return decided, err
	}
	if len(keys) > 0 || page.Limited() {
		err = plans.SaveLockedPlan(ctx, p.setup.Event, page, keys, decide)
		return decided, err
	}
	if _, err := decide(notification.Used{}); err != nil {
		return nil, err
	}
	return decided, plans.SavePlan(ctx, p.setup.Event, decided)
}

// readHolders reads which recipients, of earlier pages too, get the messages at the addresses of people.
func (p *planning) readHolders(ctx context.Context, people []notification.Recipient) (err error) {
	p.setup.Holders, err = p.activities.Plans.AddressHolders(ctx, p.setup, people)
	return err
}
