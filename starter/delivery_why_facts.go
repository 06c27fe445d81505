package main

import (
	"context"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

// factsNow is what decides about one recipient and one channel of an event, as
// planning would find it now.
type factsNow struct {
	notification.Facts
	routed    []notification.Channel // over which the event's type goes
	entry     notification.DirectoryEntry
	unreached []string // why the event does not name them; empty: it does, or its row was purged
}

// decided says that planning would decide about them.
func (f factsNow) decided() bool {
	return f.entry.Known && f.entry.Active && len(f.unreached) == 0 && f.Setting.Entity.Type != "" && slices.Contains(f.routed, f.Routing.Channel)
}

// readFacts walks the way of planning to one recipient: the same statements read
// the event's setup and its recipients. Of an event whose row was purged it cannot
// be known whom it named.
func readFacts(ctx context.Context, db *postgres.Store, key report.DecisionKey, decided report.Decided, now time.Time) (factsNow, error) {
	var setup notification.EventSetup
	var targets []notification.Target
	var problems []string
	var err error
	if decided.Outbox == nil {
		setup, err = db.TypeSetup(ctx, decided.EventType)
	} else if setup, err = db.EventSetup(ctx, key.EventID); err == nil {
		targets, problems = notification.Targets(setup.Event, setup.Recipients)
	}
	if err != nil {
		return factsNow{}, err
	}
	found := factsNow{}
	if found.entry, err = db.DirectoryEntry(ctx, key.UserType, key.UserID, targets); err != nil {
		return factsNow{}, err
	}
	page, err := db.Named(ctx, decided.EventType, targets, key.UserType, key.UserID)
	if err != nil {
		return factsNow{}, err
	}
	recipient := found.entry.Recipient
	switch {
	case len(page.Recipients) > 0:
		recipient = page.Recipients[0]
	case decided.Outbox != nil && len(targets) == 0:
		found.unreached = problems
	case decided.Outbox != nil:
		found.unreached = notification.NotNamed(targets, found.entry)
		if found.entry.Active && found.unreached == nil {
			found.unreached = []string{"planning passes over their user type, or an id of that length"}
		}
	}
	setup.Settings = page.Settings
	for _, route := range setup.Routing {
		found.routed = append(found.routed, route.Channel)
	}
	found.Facts = setup.Facts(recipient, key.Channel, now, nil)
	if found.Limited() && len(page.Recipients) > 0 {
		err = found.count(ctx, db, setup, targets)
	}
	return found, err
}

// countedPages bounds what counting those before a recipient may read.
const countedPages, countedPage = 20, 100

// count decides about the recipients before this one, as planning does, until as
// many are selected as their entity allows.
func (f *factsNow) count(ctx context.Context, db *postgres.Store, setup notification.EventSetup, targets []notification.Target) error {
	used, after := notification.Used{}, notification.Cursor{}
	for range countedPages {
		page, err := db.Recipients(ctx, setup.Event.Type, targets, after, countedPage)
		if err != nil {
			return err
		}
		for _, r := range page.Recipients {
			f.Facts = setup.Facts(f.Recipient, f.Routing.Channel, f.Now, used)
			if f.Full() || (r.UserType == f.Recipient.UserType && r.UserID == f.Recipient.UserID) {
				return nil
			}
			setup.Decide(r, f.Now, used)
		}
		if page.Next == nil {
			return nil
		}
		after = *page.Next
	}
	f.Uncounted = true
	return nil
}
