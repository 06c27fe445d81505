package explain

import (
	"context"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// planNow is what planning would find now about one recipient and one channel of
// an event.
type planNow struct {
	facts  notification.Facts
	routed []notification.Channel // over which the event's type goes
	person notification.DirectoryEntry
	named  bool     // the event names them, and they are active
	reason []string // why the event does not name them; empty: it does, or that is not known
}

// planNow walks the way of planning to one recipient: the same statements read the
// event's setup and its recipients, and the same rules decide. Of an event whose row
// was purged only a delivery's row says through which entity it named somebody.
func (e Explainer) planNow(ctx context.Context, key report.DecisionKey, decided report.Decided, now time.Time) (planNow, error) {
	setup, targets, problems, err := e.setup(ctx, key.EventID, decided)
	if err != nil {
		return planNow{}, err
	}
	person, err := e.Store.DirectoryEntry(ctx, key.UserType, key.UserID, targets)
	if err != nil {
		return planNow{}, err
	}
	page, err := e.Store.Named(ctx, decided.EventType, targets, key.UserType, key.UserID)
	if err != nil {
		return planNow{}, err
	}
	setup.Settings = page.Settings
	plan := planNow{person: person, named: len(page.Recipients) > 0}
	for _, route := range setup.Routing {
		plan.routed = append(plan.routed, route.Channel)
	}
	if !plan.named {
		plan.facts = setup.Facts(person.Recipient, key.Channel, now, nil)
		if decided.Outbox != nil || len(targets) > 0 {
			plan.reason = notNamed(targets, problems, person)
		}
		return plan, nil
	}
	plan.facts = setup.Facts(page.Recipients[0], key.Channel, now, nil)
	if plan.facts.Limited() {
		err = e.countBefore(ctx, setup, targets, &plan.facts)
	}
	return plan, err
}

func (e Explainer) setup(ctx context.Context, eventID string, decided report.Decided) (setup notification.EventSetup, targets []notification.Target, problems []string, err error) {
	if decided.Outbox == nil {
		setup, err = e.Store.TypeSetup(ctx, decided.EventType)
		setup.Event.Type = decided.EventType
		if decided.Entity.Type != "" {
			targets = []notification.Target{{Entity: decided.Entity}}
		}
		return setup, targets, nil, err
	}
	if setup, err = e.Store.EventSetup(ctx, eventID); err == nil {
		setup.ReadTimes()
		targets, problems = notification.Targets(setup.Event, setup.Recipients)
	}
	return setup, targets, problems, err
}

func notNamed(targets []notification.Target, problems []string, person notification.DirectoryEntry) []string {
	if len(targets) == 0 {
		return problems
	}
	reasons := notification.NotNamed(targets, person)
	if person.Active && reasons == nil {
		return []string{"planning passes over ids that are empty, longer than 64 bytes or not printable"}
	}
	return reasons
}

// What counting the recipients before one may read.
const countedPages, countedPage = 20, 100

// countBefore decides about the recipients who come before one, as planning does,
// until it comes to them or as many are selected as their entity allows. It gives
// up after 2,000, and says so in the facts.
func (e Explainer) countBefore(ctx context.Context, setup notification.EventSetup, targets []notification.Target, facts *notification.Facts) error {
	me, used, after := facts.Recipient, notification.Used{}, notification.Cursor{}
	for range countedPages {
		page, err := e.Store.Recipients(ctx, setup.Event.Type, targets, after, countedPage)
		if err != nil {
			return err
		}
		for _, r := range page.Recipients {
			*facts = setup.Facts(me, facts.Routing.Channel, facts.Now, used)
			if facts.Full() || (r.UserType == me.UserType && r.UserID == me.UserID) {
				return nil
			}
			setup.Decide(r, facts.Now, used)
		}
		if page.Next == nil {
			return nil
		}
		after = *page.Next
	}
	facts.Uncounted = true
	return nil
}

// decision is what planning would decide; empty: nothing about this recipient and
// this channel.
func (p planNow) decision() notification.Decision {
	if !p.named || !slices.Contains(p.routed, p.facts.Routing.Channel) {
		return ""
	}
	return p.facts.Decision()
}
