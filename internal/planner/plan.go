package planner

import (
	"cmp"
	"context"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/template"
)

// Rows are the rows that planning reads and writes; see [Store].
type Rows interface {
	EventSetup(ctx context.Context, eventID string) (notification.EventSetup, error)
	TypeSetup(ctx context.Context, eventType string) (notification.EventSetup, error)
	Event(ctx context.Context, eventID string) (notification.Event, []notification.EventRecipients, error)
	Recipients(
		ctx context.Context, eventType string, targets []notification.Target, after notification.Cursor, limit int,
	) (notification.RecipientPage, error)
	Named(
		ctx context.Context, eventType string, targets []notification.Target, userType notification.UserType, userID string,
	) (notification.RecipientPage, error)
	CountRecipients(ctx context.Context, targets []notification.Target, limit int) (int, error)
	DirectoryEntry(
		ctx context.Context, userType notification.UserType, userID string, targets []notification.Target,
	) (notification.DirectoryEntry, error)
	ReadCounted(ctx context.Context, caps notification.Caps, people []notification.Recipient) error
	Throttles(ctx context.Context, eventType string, keys []notification.Throttle) ([]notification.Throttle, error)
	AddressHolders(ctx context.Context, setup notification.EventSetup, people []notification.Recipient) (notification.AddressHolders, error)
	SavePlan(ctx context.Context, event notification.Event, page []notification.DecidedRecipient) error
	SaveLockedPlan(
		ctx context.Context, event notification.Event, page notification.RecipientPage, keys []notification.Throttle,
		decide func(notification.Used) ([]notification.DecidedRecipient, error),
	) error
	AskApproval(ctx context.Context, eventID string) (time.Time, error)
	AnswerApproval(ctx context.Context, eventID string, answer notification.Approval) (notification.Approval, error)
}

// Texts writes the texts of one event. An error names the template at fault. A retry returns the
// same error, unless ctx has ended.
type Texts interface {
	Render(ctx context.Context, channel notification.Channel, recipient notification.Recipient) (notification.Text, error)
	// RenderItem is Render for an item of a digest.
	RenderItem(ctx context.Context, channel notification.Channel, recipient notification.Recipient) (notification.Text, error)
}

// Planner plans events for workers, and for all who ask what a worker would plan.
type Planner struct {
	Rows Rows
	// EventTexts writes the texts of an event, and EscalatedTexts its texts for channels that escalation
	// leads to.
	EventTexts, EscalatedTexts func(event notification.Event, templates []notification.Template) Texts
}

// New returns a planner over a database's rows.
func New(rows Rows, texts template.Engine) Planner {
	return Planner{
		Rows: rows,
		EventTexts: func(event notification.Event, templates []notification.Template) Texts {
			return texts.NewSet(event, templates)
		},
		EscalatedTexts: func(event notification.Event, templates []notification.Template) Texts {
			return texts.NewEscalatedSet(event, templates)
		},
	}
}

// Plan holds the rules of one event, and the people that it names.
type Plan struct {
	notification.EventSetup
	Targets []notification.Target
	// Problems are the faults of the rules that name recipients.
	Problems []string
	// Outcome is set if nobody is planned, and Problem is the reason. Otherwise Problem holds Problems.
	Outcome notification.EventOutcome
	Problem string

	planner          Planner
	texts, escalated Texts     // nil: not needed yet
	read             time.Time // the time by this process's clock when Now was read
}

// Event reads the plan of an event. If its row was purged, the error is [notification.ErrNoEvent].
func (p Planner) Event(ctx context.Context, eventID string) (*Plan, error) {
	setup, err := p.Rows.EventSetup(ctx, eventID)
	return p.plan(setup), err
}

// Draft reads the plan of an event that is not stored. Planning begins, and the event is created, at
// a time; zero: now, by the database's clock.
func (p Planner) Draft(ctx context.Context, event notification.Event, at time.Time) (*Plan, error) {
	setup, err := p.Rows.TypeSetup(ctx, event.Type)
	setup.Now = cmp.Or(at, setup.Now)
	setup.Event, setup.Event.ID, setup.Event.CreatedAt = event, draftID, setup.Now
	return p.plan(setup), err
}

// draftID is the id of an event that is not stored.
const draftID = "preview"

// Purged reads the plan of an event whose row was purged: the rules of its type, and the target that a
// delivery's row tells; without an entity: unknown.
func (p Planner) Purged(ctx context.Context, eventType string, named notification.Target) (*Plan, error) {
	setup, err := p.Rows.TypeSetup(ctx, eventType)
	setup.Event.Type = eventType
	plan := &Plan{EventSetup: setup, planner: p, read: time.Now()}
	if named.Entity.Type != "" {
		plan.Targets = []notification.Target{named}
	}
	return plan, err
}

