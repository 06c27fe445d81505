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
	plan, err := e.plan(ctx, in.EventID, in.Event, in.At)
	if err != nil {
		return Simulation{}, err
	}
	if in.EventID == "" && in.ExpiresIn > 0 {
		plan.Event.ExpiresAt = plan.Now.Add(in.ExpiresIn)
	}
	s := &simulation{
		Simulation: Simulation{EventID: in.EventID, EventType: plan.Event.Type, At: plan.Now.UTC()},
		plan:       plan, counts: map[notification.Channel]*SimulatedChannel{}, people: map[string]*SimulatedPerson{},
	}
	for _, key := range in.People {
		s.people[key.String()] = &SimulatedPerson{Recipient: key.String()}
	}
	if plan.Outcome == "" && len(plan.Routing) > 0 {
		if err := s.planPages(ctx, in.Progress); err != nil {
			return Simulation{}, err
		}
	}
	err = e.finish(ctx, s, in.People)
	return s.Simulation, err
}

// simulation is the state of one [Explainer.Simulate].
type simulation struct {
	Simulation
	plan   *planner.Plan
	counts map[notification.Channel]*SimulatedChannel
	people map[string]*SimulatedPerson
}

func (s *simulation) planPages(ctx context.Context, progress func(int)) error {
	used := notification.Used{}
	s.plan.Holders = notification.AddressHolders{}
	return s.plan.Pages(ctx, simulatedPage, func(page notification.RecipientPage) (done bool, err error) {
		s.plan.Settings = page.Settings
		s.plan.PassOver(page.PassedOver)
		for _, recipient := range page.Recipients {
			s.decide(ctx, recipient, s.plan.Decide(recipient, s.plan.Now, used))
		}
		if len(s.plan.Holders) > simulatedAddresses {
			clear(s.plan.Holders)
		}
		if progress != nil {
			progress(s.Recipients)
		}
		return false, ctx.Err()
	})
}

// decide counts the decisions about a recipient.
func (s *simulation) decide(ctx context.Context, recipient notification.Recipient, choices []notification.Choice) {
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
		decision := SimulatedDecision{
			Channel: choice.Channel, Decision: choice.Decision, Meaning: choice.Decision.Meaning(choice.Channel, recipient.UserType),
		}
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
func (s *simulation) write(
	ctx context.Context, key string, recipient notification.Recipient, choice notification.Choice, counts *SimulatedChannel,
	decision *SimulatedDecision,
) {
	delivery := s.plan.Delivery(ctx, recipient, choice)
	decision.Problem = delivery.Problem
	if at := delivery.SendAfter.UTC(); !at.IsZero() {
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
		s.Samples = append(s.Samples, SimulatedText{key, choice.Channel, delivery.Title, delivery.Body})
	}
}

// finish orders the channels and the people, and explains who is not named.
func (e Explainer) finish(ctx context.Context, s *simulation, people []notification.RecipientKey) error {
	plan := s.plan
	if plan.Outcome == "" && s.Recipients == 0 && len(plan.Routing) > 0 {
		plan.Nobody()
	}
	s.Outcome, s.Problem = plan.Outcome, plan.Problem
	if s.Outcome == "" && plan.NeedsApproval(s.Recipients) {
		s.Outcome = notification.AwaitingApproval
		s.Problem = strings.TrimPrefix(fmt.Sprintf("%s; it would tell more than %d people", s.Problem, *plan.ApprovalOver), "; ")
	}
	for _, channel := range notification.Channels() {
		if counts := s.counts[channel]; counts != nil {
			s.Channels = append(s.Channels, *counts)
		}
	}
	for _, key := range people {
		person := s.people[key.String()]
		if person.Decisions == nil {
			entry, err := planner.On(e.DB).DirectoryEntry(ctx, key.UserType, key.UserID, plan.Targets)
			if err != nil {
				return err
			}
			if person.NotNamed = notNamed(plan, entry); !entry.Active {
				person.NotNamed = []string{missing(entry.Known)}
			}
		}
		s.People = append(s.People, *person)
	}
	return nil
}
