package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/terminal"
)

func showEventCommand(a *app) *cobra.Command {
	return showCommand(a, &cobra.Command{
		Short: "Show an event, its workflow, its decisions and its deliveries",
		Long: `Show an event: its row in the outbox, its workflow, and the decisions and deliveries of up
to 200 recipients. It shows no addresses and no texts.`,
		Example:           "  starter event show evt-1\n  starter event show evt-1 -o json",
		ValidArgsFunction: terminal.CompleteOne(completeEvents(a)),
	}, explain.Explainer.Event, printEvent)
}

func printEvent(w io.Writer, view explain.EventView) {
	terminal.Row(w, "event", view.EventID)
	printOutbox(w, view.Outbox)
	printSet(w, fact{"cancels", view.Cancels()})
	if p := view.Processed; p != nil {
		terminal.Row(w, "processed_event", processedText(p)+failuresText(p, view.Deliveries.ByStatus[notification.Failed]))
		if view.Workflow.Problem == "" { // Temporal has deleted the workflow, or is out of reach
			printSet(w, fact{"problem", p.Problem})
		}
	} else {
		terminal.Row(w, "processed_event", "none: its workflow was not started yet")
	}
	printExecution(w, view.Workflow)
	printPending(w, view.Pending)
	for _, batch := range view.Batches {
		terminal.Row(w, "batch", batch.WorkflowID+": "+batch.Progress.String())
		for _, p := range batch.Pending {
			printSet(w, fact{"last failure", p.LastFailure})
		}
	}
	printSet(w, fact{"deliveries", totalsText(view.Deliveries)}, fact{"next", view.Next})
	printActions(w, view.Actions)
	if a := view.Approval; a != nil && a.Answer != "" {
		terminal.Row(w, "approval",
			strings.TrimSuffix(fmt.Sprintf("%s by %s, at %s: %s", a.Answer, a.AnsweredBy, terminal.Clock(a.AnsweredAt), a.Reason), ": "))
	}
	if view.Simulation != nil {
		terminal.Row(w)
		terminal.Row(w, "IF IT IS APPROVED")
		printSimulation(w, *view.Simulation)
	}
	if len(view.Recipients) == 0 {
		return
	}
	terminal.Row(w)
	terminal.Row(w, "RECIPIENT", "CHANNEL", "DECISION", "STATUS", "ATTEMPTS", "SEND AFTER", "LAST ERROR")
	for _, recipient := range view.Recipients {
		printRecipient(w, recipient)
	}
	if view.More > 0 {
		terminal.Row(w, fmt.Sprintf("… and %d more recipients", view.More))
	}
}

// totalsText returns an event's delivery counts: "2 DELIVERED, 1 FAILED; read by 1 recipient".
func totalsText(totals report.DeliveryTotals) string {
	var parts []string
	for _, status := range notification.Statuses() {
		if count := totals.ByStatus[status]; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, status))
		}
	}
	text := strings.Join(parts, ", ")
	switch totals.ReadBy {
	case 0:
	case 1:
		text += "; read by 1 recipient"
	default:
		text += fmt.Sprintf("; read by %d recipients", totals.ReadBy)
	}
	if more := totals.FailedWithoutWorkflow; more > 0 {
		text += fmt.Sprintf("; %d more failed deliveries have no workflow in Temporal", more)
	}
	return text
}

// processedText returns the status in processed_event, and the outcome if it differs from the
// status.
func processedText(p *report.ProcessedRow) string {
	status := string(p.Status)
	if p.Outcome != "" && string(p.Outcome) != status {
		status += " (" + string(p.Outcome) + ")"
	}
	return fmt.Sprintf("%s, since %s", status, terminal.Clock(&p.UpdatedAt))
}

// failuresText explains why an event with failed deliveries has the status SUCCESS; else empty.
func failuresText(p *report.ProcessedRow, failed int) string {
	if p.Status != notification.ProcessedSuccess || failed == 0 {
		return ""
	}
	return fmt.Sprintf("; it means that the event has ended: %d of its deliveries FAILED", failed)
}

