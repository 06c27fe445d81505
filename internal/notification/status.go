package notification

import (
	"fmt"
	"strings"
)

// Status is the state of a delivery. docs/how-it-works.md has the transitions; only an operator makes
// a delivery PENDING again, by a retry or by sending it again.
type Status string

const (
	Pending   Status = "PENDING"
	Sent      Status = "SENT"      // the provider accepted it
	Delivered Status = "DELIVERED" // a receipt reports that it arrived
	Failed    Status = "FAILED"
	Cancelled Status = "CANCELLED"
)

// Statuses returns every status.
func Statuses() []Status { return []Status{Pending, Sent, Delivered, Failed, Cancelled} }

// EndReason is the reason why a delivery was not sent. last_error shows it to operators.
type EndReason string

// The reasons of deliveries that ended together with a workflow or an event.
const (
	CancelledInTemporal  EndReason = "cancelled in Temporal" // its own workflow, or the workflow of its page, batch, lane or event
	TerminatedInTemporal EndReason = "terminated"            // the workflow of its page, batch or lane
	EventWithdrawn       EndReason = "event cancelled"       // before the start of its workflow
	EventHasFailed       EndReason = "event failed"          // it could not be planned
	EndLost              EndReason = "perhaps sent"          // Postgres lost the end, and an operator chose not to send again
)

// RollbackReason is the reason with which an operator terminates workflows that older workers cannot
// continue. Any other termination means that the rest must not be sent; after this one, the sweep
// starts the rest again.
const RollbackReason = "herald-rollback"

// CountsText summarises deliveries: "3 cancelled; 2 sent, and stay sent"; empty: there are none.
func CountsText(counts map[Status]int) string {
	var parts []string
	for _, part := range []struct {
		count int
		text  string
	}{
		{counts[Cancelled], "cancelled"},
		{counts[Sent] + counts[Delivered], "sent, and stay sent"},
		{counts[Failed], "failed"},
		{counts[Pending], "still under way"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.text))
		}
	}
	return strings.Join(parts, "; ")
}

// Strategy decides when a delivery is sent.
type Strategy string

// The strategies of event_type_channel_routing.
const (
	Immediate Strategy = "IMMEDIATE"
	Delayed   Strategy = "DELAYED"
	Aggregate Strategy = "AGGREGATE"
)

// Priority orders deliveries that wait for the same workers.
type Priority string

// The priorities of a delivery; empty means Normal.
const (
	High   Priority = "HIGH"
	Normal Priority = "NORMAL"
	Low    Priority = "LOW"
)

// DeliveryID is the workflow ID of one delivery: evt-1-staff10-EMAIL. who is the word
// for the recipient's user type, here staff.
func DeliveryID(eventID, who, userID string, channel Channel) string {
	return eventID + "-" + who + userID + "-" + string(channel)
}
