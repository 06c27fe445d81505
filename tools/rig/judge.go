package rig

import (
	"fmt"
	"strings"
	"time"

	"herald/tools/sandbox"
)

// Kind is a kind of finding.
type Kind string

// The kinds of findings from the ledger.
const (
	Lost        Kind = "lost"
	WrongPerson Kind = "wrong person"
	Phantom     Kind = "phantom"
	AfterCancel Kind = "sent after cancel"
)

// Verdict is the result of a comparison of the events of a load with the ledger.
type Verdict struct {
	Events, RolledBack, Cancelled, Messages, Repeats int

	Asked    map[string]bool            // deliveries that committed events ask for
	Accepted map[string][]sandbox.Entry // by delivery
	Findings map[Kind][]string
}

// ByDelivery returns the messages of a ledger that the providers accepted, by delivery.
func ByDelivery(ledger []sandbox.Entry) map[string][]sandbox.Entry {
	accepted := map[string][]sandbox.Entry{}
	for _, entry := range ledger {
		if entry.Accepted {
			accepted[entry.DeliveryID] = append(accepted[entry.DeliveryID], entry)
		}
	}
	return accepted
}

// Find adds a finding.
func (v *Verdict) Find(k Kind, format string, args ...any) {
	v.Findings[k] = append(v.Findings[k], fmt.Sprintf(format, args...))
}

// Judge compares the events of a load with the ledger.
func Judge(events []*Event, ledger []sandbox.Entry) *Verdict {
	v := &Verdict{Asked: map[string]bool{}, Accepted: ByDelivery(ledger), Findings: map[Kind][]string{}}
	for _, event := range events {
		if !event.Committed {
			v.RolledBack++
			continue
		}
		v.Events++
		if event.CancelledBy != "" {
			v.Cancelled++
		}
		for _, asked := range event.Messages {
			v.Asked[asked.Delivery] = true
			v.judge(event, asked)
		}
	}
	for id, messages := range v.Accepted {
		v.Messages += len(messages)
		if !v.Asked[id] {
			v.Find(Phantom, "%s: %d messages that no committed event asks for", id, len(messages))
		}
	}
	return v
}

// judge judges the messages of one delivery.
func (v *Verdict) judge(event *Event, asked Message) {
	took := v.Accepted[asked.Delivery]
	v.Repeats += max(0, len(took)-1)
	if len(took) == 0 && event.CancelledBy == "" {
		v.Find(Lost, "%s: no provider accepted it", asked.Delivery)
	}
	for _, entry := range took {
		if entry.Recipient != asked.Address || !strings.Contains(entry.Body+entry.Text, asked.Text) {
			v.Find(WrongPerson, "%s: at %s another address or another text", asked.Delivery, instant(entry.Time))
		}
		if event.CancelledBy != "" && !event.CancelledAt.IsZero() && entry.Time.After(event.CancelledAt.Add(event.Grace)) {
			v.Find(AfterCancel, "%s: accepted at %s, cancelled by %s at %s",
				asked.Delivery, instant(entry.Time), event.CancelledBy, instant(event.CancelledAt))
		}
	}
}

// instant returns a time of day, in UTC.
func instant(t time.Time) string { return t.UTC().Format("15:04:05.000") }
