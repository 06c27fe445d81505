package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

// SimulateRequest asks what an event would do if it were planned.
type SimulateRequest struct {
	EventID string             // of an event in event_outbox; empty: simulate Event, which is not stored
	Event   notification.Event // its id and times are set by [Explainer.Simulate]
	At      time.Time          // the time of planning; zero: now, by the database's clock

	ExpiresIn time.Duration               // of Event; 0: no limit
	People    []notification.RecipientKey // whose decisions are wanted
	Progress  func(recipients int)        // is called after each page
}

// Simulation is the plan of an event that was not stored.
type Simulation struct {
	EventID   string                    `json:"event_id"` // empty: the event is not stored
	EventType string                    `json:"event_type"`
	At        time.Time                 `json:"at"`
	Outcome   notification.EventOutcome `json:"outcome"` // empty: there are recipients
	Problem   string                    `json:"problem"` // why, or what is wrong with some of the recipients' rules

	Recipients int                `json:"recipients"`
	Channels   []SimulatedChannel `json:"channels"`
	Samples    []SimulatedText    `json:"samples"` // up to three of the texts
	People     []SimulatedPerson  `json:"people,omitempty"`
}

// SimulatedChannel counts the decisions about a channel.
type SimulatedChannel struct {
	Channel   notification.Channel          `json:"channel"`
	Decisions map[notification.Decision]int `json:"decisions"`
	Waiting   int                           `json:"waiting"` // selected deliveries that are sent later, or in a digest
	Failing   int                           `json:"failing"` // selected deliveries that cannot be sent
	FirstFail string                        `json:"first_failure,omitempty"`
}

// SimulatedText is the text that a recipient would get.
type SimulatedText struct {
	Recipient string               `json:"recipient"`
	Channel   notification.Channel `json:"channel"`
	Title     string               `json:"title"`
	Body      string               `json:"body"`
}

// SimulatedPerson is the plan for one person.
type SimulatedPerson struct {
	Recipient string              `json:"recipient"`
	NotNamed  []string            `json:"not_named,omitempty"` // why the event does not name them
	Decisions []SimulatedDecision `json:"decisions"`
}

// SimulatedDecision is the decision about one person and channel.
type SimulatedDecision struct {
	Channel   notification.Channel  `json:"channel"`
	Decision  notification.Decision `json:"decision"`
	Meaning   string                `json:"meaning"`
	Digest    bool                  `json:"digest,omitempty"`     // it is sent in a digest
	SendAfter *time.Time            `json:"send_after,omitempty"` // null: at once, or when the window of its digest ends
	Problem   string                `json:"problem,omitempty"`    // why it cannot be sent
}

const (
	simulatedPage    = 250
	simulatedSamples = 3
	// simulatedAddresses limits the addresses that a simulation remembers: it may count a person too
	// many whose address came before them by as many.
	simulatedAddresses = 200_000
)

// Simulate plans an event by planning's own functions, and stores nothing. Its memory does not
// grow with the number of recipients.
func (e Explainer) Simulate(ctx context.Context, in SimulateRequest) (Simulation, error) {
	setup, err := e.simulated(ctx, in)
	if err != nil {
		return Simulation{}, err
	}
	s := &simulation{
		Simulation: Simulation{EventID: in.EventID, EventType: setup.Event.Type, At: setup.Now.UTC()},
		setup:      setup, counts: map[notification.Channel]*SimulatedChannel{}, people: map[string]*SimulatedPerson{},
	}
	s.Outcome, s.Problem = setup.Unplanned()
	for _, key := range in.People {
		s.people[key.String()] = &SimulatedPerson{Recipient: key.String()}
	}
	targets, problems := notification.Targets(setup.Event, setup.Recipients)
	if s.Outcome == "" && len(setup.Routing) > 0 {
		s.Problem = strings.Join(problems, "; ")
		if err := e.simulatePages(ctx, s, targets, in.Progress); err != nil {
			return Simulation{}, err
		}
	}
	err = e.finish(ctx, s, in.People, targets, problems)
	return s.Simulation, err
}

// simulated reads the event, or gives an event that is not stored an id and times.
func (e Explainer) simulated(ctx context.Context, in SimulateRequest) (setup notification.EventSetup, err error) {
	setup, err = e.eventSetup(ctx, in.EventID, in.Event)
	setup.Now = cmp.Or(in.At, setup.Now)
	if in.EventID == "" {
		setup.Event.CreatedAt = setup.Now
		if in.ExpiresIn > 0 {
			setup.Event.ExpiresAt = setup.Now.Add(in.ExpiresIn)
		}
	}
	setup.ReadPayload()
	return setup, err
}

// simulation is the state of one [Explainer.Simulate].
type simulation struct {
	Simulation
	setup            notification.EventSetup
	texts, escalated *template.Set
	counts           map[notification.Channel]*SimulatedChannel
	people           map[string]*SimulatedPerson
}

