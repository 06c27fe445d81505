package answer

import (
	"context"
	"encoding/json"
	"time"

	"herald/internal/advice"
	"herald/internal/explain"
	"herald/internal/notification"
)

// SimulateRequest names an event of the outbox, or an event that nobody has written.
type SimulateRequest struct {
	Event      string         `json:"event,omitempty" jsonschema:"the id of an event in the outbox; else give type, aggregate and payload"`
	Type       string         `json:"type,omitempty" jsonschema:"the type of an event that nobody has written"`
	Aggregate  string         `json:"aggregate,omitempty" jsonschema:"its aggregate, such as RESTAURANT/5"`
	Payload    map[string]any `json:"payload,omitempty" jsonschema:"its payload, a JSON object"`
	At         time.Time      `json:"at,omitzero" jsonschema:"the time of planning; default now"`
	Recipients []string       `json:"recipients,omitempty" jsonschema:"also what these people would get, such as CUSTOMER/42; at most 20"`
}

// Simulation is the plan of an event, without its texts.
type Simulation struct {
	EventID    string                    `json:"event_id"` // empty: the event is not stored
	EventType  string                    `json:"event_type"`
	At         time.Time                 `json:"at"`
	Outcome    notification.EventOutcome `json:"outcome"` // empty: there are recipients
	HasProblem bool                      `json:"has_problem"`
	Recipients int                       `json:"recipients"`
	Channels   []SimulatedChannel        `json:"channels"`
	People     []SimulatedPerson         `json:"people,omitempty"`
}

// SimulatedChannel counts the decisions about a channel.
type SimulatedChannel struct {
	Channel   notification.Channel          `json:"channel"`
	Decisions map[notification.Decision]int `json:"decisions"`
	Waiting   int                           `json:"waiting"` // sent later, or in a digest
	Failing   int                           `json:"failing"` // cannot be sent
}

// SimulatedPerson is the plan for one person.
type SimulatedPerson struct {
	Recipient string              `json:"recipient"`
	Named     bool                `json:"named"` // the event names them
	Decisions []SimulatedDecision `json:"decisions"`
}

// SimulatedDecision is the decision about one person and channel.
type SimulatedDecision struct {
	Channel   notification.Channel  `json:"channel"`
	Decision  notification.Decision `json:"decision"`
	Meaning   string                `json:"meaning"`
	Digest    bool                  `json:"digest,omitempty"`
	SendAfter *time.Time            `json:"send_after,omitempty"`
	Fails     bool                  `json:"fails,omitempty"` // it cannot be sent
}

// Simulate plans an event by the worker's rules. It stores and sends nothing.
func (r Reader) Simulate(ctx context.Context, in SimulateRequest) (Simulation, error) {
	ask, err := in.ask()
	if err != nil {
		return Simulation{}, err
	}
	s, err := r.Explain.Simulate(ctx, ask)
	if err != nil {
		return Simulation{}, advice.NoEvent(in.Event, err)
	}
	return Simulation{
		EventID: s.EventID, EventType: s.EventType, At: s.At, Outcome: s.Outcome, HasProblem: s.Problem != "", Recipients: s.Recipients,
		Channels: each(s.Channels, func(c explain.SimulatedChannel) SimulatedChannel {
			return SimulatedChannel{c.Channel, c.Decisions, c.Waiting, c.Failing}
		}),
		People: each(s.People, func(p explain.SimulatedPerson) SimulatedPerson {
			return SimulatedPerson{p.Recipient, len(p.NotNamed) == 0, each(p.Decisions, simulatedDecision)}
		}),
	}, nil
}

func simulatedDecision(d explain.SimulatedDecision) SimulatedDecision {
	return SimulatedDecision{d.Channel, d.Decision, d.Meaning, d.Digest, d.SendAfter, d.Problem != ""}
}

func (in SimulateRequest) ask() (ask explain.SimulateRequest, err error) {
	unwritten := in.Type != "" || in.Aggregate != "" || in.Payload != nil
	switch {
	case in.Event != "" && unwritten, in.Event == "" && (in.Type == "" || in.Aggregate == "" || in.Payload == nil):
		return ask, wrong("the request names no event", "give event, or all of type, aggregate and payload")
	case len(in.Recipients) > mostPeople:
		return ask, wrong("%d recipients are too many", "give at most 20", len(in.Recipients))
	}
	ask = explain.SimulateRequest{EventID: in.Event, At: in.At}
	for _, name := range in.Recipients {
		who, err := recipientOf(name)
		if err != nil {
			return ask, err
		}
		ask.People = append(ask.People, who)
	}
	if in.Event != "" {
		return ask, nil
	}
	aggregate, err := recipientOf(in.Aggregate)
	if err != nil {
		return ask, wrong("this is no aggregate", "write the type and the id, such as RESTAURANT/5")
	}
	ask.Event.Type, ask.Event.AggregateType, ask.Event.AggregateID = in.Type, string(aggregate.UserType), aggregate.UserID
	ask.Event.Payload, err = json.Marshal(in.Payload)
	return ask, err
}