func printOutbox(w io.Writer, o *report.LeasedRow) {
	if o == nil {
		terminal.Row(w, "outbox", "the row was purged")
		return
	}
	terminal.Row(w, "type", o.EventType)
	terminal.Row(w, "aggregate", terminal.Dash(o.Aggregate()))
	terminal.Row(w, "correlation id", terminal.Dash(o.CorrelationID))
	terminal.Row(w, "outbox", fmt.Sprintf("%s, claims: %d", o.Status, o.AttemptCount))
	terminal.Row(w, "created", terminal.Clock(&o.CreatedAt))
	terminal.Row(w, "published", terminal.Clock(o.PublishedAt))
	printSet(w, fact{"actor", o.Actor}, fact{"exclude", strings.Join(o.Exclude, ", ")})
	printSet(w, fact{"collapse key", o.CollapseKey}, fact{"expires", terminal.Clock(o.ExpiresAt)},
		fact{"claimed until", terminal.Clock(o.LeaseUntil)}, fact{"error", o.ErrorMessage})
	printSource(w, o)
	if o.CancelledBy != "" {
		terminal.Row(w, "cancelled", fmt.Sprintf("by event %s at %s", o.CancelledBy, terminal.Clock(o.CancelledAt)))
	}
}

// printSource prints the event's source, unless it is Herald's outbox, and the time when the
// topic got the event, if it goes to a topic.
func printSource(w io.Writer, o *report.LeasedRow) {
	if o.Source != notification.HeraldSource {
		terminal.Row(w, "source", o.Source)
	}
	printSet(w, fact{"acknowledged", terminal.Clock(o.AcknowledgedAt)}, fact{"produced", terminal.Clock(o.ProducedAt)})
}

// fact is a printed line: a name and a value.
type fact struct{ name, value string }

// printSet prints the facts that have a value. "-" is no value.
func printSet(w io.Writer, facts ...fact) {
	for _, f := range facts {
		if f.value != "" && f.value != "-" {
			terminal.Row(w, f.name, f.value)
		}
	}
}

func printExecution(w io.Writer, s explain.WorkflowView) {
	printSet(w, fact{"workflow", s.Status}, fact{"run id", s.RunID}, fact{"HeraldOutcome", s.HeraldOutcome},
		fact{"outcome", string(s.Outcome)}, fact{"problem", s.Problem}, fact{"failure", s.Failure}, fact{"note", s.Note})
}

func printRecipient(w io.Writer, r report.RecipientDetail) {
	for _, channel := range notification.Channels() {
		decision, decided := r.Decisions[channel]
		if !decided {
			continue
		}
		d, planned := r.Deliveries[channel]
		if !planned {
			terminal.Row(w, r.Name(), channel, decision, "-", "-", "-", "-")
			continue
		}
		terminal.Row(w, r.Name(), channel, decision, statusText(d)+escalationText(r, d), d.Attempts, terminal.Clock(d.SendAfter),
			terminal.Dash(d.LastError))
	}
}

// escalationText names the channel that escalated to this delivery, and the channel to which
// this delivery escalates if it does not arrive.
func escalationText(r report.RecipientDetail, d report.RecipientDelivery) string {
	text := ""
	if d.EscalatedFrom != "" {
		text += ", follows " + d.EscalatedFrom
	}
	if _, told := r.Deliveries[d.EscalatesTo]; d.EscalatesTo != "" && !told {
		text += ", else " + string(d.EscalatesTo)
	}
	return text
}

// statusText returns a delivery's status, and whether it was read, in a digest or retried.
func statusText(d report.RecipientDelivery) string {
	text := string(d.Status)
	if d.ReadAt != nil {
		text += ", read"
	}
	if d.DigestID != "" {
		text += ", in a digest"
	}
	if d.Retries > 0 {
		text += fmt.Sprintf(", retried %d×", d.Retries)
	}
	return text
}