func (p Planner) plan(setup notification.EventSetup) *Plan {
	plan := &Plan{EventSetup: setup, planner: p, read: time.Now()}
	plan.ReadPayload()
	plan.Targets, plan.Problems = notification.Targets(setup.Event, setup.Recipients)
	plan.Outcome, plan.Problem = setup.Unplanned()
	if plan.Outcome == "" && len(setup.Routing) > 0 {
		plan.Problem = strings.Join(plan.Problems, "; ")
	}
	return plan
}

// Time returns the time by the database's clock. The rules use the same clock before an attempt.
func (p *Plan) Time() time.Time { return p.Now.Add(time.Since(p.read)) }

// Nobody sets the outcome of an event without recipients.
func (p *Plan) Nobody() {
	p.Outcome, p.Problem = notification.NoRecipients, cmp.Or(p.Problem, "nobody in the directory is an active recipient of it")
}

// PassOver adds people whose user type or user id Herald cannot use to the problem.
func (p *Plan) PassOver(people []notification.PassedOver) {
	for _, some := range people {
		p.Problem = strings.TrimPrefix(p.Problem+"; "+some.String(), "; ")
	}
}

// Page reads a page of the recipients.
func (p *Plan) Page(ctx context.Context, after notification.Cursor, limit int) (notification.RecipientPage, error) {
	return p.planner.Rows.Recipients(ctx, p.Event.Type, p.Targets, after, limit)
}

// Save decides about a page, and stores the decisions. If earlier messages or a limit of recipients
// matter, it decides while the rows that it reads are locked. It calls beat for each recipient.
func (p *Plan) Save(
	ctx context.Context, page notification.RecipientPage, beat func(),
) (decided []notification.DecidedRecipient, err error) {
	rows, event := p.planner.Rows, p.Event
	if p.Holders, err = p.readAmounts(ctx, page.Recipients); err != nil {
		return nil, err
	}
	decide := func(used notification.Used) (_ []notification.DecidedRecipient, err error) {
		decided, err = p.decide(ctx, page, used, beat)
		return decided, err
	}
	if keys := p.ThrottleKeys(page.Recipients); len(keys) > 0 || page.Limited() {
		err = rows.SaveLockedPlan(ctx, event, page, keys, decide)
		return decided, err
	}
	if _, err := decide(notification.Used{}); err != nil {
		return nil, err
	}
	return decided, rows.SavePlan(ctx, event, decided)
}

// readAmounts reads the people's messages that caps count. It returns which recipients, of earlier
// pages too, get the messages at their addresses.
func (p *Plan) readAmounts(ctx context.Context, people []notification.Recipient) (notification.AddressHolders, error) {
	if len(p.Caps) > 0 {
		if err := p.planner.Rows.ReadCounted(ctx, p.Caps, people); err != nil {
			return nil, err
		}
	}
	return p.planner.Rows.AddressHolders(ctx, p.EventSetup, people)
}

// decide applies the rules to a page of recipients and renders the texts of the selected deliveries.
// It leaves out recipients who were decided about before.
func (p *Plan) decide(
	ctx context.Context, page notification.RecipientPage, used notification.Used, beat func(),
) ([]notification.DecidedRecipient, error) {
	now := p.Time()
	p.Settings = page.Settings
	decided := make([]notification.DecidedRecipient, 0, len(page.Recipients))
	for _, recipient := range page.Recipients {
		beat()
		if recipient.Decided {
			continue
		}
		r := notification.NewDecided(recipient)
		for _, choice := range p.Decide(recipient, now, used) {
			r.Add(choice)
			if choice.Decision == notification.DecisionSelected {
				r.Deliveries = append(r.Deliveries, p.Delivery(ctx, recipient, choice))
			}
		}
		if err := ctx.Err(); err != nil { // no workflow waits for the result, and perhaps only the end of ctx prevented texts
			return nil, err
		}
		decided = append(decided, r)
	}
	return decided, nil
}

// Delivery returns the delivery of a selected choice, with its text.
func (p *Plan) Delivery(ctx context.Context, recipient notification.Recipient, choice notification.Choice) notification.PlannedDelivery {
	id := notification.DeliveryID(p.Event.ID, recipient.Who, recipient.UserID, choice.Channel)
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
	if route, _ := p.Route(choice.Channel); route.OncePerAddress {
		delivery.AddressHash = recipient.AddressHashes[choice.Channel]
	}
	render := p.textsOf(choice.Escalated).Render
	if choice.Strategy == notification.Aggregate {
		render = p.textsOf(choice.Escalated).RenderItem
	}
	text, err := render(ctx, choice.Channel, recipient)
	if err != nil {
		delivery.Problem = cmp.Or(delivery.Problem, err.Error())
	}
	delivery.Title, delivery.Body, delivery.URL = text.Title, text.Body, text.URL
	return delivery
}

// textsOf returns the texts of a channel, which escalation may have led to.
func (p *Plan) textsOf(escalated bool) Texts {
	texts, write := &p.texts, p.planner.EventTexts
	if escalated {
		texts, write = &p.escalated, p.planner.EscalatedTexts
	}
	if *texts == nil {
		*texts = write(p.Event, p.Templates)
	}
	return *texts
}
