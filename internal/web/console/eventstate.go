package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
)

// eventState is the state of an event in one sentence. Good means that nothing needs a person.
type eventState struct {
	Text string
	Good bool
}

// promptly is the time within which an event is started and planned.
const promptly = time.Minute

// stateOf tells how an event ended, or where it is.
func stateOf(v explain.EventView, now time.Time) eventState {
	counts := v.Deliveries.ByStatus
	all := 0
	for _, count := range counts {
		all += count
	}
	pending, failed := counts[notification.Pending], counts[notification.Failed]
	arrived := counts[notification.Sent] + counts[notification.Delivered]
	switch {
	case v.AwaitsApproval():
		return eventState{"It waits for approval", false}
	case v.Processed == nil && v.Outbox != nil && v.Outbox.Status == notification.OutboxFailed:
		return eventState{"It could not be started", false}
	case waitsInOutbox(v):
		return eventState{"It waits to be started", now.Sub(v.Outbox.CreatedAt) < promptly}
	case v.Processed != nil && outcomeSentences[v.Processed.Outcome] != "":
		return eventState{outcomeSentences[v.Processed.Outcome], false}
	case v.Processed != nil && v.Processed.Status == notification.Processing && all == 0:
		return eventState{"It is being planned", now.Sub(v.Processed.CreatedAt) < promptly}
	case v.AtLeast:
		return stateOfLarge(failed, pending, arrived)
	case failed > 0:
		return eventState{fmt.Sprintf("%d of %s failed", failed, counted(all, "delivery", "deliveries")), false}
	case pending > 0:
		return eventState{fmt.Sprintf("%d of %s sent, %d to go", arrived, counted(all, "delivery", "deliveries"), pending), true}
	case all == 0:
		return eventState{"It has no deliveries", true}
	case arrived < all:
		return eventState{fmt.Sprintf("%d of %s sent, the others cancelled", arrived, counted(all, "delivery", "deliveries")), true}
	default:
		return eventState{fmt.Sprintf("Sent: %s", counted(all, "delivery", "deliveries")), true}
	}
}

// stateOfLarge is the state of an event with more deliveries than a page counts.
func stateOfLarge(failed, pending, arrived int) eventState {
	switch {
	case failed > 0:
		return eventState{fmt.Sprintf("At least %s failed", counted(failed, "delivery", "deliveries")), false}
	case pending > 0:
		return eventState{fmt.Sprintf("At least %d sent, at least %d to go", arrived, pending), true}
	default:
		return eventState{fmt.Sprintf("Sent: at least %s", counted(arrived, "delivery", "deliveries")), true}
	}
}

// outcomeSentences tells the outcomes that are more important than the counts.
var outcomeSentences = map[notification.EventOutcome]string{
	notification.NoRouting:      "It told nobody: its type has no channel",
	notification.NoRecipients:   "It told nobody: the rules named no recipient",
	notification.EventProblem:   "It told only some people: rows of its rules named nobody",
	notification.EventCancelled: "It was cancelled",
	notification.EventRejected:  "It was rejected, and told nobody",
	notification.EventFailed:    "It ended early: its workflow failed",
	notification.Incomplete:     "The sweep starts its pending deliveries again",
}

// bar is a bar of parts that fill its width of 1,000.
type bar struct {
	Parts []barPart
	Text  string // for screen readers
}

type barPart struct {
	Status notification.Status
	Count  int
	X, W   int
}

// barOf draws the deliveries by status; no parts: there are none.
func barOf(counts map[notification.Status]int) (b bar) {
	all, sum := 0, 0
	for _, count := range counts {
		all += count
	}
	var words []string
	for _, status := range drawn {
		if counts[status] == 0 {
			continue
		}
		from := sum * barWidth / all
		sum += counts[status]
		b.Parts = append(b.Parts, barPart{status, counts[status], from, sum*barWidth/all - from})
		words = append(words, fmt.Sprintf("%d %s", counts[status], status))
	}
	b.Text = strings.Join(words, ", ")
	return b
}

const barWidth = 1000

// recipientRow is a decision about one recipient and channel, and its delivery.
type recipientRow struct {
	Who      string
	UserType notification.UserType
	UserID   string
	Channel  notification.Channel
	Decision notification.Decision
	Delivery report.RecipientDelivery // zero: none was planned
}

// Meaning tells why there is no delivery.
func (r recipientRow) Meaning() string {
	if r.Decision == notification.DecisionSelected {
		return ""
	}
	return r.Decision.Meaning(r.Channel, r.UserType)
}

// rowOrder lists the statuses of deliveries in the order of the table; empty: no delivery.
var rowOrder = []notification.Status{
	notification.Failed, notification.Pending, notification.Cancelled, "", notification.Sent, notification.Delivered,
}

// problemsFirst returns the decisions about recipients, those first that need a look.
func problemsFirst(recipients []report.RecipientDetail) (rows []recipientRow) {
	for _, r := range recipients {
		for _, channel := range notification.Channels() {
			if decision := r.Decisions[channel]; decision != "" {
				rows = append(rows, recipientRow{r.Name(), r.UserType, r.UserID, channel, decision, r.Deliveries[channel]})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b recipientRow) int {
		return slices.Index(rowOrder, a.Delivery.Status) - slices.Index(rowOrder, b.Delivery.Status)
	})
	return rows
}

// missed counts the people without a delivery over a channel, by reason.
type missed struct{ report.DecisionCount }

// Meaning is the reason.
func (m missed) Meaning() string { return m.Decision.Meaning(m.Channel, m.UserType) }
