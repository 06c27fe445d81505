package demo

import (
	"time"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/tools/example"
)

// Result is the result of a run.
type Result struct {
	Run        string                      `json:"run"`
	Results    []RecipientResult           `json:"fates"`
	Outcomes   map[string]string           `json:"outcomes"` // by event id
	Digests    map[string]int              `json:"digests"`  // number of deliveries sent in each, by digest id
	Statuses   map[notification.Status]int `json:"deliveries"`
	Rows       []ServiceRow                `json:"rows,omitempty"` // of the services' outboxes
	Deviations []string                    `json:"deviations"`
}

// RecipientResult is the result of one event for one recipient and channel. For an event
// without recipients it has only Event and Why.
type RecipientResult struct {
	Event     string                `json:"event"`
	Recipient string                `json:"recipient,omitempty"`
	Channel   notification.Channel  `json:"channel,omitempty"`
	Decision  notification.Decision `json:"decision,omitempty"`
	Status    notification.Status   `json:"status,omitempty"`
	Why       string                `json:"why,omitempty"`
	Digest    string                `json:"digest,omitempty"` // id of the digest that contains it
	Has       Possession            `json:"has,omitempty"`    // empty: no delivery
}

// Possession tells whether a recipient has a message.
type Possession string

// The values of Possession.
const (
	HasRead Possession = "read"
	Has     Possession = "yes"
	HasNot  Possession = "no"
	NotYet  Possession = "not yet"
	Unknown Possession = "unknown" // sent, but no receipt came, or nobody has read it in the inbox
)

func possession(d report.RecipientDelivery) Possession {
	switch {
	case d.ReadAt != nil:
		return HasRead
	case d.Status == notification.Delivered:
		return Has
	case d.Status == notification.Sent:
		return Unknown
	case d.Status == notification.Pending:
		return NotYet
	default:
		return HasNot
	}
}

func newResult(run string) *Result {
	return &Result{
		Run: run, Results: []RecipientResult{}, Outcomes: map[string]string{}, Digests: map[string]int{},
		Statuses: map[notification.Status]int{}, Deviations: []string{},
	}
}

func (r *Result) add(event example.ExpectedEvent, seen Observation) {
	r.Outcomes[seen.Detail.EventID] = seen.Outcome
	r.Deviations = append(r.Deviations, Deviations(event, seen, time.Now())...)
	if len(seen.Detail.Recipients) == 0 {
		r.Results = append(r.Results, RecipientResult{Event: event.Name, Why: seen.Outcome})
	}
	for _, recipient := range seen.Detail.Recipients {
		for _, channel := range notification.Channels() {
			decision, decided := recipient.Decisions[channel]
			if !decided {
				continue
			}
			result := RecipientResult{Event: event.Name, Recipient: recipient.Name(), Channel: channel, Decision: decision}
			if delivery, planned := recipient.Deliveries[channel]; planned {
				result.Status, result.Why, result.Has = delivery.Status, why(delivery), possession(delivery)
				r.Statuses[delivery.Status]++
				if wasSent(delivery) && delivery.DigestID != "" {
					result.Digest = delivery.DigestID
					r.Digests[delivery.DigestID]++
				}
			}
			r.Results = append(r.Results, result)
		}
	}
}