func (e Explainer) simulatePages(ctx context.Context, s *simulation, targets []notification.Target, progress func(int)) error {
	s.texts, s.escalated = e.Texts.NewSet(s.setup.Event, s.setup.Templates), e.Texts.NewEscalatedSet(s.setup.Event, s.setup.Templates)
	used := notification.Used{}
	s.setup.Holders = notification.AddressHolders{}
	return e.pages(ctx, s.setup, targets, simulatedPage, func(page notification.RecipientPage) (done bool, err error) {
		s.setup.Settings = page.Settings
		for _, some := range page.PassedOver {
			s.Problem = strings.TrimPrefix(s.Problem+"; "+some.String(), "; ")
		}
		for _, recipient := range page.Recipients {
			s.plan(ctx, recipient, s.setup.Decide(recipient, s.setup.Now, used))
		}
		if len(s.setup.Holders) > simulatedAddresses {
			clear(s.setup.Holders)
		}
		if progress != nil {
			progress(s.Recipients)
		}
		return false, ctx.Err()
	})
}

// plan counts the decisions about a recipient.
func (s *simulation) plan(ctx context.Context, recipient notification.Recipient, choices []notification.Choice) {
	s.Recipients++
	key := notification.RecipientKey{UserType: recipient.UserType, UserID: recipient.UserID}.String()
	person := s.people[key]
	if person != nil {
		person.Decisions = []SimulatedDecision{} // named, also if only escalation uses the channels
	}
	for _, choice := range choices {
		counts := s.counts[choice.Channel]
		if counts == nil {
			counts = &SimulatedChannel{Channel: choice.Channel, Decisions: map[notification.Decision]int{}}
			s.counts[choice.Channel] = counts
		}
		counts.Decisions[choice.Decision]++
		decision := SimulatedDecision{Channel: choice.Channel, Decision: choice.Decision, Meaning: choice.Decision.Meaning(choice.Channel, recipient.UserType)}
		if choice.ThrottledBy != "" {
			decision.Meaning += ": " + choice.ThrottledBy
		}
		if choice.Decision == notification.DecisionSelected {
			s.write(ctx, key, recipient, choice, counts, &decision)
		}
		if person != nil {
			person.Decisions = append(person.Decisions, decision)
		}
	}
}

// write renders the text of a selected delivery.
func (s *simulation) write(ctx context.Context, key string, recipient notification.Recipient, choice notification.Choice, counts *SimulatedChannel, decision *SimulatedDecision) {
	set := s.texts
	if choice.Escalated {
		set = s.escalated
	}
	text, err := set.Render(ctx, choice.Channel, recipient)
	if decision.Problem = choice.Problem; err != nil {
		decision.Problem = cmp.Or(choice.Problem, err.Error())
	}
	if at := choice.SendAfter(notification.DeliveryID(s.setup.Event.ID, recipient.Who, recipient.UserID, choice.Channel)); !at.IsZero() {
		at = at.UTC()
		decision.SendAfter = &at
	}
	decision.Digest = choice.Strategy == notification.Aggregate
	switch {
	case decision.Problem != "":
		counts.Failing++
		counts.FirstFail = cmp.Or(counts.FirstFail, decision.Problem)
		return
	case decision.SendAfter != nil || decision.Digest:
		counts.Waiting++
	}
	isNew := !slices.ContainsFunc(s.Samples, func(t SimulatedText) bool { return t.Channel == choice.Channel })
	if isNew && len(s.Samples) < simulatedSamples {
		s.Samples = append(s.Samples, SimulatedText{key, choice.Channel, text.Title, text.Body})
	}
}

// finish orders the channels and the people, and explains who is not named.
func (e Explainer) finish(ctx context.Context, s *simulation, people []notification.RecipientKey, targets []notification.Target, problems []string) error {
	if s.Outcome == "" && s.Recipients == 0 && len(s.setup.Routing) > 0 {
		s.Outcome, s.Problem = notification.NoRecipients, cmp.Or(s.Problem, "nobody in the directory is an active recipient of it")
	}
	if s.Outcome == "" && s.setup.NeedsApproval(s.Recipients) {
		s.Outcome = notification.AwaitingApproval
		s.Problem = strings.TrimPrefix(fmt.Sprintf("%s; it would tell more than %d people", s.Problem, *s.setup.ApprovalOver), "; ")
	}
	for _, channel := range notification.Channels() {
		if counts := s.counts[channel]; counts != nil {
			s.Channels = append(s.Channels, *counts)
		}
	}
	for _, key := range people {
		person := s.people[key.String()]
		if person.Decisions == nil {
			entry, err := planner.On(e.Store).DirectoryEntry(ctx, key.UserType, key.UserID, targets)
			if err != nil {
				return err
			}
			switch {
			case !entry.Known:
				person.NotNamed = []string{"they are not in the directory (recipient)"}
			case !entry.Active:
				person.NotNamed = []string{"they are not active (recipient), or were erased"}
			default:
				person.NotNamed = notNamed(targets, problems, entry)
			}
		}
		s.People = append(s.People, *person)
	}
	return nil
}
