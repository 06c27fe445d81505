package planner

import (
	"context"
	"time"

	"herald/internal/notification"
)

// Trace holds the present decision about one recipient and one channel of an event, and its facts.
type Trace struct {
	Facts  notification.Facts // what the rules read
	Person notification.DirectoryEntry
	Named  bool // the event names the recipient, who is active

	Decision notification.Decision // empty: planning skips the recipient or the channel
	Instead  notification.Channel  // the channel that escalation uses at once, because this channel cannot reach the recipient; empty: none
}

// Trace decides about one recipient as [Plan.Save] would, and stores nothing.
func (p *Plan) Trace(ctx context.Context, who notification.RecipientKey, channel notification.Channel, now time.Time) (t Trace, err error) {
	if t.Person, err = p.planner.Rows.DirectoryEntry(ctx, who.UserType, who.UserID, p.Targets); err != nil {
		return t, err
	}
	page, err := p.named(ctx, who)
	if err != nil {
		return t, err
	}
	if t.Named = len(page.Recipients) > 0; !t.Named {
		t.Facts = p.Facts(t.Person.Recipient, channel, now, nil)
		return t, nil
	}
	if p.Holders, err = p.readAll(ctx, page.Recipients); err != nil {
		return t, err
	}
	me, used := page.Recipients[0], notification.Used{}
	t.Facts = p.Facts(me, channel, now, used)
	if p.limits(me, t.Facts) {
		if used, err = p.usedBefore(ctx, &t.Facts); err != nil {
			return t, err
		}
	}
	for _, choice := range p.Decide(me, now, used.Clone()) {
		if choice.Channel == channel {
			t.Decision = choice.Decision
			t.Instead, _ = p.EventSetup.Instead(choice)
		}
	}
	return t, nil
}

// named reads a recipient with the settings of their entity; an empty page: the event does not name them.
func (p *Plan) named(ctx context.Context, who notification.RecipientKey) (notification.RecipientPage, error) {
	page, err := p.planner.Rows.Named(ctx, p.Event.Type, p.Targets, who.UserType, who.UserID)
	p.Settings = page.Settings
	return page, err
}

// Person reads a recipient as [Plan.Save] would. found is false if the event does not name them.
func (p *Plan) Person(ctx context.Context, who notification.RecipientKey) (person notification.Recipient, found bool, err error) {
	page, err := p.named(ctx, who)
	if err != nil || len(page.Recipients) == 0 {
		return person, false, err
	}
	p.Holders, err = p.planner.Rows.AddressHolders(ctx, p.EventSetup, page.Recipients)
	return page.Recipients[0], true, err
}

// limits reports whether a limit of recipients matters for a person on a channel, or on a channel from
// which escalation may lead to it.
func (p *Plan) limits(me notification.Recipient, facts notification.Facts) bool {
	if facts.Limited() {
		return true
	}
	if facts.Routing.OnEscalationOnly {
		for _, route := range p.Routing {
			if p.Facts(me, route.Channel, facts.Now, nil).Limited() {
				return true
			}
		}
	}
	return false
}

// countedPages and countedPage limit the recipients that usedBefore reads.
const countedPages, countedPage = 20, 100

// usedBefore decides about the recipients before one recipient, as planning does. It stops at this
// recipient, or as soon as the entity's limit is used up. It gives up after 2,000 recipients and
// sets Uncounted in the facts.
func (p *Plan) usedBefore(ctx context.Context, facts *notification.Facts) (notification.Used, error) {
	me, used, counted := facts.Recipient, notification.Used{}, 0
	err := p.Pages(ctx, countedPage, func(page notification.RecipientPage) (done bool, err error) {
		for _, r := range page.Recipients {
			*facts = p.Facts(me, facts.Routing.Channel, facts.Now, used)
			settled := facts.AtCapacity() && !facts.Routing.OnEscalationOnly
			if settled || (r.UserType == me.UserType && r.UserID == me.UserID) {
				return true, nil
			}
			p.Decide(r, facts.Now, used)
		}
		counted++
		facts.Uncounted = counted == countedPages && page.Next != nil
		return facts.Uncounted, nil
	})
	return used, err
}

// Pages calls f for each page of the recipients, in planning's order, with all that planning reads
// about them, until f is done. It locks and stores nothing.
func (p *Plan) Pages(ctx context.Context, size int, f func(notification.RecipientPage) (done bool, err error)) error {
	for after := (notification.Cursor{}); ; {
		page, err := p.Page(ctx, after, size)
		if err != nil {
			return err
		}
		if _, err := p.readAll(ctx, page.Recipients); err != nil {
			return err
		}
		if done, err := f(page); done || err != nil || page.Next == nil {
			return err
		}
		after = *page.Next
	}
}

// readAll reads what [Plan.Save] reads about people, without its locks.
func (p *Plan) readAll(ctx context.Context, people []notification.Recipient) (notification.AddressHolders, error) {
	if keys := p.ThrottleKeys(people); len(keys) > 0 {
		last, err := p.planner.Rows.Throttles(ctx, p.Event.Type, keys)
		if err != nil {
			return nil, err
		}
		notification.AddThrottles(people, last)
	}
	return p.readAmounts(ctx, people)
}
